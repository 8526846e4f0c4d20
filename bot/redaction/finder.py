"""Finds the marks of many patterns in one pass, by Hyperscan."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct


class ShapeMark(Struct, frozen=True):
    """A pattern without look-around; its matches are reported by where they end."""

    pattern: str
    cased: bool = True


class ShapeFinder:
    """Finds where matches of marks end. The patterns are compiled when they are first needed: 0.3 s."""

    def __init__(self, marks: Sequence[ShapeMark]) -> None:
        self._marks = marks
        self._free: list[Any] = []  # scratch spaces, one for each scan under way in a thread

    def places(self, text: bytes) -> list[tuple[int, int]]:
        """Where matches end, and the number of the mark, in order. One match may be told several times."""
        found: list[tuple[int, int]] = []
        add = found.append

        def note(mark: int, _begin: int, end: int, _flags: int, _context: object) -> None:
            add((end, mark))

        database = self._database
        scratch = self._free.pop() if self._free else self._first_scratch.clone()
        try:
            database.scan(text, match_event_handler=note, scratch=scratch)
        finally:
            self._free.append(scratch)
        return found

    @cached_property
    def _database(self) -> Any:
        import hyperscan  # noqa: PLC0415 - costs memory and time, which short commands do not have

        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[mark.pattern.encode() for mark in self._marks],
            ids=list(range(len(self._marks))),
            flags=[0 if mark.cased else hyperscan.HS_FLAG_CASELESS for mark in self._marks],
        )
        return database

    @cached_property
    def _first_scratch(self) -> Any:
        import hyperscan  # noqa: PLC0415 - as above

        return hyperscan.Scratch(self._database)
