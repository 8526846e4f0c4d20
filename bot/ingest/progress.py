"""How far the launched runs of a case are, and when all will have ended. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bot.domain.run import RunRecord, RunState
from bot.report.model import CaseProgress
from bot.report.wording import run_status_words
from bot.runs.eta import NO_TIME, DurationRange, remaining_time, silent_for, typical_duration
from bot.runs.run_status import TERMINAL_STATES, RunStatus

CaseVariant = tuple[str, str]
"""A case in a variant."""


class ProgressFacts(Struct, frozen=True, kw_only=True):
    """What we know of the launched runs of a pull request: the status of each by id, the ids of all open
    local runs in the order in which they run, and how many seconds earlier runs of each case took."""

    statuses: Mapping[str, RunStatus]
    local_queue: Sequence[str]
    durations: Mapping[CaseVariant, Sequence[float]]
    now: float


def case_progress(
    launched: Sequence[RunRecord], everything: Sequence[RunRecord], known: ProgressFacts
) -> CaseProgress | None:
    """The progress of one case's launched runs; `everything` are those of all cases, which may run first."""
    if not launched:
        return None
    open_runs = [run for run in launched if run.state not in TERMINAL_STATES]
    done = len(launched) - len(open_runs)
    shown = _run_to_show(open_runs or [run for run in launched if run.state is RunState.LOST], known)
    if shown is None:
        return CaseProgress(runs_done=done, runs_wanted=len(launched))
    return CaseProgress(
        step=shown.last_step if shown.state is RunState.RUNNING else None,
        steps=shown.expected_steps,
        runs_done=done,
        runs_wanted=len(launched),
        words=run_status_words(shown, known.now),
        note=shown.note,
        retrying=bool(shown.past) and shown.state is not RunState.RUNNING,
        left=_latest([_time_left(run, everything, known) for run in open_runs]) if open_runs else None,
    )


def _run_to_show(runs: Sequence[RunRecord], known: ProgressFacts) -> RunStatus | None:
    """The run whose status is shown: a silent one, else the furthest, else one that is retried."""
    statuses = [known.statuses[run.id] for run in runs if run.id in known.statuses]
    return max(statuses, key=lambda one: _rank(one, known.now), default=None)


def _rank(run: RunStatus, now: float) -> tuple[bool, bool, int, bool, bool, float]:
    running = run.state is RunState.RUNNING
    ahead = -float(run.queue_position) if run.queue_position is not None else 0.0
    step = (run.last_step or 0) if running else 0
    return silent_for(run, now) is not None, running, step, bool(run.past), bool(run.why), ahead


def _time_left(run: RunRecord, everything: Sequence[RunRecord], known: ProgressFacts) -> DurationRange | None:
    """Seconds until this run has ended. Local runs run one after another; the waiting time on a shared
    cluster is unknown."""
    if run.id not in known.local_queue:
        return _own_time(run, known) if run.state is RunState.RUNNING else None
    before = known.local_queue[: known.local_queue.index(run.id) + 1]
    named = {one.id: one for one in everything}
    spans = [_own_time(named[name], known) if name in named else None for name in before]
    total = NO_TIME
    for span in spans:
        if span is None:
            return None
        total = total + span
    return total


def _own_time(run: RunRecord, known: ProgressFacts) -> DurationRange | None:
    durations = known.durations.get((run.case, run.variant), ())
    status = known.statuses.get(run.id)
    if status is not None and status.state is RunState.RUNNING:
        return remaining_time(status, durations, known.now)
    return typical_duration(durations)


def _latest(spans: Sequence[DurationRange | None]) -> DurationRange | None:
    """Until the last one has ended; None if one of them is unknown."""
    together = NO_TIME
    for span in spans:
        if span is None:
            return None
        together = together.parallel(span)
    return together
