"""Query parameters: their schemas, and one sentence about a value that does not fit.

The API description and the check read the same schemas. An empty value counts as none.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from msgspec import Struct

from bot.web.api.shapes import Schema
from bot.web.sanitize import sanitize

SHOWN_CHARACTERS = 60
"""Characters of a value that are repeated to who gave it."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter: where it stands and what it means."""

    name: str
    what: str
    where: str = "query"
    shape: Schema | None = None
    needed: bool = False


def integer_schema(least: int, most: int) -> Schema:
    """A whole number of these bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def find_problem(asked: Sequence[Parameter], given: Iterable[tuple[str, str]]) -> str | None:
    """The first thing that is wrong with the values of a query: which parameter, and what it can be."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        if value:
            values.setdefault(name, []).append(value)
    for one in asked:
        its = values.get(one.name, [])
        if len(its) > 1:
            return f"{one.name} is given {len(its)} times, and can be given once."
        if one.needed and not its:
            return f"{one.name} is needed: {one.what}"
        if its and (possible := _why_impossible(one.shape or {}, its[0])):
            shown = sanitize(its[0][:SHOWN_CHARACTERS]) + ("…" if len(its[0]) > SHOWN_CHARACTERS else "")
            return f"{one.name} cannot be {shown}. {possible}. It means: {one.what}"
    return None


def _allowed_words(words: Sequence[str], value: str) -> str:
    if len(words) < 4:
        return f"Possible is {' or '.join(words)}"
    near = get_close_matches(value, words, n=1, cutoff=0.4)
    return (f"Did you mean {near[0]}? " if near else "") + f"Possible is one of {', '.join(words)}"


def _why_impossible(shape: Schema, value: str) -> str | None:
    """What a value could be instead, in words; None where it is possible."""
    match shape:
        case {"enum": [*words]}:
            return None if value in words else _allowed_words(list(map(str, words)), value)
        case {"type": "integer", "minimum": int(least), "maximum": int(most)}:
            fits = re.fullmatch(r"[0-9]{1,19}", value) and least <= int(value) <= most
            return None if fits else f"Possible is a whole number from {least} to {most}"
        case {"pattern": str(pattern), "description": str(words)}:
            return None if re.search(pattern, value) else f"Possible is {words}"
        case {"maxLength": int(most)}:
            return None if len(value) <= most else f"Possible is a text of at most {most} characters"
        case _:
            return None
