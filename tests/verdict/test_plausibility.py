"""Implausible values are named and not used; lost step lines are named."""

from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind
from bot.logs.rules import LINES_BROKEN
from bot.verdict.comparability import find_caveats
from bot.verdict.judgement import (
    CaveatKind,
    CaveatWeight,
    ImplausibleReason,
    ImplausibleValue,
    SecondsDialect,
    StepClock,
)
from bot.verdict.measure import measure
from bot.verdict.plausibility import (
    describe_lost_lines,
    find_implausible,
    implausible_steps,
    lost_steps,
    summarize_implausible,
)
from tests.verdict.made_runs import FINAL_WAIT, START, Shape, run_log
from tests.verdict.real_runs import BF16_LINEN, DROPOUT_BRANCH, DROPOUT_MAIN, INT8_NNX

SAVED = Mark(kind=MarkKind.CHECKPOINT_WAITED, step=19, time=START)


def _with_values(log: RunLog, number: int, **values: object) -> RunLog:
    """`log` with other values on the line of one step."""
    steps = [replace(one, **values) if one.step == number else one for one in log.steps]
    return replace(log, steps=tuple(steps))


def _found(log: RunLog) -> list[tuple[int, str, ImplausibleReason]]:
    return [(one.step, one.field, one.why) for one in find_implausible(log)]


def test_a_catch_up_read_above_the_peak_is_named() -> None:
    """2094 TFLOP/s were printed on a chip that does 1836 at most, in int8."""
    assert find_implausible(BF16_LINEN) == (
        ImplausibleValue(
            step=7,
            field="tflops_per_device",
            value=2094.194,
            why=ImplausibleReason.ABOVE_PEAK,
            text="2094.19 TFLOP/s, and TPU v6 lite does at most 1836",
        ),
    )


@pytest.mark.parametrize("log", [INT8_NNX, DROPOUT_MAIN, DROPOUT_BRANCH])
def test_real_logs_with_stalls_are_plausible(log: RunLog) -> None:
    """A stall of 28 s and a catch-up of 6 ms are odd, not impossible; ms resolution explains the rates."""
    assert _found(log) == []


def test_a_device_without_a_known_peak_excuses_any_rate() -> None:
    """Nothing is assumed of a device that nobody has described."""
    unknown = replace(BF16_LINEN.environment, device_kind="Tesseract 9")
    assert _found(replace(BF16_LINEN, environment=unknown)) == []


@pytest.mark.parametrize("seconds", [0.0, -0.147, float("nan"), float("inf")])
def test_a_time_that_is_not_above_zero_is_no_time(seconds: float) -> None:
    """Zero, negative, and what is no number."""
    assert _found(_with_values(run_log(), 8, seconds=seconds)) == [
        (8, "seconds", ImplausibleReason.NOT_POSITIVE)
    ]


def test_a_rate_of_zero_is_rounding_and_a_negative_one_is_not() -> None:
    """A tiny model does 0.0003 TFLOP/s, which is printed as 0.000."""
    assert _found(_with_values(run_log(), 8, tflops_per_device=0.0)) == []
    assert _found(_with_values(run_log(), 8, tflops_per_device=-92.6)) == [
        (8, "tflops_per_device", ImplausibleReason.NOT_POSITIVE)
    ]


def test_tokens_that_contradict_the_seconds_are_named_with_what_they_should_be() -> None:
    """The rate of a line is the run's tokens over the line's seconds, or one of them is wrong."""
    log = _with_values(run_log(Shape(jitter=0.0)), 8, tokens_per_device=9000.0)
    (found,) = find_implausible(log)
    assert (found.step, found.why) == (8, ImplausibleReason.CONTRADICTS)
    assert found.text == "9000 tokens/s, but 2048 tokens in 0.147 s are 1.393e+04"


@given(seconds=st.floats(min_value=0.0006, max_value=400.0), steps=st.integers(min_value=5, max_value=30))
def test_rounding_never_contradicts(seconds: float, steps: int) -> None:
    """Whatever a step takes, three printed decimals of both figures are believed."""
    shape = Shape(step_seconds=seconds, steps=steps, jitter=0.0 if seconds < 0.003 else 0.05, seed=steps)
    assert [one for one in find_implausible(run_log(shape)) if one.why is ImplausibleReason.CONTRADICTS] == []


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
    log = _with_values(run_log(), 2, kind=StepKind.RAMP_UP, tokens_per_device=10.0)
    assert _found(log) == []


def test_a_last_line_that_holds_the_final_checkpoint_is_named_on_a_flush_clock() -> None:
    """It prints 64 s for a step of 0.147 s; a dispatch clock prints another step's time there."""
    stalls = {6: 9.0, 12: 4.0}
    flush = run_log(Shape(dialect=SecondsDialect.FLUSH, stalls=stalls))
    flush = replace(flush, marks=(*flush.marks, SAVED))
    assert _found(flush) == [(19, "seconds", ImplausibleReason.CHECKPOINT_WAIT)]
    dispatch = run_log(Shape(stalls=stalls))
    assert _found(replace(dispatch, marks=(*dispatch.marks, SAVED))) == []


def test_a_long_last_line_without_a_checkpoint_is_only_long() -> None:
    """What it waited for is not known, so it is not called the checkpoint's."""
    assert _found(run_log(Shape(dialect=SecondsDialect.FLUSH, stalls={6: 9.0, 12: 4.0}))) == []


def test_a_clock_that_runs_back_is_named_and_a_year_end_is_not() -> None:
    """absl stamps carry no year: over New Year the stamp jumps, not the time."""
    log = run_log()
    assert _found(_with_values(log, 8, time=START)) == [(8, "time", ImplausibleReason.BACKWARDS)]
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


