"""One log: its lines, its text, and what is found in it."""
