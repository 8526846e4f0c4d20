"""The only two ways in which foreign text enters a comment: redacted first, then escaped.

In:  text of logs, branches, titles, commands and configuration.
Out: Markdown that shows it and does nothing.
"""

from bot.report import escape
from bot.report.redact import redacted

LONGEST_NAME = 80  # characters of a case, branch or field that are shown; the page has the rest
LONGEST_ERROR = 300
LONGEST_REASON = 160  # of a reason beside a verdict; the page has the rest


def said(value: str, limit: int = LONGEST_NAME) -> str:
    """Foreign text as running text."""
    return escape.text(redacted(value), limit)


def quoted(value: str, limit: int = LONGEST_NAME) -> str:
    """Foreign text as a code span."""
    return escape.code(redacted(value), limit)


def tagged(value: str, limit: int = LONGEST_NAME) -> str:
    """Foreign text inside our own HTML tags."""
    return escape.html(redacted(value), limit)
