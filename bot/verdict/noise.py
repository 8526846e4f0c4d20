"""How much the steady step time of unchanged code moves from run to run.

In:  the steady seconds of base and head runs, the history of main, the device family.
Out: `Noise`: a relative standard deviation with its degrees of freedom, and where it was taken from.
Promises: a CPU, or a device the log does not name, gets no assumed noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log, sqrt
from statistics import fmean, median
from typing import assert_never

from bot.verdict.change_points import since_last_change
from bot.verdict.judgement import Spread
from bot.verdict.peaks import Family

TPU_SD = 0.004
"""ln S from run to run. 53 public v6e runs: 0.15 % pooled, 0.4 % for the worst case; the worst is taken."""

GPU_SD = 0.01
"""0.15 % over 1,390 steps on 8 H100, more over the ten or twenty of a benchmark."""

ENOUGH_FREEDOM = 4
"""Below four degrees of freedom the t quantile is so wide that the device's default says more."""

HISTORY = 20
"""Newest main runs used: enough for a standard deviation, few enough to be of today's code."""

SHORTEST_HISTORY = 15
"""With ten, the glitch filter trims honest tails and false flags rise to 0.7 % a case (simulated)."""

GLITCH = 5.0
"""Median absolute deviations from the median past which a main run is a glitch, not noise.

One run at most, the farthest: what befell two of twenty befalls base and head too, it is how this case's runs
are. Where a quarter of the runs is 1.5 % slower, dropping them all made 28 % of comparisons at no change
false flags, dropping one 0.9 %; it also takes honest tails for glitches less often (VerdictBench)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """`sd` is of ln S between runs, None where unknown; `nu` its degrees of freedom, measured or not yet
    enough; `history` counts the main runs used."""

    sd: float | None
    nu: int
    spread: Spread
    history: int = 0


def run_to_run(
    base: Sequence[float], head: Sequence[float], history: Sequence[float], family: Family | None
) -> Noise:
    """Return the run-to-run noise of ln S, measured where the runs allow it.

    `base`, `head` and `history` are steady seconds; a base run that is also in the history counts once.
    """
    past = clean_history(history)
    groups = [group for group in ([] if set(base) & set(past) else base, head, past) if len(group) >= 2]
    nu = sum(len(group) - 1 for group in groups)
    if nu >= ENOUGH_FREEDOM:
        pooled = sqrt(sum(_squares(group) for group in groups) / nu)
        return Noise(sd=pooled, nu=nu, spread=Spread.MEASURED, history=len(past))
    default = _default(family)
    spread = Spread.UNKNOWN if default is None else Spread.DEVICE_DEFAULT
    return Noise(sd=default, nu=nu, spread=spread)


def clean_history(history: Sequence[float]) -> Sequence[float]:
    """Return the newest main runs since the last change of level without a glitch, or none if too few."""
    return tuple(history[place] for place in used_history(history))


def used_history(history: Sequence[float]) -> Sequence[int]:
    """Return the places in `history` (seconds, oldest first) of the runs that `clean_history` keeps."""
    usable = [place for place, seconds in enumerate(history) if isfinite(seconds) and seconds > 0]
    level = since_last_change([history[place] for place in usable])
    recent = usable[len(usable) - len(level) :][-HISTORY:]
    if len(recent) < SHORTEST_HISTORY:
        return ()
    middle = median(history[place] for place in recent)
    distance = {place: abs(history[place] - middle) for place in recent}
    deviation, farthest = median(distance.values()), max(recent, key=distance.__getitem__)
    if deviation == 0 or distance[farthest] <= GLITCH * deviation:
        return tuple(recent)
    return tuple(place for place in recent if place != farthest)


def _squares(seconds: Sequence[float]) -> float:
    logs = [log(value) for value in seconds]
    mean = fmean(logs)
    return sum((value - mean) ** 2 for value in logs)


def _default(family: Family | None) -> float | None:
    match family:
        case Family.TPU:
            return TPU_SD
        case Family.GPU:
            return GPU_SD
        case Family.CPU | None:  # from 0.5 to 1.4 s for one configuration: it must be measured
            return None
        case _:
            assert_never(family)
