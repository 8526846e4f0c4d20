"""Numbers step lines that carry only an epoch.

In:  step lines whose number is 0 where none was printed, with the extra `epoch`.
Out: `numbered_by_epoch()`, a `Follower`: the same lines with step numbers.

Trainers log every so many steps: a line is that far behind the one before it as long as its epoch allows it.
"""

from dataclasses import replace

from bot.logs.facts import Step
from bot.logs.follower import Figures, Follower
from bot.logs.statement import Figure

USUAL = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
"""Logging intervals that people set: where the first epoch allows several, the nearest of these is taken."""
EPOCHS = 1e9
"""A number beyond this is no epoch."""
SAME = 1e-3
"""Two printings of one line round its numbers differently, by less than this."""


def numbered_by_epoch() -> Follower:
    """A fresh count."""
    return _Count().number


class _Count:
    """The line before, and how far lines lie apart."""

    def __init__(self) -> None:
        self._last: Step | None = None
        self._stride = 0
        self._decimals = 2  # of the epochs printed

    def number(self, said: Step, figures: Figures) -> Step | None:
        """The line with its number, or `None` where it is the one before, printed once more."""
        if self._last is not None and _alike(self._last, said):
            return None
        before = self._last.step if self._last else 0
        number = said.step if said.step > before else self._next(said, before, figures)
        self._stride = number - before if number > before else self._stride
        self._last = replace(said, step=number)
        return self._last

    def _next(self, said: Step, before: int, figures: Figures) -> int:
        per_epoch, epoch = figures.get(Figure.STEPS_PER_EPOCH), dict(said.extras).get("epoch")
        following = before + (self._stride or 1)
        if not per_epoch or epoch is None or not 0 <= epoch < EPOCHS:
            return following
        self._decimals = max(self._decimals, len(repr(epoch).partition(".")[2]))
        slack = 0.5 * max(per_epoch) / 10**self._decimals + 1e-6
        least, most = epoch * min(per_epoch) - slack, epoch * max(per_epoch) + slack
        if self._stride and least <= following <= most:
            return following
        reached = (least + most) / 2
        usual = [n for n in USUAL if before == 0 and least <= n <= most]
        return min(usual, key=lambda n: abs(n - reached)) if usual else max(round(reached), 1)


def _alike(one: Step, other: Step) -> bool:
    """Whether both lines say the same, as far as both say it."""
    first, second = dict(one.extras), dict(other.extras)
    pairs = [(first[name], second[name]) for name in first if name in second]
    if one.loss is not None and other.loss is not None:
        pairs.append((one.loss, other.loss))
    return all(a == b or abs(a - b) <= SAME * max(abs(a), abs(b)) for a, b in pairs)