def test_implausible_seconds_are_in_no_figure() -> None:
    """Without timestamps the steady step time rests on printed seconds: the odd ones are not among them."""
    log = run_log(Shape(timed=False, jitter=0.0))
    spoiled = _with_values(_with_values(log, 8, tokens_per_device=9000.0), 9, seconds=0.0)
    steady = measure(spoiled).measurements.steady
    assert steady.clock is StepClock.LOGGER
    assert {8, 9} & {*steady.kept_steps, *steady.candidate_steps} == set()
    assert steady.seconds == measure(log).measurements.steady.seconds


def test_an_impossible_first_step_has_no_time() -> None:
    """Step 0 of zero seconds is absent, not zero."""
    assert measure(_with_values(run_log(), 0, seconds=0.0)).measurements.step0_seconds is None


def test_raw_metrics_still_use_implausible_values() -> None:
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
        ImplausibleValue(step=step, field="seconds", value=0.0, why=ImplausibleReason.NOT_POSITIVE, text="")
        for step in range(9)
    )
    assert (
        summarize_implausible(odd) == "a time or rate that is not above zero (steps 0, 1, 2, 3, 4 and 4 more)"
    )
    assert (summarize_implausible(()), implausible_steps(odd)) == ("", frozenset(range(9)))


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
def test_any_step_lines_can_be_checked(lines: list[Step]) -> None:
    """Whatever a log prints is measured, and a step is named at most once per clock."""
    log = replace(BF16_LINEN, steps=tuple(lines))
    measure(log)
    named = [(one.step, one.why is ImplausibleReason.BACKWARDS) for one in find_implausible(log)]
    assert len(named) == len(set(named))


def test_the_final_wait_is_what_makes_that_line_long() -> None:
    """The sample's last line holds its wait and nothing else."""
    log = run_log(Shape(dialect=SecondsDialect.FLUSH, stalls={6: 9.0, 12: 4.0}))
    assert (log.steps[-1].seconds or 0) == pytest.approx(FINAL_WAIT, abs=0.5)


WHOLE_LOG = run_log(Shape(steps=400))


def _run_with_lines(steps: list[int]) -> RunLog:
    """The log of a run that printed these steps alone."""
    kept = tuple(step for step in WHOLE_LOG.steps if step.step in set(steps))
    return replace(WHOLE_LOG, steps=kept, steps_seen=len(kept))


CUT_OUT = _run_with_lines([*range(6), *range(10, 20)])


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([*range(6), *range(10, 20)], "6 to 9 missing"),
        ([*range(0, 60, 10), *range(100, 200, 10)], "60 to 90 missing"),
        ([*range(6), *range(10, 20), *range(30, 40)], "6 to 9 and 20 to 29 missing"),
        (
            [
                n
                for n in range(100)
                if n not in {*range(6, 9), *range(20, 24), *range(40, 45), *range(60, 66)}
            ],
            "6 to 8, 20 to 23, 40 to 44 and others missing",
        ),
    ],
)
def test_a_hole_between_regular_lines_is_named(steps: list[int], words: str) -> None:
    """With the first and the last step whose line is missing."""
    assert words == describe_lost_lines(_run_with_lines(steps))


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [5],
        [*range(20)],
        [*range(0, 400, 10)],
        [*range(0, 400, 10), 399],
        [*range(10), *range(10, 400, 10)],
        [*range(0, 100, 10), *range(100, 400, 100)],
        [1, 2, 4, 8, 16, 32, 64, 128, 256],
        [n for n in range(200) if n % 50 < 10],
        [n for n in range(200) if n % 7],
        [*range(6), *range(7, 20)],
        [0, 1, 2, 3, 10, 20, 30, 40],
    ],
)
def test_lines_that_are_never_printed_are_not_lost(steps: list[int]) -> None:
    """Every k-th step, ever rarer ones, the same pause again and again, and a single step left out."""
    assert () == lost_steps(_run_with_lines(steps))


def test_lines_that_the_reader_dropped_are_not_lost() -> None:
    """Of a log of more lines than are kept the middle is not known."""
    assert () == lost_steps(replace(CUT_OUT, steps_seen=CUT_OUT.steps_seen + 4))


def test_the_run_carries_a_warning() -> None:
    """Beside the reader's own."""
    warning = (
        "The lines of steps 6 to 9 are missing in the middle of the log. Give the log as it was written."
    )
    assert warning in measure(CUT_OUT).measurements.warnings
    assert warning not in measure(WHOLE_LOG).measurements.warnings


@pytest.mark.parametrize(
    ("log", "words", "said"),
    [
        (CUT_OUT, "6 to 9 missing", "The lines of steps 6 to 9 are missing"),
        (replace(WHOLE_LOG, warnings=(LINES_BROKEN,)), "broken", LINES_BROKEN),
    ],
)
def test_a_comparison_says_which_side_lost_lines(log: RunLog, words: str, said: str) -> None:
    """As a note: the figures rest on the lines that are there."""
    whole, torn = measure(WHOLE_LOG), measure(log)
    for base, head, shown in ((whole, torn, ("whole", words)), (torn, whole, (words, "whole"))):
        (caveat,) = (one for one in find_caveats([base], [head]) if one.field == "step_lines")
        assert (CaveatKind.STEPS, CaveatWeight.NOTED, *shown) == (
            caveat.kind,
            caveat.weight,
            caveat.base,
            caveat.head,
        )
        assert said in caveat.text
    assert "step_lines" not in [one.field for one in find_caveats([whole], [whole])]
