"""The threshold of a change on the log scale, in two stages, and what levels they may spend.

A change is looked at in two stages. The screen is loose: 1 harmless case in 20 passes it, and then further
runs of head are asked for. A flag needs them: it must pass a strict test on all runs together, whose level is
shared by the cases of the report, whatever the screen said. Only an effect far beyond any glitch is flagged
by one run. With known noise of 0.78 % a single stage at the strict level sees +3 % in half of the cases; the
two see it in nine of ten, at a tenth of a run a case (VerdictBench).
"""

from enum import StrEnum
from math import exp, log, log1p, sqrt
from typing import assert_never

from msgspec import Struct

from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import Margins, NoiseSource, TimingVerdict
from bot.verdict.noise import MIN_DEGREES_OF_FREEDOM, Noise
from bot.verdict.statistics import normal_quantile, t_quantile

REPORT_ALPHA = 0.05
"""Chance that a report on a change without effect flags any of its cases."""

REPORT_ALPHA_WITH_HISTORY = 0.008
"""The same where main's history measures the noise of the case: the promise there is 1 report in 100, and
later looks have the rest. The device's defaults stay at `REPORT_ALPHA`: they are the worst case's noise, so
that reports are flagged far less often than the level says."""

EQUIVALENCE_ALPHA = 0.05
"""Chance that a change as large as the equivalence margin is called the same: TOST at z = 1.645."""

POWER_Z = 0.84
"""Standard errors above the threshold at which 4 of 5 comparisons see an effect."""

SCREEN_ALPHA = 0.06
"""Chance that a harmless case passes the screen on its steady step time and costs two more runs: 0.11 extra
runs a case, against 0.15 that were to be spent at most. At 0.78 % noise it lets +3 % pass in 96 of 100."""

LOOP_SCREEN_ALPHA = 0.01
"""The same for the loop time, one-sided: it hardly ever passes where the steady step time does not."""

LOOP_SHARE = 0.2
"""Share of the level that goes to the loop time; the rest goes to the steady step time, the primary measure.
The two move together, so that what either spends is mostly the same false flags."""

CONFIRMED_RUNS = 3
"""Independent runs of head behind a flag: the one that was seen, and two more. With one more, 1 harmless case
in 20 on slices of which 1 in 20 is slow would be slow twice by chance in 1 report in 16."""

CONFIRMED_BASE_RUNS = 2
"""Independent runs of base behind a flag where main's runs do not stand beside them: a single one that was
off makes every run of head look changed."""

BEYOND_GLITCHES = log(1.5)
"""A change that no glitch explains: the largest of 20 public repeats of one program on 8 x H100 is 22 % off
the others (modded-nanogpt). Twice that, also where the device is unknown."""

BEYOND_TPU_GLITCHES = log(1.15)
"""The same on a TPU: the largest difference of 53 public runs is 0.74 %. Twenty times that."""

BEYOND_CPU_GLITCHES = log(3.0)
"""The same on a CPU: equal MaxText runs took 0.51 to 1.41 s a step while other programs ran, a factor 2.8."""

LATER_EQUIVALENCE_SHARE = 0.2
"""Share of `EQUIVALENCE_ALPHA` that all looks after the first spend together, halved at each."""


class DecisionStage(StrEnum):
    """What a test may say: `SCREEN` may only ask for runs, unless the effect is beyond any glitch."""

    SCREEN = "screen"
    CONFIRMED = "confirmed"


class TimingEvidence(Struct, frozen=True, kw_only=True):
    """`change` is ln(head/base), `n` the independent runs of each side, `within` the mean squared error of
    one of them. `rounding` is how far the last printed digits alone may have moved the change, whatever the
    runs."""

    change: float
    within: tuple[float, float]
    n: tuple[int, int]
    rounding: float = 0.0


class DecisionRules(Struct, frozen=True, kw_only=True):
    """The rules of a decision: margins on the log scale, cases of the report, the number of the look, and the
    change that no glitch explains."""

    practical: float
    equivalence: float
    cases: int
    look: int
    beyond: float = BEYOND_GLITCHES


class ThresholdTest(Struct, frozen=True, kw_only=True):
    """One application of the rules, on the log scale, with its working.

    `between` is the variance of the change between runs, `within` what is added for the noise within them,
    `alpha` is what this look may spend, `quantile` and `z` are the quantiles of the threshold and of the
    equivalence test. `threshold` is what the change is held against at this stage, `strict` what a confirmed
    one must reach.
    """

    verdict: TimingVerdict
    stage: DecisionStage
    threshold: float
    strict: float
    se: float
    between: float
    within: float
    alpha: float
    quantile: float
    z: float

    @property
    def mde(self) -> float:
        """The change that 4 of 5 comparisons detect."""
        return self.threshold + POWER_Z * self.se


def as_percent(log_ratio: float) -> float:
    """Return what people read, in percent, for a change on the log scale."""
    return 100 * (exp(log_ratio) - 1)


def look_alpha(alpha: float, look: int, later: float = LATER_EQUIVALENCE_SHARE) -> float:
    """Return the level that one look may spend on calling a change the same; `look` counts from 1."""
    return alpha if look <= 1 else alpha * later / 2 ** (look - 1)


