"""Slower, faster, the same, confirming, or not known: the decision on the times of a run's steps.

At no change at most 1 comment in 20 flags anything, whatever the number of cases and looks, and at most 1 in
100 where main's history measures the noise. "Same" is said only where a change of the equivalence margin is
ruled out, of the steady step time and of the whole loop. A change that passes the screen is confirmed on
further submissions before it is flagged (`bot.verdict.thresholds`).

Four rules apply only where 15 or more runs of main are known: the level (`REPORT_ALPHA_WITH_HISTORY`), main's
runs pooled with base's (`pooled_baseline`), glitches by Grubbs' test (`noise.GLITCH_ALPHA`), and flags that
main's runs put in doubt. Without them 4.75 % of 25-case reports on GPU-like noise were flagged at no change,
and z > 5 against history did better (VerdictBench).
"""

from collections.abc import Sequence
from math import exp

from msgspec import Struct
from msgspec.structs import replace

from bot.verdict.baseline import (
    MainSeries,
    PooledBaseline,
    TimedSide,
    main_series,
    pooled_baseline,
    timed_side,
    with_settling,
)
from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import (
    BaselineSource,
    LoopDecision,
    Margins,
    RunsWanted,
    RunTiming,
    TimingDecision,
    TimingMeasure,
    TimingVerdict,
)
from bot.verdict.loop_decision import decide_loop
from bot.verdict.noise import MIN_DEGREES_OF_FREEDOM, Noise, NoisePrior, PastRun, past_runs, run_to_run_noise
from bot.verdict.thresholds import (
    CONFIRMED_BASE_RUNS,
    CONFIRMED_RUNS,
    DecisionRules,
    DecisionStage,
    ThresholdTest,
    TimingEvidence,
    apply_threshold,
    as_percent,
    decision_rules,
)

MAX_MORE_RUNS = 10
"""Past this many further runs a side, asking for them costs more than the answer is worth."""

FLAGGED = frozenset({TimingVerdict.SLOWER, TimingVerdict.FASTER})

SEEN = frozenset({TimingVerdict.SLOWER, TimingVerdict.FASTER, TimingVerdict.CONFIRMING})
"""Verdicts that say that a change was seen, confirmed or not."""

UNMOVED = frozenset({TimingVerdict.SAME, TimingVerdict.FASTER})
"""Verdicts on the steady step time that the loop time may take back."""


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


class _Weighed(Struct, frozen=True, kw_only=True):
    """Everything that the decision on two timed sides rests on."""

    base: TimedSide
    head: TimedSide
    main: MainSeries
    noise: Noise
    rules: DecisionRules
    baseline: PooledBaseline
    stage: DecisionStage
    test: ThresholdTest | None


def decide_timing(
    base: Sequence[RunTiming],
    head: Sequence[RunTiming],
    *,
    family: DeviceFamily | None,
    history: Sequence[PastRun | float] = (),
    comparable_cases: int = 1,
    margins: Margins = Margins(),
    look: int = 1,
    prior: NoisePrior | None = None,
) -> TimingWorking:
    """Return the timing decision with its working; runs without a steady state do not count.

    `history` holds main's runs of this case, oldest first, base's among them or not; a number is a run's
    steady seconds. `prior` is what the other cases of the device say of the noise.
    """
    rules = decision_rules(margins, comparable_cases, look, family)
    base, head = _count_unlike_settling(base, head)
    sides = timed_side(base), timed_side(head)
    decision = TimingDecision(
        verdict=TimingVerdict.INCONCLUSIVE,
        n=(len(sides[0].seconds), len(sides[1].seconds)),
        submissions=(len(sides[0].submissions), len(sides[1].submissions)),
        base_seconds=exp(sides[0].level) if sides[0].submissions else None,
        head_seconds=exp(sides[1].level) if sides[1].submissions else None,
        look=rules.look,
        comparable_cases=rules.cases,
    )
    if not sides[0].submissions or not sides[1].submissions:
        name, side = ("head", head) if sides[0].submissions else ("base", base)
        problem = next((run.steady.problem for run in side if run.steady.problem), None)
        reason = f"no steady step time on {name}: {problem or 'it has no run that can be timed'}"
        return TimingWorking(decision=replace(decision, reason=reason), rules=rules)
    main = main_series(past_runs(history), sides[0].seconds)
    weighed = _weigh(sides, main, family, rules, prior)
    decision = replace(
        decision,
        change=weighed.baseline.evidence.change,
        base_seconds=exp(weighed.baseline.level),
        noise_source=weighed.noise.source,
        degrees_of_freedom=weighed.noise.degrees_of_freedom,
        prior_freedom=weighed.noise.prior.degrees_of_freedom if weighed.noise.prior else 0.0,
        history=weighed.noise.history,
        baseline_source=weighed.baseline.source,
        main_runs=weighed.baseline.main_runs,
    )
    decision = _with_loop(_steady_decision(decision, weighed), weighed, base, head)
    return TimingWorking(
        decision=decision, rules=rules, noise=weighed.noise, baseline=weighed.baseline, test=weighed.test
    )


