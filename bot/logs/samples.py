"""Numbers step lines that count samples or tokens.

In:  step lines whose number is what was trained on so far, and the figures of a step.
Out: `numbered_by_samples()`, a `Follower`: the same lines with step numbers, and of a block of steps the
     seconds of one.
"""

from dataclasses import replace

from bot.logs.facts import Step
from bot.logs.follower import Figures, Follower, first_of
from bot.logs.mlperf import BLOCK_SECONDS
from bot.logs.statement import Figure


def numbered_by_samples() -> Follower:
    """A fresh count."""
    return _Count().number


class _Count:
    """The counter of the line before and the number it got."""

    def __init__(self) -> None:
        self._counter = 0
        self._step = 0
        self._unit: int | None = None

    def number(self, said: Step, figures: Figures) -> Step | None:
        """The line with its number; `None` where training has not gone on since the line before."""
        counter = said.step
        if counter == self._counter:
            return None
        if counter < self._counter or self._unit is None:
            self._counter = self._step = 0
            self._unit = _unit(counter, figures)
        before = self._step
        self._counter = counter
        self._step = counter // self._unit if self._unit else before + 1
        step = replace(said, step=self._step)
        spent = dict(said.extras).get(BLOCK_SECONDS)
        if spent is None or self._step <= before:
            return step
        return replace(step, seconds=spent / (self._step - before))


def _unit(counter: int, figures: Figures) -> int:
    """What the counter grows by in one step: its tokens, or its samples; 0 where neither fits."""
    samples = int(first_of(figures, Figure.SAMPLES_PER_STEP) or 0)
    tokens = samples * int(first_of(figures, Figure.TOKENS_PER_SAMPLE) or 0)
    return next((unit for unit in (tokens, samples) if unit and counter % unit == 0), 0)
