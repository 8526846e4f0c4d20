"""Slower, faster, the same, or not known: the decision on steady step time, on the log scale.

At no change at most 1 comment in 20 flags anything, whatever the number of cases and looks, and at most 1 in
100 where main's history measures the noise. "Same" is said only where a change of the equivalence margin is
ruled out. A flag is withheld where main's own runs show that it may be none.

Four rules apply only where 15 or more runs of main are known: the level (`REPORT_ALPHA_WITH_HISTORY`), main's
runs pooled with base's (`pooled_baseline`), glitches by Grubbs' test (`noise.GLITCH_ALPHA`), and flags that
main's runs put in doubt (`outlier_guard`). Without them 4.75 % of 25-case reports on GPU-like noise were
flagged at no change, and z > 5 against history did better (VerdictBench).

Half of the variance of one run against one is base's. Main's runs since its last change of level are runs of
the same program, and twenty of them leave next to none of it. Whether base is one of them is tested first:
"test-then-pool", as trials do with historical controls (Viele et al. 2014, "Use of historical control data
for assessing treatment effects in clinical trials").
"""

from collections.abc import Sequence
from math import exp, log, log1p, sqrt
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import (
    BaselineSource,
    Margins,
    NoiseSource,
    SteadyStepTime,
    TimingDecision,
    TimingVerdict,
)
from bot.verdict.noise import MIN_DEGREES_OF_FREEDOM, Noise, run_to_run_noise, select_history
from bot.verdict.statistics import normal_quantile, t_quantile

REPORT_ALPHA = 0.05
"""Chance that a report on a change without effect flags any of its cases."""

REPORT_ALPHA_WITH_HISTORY = 0.005
"""The same where main's history measures the noise of the case: the promise there is 1 report in 100, and
half of it is reserved for noise that is not quite normal. The device's defaults stay at `REPORT_ALPHA`: they
are the worst case's noise, so that reports are flagged far less often than the level says."""

EQUIVALENCE_ALPHA = 0.05
"""Chance that a change as large as the equivalence margin is called the same: TOST at z = 1.645."""

POWER_Z = 0.84
"""Standard errors above the threshold at which 4 of 5 comparisons see an effect."""

LATER_LOOKS_SHARE = 0.2
"""Share of the level that all looks after the first spend together, halved at each: 1/10, 1/20, 1/40 … of it.
Re-running until green or red therefore adds at most one percentage point to the 5 %."""

LATER_LOOKS_SHARE_WITH_HISTORY = 1.0
"""The same where main's history measures the noise: as much again as the first look, so that all looks
together stay at the promised 1 report in 100. A fifth of so strict a level would leave repeats next to no
power."""

MAX_MORE_RUNS = 10
"""Past this many further runs a side, asking for them costs more than the answer is worth."""

WITHIN_DOMINATES = 9.0
"""A within-run variance this much above the measured one shows that the runs at hand were noisier."""


class TimingEvidence(Struct, frozen=True, kw_only=True):
    """`change` is ln(head/base), `n` the runs of each side, `within` its mean squared error of one run.
    `rounding` is how far the last printed digits alone may have moved the change, whatever the runs."""

    change: float
    within: tuple[float, float]
    n: tuple[int, int]
    rounding: float = 0.0


class DecisionRules(Struct, frozen=True, kw_only=True):
    """The rules of a decision: margins on the log scale, cases of the report, and the number of the look."""

    practical: float
    equivalence: float
    cases: int
    look: int


class ThresholdTest(Struct, frozen=True, kw_only=True):
    """One application of the rules, on the log scale, with its working.

    `between` and `within` are the variances of the change between runs and within them, `alpha` is what this
    look may spend, `quantile` and `z` are the quantiles of the threshold and of the equivalence test.
    """

    verdict: TimingVerdict
    threshold: float
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


def look_alpha(alpha: float, look: int, later: float = LATER_LOOKS_SHARE) -> float:
    """Return the level that one look at the data may spend; `look` counts from 1, `later` is the share of
    `alpha` that all looks after the first spend together."""
    return alpha if look <= 1 else alpha * later / 2 ** (look - 1)