def _count_unlike_settling(
    base: Sequence[RunTiming], head: Sequence[RunTiming]
) -> tuple[Sequence[RunTiming], Sequence[RunTiming]]:
    """Count an early stall of head's that its log does not explain, unless base has one too."""
    if any(run.loop is not None and run.loop.settling_steps for run in base):
        return base, head
    return base, [run if run.loop is None or run.loop.settling_named else with_settling(run) for run in head]


def _weigh(
    sides: tuple[TimedSide, TimedSide],
    main: MainSeries,
    family: DeviceFamily | None,
    rules: DecisionRules,
    prior: NoisePrior | None,
) -> _Weighed:
    base, head = sides
    levels = [[exp(one.steady) for one in side.submissions] for side in sides]
    noise = run_to_run_noise(levels[0], levels[1], main.seconds, family, prior)
    baseline = pooled_baseline(base, head, main, noise)
    stage = _stage(base, head, baseline, noise, rules)
    return _Weighed(
        base=base,
        head=head,
        main=main,
        noise=noise,
        rules=rules,
        baseline=baseline,
        stage=stage,
        test=_test(baseline, noise, rules, stage),
    )


def _test(
    baseline: PooledBaseline, noise: Noise, rules: DecisionRules, stage: DecisionStage
) -> ThresholdTest | None:
    """Return the test of head. A single run of base that main's runs contradict is a poor measure: head that
    moved against both is tested against main's runs."""
    alone = apply_threshold(baseline.evidence, noise, rules, stage)
    other = baseline.against_main
    if other is None or alone is None or stage is DecisionStage.SCREEN or baseline.evidence.n[0] > 1:
        return alone
    screened = apply_threshold(baseline.evidence, noise, rules, DecisionStage.SCREEN)
    if screened is None or screened.verdict not in SEEN:
        return alone
    return apply_threshold(other, noise, rules, stage) or alone


def _stage(
    base: TimedSide, head: TimedSide, baseline: PooledBaseline, noise: Noise, rules: DecisionRules
) -> DecisionStage:
    """Return whether enough independent runs stand behind a flag."""
    n = len(base.submissions), len(head.submissions)
    if _is_backed(baseline, noise, rules):
        enough = n[1] >= CONFIRMED_RUNS
    else:
        enough = min(n) >= CONFIRMED_BASE_RUNS and sum(n) >= CONFIRMED_BASE_RUNS + CONFIRMED_RUNS
    return DecisionStage.CONFIRMED if enough else DecisionStage.SCREEN


def _is_backed(baseline: PooledBaseline, noise: Noise, rules: DecisionRules) -> bool:
    """Tell whether main's runs stand behind base's: they agree, or head is as far from them as from base."""
    match baseline.source:
        case BaselineSource.MAIN:
            return True
        case BaselineSource.BASE:
            return False
        case BaselineSource.DISPUTED:
            return _agrees_with_main(baseline, noise, rules)


def _agrees_with_main(baseline: PooledBaseline, noise: Noise, rules: DecisionRules) -> bool:
    """Tell whether head moved in the same direction against main's runs as against base's."""
    other = baseline.against_main
    if other is None or other.change * baseline.evidence.change <= 0:
        return False
    test = apply_threshold(other, noise, rules, DecisionStage.SCREEN)
    return test is not None and test.verdict in SEEN


def runs_wanted(weighed: _Weighed) -> RunsWanted:
    """Return the further submissions that confirm what was seen, or refute it."""
    base, head = len(weighed.base.submissions), len(weighed.head.submissions)
    if _is_backed(weighed.baseline, weighed.noise, weighed.rules):
        return _wanted_with_main(head)
    return _wanted_without_main(base, head)


def most_wanted(base: int, head: int) -> RunsWanted:
    """Return the most that confirming may want beside so many independent runs, whatever main's runs say."""
    alone, backed = _wanted_without_main(base, head), _wanted_with_main(head)
    return RunsWanted(base=alone.base, head=max(alone.head, backed.head))


def _wanted_with_main(head: int) -> RunsWanted:
    return RunsWanted(head=max(0, CONFIRMED_RUNS - head))


def _wanted_without_main(base: int, head: int) -> RunsWanted:
    more = max(0, CONFIRMED_BASE_RUNS - base)
    both = CONFIRMED_BASE_RUNS + CONFIRMED_RUNS - base - more
    return RunsWanted(base=more, head=max(0, CONFIRMED_BASE_RUNS - head, both - head))


