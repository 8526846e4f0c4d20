"""What a log format consists of: rules for literals, what they match, and what they state.

A format is a `LogFormat` with one `LiteralRule` per kind of line. Its function gets a `Match` and yields
statements: `Step`, `Mark`, `Environment`, memory, and the classes of this module.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.facts import CallSite, CompiledMemory, DeviceMemory, Environment, Mark, Step
from bot.logs.failures import FailureClass
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
"""The `LogWarning` of a log that ends within a step line."""

LINES_BROKEN = (
    "Step lines are broken in the middle, as by a terminal's width: what stands behind a break was left out. "
    "Give the log as it was written."
)
"""The `LogWarning` of a log whose step lines were broken on a screen."""


class QuantityKind(StrEnum):
    """A number that a log states about the whole run."""

    PARAMETERS_BILLION = "parameters_billion"
    TFLOP_PER_STEP = "tflop_per_step"
    MAX_ALLOCATED_MB = "max_allocated_mb"
    EXPECTED_STEPS = "expected_steps"
    SAVE_INTERVAL = "save_interval"
    STEPS_PER_EPOCH = "steps_per_epoch"
    SAMPLES_PER_STEP = "samples_per_step"
    TOKENS_PER_SAMPLE = "tokens_per_sample"
    EPOCHS = "epochs"
    LOG_PERIOD = "log_period"
    METRICS_WRITTEN_TO = "metrics_written_to"
    STATED_MEAN_SECONDS = "stated_mean_seconds"


class Quantity(Struct, frozen=True, kw_only=True):
    """One number about the whole run."""

    kind: QuantityKind
    value: float


class UnfinishedStep(Struct, frozen=True, kw_only=True):
    """A step line that ends where the log ends: whole only if it has the fields of the step before it."""

    step: Step


class ProgramStarted(Struct, frozen=True, kw_only=True):
    """A program was started. `time` is Unix seconds."""

    time: float | None


class ProgramBanner(Struct, frozen=True, kw_only=True):
    """What a trainer prints as it starts: behind step lines another run, or the same one resumed, begins."""


class ProgramEnded(Struct, frozen=True, kw_only=True):
    """The started program ended."""

    time: float | None


class ExitCode(Struct, frozen=True, kw_only=True):
    """The program's exit code."""

    code: int


class ClaimedCommits(Struct, frozen=True, kw_only=True):
    """A page names the commits of the runs that follow, in their order."""

    commits: tuple[str, ...]


class StoppedEarly(Struct, frozen=True, kw_only=True):
    """The program says that it stops before its last step, and why."""

    reason: str
    preempted: bool = False


class Completed(Struct, frozen=True, kw_only=True):
    """The program says that it ended in good order."""


class LogWarning(Struct, frozen=True, kw_only=True):
    """Something that the reader of the report should know about this log."""

    text: str


class PossibleCause(Struct, frozen=True, kw_only=True):
    """Something that may have made the run fail.

    `echo`: it only reports that something else failed, elsewhere. `training`: only training programs print
    it. `log_format` is the format whose program prints it. The text covers bytes `offset` to `end`.
    `killed`: it says that something outside ended the process. `last_within`: a log of a program that no
    reader knows, in which no more bytes than these follow, shows that the program failed.
    """

    kind: FailureClass
    error: str
    where: str | None = None
    excerpt: str = ""
    fingerprint: str = ""
    time: float | None = None
    echo: bool = False
    training: bool = True
    killed: bool = False
    last_within: int | None = None
    log_format: str | None = None
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
    | ProgramBanner
    | ProgramEnded
    | ExitCode
    | ClaimedCommits
    | StoppedEarly
    | Completed
    | LogWarning
    | PossibleCause
)
"""What one place of a log states. Facts that `RunLog` holds as they are (steps, marks, …) are statements."""

Quantities = Mapping[QuantityKind, Collection[float]]
"""The numbers that a log has stated so far, each in the order stated."""

StatefulReader = Callable[[Step, Quantities], Step | None]
"""Completes a step line by the lines before it, where a line alone does not say enough.

It gets the step lines of one host in the order printed. `None`: the line is no new step.
"""


def first_quantity(quantities: Quantities, kind: QuantityKind) -> float | None:
    """The value that the log stated first."""
    return next(iter(quantities.get(kind, ())), None)


NUMBER = r"-?(?:nan|inf|\d{1,24}(?:\.\d{0,24})?(?:e[+-]?\d{1,3})?)"
"""A number as Python prints it."""

