"""Is the loop slower though the median step is not? The decision on the loop time, one-sided.

Main's runs tell how the loop time of unchanged code moves, where 15 of them have one. Else a default holds
the noise of the steady step time, and what varied within the runs comes on top. A confirmed flag needs more
than the threshold: time lost in bursts is not normal, so every run of head must also lie above every run of
base and of main. Of 3 runs beside 21 of equal code that happens by chance once in 2024 cases.
"""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, variance

from msgspec import Struct
from msgspec.structs import replace

from bot.verdict.baseline import MainSeries, PooledBaseline, Submission, TimedSide
from bot.verdict.judgement import (
    BaselineSource,
    LoopDecision,
    LoopPhase,
    LoopTime,
    PhaseChange,
    RunTiming,
    TimingVerdict,
)
from bot.verdict.noise import MAX_GLITCH_SHARE, MIN_HISTORY, Noise, farthest_outlier, select_history
from bot.verdict.statistics import normal_quantile, t_quantile
from bot.verdict.thresholds import (
    LOOP_SCREEN_ALPHA,
    LOOP_SHARE,
    DecisionRules,
    DecisionStage,
    as_percent,
    equivalence_quantile,
    noise_quantile,
    report_alpha,
)

MIN_BURSTS = 5
"""Stretches of stalls in every run of head that make an effect beyond any glitch a rule, not a bad minute."""


class LoopNoise(Struct, frozen=True, kw_only=True):
    """The standard deviation of the ln of the loop time between runs. `history` counts main's runs that told
    it, 0 where the noise of the steady step time stands in for it."""

    sd: float
    degrees_of_freedom: int
    history: int = 0


class LoopEvidence(Struct, frozen=True, kw_only=True):
    """The ln of the loop times: head's submissions, base's with main's that stand beside them, the worst of
    unchanged code, and the squared errors within a run of base and of head."""

    head: tuple[float, ...]
    base: tuple[float, ...]
    worst_unchanged: float
    within: tuple[float, float]
    bursts: int = 0

    @property
    def change(self) -> float:
        """Return ln(head/base)."""
        return fmean(self.head) - fmean(self.base)


def decide_loop(
    base: TimedSide,
    head: TimedSide,
    main: MainSeries,
    *,
    baseline: PooledBaseline,
    noise: Noise,
    rules: DecisionRules,
    stage: DecisionStage,
    runs: tuple[Sequence[RunTiming], Sequence[RunTiming]],
) -> LoopDecision | None:
    """Return the decision on the loop time, with its phases; None where a side has none."""
    evidence = _evidence(base, head, main, baseline)
    if evidence is None:
        return None
    phases = _phase_changes(runs[0], runs[1], exp(fmean(evidence.base)))
    worst = max(phases, key=lambda one: one.change, default=None)
    loops = loop_noise(main, noise)
    test = None if loops is None else _loop_test(evidence, loops, noise, rules)
    found = LoopDecision(
        verdict=_judge(evidence, test, rules, stage),
        change=evidence.change,
        base_seconds=exp(fmean(evidence.base)),
        head_seconds=exp(fmean(evidence.head)),
        phases=phases,
        worst=worst.phase if worst is not None and worst.change > 0 else None,
    )
    if test is None or loops is None:
        return replace(found, threshold=rules.beyond, reason=_reason(found))
    threshold = test.screen if stage is DecisionStage.SCREEN else test.strict
    found = replace(found, threshold=threshold, se=test.se, bound=test.bound, history=loops.history)
    return replace(found, reason=_reason(found))


def loop_noise(main: MainSeries, noise: Noise) -> LoopNoise | None:
    """Return the noise of the loop time between runs; None where that of the steady step time is unknown."""
    used = select_history(main.seconds).used
    logs = {place: log(loop) for place in used if (loop := main.loops[place]) is not None}
    count = len(logs)
    if count >= MIN_HISTORY:
        for _ in range(int(MAX_GLITCH_SHARE * count)):
            outlier = farthest_outlier(logs)
            if outlier is None:
                break
            del logs[outlier]
        measured = sqrt(variance(logs.values()))
        steady = noise.sd or 0.0
        return LoopNoise(
            sd=max(measured, min(steady, noise.own_sd or steady)),
            degrees_of_freedom=len(logs) - 1,
            history=count,
        )
    if noise.sd is None:
        return None
    return LoopNoise(sd=noise.sd, degrees_of_freedom=noise.degrees_of_freedom)


def _evidence(
    base: TimedSide, head: TimedSide, main: MainSeries, baseline: PooledBaseline
) -> LoopEvidence | None:
    own, heads = _loops(base.submissions), _loops(head.submissions)
    if not own or not heads:
        return None
    beside = [loop for place in baseline.main_places if (loop := main.loops[place]) is not None]
    used = select_history(main.seconds).used if baseline.source is not BaselineSource.BASE else ()
    known = [loop for place in used if (loop := main.loops[place]) is not None]
    return LoopEvidence(
        head=heads,
        base=(*own, *map(log, beside)),
        worst_unchanged=max((*own, *map(log, known))),
        within=tuple(fmean(one.loop_within for one in side.submissions) for side in (base, head)),  # type: ignore[arg-type]  # two of them
        bursts=min(one.bursts for one in head.submissions),
    )


def _loops(submissions: Sequence[Submission]) -> tuple[float, ...]:
    """Return the ln of the loop times, none unless all are known."""
    known = tuple(one.loop for one in submissions if one.loop is not None)
    return known if len(known) == len(submissions) else ()


class _LoopTest(Struct, frozen=True, kw_only=True):
    """What the change of the loop time is held against, on the log scale: `strict` and `screen` thresholds,
    the standard error, and the largest change that these runs leave possible. `explained`: nobody knows how
    main's loop time moves, and base's own steps stall as head's do."""

    strict: float
    screen: float
    se: float
    bound: float
    explained: bool


