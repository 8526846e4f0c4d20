"""A good answer of GitHub, and what is read out of it.

In:  httpx's response. Out: an `Answer`; then values in our own words, or `Broken` where
     it is not what we know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import httpx

from bot.errors import Broken, Told
from bot.github.errors import TROUBLE_SECONDS, TryLater
from bot.intake.fields import Fields

T = TypeVar("T")

UNCHANGED = 304


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A good answer: its status, its JSON (None where it has none), the query of the next page, and the tag
    that stands for its content."""

    asked: str
    status: int
    json: object
    following: Mapping[str, str] | None
    tag: str | None = None

    @property
    def unchanged(self) -> bool:
        """Whether the content is still what the tag of the question stood for."""
        return self.status == UNCHANGED

    def read(self, reader: Callable[[Fields], T]) -> T:
        """Read the JSON object; `Broken` where it is not what the reader expects."""
        return self._read(self.json, reader)

    def read_each(self, reader: Callable[[Fields], T], within: str | None = None) -> tuple[T, ...]:
        """Read a JSON list, or the list at `within` of the JSON object."""
        values = self.json if within is None else self.read(lambda fields: fields.find(within))
        if not isinstance(values, list):
            raise Broken(f"GitHub's answer to {self.asked} is not a list")
        return tuple(self._read(value, reader) for value in values)

    def _read(self, value: object, reader: Callable[[Fields], T]) -> T:
        if not isinstance(value, Mapping):
            raise Broken(f"GitHub's answer to {self.asked} is not an object")
        try:
            return reader(Fields(value))
        except Told as told:
            raise Broken(f"GitHub's answer to {self.asked}: {told.text}") from told


def read_answer(asked: str, response: httpx.Response) -> Answer:
    """Read a response whose status is good; `TryLater` where its body is cut or something else's."""
    try:
        json = response.json() if response.content else None
    except ValueError:
        text = f"GitHub's answer to {asked} is not JSON"
        raise TryLater(text, after=TROUBLE_SECONDS, may_have_acted=True) from None
    following = response.links.get("next", {}).get("url")
    return Answer(
        asked=asked,
        status=response.status_code,
        json=json,
        tag=response.headers.get("etag"),
        following=None if following is None else dict(httpx.URL(following).params),
    )
