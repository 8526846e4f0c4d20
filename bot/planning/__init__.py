"""Decides which runs to have, what they are compared with, what they cost, and whether they may start.

In: configuration, recorded runs, verdicts, limits. Out: plans, choices, prices and holds with reasons.
Pure: no I/O, no clock. The same input gives the same plan.
"""
