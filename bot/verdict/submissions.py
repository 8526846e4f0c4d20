"""Which runs were submitted together, and so are not independent.

Repeats on one slice share its speed: with 0.6 % between submissions and 0.05 % within, three repeats that are
taken for three runs flag 29 % of harmless changes. What the caller knows (`MeasuredRun.submission`) comes
first. Else the log decides: another workload is another submission, and so is a run that began long after the
one before it had ended. What cannot be told apart counts as one.
"""

from collections.abc import Sequence

from bot.verdict.judgement import MeasuredRun, RunTiming

SUBMISSION_GAP = 1800.0
"""Seconds between the end of a run and the start of the next from which they are taken for two submissions: a
job that repeats a run begins the next at once; half an hour is more than any set-up in the logs at hand."""


def run_timings(runs: Sequence[MeasuredRun]) -> tuple[RunTiming, ...]:
    """Return what is judged of each run, with the submission that it counts for."""
    names = submission_names(runs)
    return tuple(
        RunTiming(steady=run.measurements.steady, loop=run.measurements.loop, submission=name)
        for run, name in zip(runs, names, strict=True)
    )


def submission_names(runs: Sequence[MeasuredRun]) -> tuple[str | None, ...]:
    """Return a name for the submission of each run, equal for those that may have been submitted together."""
    clusters = _clusters_by_time(runs)
    return tuple(
        run.submission or _named_by_log(run, cluster) for run, cluster in zip(runs, clusters, strict=True)
    )


def _named_by_log(run: MeasuredRun, cluster: int | None) -> str | None:
    workload = run.log.environment.workload
    if workload is None and cluster is None:
        return None
    return f"workload {workload} at {cluster}"


def _clusters_by_time(runs: Sequence[MeasuredRun]) -> list[int | None]:
    """Number the runs by when they ran: a new number where one began long after all before it had ended."""
    return cluster_spans([_span(run) for run in runs])


def cluster_spans(known: Sequence[tuple[float, float] | None]) -> list[int | None]:
    """Number spans of time (Unix seconds), a new number where one begins long after all before it ended; None
    for those that are unknown."""
    found: list[int | None] = [None] * len(known)
    spans = [(span, place) for place, span in enumerate(known) if span is not None]
    number, latest = 0, None
    for (start, end), place in sorted(spans):
        if latest is not None and start - latest > SUBMISSION_GAP:
            number += 1
        latest = end if latest is None else max(latest, end)
        found[place] = number
    return found


def _span(run: MeasuredRun) -> tuple[float, float] | None:
    """Return when the first and the last stamped moment of a run were; None where its log states no date."""
    if not run.log.dated:
        return None
    ends = (*run.log.steps[:1], *run.log.steps[-1:])
    stamps = (*(mark.time for mark in run.log.marks), *(step.time for step in ends))
    times = [time for time in stamps if time is not None]
    return (min(times), max(times)) if times else None