def report_alpha(noise: Noise, look: int) -> float:
    """Return the chance that a look may give a report on a harmless change to flag any case, by where the
    noise is known from."""
    if noise.history:
        return look_alpha(REPORT_ALPHA_WITH_HISTORY, look, LATER_LOOKS_SHARE_WITH_HISTORY)
    return look_alpha(REPORT_ALPHA, look)


def decision_rules(margins: Margins, comparable_cases: int, look: int) -> DecisionRules:
    """Return the rules of a decision, from margins in percent."""
    return DecisionRules(
        practical=log1p(margins.practical_percent / 100),
        equivalence=log1p(margins.equivalence_percent / 100),
        cases=max(comparable_cases, 1),
        look=max(look, 1),
    )


def apply_threshold(evidence: TimingEvidence, noise: Noise, rules: DecisionRules) -> ThresholdTest | None:
    """Apply the rules once; None where the noise between runs is unknown."""
    if noise.sd is None:
        return None
    between, within = _change_variances(evidence, noise.sd)
    se = _standard_error(noise, between, within)
    alpha = report_alpha(noise, rules.look)
    p = 1 - alpha / (2 * rules.cases)
    measured = noise.source is NoiseSource.MEASURED
    quantile = t_quantile(p, noise.degrees_of_freedom) if measured else normal_quantile(p)
    threshold = max(rules.practical, quantile * se, evidence.rounding)
    z = _equivalence_quantile(noise, rules)
    size = abs(evidence.change)
    if size >= threshold:
        verdict = TimingVerdict.SLOWER if evidence.change > 0 else TimingVerdict.FASTER
    elif size + max(z * se, evidence.rounding) <= rules.equivalence:
        verdict = TimingVerdict.SAME
    else:
        verdict = TimingVerdict.INCONCLUSIVE
    return ThresholdTest(
        verdict=verdict,
        threshold=threshold,
        se=se,
        between=between,
        within=within,
        alpha=alpha,
        quantile=quantile,
        z=z,
    )


def _equivalence_quantile(noise: Noise, rules: DecisionRules) -> float:
    """Return the standard errors that must fit below the equivalence margin: 1.645 at the first look.

    Later looks spend so little that they lie in the tail, where measured noise makes t far wider than z:
    with z, ten looks at a head 5 % slower found "same" 1.6 points more often than one, with t 0.7.
    """
    p = 1 - look_alpha(EQUIVALENCE_ALPHA, rules.look)
    tail = rules.look > 1 and noise.degrees_of_freedom >= MIN_DEGREES_OF_FREEDOM
    return t_quantile(p, noise.degrees_of_freedom) if tail else normal_quantile(p)


def runs_to_settle(evidence: TimingEvidence, noise: Noise, rules: DecisionRules) -> int | None:
    """Return the fewest further runs a side that would settle it, were change and noise to stay as they are.

    None where no number up to `MAX_MORE_RUNS` would. With unknown noise: what it takes to measure it.
    """
    later = replace(rules, look=rules.look + 1)
    for more in range(1, MAX_MORE_RUNS + 1):
        freedom = noise.degrees_of_freedom + 2 * more
        if noise.sd is None:
            if freedom >= MIN_DEGREES_OF_FREEDOM:
                return more
            continue
        grown = replace(evidence, n=(evidence.n[0] + more, evidence.n[1] + more))
        test = apply_threshold(grown, replace(noise, degrees_of_freedom=freedom), later)
        if test is not None and test.verdict is not TimingVerdict.INCONCLUSIVE:
            return more
    return None


def _change_variances(evidence: TimingEvidence, sd: float) -> tuple[float, float]:
    """Return the variance of the change between runs, and within them."""
    between = sd**2 * sum(1 / n for n in evidence.n)
    within = sum(square / n for square, n in zip(evidence.within, evidence.n, strict=True))
    return between, within


