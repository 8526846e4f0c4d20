"""The runs of a case on main over time: which of them tell today's noise, and where main moved.

In:  `PastRun`s of one case key, oldest first. Out: the `Past` that a report names, `Shift`s of main.
Promises: pure; the runs named are exactly those that the noise was measured from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

from bot.verdict.change_points import change_points
from bot.verdict.noise import sift


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One ended run on main: its steady step time, its commit, and when it began (Unix seconds)."""

    seconds: float
    sha: str | None = None
    started: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Main moved: `change` is ln(after/before) of the mean levels, `at` the commit of the first run on the
    new level and `before` that of the last run on the old one: the commits from `before` to `at` did it.
    `runs_before` and `runs_after` lie on these levels; `started` is when the first of the new ones began.
    """

    change: float
    at: str | None
    before: str | None
    runs_before: int
    runs_after: int
    started: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The main runs that a noise was measured from: how many, when the oldest began (Unix seconds), and
    the change of main's level that they follow, if there was one."""

    runs: int
    oldest_started: float | None = None
    follows: Shift | None = None


def past(runs: Sequence[PastRun]) -> Past:
    """The runs, oldest first, that tell the noise between runs today; none where they are too few."""
    used = [runs[place] for place in sift([run.seconds for run in runs]).used]
    started = [run.started for run in used if run.started is not None]
    return Past(
        runs=len(used),
        oldest_started=min(started, default=None),
        follows=next(iter(reversed(shifts(runs))), None) if used else None,
    )


def shifts(runs: Sequence[PastRun]) -> tuple[Shift, ...]:
    """The changes of level in the runs of one case key on main, oldest first."""
    places = change_points([run.seconds for run in runs])
    bounds = [0, *places, len(runs)]
    return tuple(
        _shift(runs[start:middle], runs[middle:end])
        for start, middle, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
    )


def _shift(before: Sequence[PastRun], after: Sequence[PastRun]) -> Shift:
    levels = [fmean(log(run.seconds) for run in level) for level in (before, after)]
    return Shift(
        change=levels[1] - levels[0],
        at=after[0].sha,
        before=before[-1].sha,
        runs_before=len(before),
        runs_after=len(after),
        started=after[0].started,
    )
