"""What a report is made from: the pull request, its cases, and the runs of both sides.

In:  runs and what was measured of them. Out: `Sides`, one for each case and variant. Pure.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.intake.pull import Pull
from bot.report.model import Acknowledgement, LastCommand, Progress, Skipped
from bot.runs.baseline import BaselineChoice, HeadChoice
from bot.runs.records import RunRecord
from bot.verdict.history import PastRun
from bot.verdict.judgement import Margins, MeasuredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A look at a case's data: its number, and a digest of the runs that it saw."""

    look: int
    runs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MainFailure:
    """A failed run on main: which one, at which commit, and how it failed."""

    run: str
    sha: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRuns:
    """One case in one variant: its runs, main's newest runs that were measured as the baseline was (oldest
    first), main's failed ones (newest first), the look before this one, the runs that were started and have
    not ended, or were lost, and how many of the head's were `stopped`. `other_devices` says which runs of
    either side are not used, because of what they ran on. `last_good` is when main's newest run
    with a steady step time began (Unix seconds), None where it has none."""

    case: str
    variant: str
    head: HeadChoice
    base: BaselineChoice
    history: tuple[PastRun, ...] = ()
    main_failures: tuple[MainFailure, ...] = ()
    looked: Looked | None = None
    unfinished: tuple[RunRecord, ...] = ()
    stopped: int = 0
    lost: tuple[RunRecord, ...] = ()
    began_after: str = "the push"
    left_out: str = ""
    other_devices: str = ""
    progress: Progress | None = None
    last_good: float | None = None

    @property
    def key(self) -> str:
        """`case/variant`."""
        return f"{self.case}/{self.variant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a report is made for and with; `made_at` in Unix seconds. A baseline is old where main has had no
    good run for `old_after_seconds`. `elsewhere` names, by fingerprint of a
    failure, the other open pull requests that have it.

    `labels` are those that start runs. `approval` is the command that lets the cases of `waiting`
    (`case/variant`) run, `withdrawn` says by whom a case was cancelled on this head."""

    pull: Pull
    merge_base: str | None
    made_at: float
    margins: Margins = Margins()
    variants: tuple[str, ...] = ()
    compares_variants: bool = False
    launches: bool = False
    commands: tuple[LastCommand, ...] = ()
    labels: tuple[str, ...] = ()
    approval: str = ""
    waiting: frozenset[str] = frozenset()
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    acknowledgements: tuple[Acknowledgement, ...] = ()
    problem: str | None = None
    skipped: tuple[Skipped, ...] = ()
    elsewhere: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    old_after_seconds: float = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Sides:
    """One case with what was measured on both sides, and the look at it that this report is."""

    runs: CaseRuns
    base: tuple[MeasuredRun, ...]
    head: tuple[MeasuredRun, ...]
    looked: Looked


def take_sides(case: CaseRuns, measured: Mapping[str, MeasuredRun]) -> Sides:
    """The case with its measurements; runs without one count as not there."""
    base = _measured(case.base.runs, measured)
    head = _measured(case.head.runs, measured)
    return Sides(case, base, head, _look(case, _which(case, measured)))


def _which(case: CaseRuns, measured: Mapping[str, MeasuredRun]) -> str:
    """A digest of the very runs that are compared: a new one in an old one's place is another look."""
    sides = (case.base.runs, case.head.runs)
    ids = [sorted(run.id for run in side if run.id in measured) for side in sides]
    return hashlib.sha256(repr(ids).encode()).hexdigest()[:16]


def _look(case: CaseRuns, runs: str) -> Looked:
    """The look that this report is: the same one as before on the same runs, else the next.

    While runs are under way nothing is read from the times, so that no look is spent.
    """
    before = case.looked
    if before is None:
        return Looked(look=1, runs=runs)
    if case.unfinished or before.runs == runs:
        return before
    return Looked(look=before.look + 1, runs=runs)


def _measured(runs: Sequence[RunRecord], measured: Mapping[str, MeasuredRun]) -> tuple[MeasuredRun, ...]:
    return tuple(measured[run.id] for run in runs if run.id in measured)
