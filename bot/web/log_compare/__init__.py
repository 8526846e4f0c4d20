"""Two logs side by side."""
