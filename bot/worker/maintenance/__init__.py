"""What runs on a timer: missed deliveries, unknown pull requests, orphaned jobs."""
