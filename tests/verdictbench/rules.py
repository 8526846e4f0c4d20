"""Every rule, ours among them, with the metric that it is fed: one table for trials and tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from msgspec.structs import replace

from bot.verdict.compare import compare
from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import MeasuredRun, SteadyStepTime, TimingDecision, TimingVerdict, Verdict
from bot.verdict.noise import NoisePrior, PastRun
from bot.verdict.timing_decision import decide_timing
from tests.verdict.made_runs import timings
from tests.verdictbench.rivals import (
    Call,
    CaseFigures,
    any_difference,
    bencher,
    benchstat,
    codspeed,
    codspeed_strict,
    conbench,
    pinpoint,
    rustc_perf,
)
from tests.verdictbench.simulation import GPU, TPU, Kind
from tests.verdictbench.stores import ShownRun

CASES_OF_A_REPORT = 25
"""Cases of the reports that are counted; ours shares its level among them, as in the product."""

MAIN_RUNS = 20
"""Main runs that ours is given, the base run the newest of them: those of the targets."""

MANY_MAIN_RUNS = 30
"""As many as rivals are given, with base: what ours is held against them with."""


def noise_family(kind: Kind) -> DeviceFamily:
    """Return the device family of a kind, as the product reads it from a log."""
    return {TPU: DeviceFamily.TPU, GPU: DeviceFamily.GPU}.get(kind.device, DeviceFamily.CPU)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the two stages said together, and how many further runs of head they took."""

    call: Call
    extra_runs: int = 0


def judge_logs(
    base: MeasuredRun,
    head: MeasuredRun,
    play: Callable[[], MeasuredRun],
    past: Sequence[PastRun],
    prior: NoisePrior | None = None,
) -> Judged:
    """The product's verdict on the case: gate, loss, clock and all; `play` makes the further runs of head
    that it may ask for."""
    runs, extra = [replace(head, submission="head 0")], 0
    for look in (1, 2):
        found = compare(
            [replace(base, submission="base")],
            runs,
            history=past,
            comparable_cases=CASES_OF_A_REPORT,
            look=look,
            prior=prior,
            explained=False,
        )
        if look == 2 or found.verdict is not Verdict.CONFIRMING:
            break
        extra = found.timing.confirm_runs.head
        runs += [replace(play(), submission=f"head {place}") for place in range(1, extra + 1)]
    return Judged(call=_call_of_case(found.verdict), extra_runs=extra)


def _call_of_case(verdict: Verdict) -> Call:
    match verdict:
        case Verdict.SLOWER:
            return Call.SLOWER
        case Verdict.FASTER:
            return Call.FASTER
        case Verdict.SAME:
            return Call.SAME
        case _:
            return Call.INCONCLUSIVE


def judge_in_stages(
    base: Sequence[SteadyStepTime],
    heads: Sequence[SteadyStepTime],
    past: Sequence[float],
    kind: Kind,
    *,
    begin: int = 1,
) -> Judged:
    """The timing decision alone, with the further runs of head and of base that its screen asks for."""
    bases, shown = list(base[:1]), list(heads[:begin])
    found = _decided(bases, shown, past, kind, look=1)
    wanted = found.confirm_runs
    if found.verdict is not TimingVerdict.CONFIRMING:
        return Judged(call=_call_of(found))
    shown += heads[begin : begin + wanted.head]
    bases += base[1 : 1 + wanted.base]
    return Judged(
        call=_call_of(_decided(bases, shown, past, kind, look=2)), extra_runs=wanted.head + wanted.base
    )


def _decided(
    base: Sequence[SteadyStepTime],
    head: Sequence[SteadyStepTime],
    past: Sequence[float],
    kind: Kind,
    *,
    look: int,
) -> TimingDecision:
    return decide_timing(
        timings(base),
        timings(head),
        family=noise_family(kind),
        history=past,
        comparable_cases=CASES_OF_A_REPORT,
        look=look,
    ).decision


def judge_times(
    base: Sequence[SteadyStepTime],
    head: Sequence[SteadyStepTime],
    past: Sequence[float],
    kind: Kind,
    *,
    look: int = 1,
) -> Call:
    """The product's timing decision alone."""
    return _call_of(
        decide_timing(
            timings(base),
            timings(head),
            family=noise_family(kind),
            history=past,
            comparable_cases=CASES_OF_A_REPORT,
            look=look,
        ).decision
    )


def _call_of(timing: TimingDecision) -> Call:
    match timing.verdict:
        case TimingVerdict.SLOWER:
            return Call.SLOWER
        case TimingVerdict.FASTER:
            return Call.FASTER
        case TimingVerdict.SAME:
            return Call.SAME
        case _:
            return Call.INCONCLUSIVE


class FedMetric(StrEnum):
    """What a rule reads of a run."""

    MEAN = "Avg s/step"
    LAST = "last TFLOP/s"
    STEADY = "our steady time"
    LOGS = "the logs"


