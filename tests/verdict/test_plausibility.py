"""What cannot be true is named, and no figure is made of it."""

from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind
from bot.verdict.implausible import Implausible, Why
from bot.verdict.judgement import Clock, Dialect
from bot.verdict.measure import measure
from bot.verdict.plausibility import implausible, struck, summary
from tests.verdict.samples import FINAL_WAIT, START, Shape, run_log
from tests.verdict.seeds import BF16_LINEN, DROPOUT_BRANCH, DROPOUT_MAIN, INT8_NNX

SAVED = Mark(kind=MarkKind.CHECKPOINT_WAITED, step=19, time=START)


def _changed(log: RunLog, number: int, **values: object) -> RunLog:
    """`log` with other values on the line of one step."""
    steps = [replace(one, **values) if one.step == number else one for one in log.steps]  # type: ignore[arg-type]
    return replace(log, steps=tuple(steps))


def _found(log: RunLog) -> list[tuple[int, str, Why]]:
    return [(one.step, one.field, one.why) for one in implausible(log)]


def test_a_catch_up_read_above_the_peak_is_named() -> None:
    """2094 TFLOP/s were printed on a chip that does 1836 at most, in int8."""
    assert implausible(BF16_LINEN) == (
        Implausible(
            step=7,
            field="tflops_per_device",
            value=2094.194,
            why=Why.ABOVE_PEAK,
            text="2094.19 TFLOP/s, and TPU v6 lite does at most 1836",
        ),
    )


@pytest.mark.parametrize("log", [INT8_NNX, DROPOUT_MAIN, DROPOUT_BRANCH])
def test_real_logs_with_stalls_are_believed(log: RunLog) -> None:
    """A stall of 28 s and a catch-up of 6 ms are odd, not impossible; ms resolution explains the rates."""
    assert _found(log) == []


def test_a_device_without_a_known_peak_excuses_any_rate() -> None:
    """Nothing is assumed of a device that nobody has described."""
    unknown = replace(BF16_LINEN.environment, device_kind="Tesseract 9")
    assert _found(replace(BF16_LINEN, environment=unknown)) == []


@pytest.mark.parametrize("seconds", [0.0, -0.147, float("nan"), float("inf")])
def test_a_time_that_is_not_above_zero_is_no_time(seconds: float) -> None:
    """Zero, negative, and what is no number."""
    assert _found(_changed(run_log(), 8, seconds=seconds)) == [(8, "seconds", Why.NOT_POSITIVE)]


def test_a_rate_of_zero_is_rounding_and_a_negative_one_is_not() -> None:
    """A tiny model does 0.0003 TFLOP/s, which is printed as 0.000."""
    assert _found(_changed(run_log(), 8, tflops_per_device=0.0)) == []
    assert _found(_changed(run_log(), 8, tflops_per_device=-92.6)) == [
        (8, "tflops_per_device", Why.NOT_POSITIVE)
    ]


def test_tokens_that_contradict_the_seconds_are_named_with_what_they_should_be() -> None:
    """The rate of a line is the run's tokens over the line's seconds, or one of them is wrong."""
    log = _changed(run_log(Shape(jitter=0.0)), 8, tokens_per_device=9000.0)
    (found,) = implausible(log)
    assert (found.step, found.why) == (8, Why.CONTRADICTS)
    assert found.text == "9000 tokens/s, but 2048 tokens in 0.147 s are 1.393e+04"


@given(seconds=st.floats(min_value=0.0006, max_value=400.0), steps=st.integers(min_value=5, max_value=30))
def test_rounding_never_contradicts(seconds: float, steps: int) -> None:
    """Whatever a step takes, three printed decimals of both figures are believed."""
    shape = Shape(step_seconds=seconds, steps=steps, jitter=0.0 if seconds < 0.003 else 0.05, seed=steps)
    assert [one for one in implausible(run_log(shape)) if one.why is Why.CONTRADICTS] == []


def test_rates_that_are_no_constant_over_seconds_contradict_nothing() -> None:
    """Some trainers average over several steps: then no line is the odd one."""
    log = run_log()
    steps = [
        replace(one, tokens_per_device=(one.tokens_per_device or 0) * (1 + one.step % 7 / 10))
        for one in log.steps
    ]
    assert _found(replace(log, steps=tuple(steps))) == []


def test_a_growing_batch_contradicts_nothing() -> None:
    """During ramp-up a step holds fewer tokens."""
    log = _changed(run_log(), 2, kind=StepKind.RAMP_UP, tokens_per_device=10.0)
    assert _found(log) == []


