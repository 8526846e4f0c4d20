"""A small training program that prints MaxText's lines; the demonstration's repository is made of it.

In:  a configuration file and `key=value` arguments. Out: a log, and checkpoints under its output folder.
Promises: only the standard library; the same files give the same losses, digit for digit, on every machine.
"""
