"""What head is held against: base's own runs, and main's beside them where the two agree.

In:  the steady states of both sides, main's history (steady seconds, oldest first), the noise between runs.
Out: `Footing`: the evidence to judge, and what else a flag must bear with.
Promises: pure; main's runs stand beside base's only where base's do not contradict them.

Half of the variance of one run against one is base's. Main's runs since its last change of level are runs of
the same program as far as anyone can tell, and twenty of them leave next to none of it. Whether base is one
of them is asked first: "test-then-pool", as trials do with historical controls (Viele et al. 2014,
"Use of historical control data for assessing treatment effects in clinical trials").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import fmean

from bot.verdict.judgement import Steady
from bot.verdict.noise import ENOUGH_FREEDOM, Noise, sift
from bot.verdict.standing import Standing
from bot.verdict.student import t_quantile
from bot.verdict.threshold import Evidence, seconds_of, weigh

DISPUTE_ALPHA = 0.05
"""Chance that base is held apart from main's runs though it is one of them. Usual for test-then-pool, and on
the safe side: a step of main that is large enough to be blamed on head (4.6 standard deviations) then slips
through in fewer than 1 of 100 cases, while 1 comparison in 20 is judged as if there were no such runs."""

FEWEST_MAIN = ENOUGH_FREEDOM + 1
"""Main runs up to base that must be there: fewer say neither where main stood nor how far base is from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footing:
    """`evidence` is what is judged, `level` the ln of base's seconds in it, `main` how many of main's runs
    stand in it. Where main's runs contradict base, `base_off` is ln(base/main), and `against_main` is head
    against main's and base's runs together. `glitches` are ln(run/level) of the main runs set aside."""

    standing: Standing
    evidence: Evidence
    level: float
    main: int = 0
    base_off: float = 0.0
    against_main: Evidence | None = None
    glitches: tuple[float, ...] = ()


def footing(
    base: Sequence[Steady], head: Sequence[Steady], history: Sequence[float], noise: Noise
) -> Footing:
    """Return what head is held against; both sides have a steady step time."""
    own, alone = seconds_of(base), weigh(base, head)
    if not noise.history:
        return Footing(standing=Standing.BASE, evidence=alone, level=_level(own))
    main, glitches = _up_to_base(own, history)
    if len(main) < FEWEST_MAIN:
        return Footing(standing=Standing.BASE, evidence=alone, level=_level(own), glitches=glitches)
    together = weigh(base, head, main)
    if _agree(own, main):
        return Footing(
            standing=Standing.MAIN,
            evidence=together,
            level=_level([*own, *main]),
            main=len(main),
            glitches=glitches,
        )
    return Footing(
        standing=Standing.DISPUTED,
        evidence=alone,
        level=_level(own),
        base_off=_level(own) - _level(main),
        against_main=together,
        glitches=glitches,
    )


def _up_to_base(own: Sequence[float], history: Sequence[float]) -> tuple[Sequence[float], tuple[float, ...]]:
    """Return main's clean runs beside base's own, and how far from them the glitches lie, on the log scale.

    Where base's runs are among main's, only those before them are taken: what main became afterwards says
    nothing of base.
    """
    sifted = sift(history)
    places = [place for place, seconds in enumerate(history) if seconds in own]
    end = min(places, default=len(history))
    level = _level([history[place] for place in sifted.used])
    glitches = (log(history[place]) - level for place in sifted.glitches if place not in places)
    return [history[place] for place in sifted.used if place < end], tuple(glitches)


def _agree(own: Sequence[float], main: Sequence[float]) -> bool:
    """Tell whether base could be one of main's runs: Student's prediction interval, from main's runs alone,
    so that a base run that is far off does not widen it."""
    level = _level(main)
    spread = sqrt(sum((log(seconds) - level) ** 2 for seconds in main) / (len(main) - 1))
    reach = t_quantile(1 - DISPUTE_ALPHA / 2, len(main) - 1) * spread * sqrt(1 / len(own) + 1 / len(main))
    return abs(_level(own) - level) <= reach


def _level(seconds: Sequence[float]) -> float:
    return fmean(map(log, seconds))
