"""Where a run's time went: phases that add up to its wall time.

In:  a `RunLog` and its steady step time.
Out: `Phase`s in order, the last one the residual, so that nothing is hidden.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One named stretch of a run, seconds."""

    name: str
    seconds: float
