"""`--history SOURCE,SOURCE…`: main's earlier runs, which tell the noise of a case.

In:  the sources as typed, the runs of base. Out: `PastRun`s, oldest first; one line a run that is left out.
Promises: the server's rules: runs with a steady step time, measured under the conditions of base's newest
run; what a run of another workload would make incomparable is no history either.
"""

from collections.abc import Iterable, Sequence

from bot.cli.reading import runs_of
from bot.errors import Told
from bot.logs.facts import MarkKind, State
from bot.verdict.comparable import caveats
from bot.verdict.conditions import conditions
from bot.verdict.distinct import distinct
from bot.verdict.history import PastRun
from bot.verdict.judgement import MeasuredRun, Weight
from bot.verdict.timeline import first_mark


def earlier_runs(
    texts: Iterable[str], base: Sequence[MeasuredRun]
) -> tuple[tuple[PastRun, ...], tuple[str, ...]]:
    """Return main's runs, oldest first, and why others were left out. Raises `Told` for what is no log.

    Runs are ordered by the time at which they began, or as they were given where any log does not tell it.
    """
    names, runs = _read(texts)
    once, again = distinct(runs)
    notes = [f"{names[copy]} is the same run as {names[first]}: it counts once" for first, copy in again]
    kept: list[PastRun] = []
    for run in once:
        why = _left_out(run, base)
        if why:
            notes.append(f"{names[runs.index(run)]} is not in the history: {why}")
        elif run.measurements.steady.seconds is not None:
            kept.append(PastRun(seconds=run.measurements.steady.seconds, started=_began(run)))
    return _ordered(kept), tuple(notes)


def _read(texts: Iterable[str]) -> tuple[list[str], list[MeasuredRun]]:
    """Return every run of every source, with a name for each."""
    names: list[str] = []
    found: list[MeasuredRun] = []
    for source in (part for text in texts for part in text.split(",") if part.strip()):
        runs = runs_of(source)
        if all(run.log.outcome.state is State.NOT_A_TRAINING_LOG for run in runs):
            raise Told(f"{source} is not a training log, so that it is no history")
        found += runs
        names += [source if len(runs) == 1 else f"{source}#{run.log.run}" for run in runs]
    return names, found


def _left_out(run: MeasuredRun, base: Sequence[MeasuredRun]) -> str:
    if run.measurements.steady.seconds is None:
        return f"no steady step time: {run.measurements.steady.problem}"
    if not base:
        return ""
    like, own = conditions(base[-1]), conditions(run)
    if own != like:
        return f"measured on {own}, base on {like}"
    grave = [one for one in caveats([base[-1]], [run]) if one.weight is not Weight.NOTED]
    return f"another workload than base's: {grave[0].text or grave[0].field}" if grave else ""


def _began(run: MeasuredRun) -> float | None:
    mark = first_mark(run.log, MarkKind.START)
    if mark is not None and mark.time is not None:
        return mark.time
    return next((step.time for step in run.log.steps if step.time is not None), None)


def _ordered(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    if any(run.started is None for run in runs):
        return tuple(runs)
    return tuple(sorted(runs, key=lambda run: run.started or 0.0))
