"""What people see in a browser, and what programs read."""
