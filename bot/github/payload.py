"""Reads single fields out of GitHub's JSON, and names the field that is not as expected.

Raises nothing but a `UserError` that names the field, whatever the JSON holds. Text that UTF-8 or
PostgreSQL cannot hold (half a surrogate pair, NUL) reads as the replacement character.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from bot.domain.repository import GHOST, Person, Repository
from bot.errors import UserError

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class JsonFields:
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
            moment = _parse_time(value)
            if moment is not None:
                return moment
        return self._refuse(path, "a time")

    def within(self, path: str) -> "JsonFields":
        """The object at a path."""
        value = self.find(path)
        if isinstance(value, Mapping):
            return JsonFields(value, self._full(path))
        return self._refuse(path, "an object")

    def each(self, path: str) -> tuple["JsonFields", ...]:
        """The objects of a list; none where it is absent or null."""
        value = self.find(path)
        if value is None:
            return ()
        if not isinstance(value, list):
            return self._refuse(path, "a list")
        if not all(isinstance(one, Mapping) for one in value):
            return self._refuse(path, "a list of objects")
        return tuple(JsonFields(one, f"{self._full(path)}[{at}]") for at, one in enumerate(value))

    def _full(self, path: str) -> str:
        return f"{self.where}.{path}" if self.where else path

    def _refuse(self, path: str, wanted: str) -> NoReturn:
        found = self.find(path)
        state = "is missing" if found is None else f"is not {wanted}"
        raise UserError(f"the field {self._full(path)} {state}: GitHub gives {wanted} there")


def _parse_time(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def read_person(fields: JsonFields, path: str) -> Person:
    """Read an account; null means a deleted one."""
    if fields.find(path) is None:
        return GHOST
    person = fields.within(path)
    login = person.text("login")
    is_bot = person.find("type") == "Bot" or login.endswith("[bot]")
    return Person(login=login, id=person.number("id"), is_bot=is_bot)


def read_repository(fields: JsonFields, installation: int) -> Repository:
    """Read a repository object, full or short."""
    return Repository(
        full_name=fields.text("full_name"),
        installation=installation,
        default_branch=fields.text_or_none("default_branch"),
        private=fields.flag("private"),
        id=fields.number_or_none("id"),
    )
