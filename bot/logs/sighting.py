"""A literal of a format, and the place of a log where it was seen.

In:  a `Hit` of the scan, the `Needle` it belongs to, the calendar of the log.
Out: a `Sighting`, which a format reads; it decodes only what it is asked for.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bot.logs.almanac import Almanac
from bot.logs.cells import moment
from bot.logs.cloud import ENTRY, cloud_prefix
from bot.logs.facts import CallSite
from bot.logs.layout import Layout
from bot.logs.prefix import REACH, Lead, Prefix, lead_pattern, read_prefix
from bot.logs.scan import BEHIND, Hit
from bot.logs.statement import Statement

WINDOW = 1536
"""Bytes decoded behind a literal: the longest step line seen has 700."""

# ESC [ 36 m     ESC ] 8 ; ; url BEL
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

Reader = Callable[["Sighting"], Iterable[Statement]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """A literal worth stopping at, and who reads what stands there.

    `lead` is what of the message stands in front of the literal, as a regular expression, and `lead_most` the
    most characters that it covers, where it is tried at many places. `telling`: only this format prints it.
    `message` names it where its place in the program identifies the code that ran.

    `sparse`: where there are very many, one of those that stand close together is read for all.
    Two ways to be read faster where it is frequent. `again`: the bytes from the literal's first one on that
    decide, with the line in front of them, what its reader says; where that is a fact that counts once, the
    same words are not read again. `layout`, of a step line: the layout of a text from its literal on.
    """

    literal: bytes
    read: Reader
    lead: str = ""
    lead_most: int | None = None
    telling: bool = False
    message: str | None = None
    sparse: bool = False
    again: int | None = None
    layout: Callable[[str], Layout | None] | None = None


class Sighting:
    """One literal in one place. Texts are free of terminal codes and NUL bytes.

    `often`: this literal has been seen so many times that its reader should be brief.
    """

    __slots__ = ("_almanac", "_front", "_hit", "_lead", "_needle", "_prefix", "_text", "often")

    def __init__(self, hit: Hit, needle: Needle, lead: Lead, almanac: Almanac, *, often: bool) -> None:
        self.often = often
        self._text: str | None = None
        self._front: str | None = None
        self._prefix: Prefix | None = None
        self._hit = hit
        self._needle = needle
        self._lead = lead
        self._almanac = almanac

    @property
    def offset(self) -> int:
        """The literal's byte in the inflated source."""
        return self._hit.offset

    @property
    def almanac(self) -> Almanac:
        """The calendar of this log."""
        return self._almanac

    @property
    def text(self) -> str:
        """What begins with the literal."""
        if self._text is None:
            self._text = self.after(WINDOW)
        return self._text

    @property
    def front(self) -> str:
        """What stands right in front of the literal."""
        if self._front is None:
            self._front = self.before(REACH)
        return self._front

    def before(self, count: int) -> str:
        """Up to `count` bytes in front of the literal."""
        return plain(self._hit.before(min(count, BEHIND)))

    def after(self, count: int) -> str:
        """Up to `count` bytes from the literal on."""
        return plain(self._hit.after(count))

    @property
    def last(self) -> bool:
        """Whether `text` runs up to the last byte of the source."""
        return self._hit.reaches_end(WINDOW)

    @property
    def prefix(self) -> Prefix:
        """When and where this was printed."""
        if self._prefix is None:
            self._prefix = self._read_prefix()
        return self._prefix

    def _read_prefix(self) -> Prefix:
        found = read_prefix(self.front, self._lead, self._almanac)
        if found.time is None and '"' in self.front:
            cloud = cloud_prefix(self.before(2048), self.after(ENTRY))
            if cloud is not None:
                if cloud.time is not None:
                    self._almanac.anchor(cloud.time)
                return cloud
            dated = moment(self.front, self.text)
            if dated is not None:
                self._almanac.anchor(dated)
                return replace(found, time=dated)
        return found

    @property
    def time(self) -> float | None:
        """The line's own time."""
        return self.prefix.time

    @property
    def site(self) -> tuple[CallSite, ...]:
        """The line of the program that printed this, if that identifies it."""
        if self._needle.message is None or self.prefix.file is None:
            return ()
        return (CallSite(message=self._needle.message, file=self.prefix.file, line=self.prefix.line),)


def plain(text: str) -> str:
    """The text without terminal codes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def lead_of(needle: Needle) -> Lead:
    """The pattern of what may stand in front of this needle's literal."""
    return lead_pattern(needle.lead, needle.lead_most)
