"""The only door to GitHub."""