def _loop_test(evidence: LoopEvidence, loops: LoopNoise, noise: Noise, rules: DecisionRules) -> _LoopTest:
    """Return the thresholds. Measured noise holds what varies within runs such as main's; for calling it
    unchanged, what head is unsteadier than base comes on top."""
    n = len(evidence.base), len(evidence.head)
    between = loops.sd**2 * sum(1 / count for count in n)
    within = sum(square / count for square, count in zip(evidence.within, n, strict=True))
    se = sqrt(between if loops.history else between + within)
    unexplained = _unexplained(evidence, loops)
    wide = sqrt(between + unexplained / n[1])
    alpha = report_alpha(noise, rules.look) * LOOP_SHARE / rules.cases
    strict = max(rules.practical, _quantile(loops, noise, 1 - alpha) * se)
    screen = max(rules.practical, _quantile(loops, noise, 1 - LOOP_SCREEN_ALPHA) * se)
    bound = evidence.change + equivalence_quantile(noise, rules) * wide
    explained = not loops.history and not unexplained
    return _LoopTest(strict=strict, screen=min(strict, screen), se=se, bound=bound, explained=explained)


def _unexplained(evidence: LoopEvidence, loops: LoopNoise) -> float:
    """Return by how much head's steps vary beyond what base's do and main's runs explain: an error squared.

    Runs that stall at random differ from each other as much as their steps say; runs that stall by a rule
    hardly differ, and each looks as unsteady as base.
    """
    base, head = evidence.within
    return head - base if head > UNSTEADIER * max(base, loops.sd**2) else 0.0


UNSTEADIER = 2.0
"""Times that head's variance must exceed base's, or main's between runs, before it is one of its own: where
four evals lie in head's window and three in base's it is 1.3 times as large."""


def _judge(
    evidence: LoopEvidence, test: _LoopTest | None, rules: DecisionRules, stage: DecisionStage
) -> TimingVerdict:
    """Hold the change against screen or strict threshold, and against what may be called unchanged."""
    often = evidence.bursts >= MIN_BURSTS
    if test is None:
        far = evidence.change >= rules.beyond and often
        return TimingVerdict.SLOWER if far else TimingVerdict.INCONCLUSIVE
    if stage is DecisionStage.SCREEN and evidence.change >= test.screen:
        far = evidence.change >= max(test.strict, rules.beyond) and often
        return TimingVerdict.SLOWER if far else TimingVerdict.CONFIRMING
    if evidence.change >= test.strict:
        return TimingVerdict.SLOWER if _all_above(evidence, rules) else TimingVerdict.INCONCLUSIVE
    unchanged = test.bound <= rules.equivalence or test.explained
    return TimingVerdict.SAME if unchanged else TimingVerdict.INCONCLUSIVE


def _quantile(loops: LoopNoise, noise: Noise, p: float) -> float:
    if loops.history:
        return t_quantile(p, loops.degrees_of_freedom)
    return noise_quantile(noise, p) if noise.sd is not None else normal_quantile(p)


def _all_above(evidence: LoopEvidence, rules: DecisionRules) -> bool:
    """Tell whether head's runs, all but one in three beyond the third, lie above all of unchanged code."""
    needed = max(evidence.worst_unchanged, fmean(evidence.base) + rules.practical)
    below = sum(one <= needed for one in evidence.head)
    return below <= (len(evidence.head) - 1) // 3


def _phase_changes(
    base: Sequence[RunTiming], head: Sequence[RunTiming], level: float
) -> tuple[PhaseChange, ...]:
    """Return how each phase of the loop moved, as a share of base's loop time, on the log scale together."""
    ours, theirs = _known_loops(head), _known_loops(base)
    window = sum(loop.steps for loop in ours)
    found = []
    for phase in LoopPhase:
        before, after = _phase_seconds(theirs, phase), _phase_seconds(ours, phase)
        if before == 0 and after == 0:
            continue
        found.append(
            PhaseChange(
                phase=phase,
                base_seconds=before,
                head_seconds=after,
                change=(after - before) / level,
                steps=sum(part.steps for loop in ours for part in loop.phases if part.phase is phase),
                window=window,
            )
        )
    return tuple(found)


def _known_loops(runs: Sequence[RunTiming]) -> list[LoopTime]:
    return [run.loop for run in runs if run.loop is not None and run.steady.seconds is not None]


def _phase_seconds(loops: Sequence[LoopTime], phase: LoopPhase) -> float:
    """Return the seconds a step of a phase, the mean of a side's runs."""
    return fmean(sum(part.seconds for part in loop.phases if part.phase is phase) for loop in loops)


def phase_words(found: LoopDecision) -> str:
    """`12 % more time in stalls: 4 of 20 steps`; of the phase that moved most to the worse."""
    worst = next((one for one in found.phases if one.phase is found.worst), None)
    size = f"{as_percent(found.change):.2g} %"
    if worst is None:
        return f"{size} more time in the loop"
    match worst.phase:
        case LoopPhase.STEADY:
            return f"{size} more time in the loop, in single longer steps"
        case LoopPhase.INPUT:
            return f"{size} more time in input"
        case _:
            return f"{size} more time in {worst.phase.value}: {worst.steps} of {worst.window} steps"


def _reason(found: LoopDecision) -> str:
    """Return what is worse, one clause; empty where nothing is."""
    if found.verdict is TimingVerdict.SAME:
        return ""
    text = phase_words(found)
    if found.verdict is TimingVerdict.INCONCLUSIVE and found.bound is not None:
        return f"{text}, and by what these runs show it may be {as_percent(found.bound):.2g} %"
    return text
