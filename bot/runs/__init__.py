"""What to run, what was started, and what was found."""
