"""Slower, faster, the same, or not known: the decision on steady step time.

In:  the steady states of both sides, the noise between runs, how many cases are looked at, and how often.
Out: `Timing`, all of it on the log scale.
Promises: at no change at most 1 comment in 20 flags anything, whatever the number of cases and looks;
"same" is said only where a change of the equivalence margin is ruled out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, log1p, sqrt
from statistics import fmean

from bot.verdict.judgement import Margins, Spread, Steady, Timing, TimingVerdict
from bot.verdict.noise import ENOUGH_FREEDOM, Noise, run_to_run
from bot.verdict.peaks import Family
from bot.verdict.student import normal_quantile, t_quantile

ALPHA = 0.05
"""Chance that a report on a change without effect flags any of its cases."""

EQUIVALENCE_ALPHA = 0.05
"""Chance that a change as large as the equivalence margin is called the same: TOST at z = 1.645."""

POWER_Z = 0.84
"""Standard errors above the threshold at which 4 of 5 comparisons see an effect."""

LATER_LOOKS = 0.2
"""Share of the level that all looks after the first spend together, halved at each: 1/10, 1/20, 1/40 … of it.
Re-running until green or red therefore adds at most one percentage point to the 5 %."""

MOST_MORE_RUNS = 10
"""Past this many further runs a side, asking for them costs more than the answer is worth."""

DWARFS = 9.0
"""A within-run variance this much above the measured one shows that the runs at hand were noisier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`change` is ln(head/base), `n` the runs of each side, `within` its mean squared error of one run."""

    change: float
    within: tuple[float, float]
    n: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a decision is held to: margins on the log scale, cases of the report, and which look this is."""

    practical: float
    equivalence: float
    cases: int
    look: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One application of the rules: verdict, threshold and standard error on the log scale, and the quantiles
    of the two tests."""

    verdict: TimingVerdict
    band: float
    se: float
    quantile: float
    z: float


def percent(log_ratio: float) -> float:
    """Return what people read, in percent, for a change on the log scale."""
    return 100 * (exp(log_ratio) - 1)


def level(alpha: float, look: int) -> float:
    """Return the level that one look at the data may spend; `look` counts from 1."""
    return alpha if look <= 1 else alpha * LATER_LOOKS / 2 ** (look - 1)


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
    """Return the timing decision by `VERDICT.md` section 3; runs without a steady state do not count."""
    rules = held_to(margins, comparable_cases, look)
    base_times, head_times = _seconds(base), _seconds(head)
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
    evidence = weigh(base, head)
    noise = run_to_run(base_times, head_times, history, family)
    known = replace(
        known,
        change=evidence.change,
        spread=noise.spread,
        degrees_of_freedom=noise.nu,
        history=noise.history,
    )
    return _ruled(known, evidence, noise, rules)


def held_to(margins: Margins, comparable_cases: int, look: int) -> Rules:
    """Return what a decision is held to, from margins in percent."""
    return Rules(
        practical=log1p(margins.practical_percent / 100),
        equivalence=log1p(margins.equivalence_percent / 100),
        cases=max(comparable_cases, 1),
        look=max(look, 1),
    )


def _ruled(known: Timing, evidence: Evidence, noise: Noise, rules: Rules) -> Timing:
    """Complete a timing whose noise is known, or say how many runs would make it known."""
    more = more_runs(evidence, noise, rules)
    ruling = rule(evidence, noise, rules)
    if ruling is None:
        return replace(known, more_runs=more, reason=_unknown_noise(more))
    settled = ruling.verdict is not TimingVerdict.INCONCLUSIVE
    return replace(
        known,
        verdict=ruling.verdict,
        band=ruling.band,
        mde=ruling.band + POWER_Z * ruling.se,
        se=ruling.se,
        more_runs=None if settled else more,
        reason="" if settled else _undecided(ruling, rules, more),
    )


def rule(evidence: Evidence, noise: Noise, rules: Rules) -> Ruling | None:
    """Apply the rules once; None where the noise between runs is unknown."""
    if noise.sd is None:
        return None
    se = _standard_error(evidence, noise, noise.sd)
    p = 1 - level(ALPHA, rules.look) / (2 * rules.cases)
    measured = noise.spread is Spread.MEASURED
    quantile = t_quantile(p, noise.nu) if measured else normal_quantile(p)
    band = max(rules.practical, quantile * se)
    z = _equivalence_quantile(noise, rules)
    size = abs(evidence.change)
    if size >= band:
        verdict = TimingVerdict.SLOWER if evidence.change > 0 else TimingVerdict.FASTER
    elif size + z * se <= rules.equivalence:
        verdict = TimingVerdict.SAME
    else:
        verdict = TimingVerdict.INCONCLUSIVE
    return Ruling(verdict=verdict, band=band, se=se, quantile=quantile, z=z)


def _equivalence_quantile(noise: Noise, rules: Rules) -> float:
    """Return the standard errors that must fit below the equivalence margin: 1.645 at the first look.

    Later looks spend so little that they lie in the tail, where measured noise makes t far wider than z:
    with z, ten looks at a head 5 % slower found "same" 1.6 points more often than one, with t 0.7.
    """
    p = 1 - level(EQUIVALENCE_ALPHA, rules.look)
    tail = rules.look > 1 and noise.nu >= ENOUGH_FREEDOM
    return t_quantile(p, noise.nu) if tail else normal_quantile(p)


def more_runs(evidence: Evidence, noise: Noise, rules: Rules) -> int | None:
    """Return the fewest further runs a side that would settle it, were change and noise to stay as they are.

    None where no number up to `MOST_MORE_RUNS` would. With unknown noise: what it takes to measure it.
    """
    later = replace(rules, look=rules.look + 1)
    for more in range(1, MOST_MORE_RUNS + 1):
        nu = noise.nu + 2 * more
        if noise.sd is None:
            if nu >= ENOUGH_FREEDOM:
                return more
            continue
        grown = replace(evidence, n=(evidence.n[0] + more, evidence.n[1] + more))
        ruling = rule(grown, replace(noise, nu=nu), later)
        if ruling is not None and ruling.verdict is not TimingVerdict.INCONCLUSIVE:
            return more
    return None


def _standard_error(evidence: Evidence, noise: Noise, sd: float) -> float:
    """Return the standard error of the change: between runs, and within them where that adds or dwarfs."""
    between, within = variances(evidence, sd)
    if noise.spread is Spread.MEASURED:  # a measured spread between runs already holds that within them
        return sqrt(within if within > DWARFS * between else between)
    return sqrt(between + within)


def variances(evidence: Evidence, sd: float) -> tuple[float, float]:
    """Return the variance of the change between runs, and within them."""
    between = sd**2 * sum(1 / n for n in evidence.n)
    within = sum(square / n for square, n in zip(evidence.within, evidence.n, strict=True))
    return between, within


def weigh(base: Sequence[Steady], head: Sequence[Steady]) -> Evidence:
    """Return the change between two sides that each have a steady step time."""
    base_times, head_times = _seconds(base), _seconds(head)
    return Evidence(
        change=fmean(map(log, head_times)) - fmean(map(log, base_times)),
        within=(_within(base), _within(head)),
        n=(len(base_times), len(head_times)),
    )


def _seconds(side: Sequence[Steady]) -> list[float]:
    return [one.seconds for one in side if one.seconds is not None and one.seconds > 0]


def _within(side: Sequence[Steady]) -> float:
    return fmean((one.se or 0.0) ** 2 for one in side if one.seconds is not None and one.seconds > 0)


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