def test_a_last_line_that_holds_the_final_checkpoint_is_named_on_a_flush_clock() -> None:
    """It prints 64 s for a step of 0.147 s; a dispatch clock prints another step's time there."""
    stalls = {6: 9.0, 12: 4.0}
    flush = run_log(Shape(dialect=Dialect.FLUSH, stalls=stalls))
    flush = replace(flush, marks=(*flush.marks, SAVED))
    assert _found(flush) == [(19, "seconds", Why.CHECKPOINT_WAIT)]
    dispatch = run_log(Shape(stalls=stalls))
    assert _found(replace(dispatch, marks=(*dispatch.marks, SAVED))) == []


def test_a_long_last_line_without_a_checkpoint_is_only_long() -> None:
    """What it waited for is not known, so it is not called the checkpoint's."""
    assert _found(run_log(Shape(dialect=Dialect.FLUSH, stalls={6: 9.0, 12: 4.0}))) == []


def test_a_clock_that_runs_back_is_named_and_a_year_end_is_not() -> None:
    """absl stamps carry no year: over New Year the stamp jumps, not the time."""
    log = run_log()
    assert _found(_changed(log, 8, time=START)) == [(8, "time", Why.BACKWARDS)]
    year = [replace(one, time=(one.time or 0) - (365 * 86_400 if one.step > 9 else 0)) for one in log.steps]
    assert _found(replace(log, steps=tuple(year))) == []


def test_equal_coarse_stamps_are_no_contradiction() -> None:
    """Stamps of whole seconds are equal on lines of one second."""
    log = run_log()
    whole = [replace(one, time=float(int(one.time or 0))) for one in log.steps]
    assert _found(replace(log, steps=tuple(whole))) == []


def test_only_the_last_attempt_is_looked_at() -> None:
    """What came before a restart is in no figure."""
    log = run_log()
    broken = replace(log.steps[3], seconds=-1.0)
    assert _found(replace(log, steps=(*log.steps[:3], broken, *log.steps))) == []


def test_the_printed_seconds_of_a_struck_line_are_in_no_figure() -> None:
    """Without timestamps the steady step time rests on printed seconds: the odd ones are not among them."""
    log = run_log(Shape(timed=False, jitter=0.0))
    spoiled = _changed(_changed(log, 8, tokens_per_device=9000.0), 9, seconds=0.0)
    steady = measure(spoiled).measurements.steady
    assert steady.clock is Clock.LOGGER
    assert {8, 9} & {*steady.kept_steps, *steady.candidate_steps} == set()
    assert steady.seconds == measure(log).measurements.steady.seconds


def test_an_impossible_first_step_has_no_time() -> None:
    """Step 0 of zero seconds is absent, not zero."""
    assert measure(_changed(run_log(), 0, seconds=0.0)).measurements.step0_seconds is None


def test_the_pages_own_figures_stay_what_that_page_computes() -> None:
    """The mean of all printed seconds, and the last line: known to people, marked by a warning."""
    seconds = [line.seconds or 0 for line in BF16_LINEN.steps[1:]]
    found = measure(BF16_LINEN).measurements
    assert found.avg_step_seconds == pytest.approx(mean(seconds))
    assert found.warnings[-1] == (
        "struck out of all figures but the page's own: TFLOP/s above the device's peak (step 7)"
    )


def test_a_summary_counts_what_it_does_not_list() -> None:
    """A thousand odd lines are one clause."""
    odd = tuple(
        Implausible(step=step, field="seconds", value=0.0, why=Why.NOT_POSITIVE, text="") for step in range(9)
    )
    assert summary(odd) == "a time or rate that is not above zero (steps 0, 1, 2, 3, 4 and 4 more)"
    assert (summary(()), struck(odd)) == ("", frozenset(range(9)))


LINE = st.builds(
    Step,
    step=st.integers(0, 12),
    seconds=st.none() | st.floats(),
    tflops_per_device=st.none() | st.floats(),
    tokens_per_device=st.none() | st.floats(),
    time=st.none() | st.floats(-1e12, 1e12),
)


@settings(deadline=None)
@given(lines=st.lists(LINE, max_size=14))
def test_no_step_lines_make_it_stumble(lines: list[Step]) -> None:
    """Whatever a log prints is measured, and a step is named at most once per clock."""
    log = replace(BF16_LINEN, steps=tuple(lines))
    measure(log)
    named = [(one.step, one.why is Why.BACKWARDS) for one in implausible(log)]
    assert len(named) == len(set(named))


def test_the_final_wait_is_what_makes_that_line_long() -> None:
    """The sample's last line holds its wait and nothing else."""
    log = run_log(Shape(dialect=Dialect.FLUSH, stalls={6: 9.0, 12: 4.0}))
    assert (log.steps[-1].seconds or 0) == pytest.approx(FINAL_WAIT, abs=0.5)
