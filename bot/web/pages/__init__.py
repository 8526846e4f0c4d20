"""One module for each page: what it shows, its endpoint, and the same as JSON."""
