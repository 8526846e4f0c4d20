"""One test module per log format, and what holds for all of them."""