def _standard_error(noise: Noise, between: float, within: float) -> float:
    """Return the standard error of the change. A measured spread between runs already holds that within them,
    unless the runs at hand were far noisier."""
    if noise.source is NoiseSource.MEASURED:
        return sqrt(within if within > WITHIN_DOMINATES * between else between)
    return sqrt(between + within)


def weigh_evidence(
    base: Sequence[SteadyStepTime], head: Sequence[SteadyStepTime], main: Sequence[float] = ()
) -> TimingEvidence:
    """Return the change between two sides that each have a steady step time.

    `main` holds the steady seconds of main's runs that are pooled with base's, as runs of the same code.
    Their own errors are unknown; the noise between runs includes them.
    """
    own, head_times = steady_seconds(base), steady_seconds(head)
    base_times = [*own, *main]
    return TimingEvidence(
        change=fmean(map(log, head_times)) - fmean(map(log, base_times)),
        within=(_within_variance(base) * len(own) / len(base_times), _within_variance(head)),
        n=(len(base_times), len(head_times)),
        rounding=_side_rounding(base) + _side_rounding(head),
    )


def _side_rounding(side: Sequence[SteadyStepTime]) -> float:
    """Return half a digit as a share of a step: a median of rounded times is off by up to that, and so is
    every other run's, in the same direction where they are the same number."""
    return max((one.resolution / 2 for one in side if one.seconds is not None), default=0.0)


def steady_seconds(side: Sequence[SteadyStepTime]) -> list[float]:
    """Return the steady seconds of the runs that have any."""
    return [one.seconds for one in side if one.seconds is not None and one.seconds > 0]


def _within_variance(side: Sequence[SteadyStepTime]) -> float:
    return fmean((one.se or 0.0) ** 2 for one in side if one.seconds is not None and one.seconds > 0)


DISPUTE_ALPHA = 0.05
"""Chance that base is held apart from main's runs though it is one of them. Usual for test-then-pool, and on
the safe side: a step of main that is large enough to be blamed on head (4.6 standard deviations) then slips
through in fewer than 1 of 100 cases, while 1 comparison in 20 is judged as if there were no such runs."""

MIN_MAIN_RUNS = MIN_DEGREES_OF_FREEDOM + 1
"""Main runs up to base that must be there: fewer say neither where main stood nor how far base is from it."""


class PooledBaseline(Struct, frozen=True, kw_only=True):
    """What head is compared with: base's runs, pooled with main's where the two agree.

    `evidence` is what is judged, `level` the ln of base's seconds in it, `main_runs` how many of main's runs
    are in it. Where main's runs contradict base, `base_off` is ln(base/main), and `against_main` is head
    against main's and base's runs together. `glitches` are ln(run/level) of the main runs set aside.
    """

    source: BaselineSource
    evidence: TimingEvidence
    level: float
    main_runs: int = 0
    base_off: float = 0.0
    against_main: TimingEvidence | None = None
    glitches: tuple[float, ...] = ()


def pooled_baseline(
    base: Sequence[SteadyStepTime], head: Sequence[SteadyStepTime], history: Sequence[float], noise: Noise
) -> PooledBaseline:
    """Return what head is compared with; both sides have a steady step time."""
    own, alone = steady_seconds(base), weigh_evidence(base, head)
    level = _mean_log_seconds(own)
    if not noise.history:
        return PooledBaseline(source=BaselineSource.BASE, evidence=alone, level=level)
    main, glitches = _main_before_base(own, history)
    if len(main) < MIN_MAIN_RUNS:
        return PooledBaseline(source=BaselineSource.BASE, evidence=alone, level=level, glitches=glitches)
    together = weigh_evidence(base, head, main)
    if _base_agrees(own, main):
        return PooledBaseline(
            source=BaselineSource.MAIN,
            evidence=together,
            level=_mean_log_seconds([*own, *main]),
            main_runs=len(main),
            glitches=glitches,
        )
    return PooledBaseline(
        source=BaselineSource.DISPUTED,
        evidence=alone,
        level=level,
        base_off=level - _mean_log_seconds(main),
        against_main=together,
        glitches=glitches,
    )


