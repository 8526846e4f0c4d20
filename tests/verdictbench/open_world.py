"""What must hold in the open world: noise with tails, slow slices, shared submissions, shapes, bursts.

In:  how much of it. Out: `Finding`s, one a property, with what was measured.
Promises: the decision is the product's own; shapes and bursts are played as logs and read back. Of each case
one run a side is there to begin with, twenty of main, and the further runs that the screen asks for.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log, log1p
from random import Random

from msgspec import structs

from bot.verdict.compare import compare
from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import (
    LoopTime,
    MeasuredRun,
    RunTiming,
    SteadyStepTime,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from bot.verdict.measure import measure
from bot.verdict.noise import NoisePrior, PastRun, noise_prior
from bot.verdict.timing_decision import decide_timing
from tests.verdictbench.results import figure
from tests.verdictbench.rivals import (
    ALARMS,
    Call,
    CaseFigures,
    bencher,
    codspeed_strict,
    conbench,
    rustc_perf,
)
from tests.verdictbench.simulation import BY_NAME, Burst, Case, Kind, Shape, run_log, seeded
from tests.verdictbench.trials import Share

CASES = 25

MAIN = 20

POOL = 60  # runs of unchanged code, of which each case has its own twenty as main's

FLAGS = frozenset({TimingVerdict.SLOWER, TimingVerdict.FASTER})

Law = Callable[[Random], float]
"""Draws the ln of what one run of unchanged code takes."""


def normal(sd: float) -> Law:
    """Normal noise."""
    return lambda draws: sd * draws.gauss(0, 1)


def heavy_tailed(sd: float) -> Law:
    """Student's t with 2.5 degrees of freedom, scaled to this standard deviation."""
    return lambda draws: sd * draws.gauss(0, 1) / (draws.gammavariate(1.25, 2) / 2.5) ** 0.5 / 5**0.5


