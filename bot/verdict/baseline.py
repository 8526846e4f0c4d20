"""What head is compared with: base's independent runs, with main's beside them where the two agree.

Half of the variance of one run against one is base's. Main's runs since its last change of level are runs of
the same program, and twenty of them leave next to none of it. Whether base is one of them is tested first:
"test-then-pool", as trials do with historical controls (Viele et al. 2014, "Use of historical control data
for assessing treatment effects in clinical trials").
"""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from bot.verdict.judgement import BaselineSource, LoopTime, RunTiming
from bot.verdict.noise import MIN_DEGREES_OF_FREEDOM, Noise, PastRun, select_history
from bot.verdict.statistics import t_quantile
from bot.verdict.thresholds import TimingEvidence

DISPUTE_ALPHA = 0.05
"""Chance that base is held apart from main's runs though it is one of them. Usual for test-then-pool, and on
the safe side: a step of main that is large enough to be blamed on head (4.6 standard deviations) then slips
through in fewer than 1 of 100 cases, while 1 comparison in 20 is judged as if there were no such runs."""

MIN_MAIN_RUNS = MIN_DEGREES_OF_FREEDOM + 1
"""Main runs up to base that must be there: fewer say neither where main stood nor how far base is from it."""


class Submission(Struct, frozen=True, kw_only=True):
    """The runs of one side that were submitted together, as one: `steady` and `loop` are the mean logarithms
    of their seconds, `within` and `loop_within` the squared standard errors of those. `bursts` is the largest
    number of stretches of a run that were far longer than a steady step."""

    steady: float
    within: float
    loop: float | None = None
    loop_within: float = 0.0
    runs: int = 1
    bursts: int = 0


class TimedSide(Struct, frozen=True, kw_only=True):
    """One side's runs with a steady step time: their seconds as printed, and their submissions.
    `rounding` is half a digit as a share of a step."""

    seconds: tuple[float, ...]
    submissions: tuple[Submission, ...]
    rounding: float = 0.0

    @property
    def level(self) -> float:
        """The mean logarithm of the submissions' steady seconds."""
        return fmean(one.steady for one in self.submissions)

    @property
    def within(self) -> float:
        """The mean squared error of one submission."""
        return fmean(one.within for one in self.submissions)


def timed_side(runs: Sequence[RunTiming]) -> TimedSide:
    """Gather the runs of a side that have a steady step time; runs whose submission is unknown count with the
    first that is known."""
    groups: dict[str, list[RunTiming]] = {}
    timed = [run for run in runs if run.steady.seconds is not None and run.steady.seconds > 0]
    known = next((run.submission for run in timed if run.submission is not None), "")
    for run in timed:
        groups.setdefault(known if run.submission is None else run.submission, []).append(run)
    return TimedSide(
        seconds=tuple(run.steady.seconds for run in timed if run.steady.seconds is not None),
        submissions=tuple(map(_submission, groups.values())),
        rounding=max((run.steady.resolution / 2 for run in timed), default=0.0),
    )


def _submission(runs: Sequence[RunTiming]) -> Submission:
    loops = [run.loop for run in runs if run.loop is not None]
    return Submission(
        steady=fmean(log(run.steady.seconds) for run in runs if run.steady.seconds),
        within=fmean(_own_error(run) ** 2 for run in runs) / len(runs),
        loop=fmean(log(one.seconds) for one in loops) if len(loops) == len(runs) else None,
        loop_within=fmean(one.se**2 for one in loops) / len(loops) if loops else 0.0,
        runs=len(runs),
        bursts=max((one.bursts for one in loops), default=0),
    )


def _own_error(run: RunTiming) -> float:
    """Return the relative standard error of the run's own steady step time: the normal law's, or that from
    order statistics where steps of several lengths make the former too large. Of three or four steps the
    latter is hardly known."""
    known = [one for one in (run.steady.se, run.steady.robust_se) if one is not None]
    return min(known, default=0.0)


def with_settling(run: RunTiming) -> RunTiming:
    """Return the run with the stall after its first save counted in its loop time, as any other."""
    loop, steady = run.loop, run.steady.seconds
    if loop is None or steady is None or not loop.settling_steps:
        return run
    steps = loop.steps + loop.settling_steps
    seconds = (loop.seconds * loop.steps + loop.settling_seconds + steady * loop.settling_steps) / steps
    whole = LoopTime(
        seconds=seconds,
        se=sqrt((loop.se * loop.seconds / seconds) ** 2 + (loop.settling_seconds / (steps * seconds)) ** 2),
        steps=steps,
        bursts=loop.bursts + 1,
        phases=loop.phases,
        settling_seconds=loop.settling_seconds,
    )
    return RunTiming(steady=run.steady, loop=whole, submission=run.submission)


