"""The figures that VERDICT.md gives for the four real runs come out exactly."""

import pytest

from bot.logs.facts import RunLog
from bot.verdict.compare import compare, is_comparable
from bot.verdict.judgement import CaveatKind, LossVerdict, SecondsDialect, StepClock, TimingVerdict, Verdict
from bot.verdict.measure import measure
from bot.verdict.thresholds import as_percent
from tests.verdict.real_runs import BF16_LINEN, DROPOUT_BRANCH, DROPOUT_MAIN, INT8_NNX

RUNS = (INT8_NNX, BF16_LINEN, DROPOUT_MAIN, DROPOUT_BRANCH)


def _every(digits: int, *expected: float) -> list[tuple[RunLog, int, float]]:
    return [(log, digits, value) for log, value in zip(RUNS, expected, strict=True)]


@pytest.mark.parametrize(("log", "digits", "seconds"), _every(5, 0.22943, 0.14745, 0.07069, 0.07081))
def test_the_steady_step_time(log: RunLog, digits: int, seconds: float) -> None:
    """S, on the completion clock."""
    steady = measure(log).measurements.steady
    assert (round(steady.seconds or 0, digits), steady.clock) == (seconds, StepClock.COMPLETION)


@pytest.mark.parametrize(
    ("log", "kept"), list(zip(RUNS, ((3, 7, 8), (3, 6, 7, 8), (3, 7, 8), (3, 6, 7, 8)), strict=True))
)
def test_the_kept_steps(log: RunLog, kept: tuple[int, ...]) -> None:
    """The stall and its catch-up are left out, the last line is never considered."""
    steady = measure(log).measurements.steady
    assert (steady.kept_steps, steady.candidate_steps) == (kept, (3, 4, 5, 6, 7, 8))


@pytest.mark.parametrize(("log", "digits", "se"), _every(2, 0.10, 0.31, 0.86, 1.01))
def test_the_standard_error_within_a_run(log: RunLog, digits: int, se: float) -> None:
    """In percent of S."""
    assert round(100 * (measure(log).measurements.steady.se or 0), digits) == se


@pytest.mark.parametrize(("log", "digits", "tokens"), _every(0, 8926, 13889, 1811, 1808))
def test_the_steady_tokens(log: RunLog, digits: int, tokens: float) -> None:
    """Tokens per second and device."""
    assert round(measure(log).measurements.steady_tokens_per_device or 0, digits) == tokens


@pytest.mark.parametrize(("log", "digits", "tflops"), _every(2, 59.22, 92.15, 11.33, 11.31))
def test_the_steady_tflops(log: RunLog, digits: int, tflops: float) -> None:
    """TFLOP/s per device."""
    assert round(measure(log).measurements.steady_tflops_per_device or 0, digits) == tflops


@pytest.mark.parametrize(("log", "digits", "seconds"), _every(3, 3.394, 2.864, 1.374, 1.430))
def test_the_pages_average(log: RunLog, digits: int, seconds: float) -> None:
    """The mean of the printed seconds, as people know it."""
    assert round(measure(log).measurements.avg_step_seconds or 0, digits) == seconds


@pytest.mark.parametrize(
    ("log", "expected"),
    list(
        zip(
            RUNS,
            (
                (59.366, 8948.3, 8.174),
                (91.900, 13852.2, 8.179),
                (11.338, 1812.1, 6.981),
                (11.302, 1806.3, 6.981),
            ),
            strict=True,
        )
    ),
)
def test_the_pages_last_line(log: RunLog, expected: tuple[float, float, float]) -> None:
    """TFLOP/s, tokens/s and loss are those of the last line."""
    found = measure(log).measurements
    assert expected == (
        found.last_tflops_per_device,
        round(found.last_tokens_per_device or 0, 1),
        found.final_loss,
    )


@pytest.mark.parametrize(("log", "digits", "memory"), _every(2, 1.41, 1.38, 1.31, 1.31))
def test_the_memory_of_the_first_device(log: RunLog, digits: int, memory: float) -> None:
    """In percent of its limit."""
    assert round(measure(log).measurements.memory_percent or 0, digits) == memory


