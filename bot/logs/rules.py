"""What a log format consists of: rules for literals, what they match, and what they state.

A format is a `LogFormat` with one `LiteralRule` per kind of line. Its function gets a `Match` and yields
statements: `Step`, `Mark`, `Environment`, memory, and the classes of this module.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.logs.facts import CallSite, CompiledMemory, DeviceMemory, Environment, Mark, Step
from bot.logs.prefixes import (
    ENTRY_BYTES,
    PREFIX_LENGTH,
    DateResolver,
    LeadPatterns,
    LinePrefix,
    cell_time,
    cloud_logging_prefix,
    lead_patterns,
    read_prefix,
)
from bot.logs.scanner import BYTES_BEFORE, LiteralHit
from bot.logs.steps import StepLayout

RECORD_CUT = "The last record of the log is cut off in the middle: it was left out."
"""The `Doubt` of a log that ends within a step line."""

LINES_BROKEN = (
    "Step lines are broken in the middle, as by a terminal's width: what stands behind a break was left out. "
    "Give the log as it was written."
)
"""The `Doubt` of a log whose step lines were broken on a screen."""


class QuantityKind(StrEnum):
    """A number that a log states once, about the whole run."""

    PARAMETERS_BILLION = "parameters_billion"
    TFLOP_PER_STEP = "tflop_per_step"
    MAX_ALLOCATED_MB = "max_allocated_mb"
    EXPECTED_STEPS = "expected_steps"
    SAVE_INTERVAL = "save_interval"
    STEPS_PER_EPOCH = "steps_per_epoch"
    SAMPLES_PER_STEP = "samples_per_step"
    TOKENS_PER_SAMPLE = "tokens_per_sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedStep:
    """A step line that ends where the log ends: whole only if it states as much as the one before it."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One such number."""

    figure: QuantityKind
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStarted:
    """The frame opens: a program was started. `time` is Unix seconds."""

    time: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnded:
    """The frame closes."""

    time: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCode:
    """The program's exit code."""

    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedCommits:
    """A page says which commits the runs that follow measured, in their order."""

    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedEarly:
    """The program says that it stops before its last step, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The program says that it has come to its orderly end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWarning:
    """Something that the reader of the report should know about this log."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleCause:
    """Something that may have made the run fail.

    `echo`: it only says that something else failed, elsewhere. `training`: no other kind of program says it.
    `form` is the format whose program says it, `time` that of its line. Its text reaches from byte `offset`
    to `end`.
    """

    kind: str
    error: str
    where: str | None = None
    excerpt: str = ""
    fingerprint: str = ""
    time: float | None = None
    echo: bool = False
    training: bool = True
    form: str | None = None
    offset: int = 0
    end: int = 0


Statement = (
    Step
    | UnfinishedStep
    | CallSite
    | Mark
    | Environment
    | DeviceMemory
    | CompiledMemory
    | Quantity
    | ProgramStarted
    | ProgramEnded
    | ExitCode
    | ClaimedCommits
    | StoppedEarly
    | Completed
    | LogWarning
    | PossibleCause
)

Quantities = Mapping[QuantityKind, Collection[float]]

StatefulReader = Callable[[Step, Quantities], Step | None]


def first_quantity(figures: Quantities, wanted: QuantityKind) -> float | None:
    """What the log first stated of a figure."""
    return next(iter(figures.get(wanted, ())), None)


MATCH_WINDOW = 1536
"""Bytes decoded behind a literal: the longest step line seen has 700."""

# ESC [ 36 m     ESC ] 8 ; ; url BEL
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

RuleReader = Callable[["Match"], Iterable[Statement]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralRule:
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
    read: RuleReader
    lead: str = ""
    lead_most: int | None = None
    telling: bool = False
    message: str | None = None
    sparse: bool = False
    again: int | None = None
    layout: Callable[[str], StepLayout | None] | None = None


class Match:
    """One literal in one place. Texts are free of terminal codes and NUL bytes.

    `often`: this literal has been seen so many times that its reader should be brief.
    """

    __slots__ = ("_almanac", "_front", "_hit", "_lead", "_needle", "_prefix", "_text", "often")

    def __init__(
        self, hit: LiteralHit, needle: LiteralRule, lead: LeadPatterns, almanac: DateResolver, *, often: bool
    ) -> None:
        self.often = often
        self._text: str | None = None
        self._front: str | None = None
        self._prefix: LinePrefix | None = None
        self._hit = hit
        self._needle = needle
        self._lead = lead
        self._almanac = almanac

    @property
    def offset(self) -> int:
        """The literal's byte in the inflated source."""
        return self._hit.offset

    @property
    def almanac(self) -> DateResolver:
        """The calendar of this log."""
        return self._almanac

    @property
    def text(self) -> str:
        """What begins with the literal."""
        if self._text is None:
            self._text = self.after(MATCH_WINDOW)
        return self._text

    @property
    def front(self) -> str:
        """What stands right in front of the literal."""
        if self._front is None:
            self._front = self.before(PREFIX_LENGTH)
        return self._front

    def before(self, count: int) -> str:
        """Up to `count` bytes in front of the literal."""
        return without_terminal_codes(self._hit.before(min(count, BYTES_BEFORE)))

    def after(self, count: int) -> str:
        """Up to `count` bytes from the literal on."""
        return without_terminal_codes(self._hit.after(count))

    @property
    def last(self) -> bool:
        """Whether `text` runs up to the last byte of the source."""
        return self._hit.reaches_end(MATCH_WINDOW)

    @property
    def prefix(self) -> LinePrefix:
        """When and where this was printed."""
        if self._prefix is None:
            self._prefix = self._read_prefix()
        return self._prefix

    def _read_prefix(self) -> LinePrefix:
        found = read_prefix(self.front, self._lead, self._almanac)
        if found.time is None and '"' in self.front:
            cloud = cloud_logging_prefix(self.before(2048), self.after(ENTRY_BYTES))
            if cloud is not None:
                if cloud.time is not None:
                    self._almanac.anchor(cloud.time)
                return cloud
            dated = cell_time(self.front, self.text)
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


def without_terminal_codes(text: str) -> str:
    """The text without terminal codes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def rule_lead(needle: LiteralRule) -> LeadPatterns:
    """The pattern of what may stand in front of this needle's literal."""
    return lead_patterns(needle.lead, needle.lead_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """`per_host`: every host prints every step, so hosts must be told apart. `first_step` is what a fresh
    run counts from. `settle` corrects steps by what only the whole series tells; `follow` makes, for each
    host, what completes a step line by the lines before it. `library`: its lines also stand in the logs of
    other trainers, whose own lines say more."""

    name: str
    needles: tuple[LiteralRule, ...]
    per_host: bool
    first_step: int
    settle: Callable[[tuple[Step, ...]], tuple[Step, ...]] = tuple
    follow: Callable[[], StatefulReader] | None = None
    library: bool = False