class MainSeries(Struct, frozen=True, kw_only=True):
    """Main's submissions, oldest first, by their steady seconds and loop seconds (None: unknown). `own` are
    the places of those that hold a run of base."""

    seconds: tuple[float, ...] = ()
    loops: tuple[float | None, ...] = ()
    own: frozenset[int] = frozenset()


def main_series(history: Sequence[PastRun], own: Sequence[float]) -> MainSeries:
    """Return main's runs with those of one submission as one."""
    groups: list[list[PastRun]] = []
    for run in history:
        if groups and run.submission is not None and groups[-1][0].submission == run.submission:
            groups[-1].append(run)
        else:
            groups.append([run])
    base = set(own)
    return MainSeries(
        seconds=tuple(_geometric_mean([run.seconds for run in group]) for group in groups),
        loops=tuple(_mean_loop(group) for group in groups),
        own=frozenset(
            place for place, group in enumerate(groups) if any(run.seconds in base for run in group)
        ),
    )


def _mean_loop(group: Sequence[PastRun]) -> float | None:
    known = [run.loop for run in group if run.loop is not None and run.loop > 0]
    return _geometric_mean(known) if len(known) == len(group) else None


def _geometric_mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else exp(fmean(map(log, values)))


class PooledBaseline(Struct, frozen=True, kw_only=True):
    """What head is compared with: base's runs, pooled with main's where the two agree.

    `evidence` is what is judged, `level` the ln of base's seconds in it, `main_places` which of main's runs
    are in it. Where main's runs contradict base, `base_off` is ln(base/main), and `against_main` is head
    against main's runs alone. `glitches` are ln(run/level) of the main runs set aside.
    """

    source: BaselineSource
    evidence: TimingEvidence
    level: float
    main_places: tuple[int, ...] = ()
    base_off: float = 0.0
    against_main: TimingEvidence | None = None
    glitches: tuple[float, ...] = ()

    @property
    def main_runs(self) -> int:
        """How many of main's runs stand beside base's."""
        return len(self.main_places)


def pooled_baseline(base: TimedSide, head: TimedSide, main: MainSeries, noise: Noise) -> PooledBaseline:
    """Return what head is compared with; both sides have a steady step time."""
    alone = weigh_evidence(base, head)
    if not noise.history:
        return PooledBaseline(source=BaselineSource.BASE, evidence=alone, level=base.level)
    places, glitches = _main_before_base(main)
    if len(places) < MIN_MAIN_RUNS:
        return PooledBaseline(source=BaselineSource.BASE, evidence=alone, level=base.level, glitches=glitches)
    before = [log(main.seconds[place]) for place in places]
    if _base_agrees(base, before):
        return PooledBaseline(
            source=BaselineSource.MAIN,
            evidence=weigh_evidence(base, head, before),
            level=fmean([*(one.steady for one in base.submissions), *before]),
            main_places=places,
            glitches=glitches,
        )
    return PooledBaseline(
        source=BaselineSource.DISPUTED,
        evidence=alone,
        level=base.level,
        base_off=base.level - fmean(before),
        against_main=replace(
            alone, change=head.level - fmean(before), n=(len(before), len(head.submissions))
        ),
        glitches=glitches,
    )


def weigh_evidence(base: TimedSide, head: TimedSide, main: Sequence[float] = ()) -> TimingEvidence:
    """Return the change between two sides that each have a steady step time.

    `main` holds the ln of the steady seconds of main's runs that are pooled with base's, as runs of the same
    code. Their own errors are unknown; the noise between runs includes them.
    """
    levels = [*(one.steady for one in base.submissions), *main]
    return TimingEvidence(
        change=head.level - fmean(levels),
        within=(base.within, head.within),
        n=(len(levels), len(head.submissions)),
        rounding=base.rounding + head.rounding,
    )


def _main_before_base(main: MainSeries) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the places of main's clean runs besides base's own, and how far the glitches are from them, on
    the log scale.

    Where base's runs are among main's, only those before them are taken: what main became afterwards says
    nothing of base.
    """
    selected = select_history(main.seconds)
    end = min(main.own, default=len(main.seconds))
    level = fmean(log(main.seconds[place]) for place in selected.used)
    glitches = (log(main.seconds[place]) - level for place in selected.glitches if place not in main.own)
    return tuple(place for place in selected.used if place < end), tuple(glitches)


def _base_agrees(base: TimedSide, main: Sequence[float]) -> bool:
    """Tell whether base could be one of main's runs: Student's prediction interval, from main's runs alone,
    so that a base run that is far off does not widen it."""
    level, own = fmean(main), len(base.submissions)
    spread = sqrt(sum((value - level) ** 2 for value in main) / (len(main) - 1))
    reach = t_quantile(1 - DISPUTE_ALPHA / 2, len(main) - 1) * spread * sqrt(1 / own + 1 / len(main))
    return abs(base.level - level) <= reach
