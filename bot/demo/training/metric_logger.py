"""The step lines, held back by one step as MaxText does.

In:  each step's loss and the time between two dispatches. Out: one `completed step` line per step.

While a step runs, the numbers of the step before are printed. So the time in front of a line is when that
step's loss was ready, and `seconds` is the interval between two dispatches.
"""

import math
from dataclasses import dataclass

from . import max_logging

TERA = 1e12


@dataclass(frozen=True)
class _Entry:
    step: int
    seconds: float
    loss: float


class MetricLogger:
    """Prints the metrics of one run. `tokens` and `flops` are per step and device."""

    def __init__(self, *, tokens: int, flops: float) -> None:
        self._tokens = tokens
        self._flops = flops
        self._buffered: _Entry | None = None

    def write_setup(self, *, parameters: int) -> None:
        """Say how large the network is."""
        max_logging.log(f"number parameters: {parameters / 1e9:.3f} billion")

    def buffer_and_write(self, *, step: int, seconds: float, loss: float) -> None:
        """Print the step before this one, and keep this one for later."""
        self.flush()
        self._buffered = _Entry(step, seconds, loss)

    def flush(self) -> None:
        """Print what is kept back."""
        if self._buffered is not None:
            self._write(self._buffered)
            self._buffered = None

    def _write(self, entry: _Entry) -> None:
        if not math.isfinite(entry.loss):
            max_logging.log(f"Aborting: loss is {entry.loss} at step {entry.step}")
            raise SystemExit(1)
        max_logging.log(
            f"completed step: {entry.step}, seconds: {entry.seconds:.3f}, "
            f"TFLOP/s/device: {self._flops / TERA / entry.seconds:.3f}, "
            f"Tokens/s/device: {self._tokens / entry.seconds:.3f}, "
            f"total_weights: {self._tokens}, loss: {entry.loss:.3f}, "
            f"lm_loss: {entry.loss:.3f}, perplexity: {math.exp(entry.loss):.3f}"
        )
