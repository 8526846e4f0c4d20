"""Webhook deliveries: received, recorded, and read.

In: HTTP requests from GitHub. Out: recorded deliveries; `Event` and `AppEvent` values with the facts.
A delivery is answered with 202 only when it is on disk. Only `receiver` does I/O; the rest is pure.
"""