def slow_slices(sd: float, by: float, share: float = 0.05) -> Law:
    """Normal noise, and some runs on slices that are slower."""
    return lambda draws: sd * draws.gauss(0, 1) + (log1p(by) if draws.random() < share else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Reports of 25 cases: noise, true effect, and whether repeats share a submission."""

    name: str
    law: Law
    effect: float = 0.0
    family: DeviceFamily = DeviceFamily.GPU
    repeats: int = 1
    within: float | None = None


@dataclass(slots=True, kw_only=True)
class Found:
    """Calls of all cases, reports with any flag, and the further runs."""

    calls: Counter[TimingVerdict]
    flagged: Share
    extra: float

    def share(self, verdict: TimingVerdict) -> Share:
        """How many cases were called so in the end."""
        return Share(hits=self.calls[verdict], tries=self.calls.total())


def play(regime: Regime, reports: int) -> Found:
    """Judge reports of one regime."""
    calls: Counter[TimingVerdict] = Counter()
    flagged, extra = 0, 0
    for report in range(reports):
        draws = seeded("open world", regime.name, regime.effect, report)
        histories = [[exp(regime.law(draws)) for _ in range(MAIN)] for _ in range(CASES)]
        prior = noise_prior(histories)
        any_flag = False
        for history in histories:
            found, more = _judge(regime, history, prior, draws)
            calls[found.verdict] += 1
            extra += more
            any_flag |= found.verdict in FLAGS
        flagged += any_flag
    return Found(calls=calls, flagged=Share(hits=flagged, tries=reports), extra=extra / (reports * CASES))


def _judge(
    regime: Regime, history: Sequence[float], prior: NoisePrior | None, draws: Random
) -> tuple[TimingDecision, int]:
    """Judge one case, base the newest of main's runs; return the decision and the further runs of head."""
    past = [PastRun(seconds=one, loop=one) for one in history]
    base = _side(regime, log(history[-1]), "base", draws)
    head = _side(regime, regime.law(draws) + log1p(regime.effect), "head", draws)
    extra = 0
    for look in (1, 2):
        found = decide_timing(
            base,
            head,
            family=regime.family,
            history=past,
            comparable_cases=CASES,
            look=look,
            prior=prior,
        ).decision
        if look == 2 or not found.confirm_runs.head:
            break
        extra = found.confirm_runs.head
        head += [_timing(regime.law(draws) + log1p(regime.effect), f"head {place}") for place in range(extra)]
    return found, extra


def _side(regime: Regime, level: float, name: str, draws: Random) -> list[RunTiming]:
    """Return the runs of a side that are there to begin with, all of one submission."""
    spread = regime.within or 0.0
    return [_timing(level + spread * draws.gauss(0, 1), name) for _ in range(regime.repeats)]


def _timing(level: float, submission: str) -> RunTiming:
    seconds = exp(level)
    return RunTiming(
        steady=SteadyStepTime(seconds=seconds, se=0.0005),
        loop=LoopTime(seconds=seconds, se=0.0005, steps=16),
        submission=submission,
    )


def shaped(kind: Kind, shape: Shape) -> Kind:
    """Return a kind whose steps have a shape; a ramp needs more of them."""
    return replace(kind, shape=shape, marked=True, steps=40 if shape is Shape.RAMP else kind.steps)


@dataclass(slots=True, kw_only=True)
class Told:
    """What whole logs led to: verdicts, and how often *same* was said where the logs show 5 % more time."""

    calls: Counter[Verdict]
    missed: int = 0


def play_logs(kind: Kind, cases: int, *, factor: float = 1.0, burst: Burst = Burst.NONE) -> Told:
    """Judge whole logs of cases whose head takes `factor` times as long, or loses time in bursts."""
    pool = [
        _log_run(kind, 1.0, Burst.NONE, seeded(kind.name, kind.shape, "pool", one)) for one in range(POOL)
    ]
    told = Told(calls=Counter())
    for case in range(cases):
        draws = seeded(kind.name, kind.shape, burst, factor, case)
        past = [
            PastRun(seconds=steady, loop=_loop_seconds(one))
            for one in draws.sample(pool, MAIN)
            if (steady := one.measurements.steady.seconds)
        ]
        base = structs.replace(_log_run(kind, 1.0, Burst.NONE, draws), submission="base")
        heads: list[MeasuredRun] = []
        wanted = 1
        for look in (1, 2):
            heads += [
                structs.replace(_log_run(kind, factor, burst, draws), submission=f"head {len(heads) + one}")
                for one in range(wanted)
            ]
            found = compare([base], heads, history=past, comparable_cases=CASES, look=look, explained=False)
            wanted = found.timing.confirm_runs.head
            if not wanted:
                break
        told.calls[found.verdict] += 1
        told.missed += found.verdict is Verdict.SAME and _shows_more(base, heads)
    return told


def _log_run(kind: Kind, factor: float, burst: Burst, draws: Random) -> MeasuredRun:
    return measure(run_log(Case(kind=kind, stall=14.0), factor=factor, draws=draws, burst=burst))


def _loop_seconds(run: MeasuredRun) -> float | None:
    return run.measurements.loop.seconds if run.measurements.loop else None


def _shows_more(base: MeasuredRun, heads: Sequence[MeasuredRun]) -> bool:
    """Tell whether the logs themselves show 5 % more time in head's loop."""
    before, after = _loop_seconds(base), [_loop_seconds(one) for one in heads]
    known = [one for one in after if one is not None]
    return before is not None and len(known) == len(after) and sum(known) / len(known) >= 1.05 * before


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A property, what was measured, and whether it holds."""

    text: str
    measured: str
    met: bool


GPU, TPU = 0.0078, 0.0015


def findings(reports: int, cases: int) -> list[Finding]:
    """Measure every property of the open world."""
    found = [*_bursts(cases), *_shapes(cases)]
    for name, sd, family, wanted in (
        ("GPU-like", GPU, DeviceFamily.GPU, {0.03: 85.0, 0.05: 98.0}),
        ("TPU-like", TPU, DeviceFamily.TPU, {0.02: 97.0, 0.05: 99.5}),
    ):
        quiet = play(Regime(name=name, law=normal(sd), family=family), reports)
        found.append(_at_most(f"{name}, harmless: reports flagged", quiet.flagged, 1.0))
        found.append(
            Finding(
                text=f"{name}, harmless: further runs a case, at most 0.15",
                measured=f"{quiet.extra:.3f}",
                met=quiet.extra <= 0.15,
            )
        )
        for effect, least in wanted.items():
            seen = play(Regime(name=name, law=normal(sd), family=family, effect=effect), max(reports // 5, 1))
            share = seen.share(TimingVerdict.SLOWER)
            found.append(
                Finding(
                    text=f"{name}, +{100 * effect:.0f} %: seen in at least {least:g} %",
                    measured=f"{figure(share)} %",
                    met=share.percent >= least,
                )
            )
    for name, law in (
        ("t(2.5)", heavy_tailed(GPU)),
        ("5 % of slices 5 % slower", slow_slices(GPU, 0.05)),
        ("5 % of slices 15 % slower", slow_slices(GPU, 0.15)),
        ("5 % of slices 30 % slower", slow_slices(GPU, 0.30)),
    ):
        tails = play(Regime(name=name, law=law), reports)
        found.append(_at_most(f"GPU-like, {name}, harmless: reports flagged", tails.flagged, 5.0))
    for repeats in (3, 5):
        regime = Regime(
            name=f"shared {repeats}",
            law=normal(0.006),
            family=DeviceFamily.TPU,
            repeats=repeats,
            within=0.0005,
        )
        together = play(regime, reports)
        found.append(
            _at_most(
                f"{repeats} repeats share a submission, harmless: reports flagged", together.flagged, 1.0
            )
        )
    return found


def _bursts(cases: int) -> list[Finding]:
    missed, tried, slower = 0, 0, Counter[Burst]()
    kinds = [replace(BY_NAME["tpu"], marked=True), BY_NAME["tpu"], BY_NAME["gpu"]]
    chosen = [burst for burst in Burst if burst is not Burst.NONE]
    for burst in chosen:
        for kind in kinds:
            told = play_logs(kind, cases, burst=burst)
            missed, tried = missed + told.missed, tried + cases
            slower[burst] += told.calls[Verdict.SLOWER]
    share = Share(hits=missed, tries=tried)
    seen = Share(hits=slower.total(), tries=tried)
    return [
        Finding(
            text="time lost in bursts that the logs show as 5 % or more: called unchanged never",
            measured=f"{figure(share)} %; called slower {figure(seen)} %",
            met=missed == 0,
        )
    ]


def _shapes(cases: int) -> list[Finding]:
    found = []
    for shape in Shape:
        seen, harmless, unsure = Share(hits=0, tries=0), Share(hits=0, tries=0), Share(hits=0, tries=0)
        for kind in (BY_NAME["tpu"], BY_NAME["gpu"]):
            slow = play_logs(shaped(kind, shape), cases, factor=1.1)
            seen += Share(hits=slow.calls[Verdict.SLOWER], tries=cases)
            quiet = play_logs(shaped(kind, shape), cases)
            flags = quiet.calls[Verdict.SLOWER] + quiet.calls[Verdict.FASTER]
            harmless += Share(hits=flags, tries=cases)
            unsure += Share(hits=cases - flags - quiet.calls[Verdict.SAME], tries=cases)
        found.append(
            Finding(
                text=f"steps that are {shape.value} on both sides: +10 % seen in at least 90 %",
                measured=f"{figure(seen)} %; harmless cases flagged {figure(harmless)} %, "
                f"not settled {figure(unsure)} %",
                met=seen.percent >= 90,
            )
        )
    return found


def _at_most(text: str, share: Share, percent: float) -> Finding:
    return Finding(
        text=f"{text}, at most {percent:g} %", measured=f"{figure(share)} %", met=share.percent <= percent
    )


RIVALS: dict[str, Callable[[CaseFigures], Call]] = {
    "CodSpeed, 5 %": codspeed_strict,
    "rustc-perf": rustc_perf,
    "Bencher t 0.99": bencher,
    "Conbench z > 5": conbench,
}
"""Rules of other tools that can judge one run a side."""

FLOOR = log(1.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A rule on one kind of noise: harmless reports flagged, and slowdowns seen."""

    rule: str
    kind: str
    flagged: Share
    seen: tuple[Share, ...]


EFFECTS = (0.02, 0.03, 0.05)


def beside_rivals(reports: int) -> list[Row]:
    """Ours in two stages, and the rivals with the same floor of 1 %, fed our steady time and as many runs of
    main. Each rival has the one run a side that ours begins with."""
    rows = []
    for kind, sd, family in (
        ("TPU-like", TPU, DeviceFamily.TPU),
        ("GPU-like", GPU, DeviceFamily.GPU),
        ("GPU-like, 5 % slow slices", GPU, DeviceFamily.GPU),
    ):
        law = slow_slices(sd, 0.15) if "slow" in kind else normal(sd)
        own = [
            play(Regime(name=kind, law=law, family=family, effect=effect), reports)
            for effect in (0.0, *EFFECTS)
        ]
        rows.append(
            Row(
                rule="**MaxView**",
                kind=kind,
                flagged=own[0].flagged,
                seen=tuple(one.share(TimingVerdict.SLOWER) for one in own[1:]),
            )
        )
        rows += [_rival_row(name, judge, kind, law, reports) for name, judge in RIVALS.items()]
    return rows


def _rival_row(name: str, judge: Callable[[CaseFigures], Call], kind: str, law: Law, reports: int) -> Row:
    flagged, seen = 0, Counter[float]()
    for report in range(reports):
        draws = seeded("rivals", kind, report)
        alarm = False
        for _ in range(CASES):
            history = [exp(law(draws)) for _ in range(MAIN)]
            head = exp(law(draws))
            alarm |= _floored(judge, history, head) in ALARMS
            for effect in EFFECTS:
                seen[effect] += _floored(judge, history, head * (1 + effect)) is Call.SLOWER
        flagged += alarm
    return Row(
        rule=f"{name}, from 1 % on",
        kind=kind,
        flagged=Share(hits=flagged, tries=reports),
        seen=tuple(Share(hits=seen[effect], tries=reports * CASES) for effect in EFFECTS),
    )


def _floored(judge: Callable[[CaseFigures], Call], history: Sequence[float], head: float) -> Call:
    """Return what a rival says, base the newest of main's runs; a change below 1 % of base is the same."""
    call = judge(CaseFigures(base=history[-1:], head=[head], history=history))
    return Call.SAME if call in ALARMS and abs(log(head / history[-1])) < FLOOR else call
