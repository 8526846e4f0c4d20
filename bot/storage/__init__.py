"""The only door to databases, buckets and folders."""
