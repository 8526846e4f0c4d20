"""Tells whether two logs are of one run: a run that is given twice says nothing about the noise between runs.

In:  measured runs of one side. Out: each run once, and which others were the same.
Promises: only what the logs state counts, not their names nor how they were packed; two runs whose step
lines differ in anything printed are two runs.
"""

from collections.abc import Sequence
from dataclasses import replace

from bot.logs.facts import RunLog
from bot.verdict.judgement import MeasuredRun


def distinct(runs: Sequence[MeasuredRun]) -> tuple[tuple[MeasuredRun, ...], tuple[tuple[int, int], ...]]:
    """Return the runs without repetitions, and the places `(first, again)` of those left out."""
    if len(runs) < 2:  # the usual case, and long logs make long texts
        return tuple(runs), ()
    first: dict[str, int] = {}
    again: list[tuple[int, int]] = []
    for place, run in enumerate(runs):
        earlier = first.setdefault(_content(run.log), place)
        if earlier != place:
            again.append((earlier, place))
    return tuple(runs[place] for place in first.values()), tuple(again)


def _content(log: RunLog) -> str:
    """Return what a run printed: its step lines, or all facts where there are none; as text, since NaN is
    not equal to itself."""
    if log.steps:
        return repr([replace(step, offset=0) for step in log.steps])
    return repr(replace(log, source="", run=1))
