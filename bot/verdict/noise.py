"""How much the steady step time of unchanged code moves from run to run.

In:  the steady seconds of base and head runs, the history of main, the device family.
Out: `Noise`: a relative standard deviation with its degrees of freedom, and where it was taken from.
Promises: a CPU, or a device the log does not name, gets no assumed noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, log, sqrt
from statistics import fmean
from typing import assert_never

from bot.verdict.change_points import since_last_change
from bot.verdict.judgement import Spread
from bot.verdict.peaks import Family
from bot.verdict.student import t_quantile

TPU_SD = 0.004
"""ln S from run to run. 53 public v6e runs: 0.15 % pooled, 0.4 % for the worst case; the worst is taken."""

GPU_SD = 0.01
"""0.15 % over 1,390 steps on 8 H100, more over the ten or twenty of a benchmark."""

ENOUGH_FREEDOM = 4
"""Below four degrees of freedom the t quantile is so wide that the device's default says more."""

HISTORY = 30
"""Newest main runs used, as many as rustc-perf looks back; what they became is cut off at changes of level.
VERDICT.md says 20: where a quarter of the runs is slower, 1 history of 20 in 300 shows none of those, of 30
1 in 5600, and t with 29 degrees of freedom needs 7 % less than with 19."""

SHORTEST_HISTORY = 15
"""With ten, the glitch filter trims honest tails and false flags rise to 0.7 % a case (simulated)."""

GLITCH_ALPHA = 0.001
"""Level of Grubbs' test (1950), past which the farthest main run is a glitch, not noise: of 1000 honest
histories one loses a run. Five median absolute deviations took one from 1 in 12 histories of 20, and a noise
that has lost its tail is too small: reports on GPU-like noise were flagged twice as often as the level says
(VerdictBench). One run at most is dropped: what befell two of twenty befalls base and head too, it is how
this case's runs are."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """Places in a history, oldest first: of the runs `used`, and of the `glitches` that were set aside."""

    used: tuple[int, ...] = ()
    glitches: tuple[int, ...] = ()


def clean_history(history: Sequence[float]) -> Sequence[float]:
    """Return the newest main runs since the last change of level without a glitch, or none if too few."""
    return tuple(history[place] for place in sift(history).used)


def sift(history: Sequence[float]) -> Sifted:
    """Return which main runs (seconds, oldest first) tell today's noise: none if too few do."""
    return _sift(tuple(history))


@lru_cache(maxsize=1024)
def _sift(history: Sequence[float]) -> Sifted:
    """Sift; remembered, since one comparison asks for its history half a dozen times."""
    usable = [place for place, seconds in enumerate(history) if isfinite(seconds) and seconds > 0]
    level = since_last_change([history[place] for place in usable])
    recent = usable[len(usable) - len(level) :][-HISTORY:]
    if len(recent) < SHORTEST_HISTORY:
        return Sifted()
    glitch = _glitch({place: log(history[place]) for place in recent})
    return Sifted(
        used=tuple(place for place in recent if place != glitch),
        glitches=() if glitch is None else (glitch,),
    )


def _glitch(logs: Mapping[int, float]) -> int | None:
    """Return the place of the one value that Grubbs' test finds too far from the others, if any."""
    values, count = list(logs.values()), len(logs)
    middle = fmean(values)
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (count - 1))
    farthest = max(logs, key=lambda place: abs(logs[place] - middle))
    t = t_quantile(1 - GLITCH_ALPHA / (2 * count), count - 2)
    limit = (count - 1) / sqrt(count) * sqrt(t**2 / (count - 2 + t**2))
    return farthest if abs(logs[farthest] - middle) > limit * spread > 0 else None


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