def _main_before_base(
    own: Sequence[float], history: Sequence[float]
) -> tuple[Sequence[float], tuple[float, ...]]:
    """Return main's clean runs besides base's own, and how far the glitches are from them, on the log scale.

    Where base's runs are among main's, only those before them are taken: what main became afterwards says
    nothing of base.
    """
    selected = select_history(history)
    places = [place for place, seconds in enumerate(history) if seconds in own]
    end = min(places, default=len(history))
    level = _mean_log_seconds([history[place] for place in selected.used])
    glitches = (log(history[place]) - level for place in selected.glitches if place not in places)
    return [history[place] for place in selected.used if place < end], tuple(glitches)


def _base_agrees(own: Sequence[float], main: Sequence[float]) -> bool:
    """Tell whether base could be one of main's runs: Student's prediction interval, from main's runs alone,
    so that a base run that is far off does not widen it."""
    level = _mean_log_seconds(main)
    spread = sqrt(sum((log(seconds) - level) ** 2 for seconds in main) / (len(main) - 1))
    reach = t_quantile(1 - DISPUTE_ALPHA / 2, len(main) - 1) * spread * sqrt(1 / len(own) + 1 / len(main))
    return abs(_mean_log_seconds(own) - level) <= reach


def _mean_log_seconds(seconds: Sequence[float]) -> float:
    return fmean(map(log, seconds))


FLAGGED = frozenset({TimingVerdict.SLOWER, TimingVerdict.FASTER})


def outlier_guard(
    baseline: PooledBaseline,
    test: ThresholdTest,
    head: Sequence[SteadyStepTime],
    noise: Noise,
    rules: DecisionRules,
) -> str:
    """Return why the flag of a test is not believed, one clause; empty where it is, or where there is none.

    More runs settle it either way: of base where main contradicts it, of head where main has glitches.
    """
    if test.verdict not in FLAGGED:
        return ""
    return _guard_base(baseline, test, noise, rules) or _guard_head(baseline, test, head)


def _guard_base(baseline: PooledBaseline, test: ThresholdTest, noise: Noise, rules: DecisionRules) -> str:
    """One run of base that main's runs contradict is either a glitch or the first of a new level."""
    if baseline.against_main is None or baseline.evidence.n[0] > 1:
        return ""
    other = apply_threshold(baseline.against_main, noise, rules)
    if other is not None and other.verdict is test.verdict:
        return ""
    return (
        f"the only run of base is {_off_by(baseline.base_off)} than main's runs before it, and against those "
        f"head is not {test.verdict.value}: another run of base tells whether main moved or it was off"
    )


def _guard_head(baseline: PooledBaseline, test: ThresholdTest, head: Sequence[SteadyStepTime]) -> str:
    """Where one of main's runs was as far off, one of head's is no news.

    Unchanged code gave such a run once in about twenty: by exchangeability of runs that is the chance of
    another, far above any level. Every run of a head that really changed is off, so a second one settles it.
    """
    sign = 1 if test.verdict is TimingVerdict.SLOWER else -1
    worst = max((sign * glitch for glitch in baseline.glitches), default=0.0)
    nearest = min(sign * (log(seconds) - baseline.level) for seconds in steady_seconds(head))
    needed = test.threshold + (worst if baseline.evidence.n[1] == 1 else 0.0)
    if worst <= 0 or nearest >= needed:
        return ""
    shown = f"one of main's runs was {_off_by(sign * worst)} than the others without a change"
    if baseline.evidence.n[1] == 1:
        return f"{shown}, so that head's only run may be such a one: another run of head tells"
    return f"{shown}, and not every run of head is {test.verdict.value}: one of them may be such a one"


def _off_by(log_ratio: float) -> str:
    return f"{as_percent(abs(log_ratio)):.2g} % {'slower' if log_ratio > 0 else 'faster'}"


class TimingWorking(Struct, frozen=True, kw_only=True):
    """A decision with the numbers behind it, for `bot.verdict.explanation` to show.

    `noise` and `baseline` are None where a side has no steady step time, `test` also where the noise is
    unknown.
    """

    decision: TimingDecision
    rules: DecisionRules
    noise: Noise | None = None
    baseline: PooledBaseline | None = None
    test: ThresholdTest | None = None


