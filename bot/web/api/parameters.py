"""Query parameters: their schemas, and one sentence about a value that does not fit.

The API description and the check read the same schemas. An empty value counts as none.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from msgspec import Struct

from bot.web.sanitize import sanitize

Schema = dict[str, object]
"""A JSON Schema as OpenAPI 3.1 uses it."""

SHOWN_CHARACTERS = 60
"""Characters of a rejected value that the message repeats."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter: where it is given, its meaning, and its schema; without one any text is valid."""

    name: str
    what: str
    where: str = "query"
    schema: Schema | None = None
    required: bool = False


def integer_schema(least: int, most: int) -> Schema:
    """An integer within these bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def find_problem(parameters: Sequence[Parameter], given: Iterable[tuple[str, str]]) -> str | None:
    """The first invalid value of a query in one sentence: which parameter, and what is possible."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        if value:
            values.setdefault(name, []).append(value)
    for one in parameters:
        texts = values.get(one.name, [])
        if len(texts) > 1:
            return f"{one.name} is given {len(texts)} times, and can be given once."
        if one.required and not texts:
            return f"{one.name} is needed: {one.what}"
        if texts and (possible := _what_is_possible(one.schema or {}, texts[0])):
            shown = sanitize(texts[0][:SHOWN_CHARACTERS]) + ("…" if len(texts[0]) > SHOWN_CHARACTERS else "")
            return f"{one.name} cannot be {shown}. {possible}. It means: {one.what}"
    return None


def _allowed_words(words: Sequence[str], value: str) -> str:
    if len(words) < 4:
        return f"Possible is {' or '.join(words)}"
    near = get_close_matches(value, words, n=1, cutoff=0.4)
    return (f"Did you mean {near[0]}? " if near else "") + f"Possible is one of {', '.join(words)}"


def _what_is_possible(schema: Schema, value: str) -> str | None:
    """What an invalid value could be instead; None if the value is valid."""
    match schema:
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
