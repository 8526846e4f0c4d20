"""Explains a comparison: the samples behind each run, the noise, the decision with its numbers.

Every printed step line is either kept or dropped for one named reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import assert_never

from bot.logs.facts import MarkKind, RunLog, Step, StepKind
from bot.verdict.baseline import main_series
from bot.verdict.comparability import SideOutcome
from bot.verdict.judgement import (
    Comparison,
    DroppedSteps,
    DropReason,
    ExactFigure,
    ExplainedHistory,
    ExplainedRun,
    Explanation,
    LogPosition,
    MeasuredRun,
    MetricRow,
    SecondsDialect,
    StepClock,
    StepSpans,
    TimingArithmetic,
)
from bot.verdict.metrics import METRICS_BY_KEY, Judging, percent_apart
from bot.verdict.noise import PastRun, select_history
from bot.verdict.plausibility import implausible_steps
from bot.verdict.thresholds import report_alpha
from bot.verdict.timing import (
    WARM_UP_STEPS,
    StepIntervals,
    detect_dialect,
    interval_bounds,
    last_attempt_steps,
    step_intervals,
    steps_spanning_eval,
)
from bot.verdict.timing_decision import TimingWorking


def explain(
    base: SideOutcome,
    head: SideOutcome,
    history: Sequence[PastRun],
    working: TimingWorking,
    found: Comparison,
) -> Explanation:
    """Return why the comparison of two sides says what it says, from the working of its timing decision."""
    return Explanation(
        base=_explain_runs(base),
        head=_explain_runs(head),
        history=explain_history(history),
        arithmetic=None if found.timing.change is None else _arithmetic(working),
        exact=tuple(figure for row in found.rows if (figure := _exact_figure(row)) is not None),
    )


def explain_history(history: Sequence[PastRun]) -> ExplainedHistory:
    """Return what became of main's runs (steady seconds, oldest first) on their way to the noise."""
    seconds = main_series(history, ()).seconds
    selected = select_history(seconds)
    return ExplainedHistory(
        given=len(seconds),
        used=len(selected.used),
        before_change=selected.before_change,
        older=selected.older,
        glitches=tuple(seconds[place] for place in selected.glitches),
    )


def _explain_runs(side: SideOutcome) -> tuple[ExplainedRun, ...]:
    usable = {id(run) for run in side.usable}
    return tuple(explain_run(run, usable=id(run) in usable) for run in side.runs)


def _arithmetic(working: TimingWorking) -> TimingArithmetic | None:
    """Return the decision's numbers; None where a side has no steady step time, or the noise is unknown."""
    rules, noise, baseline, test = working.rules, working.noise, working.baseline, working.test
    if noise is None or noise.sd is None or baseline is None or test is None:
        return None
    evidence = baseline.evidence
    return TimingArithmetic(
        change=evidence.change,
        n=evidence.n,
        spread=noise.source.value,
        sd=noise.sd,
        nu=noise.degrees_of_freedom,
        between=test.between,
        within=test.within,
        summed=True,
        se=test.se,
        standing=baseline.source.value,
        main=baseline.main_runs,
        base_off=baseline.base_off,
        level=test.alpha,
        first_level=report_alpha(noise, look=1),
        look=rules.look,
        cases=rules.cases,
        quantile=test.quantile,
        z=test.z,
        practical=rules.practical,
        equivalence=rules.equivalence,
        rounding=evidence.rounding,
        band=test.threshold,
        mde=test.mde,
        decision=test.verdict.value,
        stage=test.stage.value,
        strict=test.strict,
        submissions=working.decision.submissions,
        prior_sd=sqrt(noise.prior.variance) if noise.prior else None,
        prior_nu=noise.prior.degrees_of_freedom if noise.prior else 0.0,
        own_sd=noise.own_sd,
        own_nu=noise.own_freedom,
    )


def _exact_figure(row: MetricRow) -> ExactFigure | None:
    metric = METRICS_BY_KEY.get(row.key)
    if metric is None or metric.judging is not Judging.EXACT or not row.judged:
        return None
    if not isinstance(row.base, float | int) or not isinstance(row.head, float | int):
        return None
    return ExactFigure(
        key=row.key,
        base=row.base,
        head=row.head,
        percent=percent_apart(row.base, row.head),
        least=metric.least,
        least_percent=metric.least_percent,
        direction=row.direction.value,
    )


def explain_run(run: MeasuredRun, *, usable: bool = True) -> ExplainedRun:
    """Return why the steady step time of a run is what it is, or why there is none."""
    steady = run.measurements.steady
    considered = step_intervals(run.log, implausible_steps(run.measurements.implausible))
    bounds = interval_bounds(considered) if considered else None
    kept = set(steady.kept_steps)
    return ExplainedRun(
        source=run.log.source,
        run=run.log.run,
        used=usable and steady.seconds is not None,
        seconds=steady.seconds,
        se=steady.se,
        clock=steady.clock.value if steady.clock else None,
        bounds=bounds,
        kept=step_spans(steady.kept_steps),
        kept_count=len(steady.kept_steps),
        considered=len(steady.candidate_steps),
        dropped=_dropped_steps(run, considered, bounds, kept),
        problem=steady.problem,
        places=_log_places(run),
    )


