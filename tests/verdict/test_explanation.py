"""An explanation names every sample and every number of the decision, as the seeds' figures have them."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.logs.facts import DeviceMemory, Environment, RunLog, Step, StepKind
from bot.verdict.compare import compare
from bot.verdict.explanation import explain_history, explain_run, step_spans
from bot.verdict.judgement import (
    DroppedSteps,
    DropReason,
    ExplainedHistory,
    Explanation,
    LogPosition,
    Margins,
    SecondsDialect,
    StepClock,
    StepSpans,
    TimingVerdict,
)
from bot.verdict.measure import measure
from bot.verdict.noise import past_runs
from bot.verdict.thresholds import as_percent
from tests.verdict.made_runs import Shape, failed, normals, repeats, run, run_log
from tests.verdict.real_runs import BF16_LINEN, DROPOUT_BRANCH, DROPOUT_MAIN, INT8_NNX


def _why(*, history: tuple[float, ...] = (), cases: int = 1, look: int = 1) -> Explanation:
    found = compare(
        [measure(DROPOUT_MAIN)],
        [measure(DROPOUT_BRANCH)],
        history=history,
        comparable_cases=cases,
        look=look,
    )
    assert found.explanation is not None
    return found.explanation


def _steps(stretches: StepSpans) -> list[int]:
    return [step for first, last in stretches for step in range(first, last + 1)]


@pytest.mark.parametrize(
    ("log", "kept", "short", "long"),
    [
        (INT8_NNX, ((3, 3), (7, 8)), ((5, 5),), ((4, 4), (6, 6))),
        (BF16_LINEN, ((3, 3), (6, 8)), ((5, 5),), ((4, 4),)),
        (DROPOUT_MAIN, ((3, 3), (7, 8)), ((5, 5),), ((4, 4), (6, 6))),
        (DROPOUT_BRANCH, ((3, 3), (6, 8)), ((5, 5),), ((4, 4),)),
    ],
)
def test_every_step_of_the_seeds_is_kept_or_dropped_for_a_reason(
    log: RunLog, kept: StepSpans, short: StepSpans, long: StepSpans
) -> None:
    """Warm-up, the last line, the catch-up at step 5, the stalls."""
    found = explain_run(measure(log))
    assert found.kept == kept
    assert found.dropped == (
        DroppedSteps(reason=DropReason.WARM_UP, steps=((0, 2),)),
        DroppedSteps(reason=DropReason.LAST_LINE, steps=((9, 9),)),
        DroppedSteps(reason=DropReason.SHORT, steps=short),
        DroppedSteps(reason=DropReason.LONG, steps=long),
    )


def test_the_runs_of_seed_002_carry_their_figures() -> None:
    """S, its error, how many intervals, between which bounds, and where the log says it."""
    (base,), (head,) = _why().base, _why().head
    assert [round(one.seconds or 0, 5) for one in (base, head)] == [0.07069, 0.07081]
    assert [round(100 * (one.se or 0), 2) for one in (base, head)] == [0.86, 1.01]
    assert [(one.kept_count, one.considered, one.used, one.clock) for one in (base, head)] == [
        (3, 6, True, "completion"),
        (4, 6, True, "completion"),
    ]
    assert base.places[:2] == (
        LogPosition(what="first kept step", offset=3000, step=3),
        LogPosition(what="last kept step", offset=8000, step=8),
    )


def test_memory_is_found_where_the_log_states_it() -> None:
    """The first device listed has the line; the reader of another format tells no place."""
    first, second = (
        DeviceMemory(device=f"TPU_{n}", used_gb=0.44, limit_gb=31.25, percent=1.408, offset=4000 + n)
        for n in range(2)
    )
    found = explain_run(measure(replace(run_log(), memory=(first, second))))
    assert [one for one in found.places if "memory" in one.what] == [
        LogPosition(what="memory in use, TPU_0", offset=4000)
    ]
    unplaced = explain_run(measure(replace(run_log(), memory=(replace(first, offset=0), second))))
    assert not [one for one in unplaced.places if "memory" in one.what]


def test_the_arithmetic_of_seed_002_is_the_documents() -> None:
    """+0.16 %, T 2.76 %, MDE 4.01 %: one run a side, the TPU's default noise, the screen."""
    work = _why().arithmetic
    assert work is not None
    assert (work.n, work.spread, work.sd, work.nu, work.summed) == ((1, 1), "device_default", 0.004, 0, True)
    assert [round(as_percent(one), 2) for one in (work.change, work.band, work.mde)] == [0.16, 2.76, 4.01]
    assert (round(work.between, 7), round(work.within, 6)) == (3.2e-05, 0.000177)
    assert round(work.se, 5) == 0.01446
    assert (work.level, work.look, work.cases, work.stage) == (0.025, 1, 1, "screen")
    assert (round(work.quantile, 3), round(work.z, 3), work.decision) == (1.881, 1.645, "same")


def test_looks_and_cases_are_in_the_arithmetic() -> None:
    """The third look spends a tenth of the level, shared by all comparable cases."""
    work = _why(cases=8, look=3).arithmetic
    assert work is not None
    assert (round(work.level, 9), work.look, work.cases) == (0.005, 3, 8)


def test_exact_figures_carry_their_thresholds() -> None:
    """Memory counts from 0.5 % on."""
    assert [(one.key, one.least, one.least_percent, one.direction) for one in _why().exact] == [
        ("memory_fullest_percent", 0.0, 0.5, "same"),
    ]


def test_the_tolerance_of_the_loss_is_that_of_its_worst_step() -> None:
    """bf16 at step 4: 1e-3; the difference was 1.2e-4."""
    loss = compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)]).loss
    assert (loss.worst_step, round(loss.allowed_relative or 0, 9)) == (4, 1e-3)


