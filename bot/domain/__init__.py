"""Plain values that every room shares: repositories, pull requests, commits, runs, run requests, checks.

In: nothing. Out: frozen values and the text forms that belong to them.
One module for each kind of value. Imports no other room, does no I/O, reads no clock.
"""
