"""One module for each log format, and `registry`, the table of all of them.

A new format is one module with its rules and one row of `registry.FORMATS`. `xpk` and `errors` hold the
rules that apply to a log of any format.
"""
