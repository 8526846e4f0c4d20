"""What head was held against in a decision on step time.

In:  nothing. Out: `Standing`.
"""

from enum import StrEnum


class Standing(StrEnum):
    """Base's runs alone, main's beside them, or base's alone because main's contradict them."""

    BASE = "base"
    MAIN = "main"
    DISPUTED = "disputed"