def decide_timing(
    base: Sequence[SteadyStepTime],
    head: Sequence[SteadyStepTime],
    *,
    family: DeviceFamily | None,
    history: Sequence[float] = (),
    comparable_cases: int = 1,
    margins: Margins = Margins(),
    look: int = 1,
) -> TimingWorking:
    """Return the timing decision with its working; runs without a steady state do not count.

    `history` holds the steady seconds of main's runs of this case, oldest first, base's among them or not.
    """
    rules = decision_rules(margins, comparable_cases, look)
    base_times, head_times = steady_seconds(base), steady_seconds(head)
    decision = TimingDecision(
        verdict=TimingVerdict.INCONCLUSIVE,
        n=(len(base_times), len(head_times)),
        base_seconds=exp(_mean_log_seconds(base_times)) if base_times else None,
        head_seconds=exp(_mean_log_seconds(head_times)) if head_times else None,
        look=rules.look,
        comparable_cases=rules.cases,
    )
    if not base_times or not head_times:
        name, side = ("head", head) if base_times else ("base", base)
        problem = next((run.problem for run in side if run.problem), "it has no run that can be timed")
        reason = f"no steady step time on {name}: {problem}"
        return TimingWorking(decision=replace(decision, reason=reason), rules=rules)
    noise = run_to_run_noise(base_times, head_times, history, family)
    baseline = pooled_baseline(base, head, history, noise)
    test = apply_threshold(baseline.evidence, noise, rules)
    decision = replace(
        decision,
        change=baseline.evidence.change,
        base_seconds=exp(baseline.level),
        noise_source=noise.source,
        degrees_of_freedom=noise.degrees_of_freedom,
        history=noise.history,
        baseline_source=baseline.source,
        main_runs=baseline.main_runs,
    )
    if test is None:
        more = runs_to_settle(baseline.evidence, noise, rules)
        decision = replace(decision, more_runs=more, reason=_unknown_noise_reason(more))
    else:
        decision = _apply_test(decision, test, baseline=baseline, head=head, noise=noise, rules=rules)
    return TimingWorking(decision=decision, rules=rules, noise=noise, baseline=baseline, test=test)


def _apply_test(
    decision: TimingDecision,
    test: ThresholdTest,
    *,
    baseline: PooledBaseline,
    head: Sequence[SteadyStepTime],
    noise: Noise,
    rules: DecisionRules,
) -> TimingDecision:
    """Take the test's verdict, unless main's runs put its flag in doubt, and say what would settle it."""
    decision = replace(decision, verdict=test.verdict, threshold=test.threshold, mde=test.mde, se=test.se)
    doubt = outlier_guard(baseline, test, head, noise, rules)
    if doubt:
        return replace(decision, verdict=TimingVerdict.INCONCLUSIVE, more_runs=1, reason=doubt)
    if test.verdict is TimingVerdict.INCONCLUSIVE:
        more = runs_to_settle(baseline.evidence, noise, rules)
        return replace(decision, more_runs=more, reason=_inconclusive_reason(test, rules, more))
    return decision


def _unknown_noise_reason(more: int | None) -> str:
    text = "the noise between runs is unknown on this device and may not be assumed"
    return text if more is None else f"{text}: {more} more {_run_or_runs(more)} a side would measure it"


def _inconclusive_reason(test: ThresholdTest, rules: DecisionRules, more: int | None) -> str:
    text = (
        f"inside the band of ±{as_percent(test.threshold):.2g} %, "
        f"but the noise is too large to rule out a change of {as_percent(rules.equivalence):.3g} %"
    )
    if rules.look > 1:
        text += f" (look {rules.look}, threshold adjusted)"
    return text if more is None else f"{text}: {more} more {_run_or_runs(more)} a side would settle it"


def _run_or_runs(count: int) -> str:
    return "run" if count == 1 else "runs"
