"""Which steps of a run make its steady step time, and why each of the others does not.

In:  a `MeasuredRun`. Out: `ExplainedRun`.
Promises: every printed step line is either kept or dropped for one named reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import assert_never

from bot.logs.facts import MarkKind, RunLog, Step, StepKind
from bot.verdict.explanation import Dropped, ExplainedRun, Place, Reason, Spans
from bot.verdict.judgement import Clock, Dialect, MeasuredRun
from bot.verdict.plausibility import struck
from bot.verdict.steady import WARM_UP, Samples, bounds, samples
from bot.verdict.timeline import dialect, last_segment, steps_that_span_an_eval


def explain_run(run: MeasuredRun, *, usable: bool = True) -> ExplainedRun:
    """Return why the steady step time of a run is what it is, or why there is none."""
    steady = run.measurements.steady
    considered = samples(run.log, struck(run.measurements.implausible))
    within = bounds(considered) if considered else None
    kept = set(steady.kept_steps)
    return ExplainedRun(
        source=run.log.source,
        run=run.log.run,
        used=usable and steady.seconds is not None,
        seconds=steady.seconds,
        se=steady.se,
        clock=steady.clock.value if steady.clock else None,
        bounds=within,
        kept=spans(steady.kept_steps),
        kept_count=len(steady.kept_steps),
        considered=len(steady.candidate_steps),
        dropped=_dropped(run, considered, within, kept),
        problem=steady.problem,
        places=_places(run),
    )


def spans(steps: Iterable[int]) -> Spans:
    """Return steps as stretches without a hole, in their order: 3, 6, 7, 8 are (3, 3) and (6, 8)."""
    found: list[tuple[int, int]] = []
    for step in steps:
        if found and step == found[-1][1] + 1:
            found[-1] = (found[-1][0], step)
        else:
            found.append((step, step))
    return tuple(found)


def _dropped(
    run: MeasuredRun, considered: Samples | None, within: tuple[float, float] | None, kept: set[int]
) -> tuple[Dropped, ...]:
    """Return the steps that are not kept by reason, in the order in which a log has them."""
    log = run.log
    segment = last_segment(log.steps)
    earlier = [step.step for step in log.steps[: len(log.steps) - len(segment)]]
    groups: dict[Reason, list[int]] = defaultdict(list)
    if earlier:
        groups[Reason.EARLIER_ATTEMPT] = earlier
    odd = {one.step for one in run.measurements.implausible}
    evals = steps_that_span_an_eval(log, segment)
    excluded = _last_is_excluded(considered, segment)
    for step in segment:
        if step.step in kept:
            continue
        if considered is not None and step.step in considered.seconds:
            groups[_by_length(considered, within, step.step)].append(step.step)
        elif excluded and step is segment[-1]:
            groups[Reason.LAST_LINE].append(step.step)
        else:
            groups[_before_all(step, segment[0].step, odd, evals)].append(step.step)
    return tuple(Dropped(reason=reason, steps=spans(groups[reason])) for reason in Reason if reason in groups)


def _last_is_excluded(considered: Samples | None, segment: Sequence[Step]) -> bool:
    """Tell whether the last line is left out whatever it says: on a dispatch logger's clock it is not."""
    if considered is None:
        return False
    match considered.clock:
        case Clock.COMPLETION:
            return True
        case Clock.LOGGER:
            return dialect(segment) is Dialect.FLUSH
        case _:
            assert_never(considered.clock)


def _before_all(step: Step, first: int, odd: set[int], evals: set[int]) -> Reason:
    """Return why a step is not even considered."""
    match step.kind:
        case StepKind.RAMP_UP:
            return Reason.RAMP_UP
        case StepKind.PROFILED:
            return Reason.PROFILED
        case StepKind.PLAIN:
            pass
        case _:
            assert_never(step.kind)
    if step.step < first + WARM_UP:
        return Reason.WARM_UP
    if step.step in evals:
        return Reason.EVAL
    return Reason.IMPLAUSIBLE if step.step in odd else Reason.NO_INTERVAL


def _by_length(considered: Samples, within: tuple[float, float] | None, step: int) -> Reason:
    """Return why an interval that was considered is not kept."""
    low, high = within or (0.0, 0.0)
    seconds = considered.seconds[step]
    if seconds < considered.shortest_possible:
        return Reason.IMPOSSIBLE
    if seconds < low:
        return Reason.SHORT
    return Reason.LONG if seconds > high else Reason.TOO_FEW


def _places(run: MeasuredRun) -> tuple[Place, ...]:
    """Return where the log says it: the kept steps, memory, the compiler's sizes, the failure.

    A reader that does not tell places leaves them 0, where no log states its memory.
    """
    log = run.log
    found = _kept_places(log, run.measurements.steady.kept_steps)
    if log.memory and log.memory[0].offset:
        found.append(Place(what=f"memory in use, {log.memory[0].device}", offset=log.memory[0].offset))
    found += [
        Place(what="compiler memory sizes", offset=mark.offset)
        for mark in log.marks
        if mark.kind is MarkKind.COMPILED and mark.offset
    ][:1]
    failure = log.outcome.failure
    if failure is not None and failure.error:
        found.append(Place(what="first cause of the failure", offset=failure.offset))
    return tuple(found)


def _kept_places(log: RunLog, kept: Sequence[int]) -> list[Place]:
    where = {step.step: step.offset for step in last_segment(log.steps)}
    ends = [("first", min(kept)), ("last", max(kept))] if kept else []
    return [
        Place(what=f"{name} kept step", offset=where[step], step=step) for name, step in ends if step in where
    ]
