"""End to end: the real server in its own process, between a GitHub, a bucket and a database."""
