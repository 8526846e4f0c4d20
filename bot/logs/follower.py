"""What completes a step line by the lines before it: in some formats a line alone does not say enough.

In:  nothing; this is the word for it.
Out: `Follower`, which is fed the step lines of one host in the order printed, with the figures that the log
     has stated so far, and gives each one completed, or `None` for one that is no new step.
"""

from collections.abc import Callable, Collection, Mapping

from bot.logs.facts import Step
from bot.logs.statement import Figure

Figures = Mapping[Figure, Collection[float]]
Follower = Callable[[Step, Figures], Step | None]


def first_of(figures: Figures, wanted: Figure) -> float | None:
    """What the log first stated of a figure."""
    return next(iter(figures.get(wanted, ())), None)
