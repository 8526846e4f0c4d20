"""Which runs were submitted together: what the caller knows, else what their logs say."""

from msgspec import structs

from bot.logs.facts import RunLog
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from bot.verdict.submissions import SUBMISSION_GAP, run_timings, submission_names
from tests.verdict.made_runs import TPU, run_log


def _run(later: float = 0.0, workload: str | None = None, *, dated: bool = True) -> MeasuredRun:
    log: RunLog = run_log(environment=structs.replace(TPU, workload=workload))
    steps = tuple(structs.replace(step, time=(step.time or 0) + later) for step in log.steps)
    marks = tuple(structs.replace(mark, time=(mark.time or 0) + later) for mark in log.marks)
    return measure(structs.replace(log, steps=steps, marks=marks, dated=dated))


def _groups(*runs: MeasuredRun) -> int:
    return len(set(submission_names(runs)))


def test_runs_one_after_the_other_are_of_one_submission() -> None:
    """A job that repeats a run begins the next at once; one a day later is another."""
    assert _groups(_run(), _run(300), _run(600)) == 1
    assert _groups(_run(), _run(SUBMISSION_GAP + 1000), _run(86_400)) == 3


def test_another_workload_is_another_submission() -> None:
    """Even at the same time: it has a slice of its own."""
    assert _groups(_run(workload="mt-1"), _run(workload="mt-2"), _run(workload="mt-1")) == 2


def test_what_cannot_be_told_apart_counts_as_one() -> None:
    """Logs without a date, whose times mean nothing between runs."""
    assert submission_names([_run(dated=False), _run(90_000, dated=False)]) == (None, None)


def test_the_callers_word_comes_first() -> None:
    """Launches are submissions of their own, whatever their logs look like."""
    runs = [structs.replace(_run(), submission=name) for name in ("launch 1", "launch 2")]
    assert [one.submission for one in run_timings(runs)] == ["launch 1", "launch 2"]
