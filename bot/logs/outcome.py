"""Decide how a run ended, and what made it fail: the first cause, not its echoes.

Exit code 0 alone is no success: a termination signal, a failed checkpoint and exhausted data also exit
with 0.
"""

import math
from collections.abc import Sequence

from bot.logs.decoding import CORRUPT_DAMAGE, GzipDamage
from bot.logs.facts import Failure, Mark, MarkKind, OutcomeState, RunOutcome
from bot.logs.failures import FailureClass, classify, exit_code_class, fingerprint, is_usage_error
from bot.logs.limits import UnreadRest
from bot.logs.prefixes import UNDATED
from bot.logs.rules import PossibleCause, QuantityKind, StoppedEarly, first_quantity
from bot.logs.segments import FormatCollector, LogSegment
from bot.logs.steps import StepSeries

KILL_CODES = (129, 137, 143)
"""Exit codes of SIGHUP, SIGKILL and SIGTERM."""
_REASONS_TO_KILL = frozenset(
    {
        FailureClass.HOST_OOM,
        FailureClass.TIMEOUT,
        FailureClass.PREEMPTED,
        FailureClass.BAD_HARDWARE,
        FailureClass.DISK_FULL,
        FailureClass.LIMIT,
    }
)
"""Classes that explain why something outside ended a run."""
_AFTER_A_FULL_DISK = frozenset(
    {
        FailureClass.CODE,
        FailureClass.CRASH,
        FailureClass.CHECKPOINT,
        FailureClass.UNKNOWN,
        FailureClass.DISK_FULL,
    }
)
"""Classes of the errors that a failed write leads to, at once or later."""
SURVIVED_STEPS = 3
"""Step lines after an error that show that the run survived it; another host may still print two."""


def run_outcome(
    segment: LogSegment,
    collector: FormatCollector | None,
    series: StepSeries,
    marks: Sequence[Mark],
    damage: GzipDamage | UnreadRest | None,
) -> RunOutcome:
    """How the run ended. `damage` says why a part of the source could not be read."""
    last = series.last.step if series.last else None
    expected = _expected_steps(segment, collector, series, marks)
    exit_code = _exit_code(segment)
    cause = _cause(segment)
    missing = _steps_missing(collector, series, expected, orderly=segment.completed or exit_code == 0)
    if segment.completed and (expected is None or last is None):
        missing = False  # the program says that it completed, and nothing contradicts it
    state = _state(segment, series, cause, exit_code, missing=missing)
    end_known = damage is None or segment.ended or segment.exit_codes or segment.completed
    if state is OutcomeState.SUCCEEDED and not end_known:
        state = OutcomeState.INCOMPLETE
    uncertain = isinstance(damage, UnreadRest) or damage in CORRUPT_DAMAGE
    if state in (OutcomeState.SUCCEEDED, OutcomeState.STOPPED) and uncertain:
        state = OutcomeState.INCOMPLETE  # neither the steps nor the end are certain
    failing = state in (OutcomeState.FAILED, OutcomeState.KILLED, OutcomeState.STOPPED)
    return RunOutcome(
        state=state,
        exit_code=exit_code,
        failure=_failure(segment, series, cause, exit_code) if failing else None,
        last_step=last,
        expected_steps=expected,
    )


def _exit_code(segment: LogSegment) -> int | None:
    """The first exit code that is not 0, else 0. Outside a run the text is no exit code."""
    if not segment.exit_codes or not (segment.framed or segment.distinctive):
        return None
    return next((code for code in segment.exit_codes if code), 0)


def _steps_missing(
    collector: FormatCollector | None, series: StepSeries, expected: int | None, *, orderly: bool
) -> bool | None:
    """Whether steps are missing at the end; `None` where the expected number is unknown.

    A log of every tenth step may end up to nine steps after its last line.
    """
    if expected is None:
        return None
    first = collector.log_format.first_step if collector else 0
    unseen = series.stride - 1 if orderly else 0
    return series.last is None or series.last.step + unseen < expected - 1 + first


def _state(
    segment: LogSegment,
    series: StepSeries,
    cause: PossibleCause | None,
    exit_code: int | None,
    *,
    missing: bool | None,
) -> OutcomeState:
    if exit_code in KILL_CODES or (
        exit_code is None and cause is not None and _killed(segment, cause, missing)
    ):
        return OutcomeState.KILLED
    if exit_code or series.not_finite is not None:
        return OutcomeState.FAILED
    if exit_code == 0:
        stopped = missing or (segment.early_stops and missing is None)
        return OutcomeState.STOPPED if stopped else OutcomeState.SUCCEEDED
    if cause is not None and not (missing is False and cause.echo):
        return OutcomeState.FAILED
    if missing is not False and (segment.early_stops or segment.completed):
        return OutcomeState.STOPPED
    orderly = segment.completed or not segment.framed or segment.ended
    return OutcomeState.SUCCEEDED if orderly and missing is False else OutcomeState.INCOMPLETE