def _steady_decision(decision: TimingDecision, weighed: _Weighed) -> TimingDecision:
    """Decide on the steady step time alone."""
    test, evidence = weighed.test, weighed.baseline.evidence
    if test is None:
        return _unknown_noise(decision, weighed)
    decision = replace(decision, verdict=test.verdict, threshold=test.threshold, mde=test.mde, se=test.se)
    if test.verdict in SEEN:
        doubt = _base_guard(weighed) or outlier_guard(weighed, test)
        if doubt:
            return replace(decision, verdict=TimingVerdict.INCONCLUSIVE, more_runs=1, reason=doubt)
    if test.verdict is TimingVerdict.CONFIRMING or _glitch_may_explain(weighed, test):
        direction = TimingVerdict.SLOWER if evidence.change > 0 else TimingVerdict.FASTER
        return _confirming(decision, weighed, direction)
    if test.verdict is TimingVerdict.INCONCLUSIVE:
        more = runs_to_settle(evidence, weighed.noise, weighed.rules)
        reason = _inconclusive_reason(test, weighed.rules, more)
        return replace(decision, more_runs=more, reason=reason)
    return decision


def _glitch_may_explain(weighed: _Weighed, test: ThresholdTest) -> bool:
    """Tell whether a flag by too few runs is within reach of a glitch that main has shown."""
    if test.verdict not in FLAGGED or weighed.stage is DecisionStage.CONFIRMED:
        return False
    sign = 1 if test.verdict is TimingVerdict.SLOWER else -1
    worst = max((sign * glitch for glitch in weighed.baseline.glitches), default=0.0)
    return abs(weighed.baseline.evidence.change) < test.strict + max(worst, 0.0)


def _confirming(decision: TimingDecision, weighed: _Weighed, direction: TimingVerdict) -> TimingDecision:
    wanted = runs_wanted(weighed)
    return replace(
        decision,
        verdict=TimingVerdict.CONFIRMING,
        confirms=direction,
        confirm_runs=wanted,
        reason=_confirming_reason(decision, direction, wanted),
    )


def _base_guard(weighed: _Weighed) -> str:
    """One run of base that main's runs contradict is either a glitch or the first of a new level. Return why
    the change is not believed, empty where it is. More runs of base settle it either way."""
    baseline = weighed.baseline
    if baseline.against_main is None or baseline.evidence.n[0] > 1:
        return ""
    if _agrees_with_main(baseline, weighed.noise, weighed.rules):
        return ""
    moved = "slower" if baseline.evidence.change > 0 else "faster"
    return (
        f"the only run of base is {_off_by(baseline.base_off)} than main's runs before it, and against those "
        f"head is not {moved}: another run of base tells whether main moved or it was off"
    )


def outlier_guard(weighed: _Weighed, test: ThresholdTest) -> str:
    """Return why not enough of head's runs are off, empty where they are. A mean of three may be moved by one
    that was on a slow slice; every run of a head that really changed is off.

    Where one of main's runs was as far off without a change, each must reach the threshold itself.
    """
    if weighed.stage is not DecisionStage.CONFIRMED:
        return ""
    sign = 1 if weighed.baseline.evidence.change > 0 else -1
    worst = max((sign * glitch for glitch in weighed.baseline.glitches), default=0.0)
    least = max(weighed.rules.practical / 2, weighed.noise.sd or 0.0)
    needed = max(least, test.threshold) if worst > 0 else least
    pooled = weighed.baseline.source is BaselineSource.MAIN
    heads = sorted(sign * one.steady for one in weighed.head.submissions)
    bases = sorted(-sign * one.steady for one in weighed.base.submissions)
    edge = sign * weighed.baseline.level if pooled else -bases[_may_be_off(len(bases))]
    if heads[_may_be_off(len(heads))] - edge >= needed:
        return ""
    moved = "slower" if sign > 0 else "faster"
    number = sum(one - edge >= needed for one in heads)
    return (
        f"only {number} of head's {len(heads)} runs are {moved} than base's by {as_percent(needed):.2g} % or "
        "more: one side had runs that were off"
    )


def _may_be_off(runs: int) -> int:
    """Return how many of so many runs may be off: none of three, one of four to six."""
    return (runs - 1) // 3


def _off_by(log_ratio: float) -> str:
    return f"{as_percent(abs(log_ratio)):.2g} % {'slower' if log_ratio > 0 else 'faster'}"


