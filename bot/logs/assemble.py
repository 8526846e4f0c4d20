"""Puts runs together from the episodes of a log: attempts, hosts, the measured one, its outcome.

In:  `Episode`s in the order of the log.
Out: `RunLog`s.
"""

from dataclasses import replace

from bot.logs.almanac import UNDATED, in_year
from bot.logs.collector import Collector, Host
from bot.logs.episode import Episode
from bot.logs.facts import Mark, MarkKind, Outcome, RunLog, State, Step
from bot.logs.grouping import chosen, grouped
from bot.logs.hosts import compiled, environment, measured, memory, memory_most, warnings_of
from bot.logs.inflate import CORRUPT
from bot.logs.outcome import outcome
from bot.logs.statement import Figure
from bot.logs.track import Track


def assemble(
    episodes: list[Episode], source: str, year: int | None, complaint: str | None
) -> tuple[RunLog, ...]:
    """One `RunLog` per run; a source without any gets one that says so."""
    groups = grouped(episodes)
    return tuple(
        _run_log(group, source, n, year, complaint if n == len(groups) else None)
        for n, group in enumerate(groups, start=1)
    )


def nothing(source: str, why: str, complaint: str | None) -> RunLog:
    """The answer for a source that holds no training log."""
    warnings = (why,) if complaint is None else (complaint, why)
    state = State.NOT_A_TRAINING_LOG
    return RunLog(source=source, run=1, format=None, outcome=Outcome(state=state), warnings=warnings)


def _run_log(group: list[Episode], source: str, run: int, year: int | None, complaint: str | None) -> RunLog:
    episode = group[-1]
    collector = chosen(episode)
    host, hosts, doubts = measured(collector)
    marks = _marks(episode, collector, host, year)
    known = host.track
    steps = tuple(_dated(step, year) for step in known.steps())
    settled = collector.form.settle(steps) if collector else steps
    said = environment(collector, host)
    commit = next((e.commit for e in reversed(group) if e.commit), None)
    return RunLog(
        source=source,
        run=run,
        format=_format(episode, collector),
        outcome=outcome(
            episode, collector, known, marks, intact=complaint is None, sound=complaint != CORRUPT
        ),
        attempts=len(group),
        hosts=hosts,
        dated=any(
            time is not None and time >= UNDATED
            for time in (*(mark.time for mark in marks), *(step.time for step in (*steps[:1], *steps[-1:])))
        ),
        steps=settled,
        steps_seen=known.seen,
        mean_seconds_after_first=_mean(known, steps, settled),
        marks=marks,
        environment=replace(said, commit=commit),
        parameters_billion=_quantity(collector, Figure.PARAMETERS_BILLION),
        tflop_per_step=_quantity(collector, Figure.TFLOP_PER_STEP),
        memory=memory(collector, host),
        memory_most=memory_most(collector, host),
        compiled_memory=compiled(collector, host),
        max_allocated_mb=_largest(collector, Figure.MAX_ALLOCATED_MB),
        warnings=warnings_of(group, known, doubts, complaint),
    )


def _format(episode: Episode, collector: Collector | None) -> str | None:
    """By its own lines; a run that failed before printing any by the program in its traceback."""
    if collector and collector.telling:
        return collector.form.name
    return next((trouble.form for trouble, _ in episode.troubles if trouble.form), None)


def _dated(step: Step, year: int | None) -> Step:
    if year is None or step.time is None or step.time >= UNDATED:
        return step
    return replace(step, time=in_year(step.time, year))


def _marks(episode: Episode, collector: Collector | None, host: Host, year: int | None) -> tuple[Mark, ...]:
    """The frame's marks, the measured host's, and those that no host can be told for."""
    marks = [*_frame_marks(episode), *host.marks()]
    nobody = collector.hosts.get("") if collector else None
    if nobody is not None and nobody is not host:
        marks += nobody.marks()
    marks.sort(key=lambda mark: mark.offset)
    if year is not None:
        marks = [m if m.time is None else replace(m, time=in_year(m.time, year)) for m in marks]
    newest_first = len(marks) > 1 and marks[-1].kind is MarkKind.START
    return tuple(reversed(marks) if newest_first else marks)


def _frame_marks(episode: Episode) -> list[Mark]:
    """The first start and the last end: interleaved hosts each have their own."""
    starts = [mark for mark in episode.frame_marks if mark.kind is MarkKind.START]
    ends = [mark for mark in episode.frame_marks if mark.kind is MarkKind.END]
    return [*starts[:1], *ends[-1:]]


def _mean(track: Track, steps: tuple[Step, ...], settled: tuple[Step, ...]) -> float | None:
    """The mean of all printed seconds but the first line's, without those that turned out no samples."""
    total, count = track.seconds_sum, track.seconds_count
    for before, after in zip(steps[1:], settled[1:], strict=True):
        if before.seconds is not None and after.seconds is None:
            total, count = total - before.seconds, count - 1
    return total / count if count else None


def _quantity(collector: Collector | None, figure: Figure) -> float | None:
    return next(iter(collector.quantities.get(figure, ())), None) if collector else None


def _largest(collector: Collector | None, figure: Figure) -> float | None:
    return max(collector.quantities.get(figure, ()), default=None) if collector else None