class RuleOwner(StrEnum):
    """Whose rule it is."""

    OURS = "ours"
    RIVAL = "rival"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """One comparison: runs of base and head, main's runs (oldest first, the base not among them).
    `logs` holds the whole runs of base and head, and what plays further ones. `more` are further runs of base
    and of head, for rules that ask for them. Each is equal to itself alone."""

    kind: Kind
    base: Sequence[ShownRun]
    head: Sequence[ShownRun]
    past: Sequence[ShownRun]
    logs: tuple[MeasuredRun, MeasuredRun, Callable[[], MeasuredRun]] | None = None
    more: tuple[Sequence[ShownRun], Sequence[ShownRun]] = ((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule, what it is fed, and how it answers a trial."""

    key: str
    name: str
    fed: FedMetric
    whose: RuleOwner
    decide: Callable[[Trial], Call]


def _our_rule(trial: Trial) -> Call:
    assert trial.logs is not None
    base, head, play = trial.logs
    return judge_logs(base, head, play, main_past(trial)).call


def _with_many(trial: Trial) -> Call:
    return judge_in_stages(*_sides(trial, more=True), main_runs(trial, MANY_MAIN_RUNS), trial.kind).call


def _staged_alone(trial: Trial) -> Call:
    return judge_in_stages(*_sides(trial, more=True), (), trial.kind).call


def staged(trial: Trial) -> Judged:
    """The clock's word with 20 main runs, and what the two stages cost in runs."""
    return judge_in_stages(*_sides(trial, more=True), main_runs(trial), trial.kind)


def _repeated(trial: Trial) -> Call:
    return judge_times(*_sides(trial), main_runs(trial), trial.kind)


def _alone(trial: Trial) -> Call:
    return judge_times(*_sides(trial), (), trial.kind)


def main_runs(trial: Trial, count: int = MAIN_RUNS) -> list[float]:
    """Return the steady seconds of main's newest runs, the base's the newest of all."""
    known = [run.clean for run in (*trial.past, *trial.base) if run.clean is not None]
    return known[-count:]


def main_past(trial: Trial, count: int = MAIN_RUNS) -> list[PastRun]:
    """The same with the loop times of the runs."""
    return [
        PastRun(seconds=run.clean, loop=run.loop)
        for run in (*trial.past, *trial.base)
        if run.clean is not None
    ][-count:]


def _sides(trial: Trial, *, more: bool = False) -> tuple[list[SteadyStepTime], list[SteadyStepTime]]:
    base, head = trial.more if more else ((), ())
    return [run.steady for run in (*trial.base, *base)], [run.steady for run in (*trial.head, *head)]


def _mean(run: ShownRun) -> float | None:
    return round(run.printed_mean, 3)


def _last(run: ShownRun) -> float | None:
    return 1 / run.last_tflops if run.last_tflops > 0 else None


def _clean(run: ShownRun) -> float | None:
    return run.clean


METRICS = {FedMetric.MEAN: _mean, FedMetric.LAST: _last, FedMetric.STEADY: _clean}


@lru_cache(maxsize=len(FedMetric))
def _shown(trial: Trial, fed: FedMetric) -> CaseFigures | None:
    """Return a metric's values; remembered, since one trial is put to many rules in turn."""
    metric = METRICS[fed]
    sides = [
        [value for run in side if (value := metric(run)) is not None] for side in (trial.base, trial.head)
    ]
    if not all(sides):
        return None
    past = [value for run in trial.past if (value := metric(run)) is not None]
    return CaseFigures(base=sides[0], head=sides[1], history=past)


def _rival(key: str, name: str, judge: Callable[[CaseFigures], Call], *metrics: FedMetric) -> list[Rule]:
    def fed_with(fed: FedMetric) -> Callable[[Trial], Call]:
        def answer(trial: Trial) -> Call:
            shown = _shown(trial, fed)
            return Call.INCONCLUSIVE if shown is None else judge(shown)

        return answer

    return [
        Rule(key=f"{key}/{fed.name.lower()}", name=name, fed=fed, whose=RuleOwner.RIVAL, decide=fed_with(fed))
        for fed in metrics
    ]


def _own(key: str, name: str, decide: Callable[[Trial], Call], whose: RuleOwner = RuleOwner.OURS) -> Rule:
    return Rule(key=key, name=name, fed=FedMetric.LOGS, whose=whose, decide=decide)


RULES = [
    _own("ours", "**MaxView**, 20 main runs", _our_rule),
    _own("ours-many", "**MaxView**, 30 main runs", _with_many),
    _own("ours-alone", "**MaxView**, no history", _staged_alone),
    *_rival("page", "today's page: any difference", any_difference, FedMetric.MEAN, FedMetric.LAST),
    *_rival("codspeed", "CodSpeed, 10 %", codspeed, FedMetric.MEAN, FedMetric.STEADY),
    *_rival("codspeed5", "CodSpeed, 5 %", codspeed_strict, FedMetric.MEAN, FedMetric.LAST, FedMetric.STEADY),
    *_rival("rustc", "rustc-perf, 30 main runs", rustc_perf, FedMetric.MEAN, FedMetric.STEADY),
    *_rival("bencher", "Bencher t 0.99, 30 main runs", bencher, FedMetric.MEAN, FedMetric.STEADY),
    *_rival("conbench", "Conbench z > 5, 30 main runs", conbench, FedMetric.MEAN, FedMetric.STEADY),
]
"""One run a side, and main's history."""

REPEATED = [
    _own("ours", "**MaxView**, 10 v 10 and 20 main runs", _repeated),
    _own("ours-alone", "**MaxView**, 10 v 10, no history", _alone),
    *_rival("benchstat", "benchstat, 10 v 10", benchstat, FedMetric.MEAN, FedMetric.STEADY),
    *_rival("pinpoint", "Pinpoint, 10 to 40 a side", pinpoint, FedMetric.MEAN, FedMetric.STEADY),
]
"""Ten runs a side; Pinpoint takes up to forty while it does not know."""
