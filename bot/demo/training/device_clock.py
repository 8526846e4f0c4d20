"""The clock of a simulated accelerator: it counts work, and not the waiting for a processor.

In:  the program's own CPU time. Out: moments, for the step times and in front of the log lines.

The accelerator is this machine's processor, which other programs share. Whoever waits for it spends no CPU
time. But a shared processor is also slower while it works, by half and more, for its caches and units are
shared too. So a reference, a fixed piece of the same kind of work, runs after every microbatch, and the clock
counts how much work was done in units of it: by definition the accelerator does one in `REFERENCE_SECONDS`.
The reference itself takes no time on this clock.
"""

import math
import time
from operator import mul

REFERENCE_SECONDS = 0.00015
"""A processor of 2023 takes 0.0002 s for it; the number only sets the unit of the clock."""

_INPUTS, _HIDDEN, _OUTPUTS = 24, 16, 27


class DeviceClock:
    """Starts at the moment it is made."""

    def __init__(self) -> None:
        self._started = time.time()
        self._elapsed = 0.0
        self._work = 0.0
        self._references: list[float] = []
        self._reference = Reference()
        # The first ones are slower: the interpreter still specializes their instructions.
        for _ in range(20):
            self._reference.run()
        self._counted = time.process_time()
        self.tick()
        self._work = 0.0
        self._speed = REFERENCE_SECONDS / self._references[0]

    def tick(self) -> None:
        """Compare the speed of the processor with the reference. To be called often: it varies."""
        self._count()
        self._reference.run()
        now = time.process_time()
        self._references.append(now - self._counted)
        self._counted = now

    def now(self) -> float:
        """The moment on this clock, in Unix seconds."""
        self._count()
        if self._references:
            self._speed = REFERENCE_SECONDS * len(self._references) / sum(self._references)
            self._references.clear()
        self._elapsed += self._work * self._speed
        self._work = 0.0
        return self._started + self._elapsed

    def wait(self) -> float:
        """Wait for the accelerator where it is the slower one; returns how far its clock is behind."""
        behind = time.time() - self.now()
        time.sleep(max(0.0, -behind))
        return max(0.0, behind)

    def _count(self) -> None:
        now = time.process_time()
        self._work += now - self._counted
        self._counted = now


class Reference:
    """One example through a network of fixed size, forwards and backwards.

    It looks like the work of `model`, and shares no code with it: what a change to the model costs must not
    make the unit larger.
    """

    def __init__(self) -> None:
        self._inputs = [(place % 7 - 3) / 10 for place in range(_INPUTS)]
        self._hidden = _weights(_HIDDEN, _INPUTS)
        self._output = _weights(_OUTPUTS, _HIDDEN)
        self._hidden_gradient = _weights(_HIDDEN, _INPUTS)
        self._output_gradient = _weights(_OUTPUTS, _HIDDEN)

    def run(self) -> None:
        """Do it once; always the same arithmetic."""
        inputs = list(self._inputs)
        activations = [math.tanh(sum(map(mul, row, inputs)) + 0.1) for row in self._hidden]
        scores = [sum(map(mul, row, activations)) + 0.1 for row in self._output]
        highest = max(scores)
        shares = [math.exp(score - highest) for score in scores]
        total = sum(shares)
        errors = [share / total for share in shares]
        behind = [0.0] * len(activations)
        for number, error in enumerate(errors):
            _blend(self._output_gradient[number], activations, error)
            _blend(behind, self._output[number], error)
        first = [0.0] * len(inputs)
        for number, (error, activation) in enumerate(zip(behind, activations, strict=True)):
            slope = error * (1.0 - activation * activation)
            _blend(self._hidden_gradient[number], inputs, slope)
            _blend(first, self._hidden[number], slope)


def _weights(rows: int, columns: int) -> list[list[float]]:
    return [[((7 * row + 3 * column) % 19 - 9) / 20 for column in range(columns)] for row in range(rows)]


def _blend(into: list[float], row: list[float], scale: float) -> None:
    """Half of what is there and `scale` of the row: so the numbers stay of one size."""
    into[:] = [0.5 * old + scale * new for old, new in zip(into, row, strict=True)]


CLOCK = DeviceClock()
"""The clock of this program."""
