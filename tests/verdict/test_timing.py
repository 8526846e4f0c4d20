"""The steady step time: what is kept, what is left out, when there is none; digits recovered from rates."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind
from bot.verdict.compare import compare
from bot.verdict.judgement import SecondsDialect, StepClock, TimingVerdict, Verdict
from bot.verdict.measure import measure
from bot.verdict.timing import StepWork, detect_dialect, recover_seconds, steady_step_time, step_work
from tests.verdict.made_runs import CPU, DEVICES, START, TPU, HostLoop, Shape, host_loop, run_log


def _with_steps(log: RunLog, steps: list[Step]) -> RunLog:
    return replace(log, steps=tuple(steps), steps_seen=len(steps))


@pytest.mark.parametrize("kind", list(SecondsDialect))
def test_both_dialects_give_the_same_time(kind: SecondsDialect) -> None:
    """The lines' own timestamps do not care what the trainer prints as seconds."""
    log = run_log(Shape(dialect=kind, stalls={6: 23.0}))
    assert steady_step_time(log).seconds == pytest.approx(0.147, rel=0.002)
    assert detect_dialect(log.steps) is kind


def test_a_flush_clocks_last_line_is_never_used() -> None:
    """It holds the final checkpoint, with timestamps and without."""
    log = run_log(Shape(dialect=SecondsDialect.FLUSH, steps=8))
    assert 7 not in steady_step_time(log).kept_steps
    assert (
        7
        not in steady_step_time(run_log(Shape(dialect=SecondsDialect.FLUSH, steps=8, timed=False))).kept_steps
    )


def test_an_undisturbed_run_has_no_dialect() -> None:
    """Where all intervals are alike nothing sets the two clocks apart."""
    steps = [Step(step=n, seconds=0.1, time=START + 0.1 * n) for n in range(20)]
    assert detect_dialect(steps) is None


def test_without_timestamps_the_printed_seconds_are_used() -> None:
    """And the clock is named."""
    found = steady_step_time(run_log(Shape(timed=False)))
    assert (found.clock, found.candidate_steps) == (StepClock.LOGGER, tuple(range(3, 20)))
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_whole_second_timestamps_are_too_coarse() -> None:
    """A step of 0.147 s cannot be read from a clock that ticks once a second."""
    log = run_log()
    coarse = [replace(step, time=float(round(step.time or 0))) for step in log.steps]
    assert steady_step_time(_with_steps(log, coarse)).clock is StepClock.LOGGER


def test_some_missing_timestamps_cost_only_their_gaps() -> None:
    """Every line without one spoils the gap before and after it."""
    log = run_log()
    steps = [replace(step, time=None) if step.step in {7, 12} else step for step in log.steps]
    found = steady_step_time(_with_steps(log, steps))
    assert found.clock is StepClock.COMPLETION
    assert {3, 4, 5, 6, 9, 10, 11, 14, 15, 16, 17, 18} == set(found.candidate_steps)


def test_a_year_end_is_no_restart() -> None:
    """Lines without a year fall back by 365 days at midnight."""
    log = run_log()
    year = 365 * 86_400
    steps = [replace(step, time=(step.time or 0) - year * (step.step >= 9)) for step in log.steps]
    found, undisturbed = steady_step_time(_with_steps(log, steps)), steady_step_time(log)
    assert found.kept_steps == undisturbed.kept_steps
    assert found.seconds == pytest.approx(undisturbed.seconds)