@pytest.mark.parametrize(
    ("log", "expected"),
    list(
        zip(
            RUNS,
            (
                (14.272, 14.04, 0.610, 63.87),
                (11.251, 10.89, 1.024, 74.80),
                (4.277, 3.45, 1.015, 85.94),
                (3.950, 3.31, 2.503, 91.10),
            ),
            strict=True,
        )
    ),
)
def test_compile_and_checkpoint_times(log: RunLog, expected: tuple[float, float, float, float]) -> None:
    """Step 0, AOT compile, checkpoint-0 blocking, final checkpoint wait."""
    found = measure(log).measurements
    assert expected == (
        found.step0_seconds,
        found.compile_seconds,
        round(found.checkpoint_blocking_seconds or 0, 3),
        round(found.final_checkpoint_wait_seconds or 0, 2),
    )


@pytest.mark.parametrize("log", RUNS)
def test_the_dialect_and_the_price(log: RunLog) -> None:
    """All four print dispatch intervals and used 32 chips for about three minutes."""
    found = measure(log).measurements
    assert (found.dialect, found.chip_hours) == (
        SecondsDialect.DISPATCH,
        32 * (found.wall_seconds or 0) / 3600,
    )


def test_two_jax_versions_are_not_like_for_like() -> None:
    """Seed 002: the timing is withheld but shown, with its band for one run a side."""
    found = compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)])
    timing = found.timing
    assert (found.verdict, timing.verdict, timing.n) == (
        Verdict.NOT_LIKE_FOR_LIKE,
        TimingVerdict.WITHHELD,
        (1, 1),
    )
    assert [round(as_percent(value or 0), 2) for value in (timing.change, timing.threshold, timing.mde)] == [
        0.16,
        2.76,
        4.01,
    ]


def test_its_loss_is_within_tolerance() -> None:
    """One printed digit differs, at step 4."""
    loss = compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)]).loss
    assert (loss.verdict, loss.first_difference_step, loss.worst_step, loss.digits) == (
        LossVerdict.WITHIN_TOLERANCE,
        4,
        4,
        "loss to 3 decimals",
    )
    assert round(loss.max_relative or 0, 5) == 1.2e-4


def test_its_caveats() -> None:
    """Versions, process, and code that is not the code both sides claim."""
    found = compare(
        [measure(DROPOUT_MAIN)],
        [measure(DROPOUT_BRANCH)],
        base_commit="574ad3fb9",
        head_commit="574ad3fb9",
    )
    assert [(caveat.kind, caveat.field, caveat.base, caveat.head) for caveat in found.caveats] == [
        (CaveatKind.ENVIRONMENT, "jax", "0.9.2", "0.8.1"),
        (CaveatKind.ENVIRONMENT, "jaxlib", "0.9.2", "0.8.1"),
        (CaveatKind.ENVIRONMENT, "libtpu", "cl/878335365", "cl/831091709"),
        (CaveatKind.ENVIRONMENT, "orbax", "0.11.34", "0.11.33"),
        (CaveatKind.PROCESS, "process", "7", "0"),
        (
            CaveatKind.PROVENANCE,
            "commit",
            "maxtext_utils.py:1551, metric_logger.py:196",
            "maxtext_utils.py:1517, metric_logger.py:185",
        ),
    ]


def test_its_page_differences() -> None:
    """The table that people know: -0.036, -5.779, +0.056; none of it coloured but what is exact."""
    rows = {row.key: row for row in compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)]).rows}
    keys = ("last_tflops_per_device", "last_tokens_per_device", "avg_step_seconds")
    assert [(round(rows[key].diff or 0, 3), rows[key].judged) for key in keys] == [
        (-0.036, False),
        (-5.779, False),
        (0.056, False),
    ]


def test_it_does_not_count_as_comparable() -> None:
    """So it does not widen the band of the other cases."""
    assert not is_comparable([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)])
