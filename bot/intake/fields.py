"""Reads single fields out of nested JSON, and names the one that is not as expected.

In:  a parsed JSON object. Out: text, numbers, flags, times and inner objects; `Told` names the field.

Nothing but `Told` is raised, whatever the JSON holds. Text is such that it can be written anywhere: what JSON
may carry and UTF-8 or PostgreSQL cannot (half a surrogate pair, NUL) reads as the replacement character.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from bot.errors import Told

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and the dotted path that leads to it; paths given to its methods start there."""

    values: Mapping[str, object]
    where: str = ""

    def find(self, path: str) -> object:
        """The value at a dotted path, or None where any part of the path is absent or null."""
        value: object = self.values
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def text(self, path: str) -> str:
        """A text, which may be empty."""
        value = self.find(path)
        if isinstance(value, str):
            return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        return self._refuse(path, "text")

    def text_or_none(self, path: str) -> str | None:
        """A text, or None where it is absent or null."""
        return None if self.find(path) is None else self.text(path)

    def number(self, path: str) -> int:
        """A whole number that is not negative."""
        value = self.find(path)
        right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return int(str(value)) if right else self._refuse(path, "a whole number")

    def number_or_none(self, path: str) -> int | None:
        """A whole number, or None where it is absent or null."""
        return None if self.find(path) is None else self.number(path)

    def flag(self, path: str) -> bool:
        """True or false; false where it is absent or null."""
        value = self.find(path)
        return value if isinstance(value, bool) else value is not None and self._refuse(path, "true or false")

    def time(self, path: str) -> float:
        """A moment in Unix seconds, written as ISO 8601 or as a number of seconds."""
        value = self.find(path)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e11:
            return float(value)
        if isinstance(value, str):
            moment = _moment(value)
            if moment is not None:
                return moment
        return self._refuse(path, "a time")

    def within(self, path: str) -> "Fields":
        """The object at a path."""
        value = self.find(path)
        if isinstance(value, Mapping):
            return Fields(value, self._full(path))
        return self._refuse(path, "an object")

    def each(self, path: str) -> tuple["Fields", ...]:
        """The objects of a list; none where it is absent or null."""
        value = self.find(path)
        if value is None:
            return ()
        if not isinstance(value, list):
            return self._refuse(path, "a list")
        if not all(isinstance(one, Mapping) for one in value):
            return self._refuse(path, "a list of objects")
        return tuple(Fields(one, f"{self._full(path)}[{at}]") for at, one in enumerate(value))

    def _full(self, path: str) -> str:
        return f"{self.where}.{path}" if self.where else path

    def _refuse(self, path: str, wanted: str) -> NoReturn:
        found = self.find(path)
        state = "is missing" if found is None else f"is not {wanted}"
        raise Told(f"the field {self._full(path)} {state}: GitHub gives {wanted} there")


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
