"""The time ledger of runs whose phases are known."""

import math

import pytest

from bot.logs.ledger import time_ledger
from bot.logs.reader import read_log
from tests.log_writers.maxtext import maxtext_log

LOG = """XPK Start: Sat Nov 21 07:21:00 UTC 2026
I1121 07:21:00.203116 140313286720384 max_utils.py:27] System Information: Jax Version: 0.9.2
I1121 07:21:00.203145 140313286720384 max_utils.py:29] System Information: Jax Backend: cpu
I1121 07:21:00.300000 140313286720384 metric_logger.py:40] completed step: 0, seconds: 0.050, loss: 3.000
I1121 07:21:00.700000 140313286720384 metric_logger.py:40] completed step: 1, seconds: 0.400, loss: 2.900
XPK End: Sat Nov 21 07:21:00 UTC 2026
EXIT_CODE=0
"""


def test_a_cpu_is_named_by_its_backend_line() -> None:
    """JAX says `cpu` where a TPU says what it is."""
    (run,) = read_log([LOG.encode()], "short.log")

    assert "cpu" == run.environment.device_kind


def test_lines_after_the_floored_end_count() -> None:
    """The frame's times are whole seconds: a run within one second is as long as its lines say."""
    (run,) = read_log([LOG.encode()], "short.log")

    phases = time_ledger(run, None, ())

    assert math.isclose(0.7, math.fsum(phase.seconds for phase in phases), abs_tol=1e-6)


def _phases(steady: float | None, kept: tuple[int, ...], **options: object) -> dict[str, float]:
    text = maxtext_log(**options)  # type: ignore[arg-type]  # fields of MaxText
    (run,) = read_log([text.encode()], "x")
    return {phase.name: round(phase.seconds, 1) for phase in time_ledger(run, steady, kept)}


def test_every_phase_of_an_ordinary_run_has_its_seconds() -> None:
    """Compilation, the stall and the final wait are what the writer put there."""
    options = {"eval_after": 4, "eval_seconds": 3.0, "stall": 9.0, "final_wait": 60.0, "noise": 0}
    phases = _phases(0.2, (3, 4, 7, 8), **options)
    assert {
        "start-up": 52.0, "compile": 28.3, "ramp": 0.7, "steady steps": 1.4, "checkpoint blocking": 0.6,
        "checkpoint stalls": 8.8, "eval": 3.0, "final checkpoint wait": 60.0,
        "teardown": 9.2, "residual": 0.2,
    } == pytest.approx(phases, abs=0.3)  # fmt: skip


def test_phases_that_did_not_happen_are_left_out() -> None:
    """No checkpoint, no evaluation: no such rows."""
    phases = _phases(0.2, tuple(range(3, 10)), checkpoints=False, noise=0)
    assert ["start-up", "compile", "ramp", "steady steps", "teardown", "residual"] == list(phases)


def test_without_a_steady_state_nothing_is_called_steady() -> None:
    """Intervals that nobody can explain are in the residual."""
    assert "steady steps" not in _phases(None, ())


def test_a_run_that_failed_early_has_only_a_residual() -> None:
    """Its wall time is known, its parts are not."""
    assert {"residual"} == set(_phases(None, (), steps=0, exit_code=1))


def test_a_log_without_times_has_no_ledger() -> None:
    """No frame and no stamps: nothing to divide."""
    assert {} == _phases(0.2, (3,), framed=False, absl=False)