class LookShares(Struct, frozen=True, kw_only=True):
    """Shares of a level that the first look spends, the second the rest of it, and all others together,
    halved at each."""

    first: float
    later: float


def flag_alpha(alpha: float, look: int, shares: LookShares) -> float:
    """Return the level that one look may spend on flags; `look` counts from 1."""
    if look <= 1:
        return alpha * shares.first
    return alpha * (1 - shares.first) if look == 2 else alpha * shares.later / 2 ** (look - 2)


LOOKS = LookShares(first=0.5, later=0.2)
"""Without main's history. The first two looks, usually the screen and its confirmation, share the level.
Re-running until green or red adds at most one percentage point to the 5 %."""

LOOKS_WITH_HISTORY = LookShares(first=0.25, later=0.25)
"""Where main's history measures the noise. Most first looks see one run of head, which can only be screened.
All looks together stay at the promised 1 report in 100."""


def report_alpha(noise: Noise, look: int) -> float:
    """Return the chance that a look may give a report on a harmless change to flag any case, by where the
    noise is known from."""
    if noise.history:
        return flag_alpha(REPORT_ALPHA_WITH_HISTORY, look, LOOKS_WITH_HISTORY)
    return flag_alpha(REPORT_ALPHA, look, LOOKS)


def decision_rules(
    margins: Margins, comparable_cases: int, look: int, family: DeviceFamily | None = None
) -> DecisionRules:
    """Return the rules of a decision, from margins in percent."""
    return DecisionRules(
        practical=log1p(margins.practical_percent / 100),
        equivalence=log1p(margins.equivalence_percent / 100),
        cases=max(comparable_cases, 1),
        look=max(look, 1),
        beyond=_beyond_glitches(family),
    )


def _beyond_glitches(family: DeviceFamily | None) -> float:
    match family:
        case DeviceFamily.TPU:
            return BEYOND_TPU_GLITCHES
        case DeviceFamily.GPU | None:
            return BEYOND_GLITCHES
        case DeviceFamily.CPU:
            return BEYOND_CPU_GLITCHES
        case _:
            assert_never(family)


def noise_quantile(noise: Noise, p: float) -> float:
    """Return how many standard errors are exceeded with chance 1 - p, by how the noise is known."""
    if noise.source is NoiseSource.MEASURED:
        return t_quantile(p, noise.degrees_of_freedom)
    return normal_quantile(p)


def apply_threshold(
    evidence: TimingEvidence, noise: Noise, rules: DecisionRules, stage: DecisionStage
) -> ThresholdTest | None:
    """Apply the rules once; None where the noise between runs is unknown."""
    if noise.sd is None:
        return None
    between, within = change_variances(evidence, noise)
    se = sqrt(between + within)
    alpha = report_alpha(noise, rules.look)
    quantile = noise_quantile(noise, 1 - alpha * (1 - LOOP_SHARE) / (2 * rules.cases))
    strict = max(rules.practical, quantile * se, evidence.rounding)
    if stage is DecisionStage.SCREEN:
        quantile = min(quantile, noise_quantile(noise, 1 - SCREEN_ALPHA / 2))
    threshold = max(rules.practical, quantile * se, evidence.rounding)
    z = equivalence_quantile(noise, rules)
    size = abs(evidence.change)
    flag = TimingVerdict.SLOWER if evidence.change > 0 else TimingVerdict.FASTER
    if stage is DecisionStage.SCREEN and size >= threshold:
        verdict = flag if size >= max(strict, rules.beyond) else TimingVerdict.CONFIRMING
    elif size >= threshold:
        verdict = flag
    elif size + max(z * se, evidence.rounding) <= rules.equivalence:
        verdict = TimingVerdict.SAME
    else:
        verdict = TimingVerdict.INCONCLUSIVE
    return ThresholdTest(
        verdict=verdict,
        stage=stage,
        threshold=threshold,
        strict=strict,
        se=se,
        between=between,
        within=within,
        alpha=alpha,
        quantile=quantile,
        z=z,
    )


def equivalence_quantile(noise: Noise, rules: DecisionRules) -> float:
    """Return the standard errors that must fit below the equivalence margin: 1.645 at the first look.

    Later looks spend so little that they lie in the tail, where measured noise makes t far wider than z:
    with z, ten looks at a head 5 % slower found "same" 1.6 points more often than one, with t 0.7.
    """
    p = 1 - look_alpha(EQUIVALENCE_ALPHA, rules.look)
    tail = rules.look > 1 and noise.degrees_of_freedom >= MIN_DEGREES_OF_FREEDOM
    return t_quantile(p, noise.degrees_of_freedom) if tail else normal_quantile(p)


def change_variances(evidence: TimingEvidence, noise: Noise) -> tuple[float, float]:
    """Return the variance of the change between runs, and what the noise within them adds.

    A measured spread between runs holds what is usual within them: only what one side is unsteadier than the
    other comes on top. A default holds none of it.
    """
    sd = noise.sd or 0.0
    between = sd**2 * sum(1 / n for n in evidence.n)
    if noise.source is NoiseSource.MEASURED:
        base, head = evidence.within
        unsteadier = evidence.n[1] if head > base else evidence.n[0]
        return between, abs(head - base) / unsteadier
    return between, sum(square / n for square, n in zip(evidence.within, evidence.n, strict=True))