MATCH_WINDOW = 1536
"""Bytes decoded behind a literal: the longest step line seen has 700."""

# ESC [ 36 m     ESC ] 8 ; ; url BEL
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

RuleReader = Callable[["Match"], Iterable[Statement]]


class LiteralRule(Struct, frozen=True, kw_only=True):
    """A literal to search for, and the function that reads the line around it.

    `lead` is a regular expression for the part of the message in front of the literal. `lead_limit` is the
    most characters that it covers. `distinctive`: only this format prints the literal. `message` names the
    message, where its line number in the program identifies the code that ran.

    `sparse`: of many literals close together one is read for all.

    Two ways to read a frequent literal faster. `repeat_bytes`: this many bytes from the literal's first one
    on, with the line in front of them, decide what `read` yields; where those are facts that count once, the
    same bytes are not read again. `layout`: the layout of a step line, given the text from the literal on.
    """

    literal: bytes
    read: RuleReader
    lead: str = ""
    lead_limit: int | None = None
    distinctive: bool = False
    message: str | None = None
    sparse: bool = False
    repeat_bytes: int | None = None
    layout: Callable[[str], StepLayout | None] | None = None

    def lead_patterns(self) -> LeadPatterns:
        """The patterns of the text in front of the literal."""
        return lead_patterns(self.lead, self.lead_limit)


class Match:
    """A literal in one place of a log. Its texts hold no terminal codes and no NUL bytes.

    `frequent`: the literal was found so many times that its function should be brief. `dates` resolves the
    dates of this log.
    """

    __slots__ = ("_front", "_hit", "_lead", "_prefix", "_rule", "_text", "dates", "frequent")

    def __init__(
        self, hit: LiteralHit, rule: LiteralRule, lead: LeadPatterns, dates: DateResolver, *, frequent: bool
    ) -> None:
        self.frequent = frequent
        self.dates = dates
        self._text: str | None = None
        self._front: str | None = None
        self._prefix: LinePrefix | None = None
        self._hit = hit
        self._rule = rule
        self._lead = lead

    @property
    def offset(self) -> int:
        """The literal's byte in the inflated source."""
        return self._hit.offset

    @property
    def text(self) -> str:
        """The text from the literal on."""
        if self._text is None:
            self._text = self.after(MATCH_WINDOW)
        return self._text

    @property
    def front(self) -> str:
        """The text right in front of the literal."""
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
    def at_end(self) -> bool:
        """Whether `text` reaches the last byte of the source."""
        return self._hit.reaches_end(MATCH_WINDOW)

    @property
    def prefix(self) -> LinePrefix:
        """When and where this line was printed."""
        if self._prefix is None:
            self._prefix = self._read_prefix()
        return self._prefix

    def _read_prefix(self) -> LinePrefix:
        found = read_prefix(self.front, self._lead, self.dates)
        if found.time is None and '"' in self.front:
            entry = cloud_logging_prefix(self.before(2048), self.after(ENTRY_BYTES))
            if entry is not None:
                if entry.time is not None:
                    self.dates.see_date(entry.time)
                return entry
            time = cell_time(self.front, self.text)
            if time is not None:
                self.dates.see_date(time)
                return replace(found, time=time)
        return found

    @property
    def time(self) -> float | None:
        """The line's own time."""
        return self.prefix.time

    @property
    def call_sites(self) -> tuple[CallSite, ...]:
        """The line of the program that printed this, if it identifies the code; else nothing."""
        if self._rule.message is None or self.prefix.file is None:
            return ()
        return (CallSite(message=self._rule.message, file=self.prefix.file, line=self.prefix.line),)


def without_terminal_codes(text: str) -> str:
    """The text without terminal codes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


class LogFormat(Struct, frozen=True, kw_only=True):
    """One format of training logs.

    `per_host`: every host prints every step, so hosts must be distinguished. `first_step` is the number of a
    fresh run's first step. `correct_steps` corrects steps by the whole series. `stateful_reader` makes a
    `StatefulReader` for each host. `library`: its lines also occur in the logs of other trainers, whose own
    lines say more.
    """

    name: str
    rules: tuple[LiteralRule, ...]
    per_host: bool
    first_step: int
    correct_steps: Callable[[tuple[Step, ...]], tuple[Step, ...]] = tuple
    stateful_reader: Callable[[], StatefulReader] | None = None
    library: bool = False
