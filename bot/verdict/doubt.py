"""Why a flag is not raised: main's own runs show that one run as far off as this may mean nothing.

In:  what head is held against, the ruling on it, head's runs. Out: a reason, or nothing.
Promises: pure; a doubt only ever withholds a flag.
"""

from collections.abc import Sequence
from math import log

from bot.verdict.footing import Footing
from bot.verdict.judgement import Steady, TimingVerdict
from bot.verdict.noise import Noise
from bot.verdict.threshold import Rules, Ruling, percent, rule, seconds_of

FLAGS = frozenset({TimingVerdict.SLOWER, TimingVerdict.FASTER})


def doubt(ground: Footing, ruling: Ruling, head: Sequence[Steady], noise: Noise, rules: Rules) -> str:
    """Return why the flag of a ruling is not believed, one clause; empty where it is, or where there is none.

    More runs settle it either way: of base where main contradicts it, of head where main has glitches.
    """
    if ruling.verdict not in FLAGS:
        return ""
    return _of_base(ground, ruling, noise, rules) or _of_glitches(ground, ruling, head)


def _of_base(ground: Footing, ruling: Ruling, noise: Noise, rules: Rules) -> str:
    """One run of base that main's runs contradict is either a glitch or the first of a new level."""
    if ground.against_main is None or ground.evidence.n[0] > 1:
        return ""
    other = rule(ground.against_main, noise, rules)
    if other is not None and other.verdict is ruling.verdict:
        return ""
    return (
        f"the only run of base is {_apart(ground.base_off)} than main's runs before it, and against those "
        f"head is not {ruling.verdict.value}: another run of base tells whether main moved or it was off"
    )


def _of_glitches(ground: Footing, ruling: Ruling, head: Sequence[Steady]) -> str:
    """Where one of main's runs was as far off, one of head's is no news.

    Unchanged code gave such a run once in about twenty: by exchangeability of runs that is the chance of
    another, far above any level. Every run of a head that really changed is off, so a second one tells.
    """
    side = 1 if ruling.verdict is TimingVerdict.SLOWER else -1
    worst = max((side * glitch for glitch in ground.glitches), default=0.0)
    nearest = min(side * (log(seconds) - ground.level) for seconds in seconds_of(head))
    needed = ruling.band + (worst if ground.evidence.n[1] == 1 else 0.0)
    if worst <= 0 or nearest >= needed:
        return ""
    shown = f"one of main's runs was {_apart(side * worst)} than the others without a change"
    if ground.evidence.n[1] == 1:
        return f"{shown}, so that head's only run may be such a one: another run of head tells"
    return f"{shown}, and not every run of head is {ruling.verdict.value}: one of them may be such a one"


def _apart(log_ratio: float) -> str:
    return f"{percent(abs(log_ratio)):.2g} % {'slower' if log_ratio > 0 else 'faster'}"
