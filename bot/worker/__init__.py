"""The durable part: claim what is due, move it one step, write the outcome, release the row.

In: rows of our tables (deliveries, pull requests, runs, main branch, merge queues, maintenance tasks).
Out: the same rows one step further; effects on GitHub and clusters on the way.
Promises: every step may be repeated and may die anywhere; one failing row never stops the others; no effect
outside happens after another process has taken the row.
"""
