"""MaxView: did this change make training slower, change its numbers, or break a case?"""

__version__ = "0.1.0"
