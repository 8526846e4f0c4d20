"""The played runs look like the real ones, as values and as text."""

from dataclasses import replace
from itertools import pairwise
from statistics import fmean, stdev

import pytest

from bot.logs.facts import RunLog
from bot.logs.reader import read_log
from bot.verdict.judgement import Measurements, SecondsDialect
from bot.verdict.measure import measure
from tests.log_writers.maxtext import maxtext_log
from tests.verdictbench.simulation import BY_NAME, KINDS, Case, Kind, Written, run_log, seeded, student_draw
from tests.verdictbench.stores import CASES, case_of, stored_runs

CHECKED = 12


def _play(kind: Kind, number: int, factor: float = 1.0) -> RunLog:
    return run_log(Case(kind=kind, stall=23.0), factor=factor, draws=seeded("test", kind.name, number))


def _gaps(run: RunLog) -> list[float]:
    return [(after.time or 0) - (before.time or 0) for before, after in pairwise(run.steps)]


def _written(run: RunLog) -> RunLog:
    """The same run, written as text by the tests' writer and read back by the product."""
    gaps = _gaps(run)
    wait = 60.0 if gaps[-1] > 60 else 0.0
    gaps[-1] -= wait + 0.001 if wait else 0.0
    text = maxtext_log(
        steps=[0.0, *gaps],
        printed=[step.seconds or 0.001 for step in run.steps],
        stall=0,
        checkpoints=bool(wait),
        final_wait=wait,
        tflop_per_step=13.587,
        losses=[step.loss or 0.0 for step in run.steps],
    )
    (found,) = read_log([text.encode()], "made.log")
    return found


def _figures(of: Measurements) -> list[float | None]:
    return [of.steady.seconds, of.steady.se]


@pytest.mark.parametrize("written", [Written.DISPATCH, Written.FLUSH])
@pytest.mark.parametrize("name", ["tpu", "tpu-short", "gpu"])
def test_a_run_measures_the_same_through_its_text(name: str, written: Written) -> None:
    """Written by the tests' writer, read by the product's reader: the same steps, times and steady state."""
    kind = replace(BY_NAME[name], written=written)
    for number in range(CHECKED):
        run = _play(kind, number)
        direct, through = measure(run).measurements, measure(_written(run)).measurements
        assert direct.steady.kept_steps == through.steady.kept_steps
        assert _figures(direct) == pytest.approx(_figures(through), rel=0.02)
        assert direct.steady.seconds == pytest.approx(through.steady.seconds, rel=1e-4)
        assert direct.avg_step_seconds == pytest.approx(through.avg_step_seconds, rel=1e-3)
        assert direct.dialect == through.dialect


def test_the_dialect_is_the_one_that_was_played() -> None:
    """The product tells a dispatch clock from a flush clock by the stall."""
    for written, dialect in (
        (Written.DISPATCH, SecondsDialect.DISPATCH),
        (Written.FLUSH, SecondsDialect.FLUSH),
    ):
        kind = replace(BY_NAME["tpu"], written=written)
        found = {measure(_play(kind, number)).measurements.dialect for number in range(CHECKED)}
        assert found == {dialect}


def test_a_stall_on_process_0_is_followed_by_a_catch_up_read() -> None:
    """Seed 001: 23.258 s, then 0.009 s; from another process the device itself was held up."""
    for number in range(CHECKED):
        run = _play(BY_NAME["tpu"], number)
        gaps = _gaps(run)[:-1]
        stalled = max(range(len(gaps)), key=gaps.__getitem__)
        caught_up = gaps[stalled + 1] < 0.02
        assert 15 < gaps[stalled] < 35
        assert caught_up == (run.environment.process == 0)


def test_dispatched_seconds_are_those_of_two_lines_before() -> None:
    """`seconds[n]` is the gap of the lines n - 2 and n - 3, give or take the dispatch."""
    run = _play(BY_NAME["tpu"], 3)
    gaps = _gaps(run)
    assert [step.seconds for step in run.steps[10:]] == pytest.approx(gaps[7:17], abs=0.006)


def test_the_last_line_waits_for_the_final_checkpoint() -> None:
    """64 to 91 s in the seeds."""
    assert all(64 <= _gaps(_play(BY_NAME["tpu"], number))[-1] < 92 for number in range(CHECKED))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_steady_time_is_the_true_one(kind: Kind) -> None:
    """Undisturbed by stalls and reads: the median over runs is the kind's step within 1.5 %."""
    quiet = replace(kind, between=0.0, slow_share=0.0, glitch_share=0.0)
    found = [measure(_play(quiet, number, 1.05)).measurements.steady.seconds for number in range(40)]
    known = sorted(seconds for seconds in found if seconds is not None)
    assert len(known) >= 36
    assert known[len(known) // 2] == pytest.approx(1.05 * kind.step_seconds, rel=0.015)


def test_the_spreads_are_the_measured_ones() -> None:
    """Steady time 0.15 %, and at ten steps a printed mean of 3.2 %, as on the public pages."""
    steady = [
        run.clean for index in range(CASES) for run in stored_runs(BY_NAME["tpu"], index, 100) if run.clean
    ]
    assert stdev(steady) / fmean(steady) == pytest.approx(0.0015, rel=0.2)
    ten = replace(BY_NAME["tpu"], name="ten", steps=10)
    printed = [run.printed_mean for run in stored_runs(ten, 2, 200)]
    assert stdev(printed) / fmean(printed) == pytest.approx(0.032, rel=0.25)


def test_the_same_words_play_the_same_run() -> None:
    """Seeds are fixed; another number is another run."""
    assert _play(BY_NAME["gpu"], 1) == _play(BY_NAME["gpu"], 1)
    assert _play(BY_NAME["gpu"], 1) != _play(BY_NAME["gpu"], 2)


def test_students_draws_have_the_spread_they_promise() -> None:
    """Scaled to one; the tail is heavier than a normal one's."""
    draws = seeded("student")
    found = [student_draw(draws, 5) for _ in range(20_000)]
    assert stdev(found) == pytest.approx(1, rel=0.05)
    assert sum(abs(value) > 3.5 for value in found) > 40


def test_cases_differ_by_what_a_save_costs() -> None:
    """From 9 to 28 s, the range of the seeds."""
    assert [case_of(BY_NAME["tpu"], index).stall for index in range(CASES)] == pytest.approx(
        [10.9, 14.7, 18.5, 22.3, 26.1]
    )


def test_cases_that_nothing_tells_apart_share_one_store() -> None:
    """Without saves they are the same runs, made once however they are asked for; with saves each its own."""
    gpu, tpu = BY_NAME["gpu"], BY_NAME["tpu"]
    assert all(stored_runs(gpu, index, 2) is stored_runs(gpu, 0, size=2) for index in range(2 * CASES))
    assert stored_runs(tpu, 1, 2) is stored_runs(tpu, 1 + CASES, 2)
    assert stored_runs(tpu, 1, 2) != stored_runs(tpu, 2, 2)
