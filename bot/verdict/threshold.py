"""One application of the timing rule: a change, its error and a level make a threshold and a verdict.

In:  `Evidence`, the `Noise` between runs, the `Rules` a decision is held to.
Out: `Ruling`, on the log scale; `more_runs`, how many further runs would settle it.
Promises: pure; `bot.verdict.decide` says which evidence it gets, `bot.verdict.explain` shows its numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, log1p, sqrt
from statistics import fmean

from bot.verdict.judgement import Margins, Spread, Steady, TimingVerdict
from bot.verdict.noise import ENOUGH_FREEDOM, Noise
from bot.verdict.student import normal_quantile, t_quantile

ALPHA = 0.05
"""Chance that a report on a change without effect flags any of its cases."""

ALPHA_WITH_HISTORY = 0.005
"""The same where main's history tells the noise of the case: 1 report in 100 is what is promised there, and
half of it is kept back for noise that is not quite normal. The device's defaults stay at `ALPHA`: they are
the worst case's noise, so that reports are flagged far less often than the level says."""

EQUIVALENCE_ALPHA = 0.05
"""Chance that a change as large as the equivalence margin is called the same: TOST at z = 1.645."""

POWER_Z = 0.84
"""Standard errors above the threshold at which 4 of 5 comparisons see an effect."""

LATER_LOOKS = 0.2
"""Share of the level that all looks after the first spend together, halved at each: 1/10, 1/20, 1/40 … of it.
Re-running until green or red therefore adds at most one percentage point to the 5 %."""

LATER_LOOKS_WITH_HISTORY = 1.0
"""The same where main's history tells the noise: as much again as the first look, so that all looks together
stay at the promised 1 report in 100. A fifth of so strict a level would leave repeats next to no power."""

MOST_MORE_RUNS = 10
"""Past this many further runs a side, asking for them costs more than the answer is worth."""

DWARFS = 9.0
"""A within-run variance this much above the measured one shows that the runs at hand were noisier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`change` is ln(head/base), `n` the runs of each side, `within` its mean squared error of one run.
    `rounding` is how far the last printed digits alone may have moved the change, whatever the runs."""

    change: float
    within: tuple[float, float]
    n: tuple[int, int]
    rounding: float = 0.0


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


def level(alpha: float, look: int, later: float = LATER_LOOKS) -> float:
    """Return the level that one look at the data may spend; `look` counts from 1, `later` is the share of
    `alpha` that all looks after the first spend together."""
    return alpha if look <= 1 else alpha * later / 2 ** (look - 1)


def report_level(noise: Noise, look: int) -> float:
    """Return the chance that a look may give a report on a harmless change to flag any case, by where the
    noise is known from."""
    if noise.history:
        return level(ALPHA_WITH_HISTORY, look, LATER_LOOKS_WITH_HISTORY)
    return level(ALPHA, look)


def held_to(margins: Margins, comparable_cases: int, look: int) -> Rules:
    """Return what a decision is held to, from margins in percent."""
    return Rules(
        practical=log1p(margins.practical_percent / 100),
        equivalence=log1p(margins.equivalence_percent / 100),
        cases=max(comparable_cases, 1),
        look=max(look, 1),
    )


def rule(evidence: Evidence, noise: Noise, rules: Rules) -> Ruling | None:
    """Apply the rules once; None where the noise between runs is unknown."""
    if noise.sd is None:
        return None
    se = _standard_error(evidence, noise, noise.sd)
    p = 1 - report_level(noise, rules.look) / (2 * rules.cases)
    measured = noise.spread is Spread.MEASURED
    quantile = t_quantile(p, noise.nu) if measured else normal_quantile(p)
    band = max(rules.practical, quantile * se, evidence.rounding)
    z = _equivalence_quantile(noise, rules)
    size = abs(evidence.change)
    if size >= band:
        verdict = TimingVerdict.SLOWER if evidence.change > 0 else TimingVerdict.FASTER
    elif size + max(z * se, evidence.rounding) <= rules.equivalence:
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


def weigh(base: Sequence[Steady], head: Sequence[Steady], main: Sequence[float] = ()) -> Evidence:
    """Return the change between two sides that each have a steady step time.

    `main` holds the steady seconds of main's runs that stand beside base's, as runs of the same code. Of
    their errors nothing is known but what the noise between runs holds of them.
    """
    own, head_times = seconds_of(base), seconds_of(head)
    base_times = [*own, *main]
    return Evidence(
        change=fmean(map(log, head_times)) - fmean(map(log, base_times)),
        within=(_within(base) * len(own) / len(base_times), _within(head)),
        n=(len(base_times), len(head_times)),
        rounding=_rounding(base) + _rounding(head),
    )


def _rounding(side: Sequence[Steady]) -> float:
    """Return half a digit as a share of a step: a median of rounded times is off by up to that, and so is
    every other run's, in the same direction where they are the same number."""
    return max((one.resolution / 2 for one in side if one.seconds is not None), default=0.0)


def seconds_of(side: Sequence[Steady]) -> list[float]:
    """Return the steady seconds of the runs that have any."""
    return [one.seconds for one in side if one.seconds is not None and one.seconds > 0]


def _within(side: Sequence[Steady]) -> float:
    return fmean((one.se or 0.0) ** 2 for one in side if one.seconds is not None and one.seconds > 0)