def test_missing_lines_leave_no_long_gap() -> None:
    """A gap across lost lines is not the time of a step."""
    log = run_log()
    steps = [step for step in log.steps if step.step not in {9, 10, 11}]
    found = steady_step_time(_with_steps(log, steps))
    assert 12 not in found.candidate_steps
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_a_logging_interval_is_divided_out() -> None:
    """A trainer that prints every fifth step has steps too."""
    log = run_log(Shape(steps=60))
    found = steady_step_time(_with_steps(log, [step for step in log.steps if step.step % 5 == 0]))
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_nothing_before_a_restart_counts() -> None:
    """The step number that falls back starts a new stretch, with its own warm-up."""
    slow, log = run_log(Shape(step_seconds=0.3)), run_log(Shape(steps=10))
    later = [replace(step, time=(step.time or 0) + 500) for step in log.steps]
    found = steady_step_time(_with_steps(log, [*slow.steps, *later]))
    assert found.candidate_steps == (3, 4, 5, 6, 7, 8)
    assert found.seconds == pytest.approx(0.147, rel=0.002)


def test_gaps_across_an_evaluation_are_left_out() -> None:
    """By the time of its marks, or by their place where they have none."""
    log = run_log()
    time = (log.steps[9].time or 0) + 0.01
    timed = Mark(kind=MarkKind.EVAL_STARTED, time=time, offset=9500)
    placed = replace(timed, time=None)
    for mark in (timed, placed):
        assert 10 not in steady_step_time(replace(log, marks=(*log.marks, mark))).candidate_steps


@pytest.mark.parametrize("kind", [StepKind.RAMP_UP, StepKind.PROFILED])
def test_ramp_up_and_profiled_lines_are_left_out(kind: StepKind) -> None:
    """They are not the step that is asked about."""
    log = run_log()
    steps = [replace(step, kind=kind) if 5 <= step.step < 9 else step for step in log.steps]
    assert not {5, 6, 7, 8} & set(steady_step_time(_with_steps(log, steps)).candidate_steps)


def test_too_few_clean_steps_are_no_steady_state() -> None:
    """And the reason counts them."""
    found = steady_step_time(run_log(Shape(steps=6)))
    assert (found.seconds, found.problem) == (
        None,
        "too few clean steps: 2 of 2 intervals after warm-up are undisturbed, 3 are needed",
    )


def test_an_interval_faster_than_the_device_is_an_artefact() -> None:
    """13.6 TFLOP in 5 ms would be three times the peak of the chip."""
    log = run_log(Shape(step_seconds=0.005))
    assert steady_step_time(log).seconds is None
    assert steady_step_time(replace(log, environment=CPU)).seconds is not None


def test_two_clocks_that_disagree_are_no_steady_state() -> None:
    """Late reads stretch the gaps; the printed seconds then tell another time."""
    log = run_log()
    steps = [replace(step, time=START + 0.200013 * step.step) for step in log.steps]
    found = steady_step_time(_with_steps(log, steps))
    assert found.seconds is None
    assert (
        found.problem == "the log's two clocks disagree: 0.200 s a step between its lines, 0.147 s as printed"
    )


def test_a_log_without_times_or_seconds_says_so() -> None:
    """There is nothing to measure."""
    log = _with_steps(run_log(), [Step(step=n, loss=1.0) for n in range(9)])
    assert steady_step_time(log).problem == "the step lines carry neither timestamps nor seconds"
    assert steady_step_time(_with_steps(log, [])).problem == "the log has no step lines"


def test_millisecond_seconds_add_their_rounding_error() -> None:
    """Where nothing restores the digits, their rounding is part of the standard error."""
    log = run_log(Shape(timed=False, jitter=0, step_seconds=0.07))
    bare = [replace(step, tokens_per_device=None, tflops_per_device=None) for step in log.steps]
    assert (steady_step_time(_with_steps(log, bare)).se or 0) == pytest.approx(0.001 / 12**0.5 / 0.07)


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
def test_any_lines_give_a_positive_time_or_a_reason(steps: list[Step]) -> None:
    """Odd lines never raise, and never give a time that is no time."""
    found = steady_step_time(_with_steps(replace(run_log(), environment=TPU), steps))
    assert (found.seconds is None) == (found.problem is not None)
    assert found.seconds is None or found.seconds > 0
    assert set(found.kept_steps) <= set(found.candidate_steps)


