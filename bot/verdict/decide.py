"""Slower, faster, the same, or not known: the decision on steady step time.

In:  the steady states of both sides, the noise between runs, how many cases are looked at, and how often.
Out: `Timing`, all of it on the log scale.
Promises: at no change at most 1 comment in 20 flags anything, whatever the number of cases and looks, and at
most 1 in 100 where main's history tells the noise; "same" is said only where a change of the equivalence
margin is ruled out; a flag is withheld where main's own runs show that it may be none.

VERDICT.md section 3 is departed from in four places, each only where 15 or more runs of main are known: the
level (`threshold.ALPHA_WITH_HISTORY`), main's runs beside base's (`footing`), glitches by Grubbs' test
(`noise.GLITCH_ALPHA`), and flags that main's runs put in doubt (`doubt`). By its letter 4.75 % of 25-case
reports on GPU-like noise were flagged at no change, and z > 5 against history did better (VerdictBench).
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from statistics import fmean

from bot.verdict.doubt import doubt
from bot.verdict.footing import Footing, footing
from bot.verdict.judgement import Margins, Steady, Timing, TimingVerdict
from bot.verdict.noise import Noise, run_to_run
from bot.verdict.peaks import Family
from bot.verdict.threshold import (
    POWER_Z,
    Rules,
    Ruling,
    held_to,
    more_runs,
    percent,
    rule,
    seconds_of,
)


def decide(
    base: Sequence[Steady],
    head: Sequence[Steady],
    *,
    family: Family | None,
    history: Sequence[float] = (),
    comparable_cases: int = 1,
    margins: Margins = Margins(),
    look: int = 1,
) -> Timing:
    """Return the timing decision; runs without a steady state do not count.

    `history` holds the steady seconds of main's runs of this case, oldest first, base's among them or not.
    """
    rules = held_to(margins, comparable_cases, look)
    base_times, head_times = seconds_of(base), seconds_of(head)
    known = Timing(
        verdict=TimingVerdict.INCONCLUSIVE,
        n=(len(base_times), len(head_times)),
        base_seconds=exp(fmean(map(log, base_times))) if base_times else None,
        head_seconds=exp(fmean(map(log, head_times))) if head_times else None,
        look=rules.look,
        comparable_cases=rules.cases,
    )
    if not base_times or not head_times:
        return replace(known, reason=_missing(base, base_times, head))
    noise = run_to_run(base_times, head_times, history, family)
    ground = footing(base, head, history, noise)
    known = replace(
        known,
        change=ground.evidence.change,
        base_seconds=exp(ground.level),
        spread=noise.spread,
        degrees_of_freedom=noise.nu,
        history=noise.history,
        standing=ground.standing,
        main_runs=ground.main,
    )
    return _ruled(known, ground, head, noise, rules)


def _ruled(known: Timing, ground: Footing, head: Sequence[Steady], noise: Noise, rules: Rules) -> Timing:
    """Complete a timing whose noise is known, or say how many runs would make it known."""
    ruling = rule(ground.evidence, noise, rules)
    if ruling is None:
        more = more_runs(ground.evidence, noise, rules)
        return replace(known, more_runs=more, reason=_unknown_noise(more))
    known = replace(
        known,
        verdict=ruling.verdict,
        band=ruling.band,
        mde=ruling.band + POWER_Z * ruling.se,
        se=ruling.se,
    )
    doubted = doubt(ground, ruling, head, noise, rules)
    if doubted:
        return replace(known, verdict=TimingVerdict.INCONCLUSIVE, more_runs=1, reason=doubted)
    if ruling.verdict is TimingVerdict.INCONCLUSIVE:
        more = more_runs(ground.evidence, noise, rules)
        return replace(known, more_runs=more, reason=_undecided(ruling, rules, more))
    return known


def _missing(base: Sequence[Steady], base_times: Sequence[float], head: Sequence[Steady]) -> str:
    name, side = ("head", head) if base_times else ("base", base)
    problem = next((one.problem for one in side if one.problem), "it has no run that can be timed")
    return f"no steady step time on {name}: {problem}"


def _unknown_noise(more: int | None) -> str:
    text = "the noise between runs is unknown on this device and may not be assumed"
    return text if more is None else f"{text}: {more} more {_runs(more)} a side would measure it"


def _undecided(ruling: Ruling, rules: Rules, more: int | None) -> str:
    text = (
        f"inside the band of ±{percent(ruling.band):.2g} %, "
        f"but the noise is too large to rule out a change of {percent(rules.equivalence):.3g} %"
    )
    if rules.look > 1:
        text += f" (look {rules.look}, threshold adjusted)"
    return text if more is None else f"{text}: {more} more {_runs(more)} a side would settle it"


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"
