"""Periodic tasks: missed deliveries, unknown pull requests, orphaned jobs.

In: GitHub's lists of deliveries and pull requests, the clusters' lists of jobs. Out: recorded deliveries,
rows that are due, deleted jobs. Promises: one process at a time runs a task; a task may die anywhere and be
repeated.
"""
