"""Runs of a second or less, as they are on the machine of a developer."""

import math

from bot.logs.ledger import ledger
from bot.logs.read import read_log

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

    phases = ledger(run, None, ())

    assert math.isclose(0.7, math.fsum(phase.seconds for phase in phases), abs_tol=1e-6)
