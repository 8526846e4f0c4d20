"""How what somebody wrote in a configuration is shown and corrected in messages.

In:  untrusted text, and the words that would be valid. Out: clauses for people.
"""

import difflib
from collections.abc import Iterable

# The most that is shown of something somebody wrote.
LONGEST_QUOTE = 60


def quoted(text: str) -> str:
    """What somebody wrote, in quotes, cut, with nothing in it that a terminal obeys."""
    cut = text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
    return f"'{shown(cut)}'"


def shown(part: str | int) -> str:
    """A key or index, cut, with nothing in it that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "·" for letter in str(part)[: LONGEST_QUOTE + 1])


def nearest(written: str, valid: Iterable[str]) -> str:
    """The valid word that was probably meant, else all of them."""
    options = list(valid)
    near = difflib.get_close_matches(written.lower().replace("_", "-"), options, n=1)
    near = near or difflib.get_close_matches(written.lower().replace("-", "_"), options, n=1)
    return f"did you mean {near[0]}?" if near else f"valid are {any_of(options)}"


def any_of(options: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = options
    return f"{', '.join(most)} or {last}" if most else last
