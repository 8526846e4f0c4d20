"""Read a log where it is stored: window, colours, redaction, folds, search, side-by-side comparison.

In: a log's address, and a byte, a line or words. Out: lines ready to show.
Memory does not grow with the log, and public pages show only redacted text.
"""