@given(st.floats(0.002, 30.0), st.sampled_from([128, 2048, 8192, 131_072]))
def test_seconds_are_restored_from_the_throughput(seconds: float, tokens: int) -> None:
    """To 1e-5 at least, from a figure that is printed to a millisecond."""
    step = Step(step=4, seconds=round(seconds, 3), tokens_per_device=round(tokens / seconds, 3))
    found = recover_seconds(step, StepWork(tokens=float(tokens)))
    assert found is not None
    assert isclose(found, seconds, rel_tol=0.0006 * seconds / tokens + 1e-9)


def test_the_weights_of_synthetic_data_are_its_tokens() -> None:
    """total_weights / devices, where the lines agree with it."""
    assert step_work(run_log().steps, DEVICES).tokens == 2048


def test_padding_has_no_weight() -> None:
    """On real data the rates tell the tokens, rounded."""
    steps = [replace(step, total_weights=60_000.0 + step.step) for step in run_log().steps]
    assert step_work(steps, DEVICES).tokens == 2048


def test_too_few_digits_tell_nothing() -> None:
    """0.002 TFLOP/s may be a fifth more or less."""
    steps = [replace(step, tokens_per_device=None, tflops_per_device=0.002) for step in run_log().steps]
    assert step_work(steps, None) == StepWork()


def test_a_constant_rate_gives_no_tokens_per_step() -> None:
    """The slowest lines would make 130,000 tokens of it, and the others' rates would be made of those."""
    steps = [replace(step, tokens_per_device=9_000.0) for step in run_log(Shape(stalls={8: 9.0})).steps]
    assert step_work(steps, None).tokens is None
    assert step_work(steps[:2], None).tokens is None


def test_a_rate_that_contradicts_the_seconds_is_not_used() -> None:
    """Then the printed seconds stand."""
    step = Step(step=4, seconds=0.5, tokens_per_device=100.0)
    assert recover_seconds(step, StepWork(tokens=2048.0)) == 0.5


@pytest.mark.parametrize("seconds", [None, 0.0, -1.0])
def test_no_time_stays_no_time(seconds: float | None) -> None:
    """Zero or less is not a duration."""
    assert recover_seconds(Step(step=4, seconds=seconds, tokens_per_device=5.0), StepWork(tokens=1.0)) is None


@pytest.mark.parametrize("steps", [12, 15, 30, 100])
@pytest.mark.parametrize("saving", [0.05, 0.5, 3.0])
def test_a_blocking_checkpoint_does_not_take_the_step_time_away(steps: int, saving: float) -> None:
    """The dispatch clock then prints 0.004 s and two steps' time in turn; the lines tell the time."""
    log = host_loop(HostLoop(steps=steps, checkpoint_every=3, checkpoint_seconds=saving))
    found = steady_step_time(log)
    assert found.seconds is not None, found.problem
    assert abs(found.seconds / 0.147 - 1) < 0.01


@pytest.mark.parametrize("every", [0, 3, 5, 10])
def test_seconds_that_change_their_meaning_are_no_change_of_the_step_time(every: int) -> None:
    """MaxText's pull request 4270 measures from flush to flush, and saves checkpoints after the flush."""
    sides = [
        [
            measure(host_loop(HostLoop(steps=20, checkpoint_every=every, flushes=flushes, seed=seed)))
            for seed in seeds
        ]
        for flushes, seeds in ((False, (1, 2, 3)), (True, (4, 5, 6)))
    ]
    found = compare(*sides)
    assert (found.verdict, found.timing.verdict) == (Verdict.SAME, TimingVerdict.SAME)
    meanings = [caveat.text for caveat in found.caveats if caveat.field == "clock_dialect"]
    assert bool(meanings) == bool(every), "without a checkpoint nothing sets the two clocks apart"
    assert all("the printed seconds do not compare; the steady step time does" in text for text in meanings)
