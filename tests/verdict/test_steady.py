"""The steady step time: what is kept, what is left out, and when there is none."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind
from bot.verdict.judgement import Clock, Dialect
from bot.verdict.steady import steady
from bot.verdict.timeline import dialect
from tests.verdict.samples import CPU, START, TPU, Shape, run_log


def _with_steps(log: RunLog, steps: list[Step]) -> RunLog:
    return replace(log, steps=tuple(steps), steps_seen=len(steps))


@pytest.mark.parametrize("kind", list(Dialect))
def test_both_dialects_give_the_same_time(kind: Dialect) -> None:
    """The lines' own timestamps do not care what the trainer prints as seconds."""
    log = run_log(Shape(dialect=kind, stalls={6: 23.0}))
    assert steady(log).seconds == pytest.approx(0.147, rel=0.002)
    assert dialect(log.steps) is kind


def test_a_flush_clocks_last_line_is_never_used() -> None:
    """It holds the final checkpoint, with timestamps and without."""
    log = run_log(Shape(dialect=Dialect.FLUSH, steps=8))
    assert 7 not in steady(log).kept_steps
    assert 7 not in steady(run_log(Shape(dialect=Dialect.FLUSH, steps=8, timed=False))).kept_steps


def test_an_undisturbed_run_has_no_dialect() -> None:
    """Where all intervals are alike nothing sets the two clocks apart."""
    steps = [Step(step=n, seconds=0.1, time=START + 0.1 * n) for n in range(20)]
    assert dialect(steps) is None


def test_without_timestamps_the_printed_seconds_are_used() -> None:
    """And the clock is named."""
    found = steady(run_log(Shape(timed=False)))
    assert (found.clock, found.candidate_steps) == (Clock.LOGGER, tuple(range(3, 20)))
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_whole_second_timestamps_are_too_coarse() -> None:
    """A step of 0.147 s cannot be read from a clock that ticks once a second."""
    log = run_log()
    coarse = [replace(step, time=float(round(step.time or 0))) for step in log.steps]
    assert steady(_with_steps(log, coarse)).clock is Clock.LOGGER


def test_some_missing_timestamps_cost_only_their_gaps() -> None:
    """Every line without one spoils the gap before and after it."""
    log = run_log()
    steps = [replace(step, time=None) if step.step in {7, 12} else step for step in log.steps]
    found = steady(_with_steps(log, steps))
    assert found.clock is Clock.COMPLETION
    assert {3, 4, 5, 6, 9, 10, 11, 14, 15, 16, 17, 18} == set(found.candidate_steps)


def test_a_year_end_is_no_restart() -> None:
    """Lines without a year fall back by 365 days at midnight."""
    log = run_log()
    year = 365 * 86_400
    steps = [replace(step, time=(step.time or 0) - year * (step.step >= 9)) for step in log.steps]
    found, undisturbed = steady(_with_steps(log, steps)), steady(log)
    assert found.kept_steps == undisturbed.kept_steps
    assert found.seconds == pytest.approx(undisturbed.seconds)


def test_missing_lines_leave_no_long_gap() -> None:
    """A gap across lost lines is not the time of a step."""
    log = run_log()
    steps = [step for step in log.steps if step.step not in {9, 10, 11}]
    found = steady(_with_steps(log, steps))
    assert 12 not in found.candidate_steps
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_a_logging_interval_is_divided_out() -> None:
    """A trainer that prints every fifth step has steps too."""
    log = run_log(Shape(steps=60))
    found = steady(_with_steps(log, [step for step in log.steps if step.step % 5 == 0]))
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_nothing_before_a_restart_counts() -> None:
    """The step number that falls back starts a new stretch, with its own warm-up."""
    slow, log = run_log(Shape(step_seconds=0.3)), run_log(Shape(steps=10))
    later = [replace(step, time=(step.time or 0) + 500) for step in log.steps]
    found = steady(_with_steps(log, [*slow.steps, *later]))
    assert found.candidate_steps == (3, 4, 5, 6, 7, 8)
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_gaps_across_an_evaluation_are_left_out() -> None:
    """By the time of its marks, or by their place where they have none."""
    log = run_log()
    time = (log.steps[9].time or 0) + 0.01
    timed = Mark(kind=MarkKind.EVAL_STARTED, time=time, offset=9500)
    placed = replace(timed, time=None)
    for mark in (timed, placed):
        assert 10 not in steady(replace(log, marks=(*log.marks, mark))).candidate_steps


@pytest.mark.parametrize("kind", [StepKind.RAMP_UP, StepKind.PROFILED])
def test_ramp_up_and_profiled_lines_are_left_out(kind: StepKind) -> None:
    """They are not the step that is asked about."""
    log = run_log()
    steps = [replace(step, kind=kind) if 5 <= step.step < 9 else step for step in log.steps]
    assert not {5, 6, 7, 8} & set(steady(_with_steps(log, steps)).candidate_steps)


def test_too_few_clean_steps_are_no_steady_state() -> None:
    """And the reason counts them."""
    found = steady(run_log(Shape(steps=6)))
    assert (found.seconds, found.problem) == (
        None,
        "too few clean steps: 2 of 2 intervals after warm-up are undisturbed, 3 are needed",
    )


def test_an_interval_faster_than_the_device_is_an_artefact() -> None:
    """13.6 TFLOP in 5 ms would be three times the peak of the chip."""
    log = run_log(Shape(step_seconds=0.005))
    assert steady(log).seconds is None
    assert steady(replace(log, environment=CPU)).seconds is not None


def test_two_clocks_that_disagree_are_no_steady_state() -> None:
    """Late reads stretch the gaps; the printed seconds then tell another time."""
    log = run_log()
    steps = [replace(step, time=START + 0.200013 * step.step) for step in log.steps]
    found = steady(_with_steps(log, steps))
    assert found.seconds is None
    assert (
        found.problem == "the log's two clocks disagree: 0.200 s a step between its lines, 0.147 s as printed"
    )


def test_a_log_without_times_or_seconds_says_so() -> None:
    """There is nothing to measure."""
    log = _with_steps(run_log(), [Step(step=n, loss=1.0) for n in range(9)])
    assert steady(log).problem == "the step lines carry neither timestamps nor seconds"
    assert steady(_with_steps(log, [])).problem == "the log has no step lines"


def test_millisecond_seconds_are_known_no_better() -> None:
    """Where nothing restores the digits, their rounding is part of the standard error."""
    log = run_log(Shape(timed=False, jitter=0, step_seconds=0.07))
    bare = [replace(step, tokens_per_device=None, tflops_per_device=None) for step in log.steps]
    assert (steady(_with_steps(log, bare)).se or 0) == pytest.approx(0.001 / 12**0.5 / 0.07)


@given(
    st.lists(
        st.builds(
            Step,
            step=st.integers(0, 30),
            seconds=st.none() | st.floats(allow_nan=True, allow_infinity=True, width=32),
            tokens_per_device=st.none() | st.floats(allow_nan=True, allow_infinity=True, width=32),
            tflops_per_device=st.none() | st.floats(allow_nan=True, allow_infinity=True, width=32),
            time=st.none() | st.floats(0, 1e9),
            kind=st.sampled_from(StepKind),
        ),
        max_size=30,
    )
)
def test_any_lines_give_a_time_above_zero_or_a_reason(steps: list[Step]) -> None:
    """Odd lines never raise, and never give a time that is no time."""
    found = steady(_with_steps(replace(run_log(), environment=TPU), steps))
    assert (found.seconds is None) == (found.problem is not None)
    assert found.seconds is None or found.seconds > 0
    assert set(found.kept_steps) <= set(found.candidate_steps)
