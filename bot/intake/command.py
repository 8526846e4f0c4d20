"""The commands that people give in comments.

In:  nothing. Out: one value for each command, `Unclear` for one that is not understood.

`bot.intake.grammar` reads them out of a comment, `bot.intake.meaning` says which cases they mean:

    /benchmark                                       the same as run
    /benchmark run [CASE…] [VARIANT] [--fresh]       no CASE: the whole suite; no VARIANT: all of them
    /benchmark rerun [CASE…|failed|all] [VARIANT]    nothing named: all; the same as run --fresh
    /benchmark cancel [CASE…] [VARIANT]
    /benchmark status
    /benchmark plan
    /benchmark baseline [REF]                        no REF: the commit that the head is compared with
    /benchmark approve SHA                           the head commit, in full
    /benchmark ack CASE [VARIANT] reason="…"
    /benchmark help

CASE is a name or a glob such as `03_*`. A command stands on its own line, indented by three spaces at most.
"""

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a command speaks of: the cases it names, those that failed, or all of the suite."""

    NAMED = "named"
    FAILED = "failed"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Measure these cases unless they are measured already. `words` are cases, globs, then variants."""

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Measure these cases again. `words` are cases, globs, then variants; only variants unless NAMED."""

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop measuring these cases on this head. `words` are cases, globs, then variants."""

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Say again how things stand."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Say what would run, and what it would cost."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Measure a commit of the base branch, to be compared with; no `ref` means the merge base."""

    text: str
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Let the code of a fork's head run; `sha` is how the head's commit begins, in lower case."""

    text: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """These cases' verdicts are known and accepted, for this reason. `words` name one case at least."""

    text: str
    words: tuple[str, ...]
    reason: str
    scope: Scope = Scope.NAMED


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """Say which commands there are."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A command that is not understood: one sentence why, and the nearest valid spelling.

    `text`, `why` and `nearest` hold what the person wrote, so all are untrusted.
    """

    text: str
    why: str
    nearest: str


OfCases = Run | Rerun | Cancel | Acknowledge
Command = OfCases | Status | Plan | Baseline | Approve | Help

VERBS = ("run", "rerun", "cancel", "status", "plan", "baseline", "approve", "ack", "help")
USAGE = (
    "/benchmark run [CASE…] [VARIANT] [--fresh]",
    "/benchmark rerun [CASE…|failed|all] [VARIANT]",
    "/benchmark cancel [CASE…] [VARIANT]",
    "/benchmark status",
    "/benchmark plan",
    "/benchmark baseline [REF]",
    "/benchmark approve SHA",
    '/benchmark ack CASE [VARIANT] reason="…"',
    "/benchmark help",
)
