"""How far the runs of a case are, and when they will have ended.

In:  the runs that were launched for it, how they stand, how long its earlier runs took, the time.
Out: `Progress`. Pure; where nothing is known there is no time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.report.life_words import life_words
from bot.report.model import Progress
from bot.runs.eta import NOTHING, Span, remaining, silent_for, whole
from bot.runs.records import RunRecord, RunState
from bot.runs.standing import TERMINAL, RunStanding

Key = tuple[str, str]
"""A case in a variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of every launched run of a pull request: how each stands (by id), the ids of all open
    runs of this machine in the order of their turns, whoever wants them, and how many seconds earlier runs
    of each case took."""

    standings: Mapping[str, RunStanding]
    here: Sequence[str]
    durations: Mapping[Key, Sequence[float]]
    now: float


def progress(launched: Sequence[RunRecord], everything: Sequence[RunRecord], known: Known) -> Progress | None:
    """Of the runs launched for one case; `everything` are those of all cases, which may be before them."""
    if not launched:
        return None
    open_runs = [run for run in launched if run.state not in TERMINAL]
    done = len(launched) - len(open_runs)
    telling = _telling(open_runs or [run for run in launched if run.state is RunState.LOST], known)
    if telling is None:
        return Progress(runs_done=done, runs_wanted=len(launched))
    return Progress(
        step=telling.last_step if telling.state is RunState.RUNNING else None,
        steps=telling.expected_steps,
        runs_done=done,
        runs_wanted=len(launched),
        words=life_words(telling, known.now),
        note=telling.note,
        retrying=bool(telling.past) and telling.state is not RunState.RUNNING,
        left=_all([_left(run, everything, known) for run in open_runs]) if open_runs else None,
    )


def _telling(runs: Sequence[RunRecord], known: Known) -> RunStanding | None:
    """The run that says most: one that is silent, the one that is farthest, one that is tried again."""
    standings = [known.standings[run.id] for run in runs if run.id in known.standings]
    return max(standings, key=lambda one: _weight(one, known.now), default=None)


def _weight(run: RunStanding, now: float) -> tuple[bool, bool, int, bool, bool, float]:
    running = run.state is RunState.RUNNING
    ahead = -float(run.queue_place) if run.queue_place is not None else 0.0
    step = (run.last_step or 0) if running else 0
    return silent_for(run, now) is not None, running, step, bool(run.past), bool(run.why), ahead


def _left(run: RunRecord, everything: Sequence[RunRecord], known: Known) -> Span | None:
    """Seconds until this run has ended. On this machine one runs after another; how long a shared cluster
    lets a run wait for its turn nobody knows."""
    if run.id not in known.here:
        return _own(run, known) if run.state is RunState.RUNNING else None
    before = known.here[: known.here.index(run.id) + 1]
    named = {one.id: one for one in everything}
    spans = [_own(named[name], known) if name in named else None for name in before]
    total = NOTHING
    for span in spans:
        if span is None:
            return None
        total = total + span
    return total


def _own(run: RunRecord, known: Known) -> Span | None:
    durations = known.durations.get((run.case, run.variant), ())
    standing = known.standings.get(run.id)
    if standing is not None and standing.state is RunState.RUNNING:
        return remaining(standing, durations, known.now)
    return whole(durations)


def _all(spans: Sequence[Span | None]) -> Span | None:
    """Until the last of them has ended; None where one of them is not known."""
    together = NOTHING
    for span in spans:
        if span is None:
            return None
        together = together.beside(span)
    return together