def _unknown_noise(decision: TimingDecision, weighed: _Weighed) -> TimingDecision:
    """Decide without knowing the noise: only a change that no noise explains is told."""
    evidence, beyond = weighed.baseline.evidence, weighed.rules.beyond
    sign = 1 if evidence.change > 0 else -1
    nearest = min(
        sign * (head.steady - base.steady)
        for head in weighed.head.submissions
        for base in weighed.base.submissions
    )
    if nearest >= beyond:
        verdict = TimingVerdict.SLOWER if sign > 0 else TimingVerdict.FASTER
        reason = f"the noise between runs is unknown, and none explains {as_percent(beyond):.0f} %"
        return replace(decision, verdict=verdict, threshold=beyond, reason=reason)
    more = runs_to_settle(evidence, weighed.noise, weighed.rules)
    return replace(decision, more_runs=more, reason=_unknown_noise_reason(more))


def _with_loop(
    decision: TimingDecision, weighed: _Weighed, base: Sequence[RunTiming], head: Sequence[RunTiming]
) -> TimingDecision:
    """Take the loop time into the decision: nothing is unchanged or faster whose loop is worse."""
    loop = decide_loop(
        weighed.base,
        weighed.head,
        weighed.main,
        baseline=weighed.baseline,
        noise=weighed.noise,
        rules=weighed.rules,
        stage=weighed.stage,
        runs=(base, head),
    )
    if loop is None:
        return decision
    return _join_loop(replace(decision, loop=loop), loop, weighed)


def _join_loop(decision: TimingDecision, loop: LoopDecision, weighed: _Weighed) -> TimingDecision:
    """Let the loop time decide where it is graver than what the steady step time says."""
    slower = TimingVerdict.SLOWER
    by_loop = replace(
        decision, measure=TimingMeasure.LOOP, more_runs=None, confirms=None, confirm_runs=RunsWanted()
    )
    text = f"{_steady_words(decision)}, {loop.reason}"
    if slower in {decision.verdict, decision.confirms} and loop.verdict is not slower:
        return decision
    match loop.verdict:
        case TimingVerdict.SLOWER if decision.verdict is not slower:
            return replace(by_loop, verdict=slower, reason=text)
        case TimingVerdict.CONFIRMING:
            wanted = runs_wanted(weighed)
            asked = replace(by_loop, confirms=slower, confirm_runs=wanted)
            return replace(asked, verdict=TimingVerdict.CONFIRMING, reason=f"{text}; {wanted_words(wanted)}")
        case TimingVerdict.INCONCLUSIVE if (decision.confirms or decision.verdict) in UNMOVED:
            more = _runs_to_settle_loop(loop, weighed)
            ask = "" if more is None else f": {more} more {_run_or_runs(more)} a side would settle it"
            return replace(by_loop, verdict=TimingVerdict.INCONCLUSIVE, more_runs=more, reason=text + ask)
        case _:
            return decision


def _steady_words(decision: TimingDecision) -> str:
    match decision.confirms or decision.verdict:
        case TimingVerdict.SAME:
            return "step time unchanged"
        case TimingVerdict.FASTER:
            return "single steps are faster"
        case _:
            return "step time not settled"


def _runs_to_settle_loop(loop: LoopDecision, weighed: _Weighed) -> int | None:
    """Return how many further runs a side would rule the margin out, were the change to stay as it is."""
    room = weighed.rules.equivalence - loop.change
    if loop.bound is None or room <= 0:
        return None
    reach = loop.bound - loop.change
    n = len(weighed.head.submissions)
    return next(
        (more for more in range(1, MAX_MORE_RUNS + 1) if reach * (n / (n + more)) ** 0.5 <= room), None
    )


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
        stage = DecisionStage.CONFIRMED if grown.n[1] >= CONFIRMED_RUNS else DecisionStage.SCREEN
        test = apply_threshold(grown, replace(noise, degrees_of_freedom=freedom), later, stage)
        if test is not None and test.verdict in FLAGGED | {TimingVerdict.SAME}:
            return more
    return None


def wanted_words(wanted: RunsWanted) -> str:
    """`2 more runs of head decide, each on a submission of its own`."""
    parts = [
        f"{count} more {_run_or_runs(count)} of {side}"
        for side, count in (("base", wanted.base), ("head", wanted.head))
        if count
    ]
    one = wanted.base + wanted.head == 1
    own = "on a submission of its own" if one else "each on a submission of its own"
    return f"{' and '.join(parts)} {'decides' if one else 'decide'}, {own}"


def _confirming_reason(decision: TimingDecision, direction: TimingVerdict, wanted: RunsWanted) -> str:
    together = ""
    if decision.n[1] > decision.submissions[1]:
        are = "count as one" if decision.submissions[1] == 1 else f"count as {decision.submissions[1]}"
        together = f" (head's {decision.n[1]} runs {are}: they may have been submitted together)"
    return f"looks {direction.value}{together}; {wanted_words(wanted)}"


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