@pytest.mark.parametrize("look", [1, 2])
@pytest.mark.parametrize("history", [0, 14, 20, 40])
@pytest.mark.parametrize("n", [1, 3])
def test_the_explanation_shows_the_numbers_of_the_decision(n: int, history: int, look: int) -> None:
    """Band, error, MDE and verdict are those of the timing, whatever the noise was taken from."""
    past = [0.147 * (1 + 0.002 * z) for z in normals(history, 5)] if history else []
    found = compare(
        repeats(n, sd=0.003, seed=1),
        repeats(n, sd=0.003, seed=2, seconds=0.150),
        history=past,
        comparable_cases=3,
        look=look,
        margins=Margins(practical_percent=1.5),
    )
    work = found.explanation.arithmetic if found.explanation else None
    assert work is not None
    timing = found.timing
    assert (timing.change, timing.threshold, timing.mde, timing.se) == (
        work.change,
        work.band,
        work.mde,
        work.se,
    )
    assert (timing.degrees_of_freedom, timing.noise_source.value) == (work.nu, work.spread)
    assert timing.verdict is TimingVerdict(work.decision)


def test_without_a_comparison_there_is_no_arithmetic() -> None:
    """A side that failed has a reason, no arithmetic."""
    found = compare([run()], [failed()])
    assert found.explanation is not None
    assert (found.explanation.arithmetic, found.explanation.exact) == (None, ())
    assert found.explanation.head[0].problem == "the log has no step lines"


def test_a_failed_run_beside_good_ones_is_shown_as_unused() -> None:
    """It has a steady step time perhaps, and no part in the mean."""
    found = compare([run()], [run(Shape(seed=2)), failed(after=18)])
    assert [one.used for one in (found.explanation or Explanation()).head] == [True, False]


def test_the_history_names_its_change_its_age_limit_and_its_glitch() -> None:
    """Eight runs before main moved, five too old, one glitch of the newest thirty."""
    noise = normals(43, 9)
    past = [(0.2 if place < 8 else 0.15) * (1 + 0.001 * z) for place, z in enumerate(noise)]
    past[35] = 0.16
    assert explain_history(past_runs(past)) == ExplainedHistory(
        given=43, used=29, before_change=8, older=5, glitches=(0.16,)
    )


def test_too_short_a_history_is_given_but_not_used() -> None:
    """Fourteen runs are one too few; what is no number is never used."""
    assert explain_history(past_runs([0.15] * 14 + [float("nan")])) == ExplainedHistory(given=15)
    assert explain_history(past_runs([])) == ExplainedHistory(given=0)


def test_the_logger_clock_explains_its_own_lines() -> None:
    """On a flush clock the last line holds the checkpoint; on a dispatch clock it is a sample like others."""
    stalls = {6: 9.0, 12: 4.0}
    flush = replace(run_log(Shape(dialect=SecondsDialect.FLUSH, stalls=stalls)), marks=())
    untimed = replace(flush, steps=tuple(replace(one, seconds=one.seconds) for one in flush.steps))
    assert {one.reason for one in explain_run(measure(untimed)).dropped} == {
        DropReason.WARM_UP,
        DropReason.LAST_LINE,
        DropReason.SHORT,
        DropReason.LONG,
    }
    logger = explain_run(measure(run_log(Shape(timed=False, stalls=stalls))))
    assert logger.clock == StepClock.LOGGER
    assert DropReason.LAST_LINE not in {one.reason for one in logger.dropped}


def test_kinds_restarts_and_implausible_lines_have_their_own_reasons() -> None:
    """Ramp-up, the profiler, an earlier attempt, a struck line on the logger's clock."""
    log = run_log(Shape(timed=False))
    steps = list(log.steps)
    steps[4] = replace(steps[4], kind=StepKind.RAMP_UP)
    steps[5] = replace(steps[5], kind=StepKind.PROFILED)
    steps[6] = replace(steps[6], seconds=0.0)
    found = explain_run(measure(replace(log, steps=(*log.steps[:3], *steps))))
    reasons = {one.reason: one.steps for one in found.dropped}
    assert reasons[DropReason.EARLIER_ATTEMPT] == ((0, 2),)
    assert (reasons[DropReason.RAMP_UP], reasons[DropReason.PROFILED]) == (((4, 4),), ((5, 5),))
    assert reasons[DropReason.IMPLAUSIBLE] == ((6, 6),)


LINES = st.lists(
    st.builds(
        Step,
        step=st.integers(0, 15),
        seconds=st.none() | st.floats(0.001, 3.0),
        tokens_per_device=st.none() | st.floats(1.0, 1e5),
        time=st.none() | st.floats(0.0, 20.0),
        kind=st.sampled_from(StepKind),
    ),
    max_size=16,
)


@settings(deadline=None)
@given(lines=LINES, sort=st.booleans())
def test_each_line_is_kept_or_dropped_exactly_once(lines: list[Step], *, sort: bool) -> None:
    """Whatever a log prints: kept and dropped together are its lines."""
    steps = sorted(lines, key=lambda one: (one.step, one.time or 0)) if sort else lines
    measured = measure(replace(run_log(), steps=tuple(steps), environment=Environment()))
    found = explain_run(measured)
    told = Counter(_steps(found.kept))
    for group in found.dropped:
        told.update(_steps(group.steps))
    assert told == Counter(one.step for one in steps)


def test_steps_are_stored_as_spans() -> None:
    """A run of 100,000 steps is a line."""
    assert step_spans([3, 6, 7, 8]) == ((3, 3), (6, 8))
    assert step_spans(range(100_000)) == ((0, 99_999),)
    assert step_spans([]) == ()