def _killed(segment: LogSegment, cause: PossibleCause, missing: bool | None) -> bool:  # noqa: FBT001 - three answers
    """Whether something outside ended the run; a run that says that it completed had ended before."""
    return cause.killed and not (segment.completed and missing is not True)


def _expected_steps(
    segment: LogSegment, collector: FormatCollector | None, series: StepSeries, marks: Sequence[Mark]
) -> int | None:
    """The number of steps that the run should take: stated, else shown by the checkpoint on completion."""
    if collector is None:
        return None
    last = series.last.step if series.last else -1
    least = last + 1 - collector.log_format.first_step
    stated = [int(value) for value in collector.quantities.get(QuantityKind.EXPECTED_STEPS, ())]
    epochs = first_quantity(collector.quantities, QuantityKind.EPOCHS)
    per_epoch = first_quantity(collector.quantities, QuantityKind.STEPS_PER_EPOCH)
    if epochs and per_epoch:
        stated.append(int(epochs * per_epoch))
    if fitting := [count for count in stated if count >= least]:
        return fitting[0]
    if (written := _steps_by_metrics_files(collector)) is not None and written >= least:
        return written
    interval = first_quantity(collector.quantities, QuantityKind.SAVE_INTERVAL)
    saves = [
        mark.step for mark in marks if mark.kind is MarkKind.CHECKPOINT_STARTED and mark.step is not None
    ]
    if not interval or not saves or segment.early_stops:
        return None
    final = max(saves)
    return final + 1 if final >= max(last, 1) and final % int(interval) else None


def _steps_by_metrics_files(collector: FormatCollector) -> int | None:
    """The number of steps that a file of metrics shows which was written before its period was over.

    MaxText writes one at the end of every period, and one at the last step.
    """
    written = sorted(int(step) for step in collector.quantities.get(QuantityKind.METRICS_WRITTEN_TO, ()))
    stated = first_quantity(collector.quantities, QuantityKind.LOG_PERIOD)
    period = int(stated) if stated else written[0] + 1 if len(written) > 1 else None
    if not written or not period or (written[-1] + 1) % period == 0:
        return None
    return written[-1] + 1


def _cause(segment: LogSegment) -> PossibleCause | None:
    """The first error that the run did not survive; an echo only where nothing else is known."""
    fatal = _by_time(
        [cause for cause, before in segment.causes if segment.steps_seen - before < SURVIVED_STEPS]
    )
    own = [cause for cause in fatal if not cause.echo]
    if own and is_usage_error(own[-1].error):
        return own[-1]  # it ends a program at once: earlier errors are those of an earlier start
    known = [cause for cause in own if cause.training or cause.kind != FailureClass.UNKNOWN]
    telling = [cause for cause in fatal if cause.kind != FailureClass.UNKNOWN]
    first = next(iter(known or own or telling or fatal), None)
    if first is None:
        return None
    if first.killed and first.kind is FailureClass.TERMINATED:
        return next((cause for cause in fatal if cause.kind in _REASONS_TO_KILL), first)
    full_disk = (cause for cause, _ in segment.causes if cause.kind is FailureClass.DISK_FULL)
    return next(full_disk, first) if first.kind in _AFTER_A_FULL_DISK else first


def _by_time(causes: list[PossibleCause]) -> list[PossibleCause]:
    """In the order in which they happened, where every line has a time; else in the order of the log.

    The two differ where the logs of several hosts were appended to each other.
    """
    times = [cause.time for cause in causes if cause.time is not None]
    dated = {time >= UNDATED for time in times}
    if len(times) < len(causes) or len(dated) > 1:
        return causes
    return sorted(causes, key=lambda cause: cause.time or 0.0)


def _failure(
    segment: LogSegment, series: StepSeries, cause: PossibleCause | None, exit_code: int | None
) -> Failure | None:
    bad = series.not_finite
    if bad is not None and (cause is None or bad.offset < cause.offset):
        error = f"loss is {'nan' if bad.loss is None or math.isnan(bad.loss) else 'inf'} at step {bad.step}"
        kind = FailureClass.NOT_FINITE
        return Failure(
            kind=kind, error=error, fingerprint=fingerprint(kind, error, ""), offset=bad.offset, excerpt=error
        )
    if cause is not None:
        return Failure(
            kind=cause.kind,
            error=cause.error,
            where=cause.where,
            excerpt=cause.excerpt,
            fingerprint=cause.fingerprint,
            offset=cause.offset,
        )
    if segment.early_stops:
        return _early_stop_failure(segment.early_stops[0])
    if exit_code:
        kind, code = exit_code_class(exit_code), str(exit_code)
        return Failure(kind=kind, error="", fingerprint=fingerprint(kind, f"exit code {code}", code))
    return None


def _early_stop_failure(stop: StoppedEarly) -> Failure:
    kind = FailureClass.PREEMPTED if stop.preempted else classify(stop.reason, FailureClass.STOPPED)[0]
    error = f"Training stopped: {stop.reason}"
    return Failure(kind=kind, error=error, excerpt=error, fingerprint=fingerprint(kind, error, ""))