def step_spans(steps: Iterable[int]) -> StepSpans:
    """Return steps as spans without a gap, in their order: 3, 6, 7, 8 are (3, 3) and (6, 8)."""
    found: list[tuple[int, int]] = []
    for step in steps:
        if found and step == found[-1][1] + 1:
            found[-1] = (found[-1][0], step)
        else:
            found.append((step, step))
    return tuple(found)


def _dropped_steps(
    run: MeasuredRun, considered: StepIntervals | None, bounds: tuple[float, float] | None, kept: set[int]
) -> tuple[DroppedSteps, ...]:
    """Return the dropped steps by reason, in the order of the log."""
    log = run.log
    segment = last_attempt_steps(log.steps)
    earlier = [step.step for step in log.steps[: len(log.steps) - len(segment)]]
    groups: dict[DropReason, list[int]] = defaultdict(list)
    if earlier:
        groups[DropReason.EARLIER_ATTEMPT] = earlier
    implausible = {value.step for value in run.measurements.implausible}
    evals = steps_spanning_eval(log, segment)
    excluded = _excludes_last_line(considered, segment)
    for step in segment:
        if step.step in kept:
            continue
        if considered is not None and step.step in considered.seconds:
            groups[_reason_by_length(considered, bounds, step.step)].append(step.step)
        elif excluded and step is segment[-1]:
            groups[DropReason.LAST_LINE].append(step.step)
        else:
            groups[_reason_not_considered(step, segment[0].step, implausible, evals)].append(step.step)
    return tuple(
        DroppedSteps(reason=reason, steps=step_spans(groups[reason]))
        for reason in DropReason
        if reason in groups
    )


def _excludes_last_line(considered: StepIntervals | None, segment: Sequence[Step]) -> bool:
    """Tell whether the last line is always left out: it is, but on the clock of a dispatch logger."""
    if considered is None:
        return False
    match considered.clock:
        case StepClock.COMPLETION:
            return True
        case StepClock.LOGGER:
            return detect_dialect(segment) is SecondsDialect.FLUSH
        case _:
            assert_never(considered.clock)


def _reason_not_considered(step: Step, first: int, implausible: set[int], evals: set[int]) -> DropReason:
    """Return why a step has no interval to consider."""
    match step.kind:
        case StepKind.RAMP_UP:
            return DropReason.RAMP_UP
        case StepKind.PROFILED:
            return DropReason.PROFILED
        case StepKind.PLAIN:
            pass
        case _:
            assert_never(step.kind)
    if step.step < first + WARM_UP_STEPS:
        return DropReason.WARM_UP
    if step.step in evals:
        return DropReason.EVAL
    return DropReason.IMPLAUSIBLE if step.step in implausible else DropReason.NO_INTERVAL


def _reason_by_length(considered: StepIntervals, bounds: tuple[float, float] | None, step: int) -> DropReason:
    """Return why an interval that was considered is not kept."""
    low, high = bounds or (0.0, 0.0)
    seconds = considered.seconds[step]
    if seconds < considered.shortest_possible:
        return DropReason.IMPOSSIBLE
    if seconds < low:
        return DropReason.SHORT
    return DropReason.LONG if seconds > high else DropReason.TOO_FEW


def _log_places(run: MeasuredRun) -> tuple[LogPosition, ...]:
    """Return where the log states the kept steps, memory, the compiler's sizes and the failure.

    An offset of 0 means that the reader of the format gives none: no log states its memory there.
    """
    log = run.log
    found = _kept_step_places(log, run.measurements.steady.kept_steps)
    if log.memory and log.memory[0].offset:
        found.append(LogPosition(what=f"memory in use, {log.memory[0].device}", offset=log.memory[0].offset))
    found += [
        LogPosition(what="compiler memory sizes", offset=mark.offset)
        for mark in log.marks
        if mark.kind is MarkKind.COMPILED and mark.offset
    ][:1]
    failure = log.outcome.failure
    if failure is not None and failure.error:
        found.append(LogPosition(what="first cause of the failure", offset=failure.offset))
    return tuple(found)


def _kept_step_places(log: RunLog, kept: Sequence[int]) -> list[LogPosition]:
    offsets = {step.step: step.offset for step in last_attempt_steps(log.steps)}
    ends = [("first", min(kept)), ("last", max(kept))] if kept else []
    return [
        LogPosition(what=f"{name} kept step", offset=offsets[step], step=step)
        for name, step in ends
        if step in offsets
    ]
