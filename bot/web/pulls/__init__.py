"""The report of a pull request or of a watched branch."""
