"""Decide how a run ended, and what made it fail: the first cause, not its echoes.

Exit code 0 alone is no success: a termination signal, a failed checkpoint and exhausted data also exit
with 0.
"""

import math
from collections.abc import Sequence

from bot.logs.facts import Failure, Mark, MarkKind, OutcomeState, RunOutcome
from bot.logs.failures import FailureClass, classify, exit_code_class, fingerprint, is_usage_error
from bot.logs.prefixes import UNDATED
from bot.logs.rules import PossibleCause, QuantityKind
from bot.logs.segments import FormatCollector, LogSegment
from bot.logs.steps import StepSeries

KILL_CODES = (137, 143)
"""Exit codes of SIGKILL and SIGTERM."""

SURVIVED_STEPS = 3
"""Step lines after a message that show that it did not end the run; another host may still print two."""


def run_outcome(
    episode: LogSegment,
    collector: FormatCollector | None,
    track: StepSeries,
    marks: Sequence[Mark],
    *,
    intact: bool,
    sound: bool = True,
) -> RunOutcome:
    """How the run ended. `intact`: the whole source could be read; `sound`: as it was written."""
    last = track.last.step if track.last else None
    expected = _expected_steps(episode, collector, track, marks)
    exit_code = _exit_code(episode)
    cause = _cause(episode)
    missing = _steps_missing(collector, track, expected, orderly=episode.finished or exit_code == 0)
    if episode.finished and (expected is None or last is None):
        missing = False  # the program's own word, and nothing to hold against it
    state = _state(episode, track, cause, exit_code, missing=missing)
    shown = intact or episode.ended or episode.exit_codes or episode.finished
    if state is OutcomeState.SUCCEEDED and not shown:
        state = OutcomeState.INCOMPLETE
    if state in (OutcomeState.SUCCEEDED, OutcomeState.STOPPED) and not sound:
        state = OutcomeState.INCOMPLETE  # neither the steps nor the end can be believed
    failing = state in (OutcomeState.FAILED, OutcomeState.KILLED, OutcomeState.STOPPED)
    return RunOutcome(
        state=state,
        exit_code=exit_code,
        failure=_failure(episode, track, cause, exit_code) if failing else None,
        last_step=last,
        expected_steps=expected,
    )


def _exit_code(episode: LogSegment) -> int | None:
    """Of several hosts' exit codes the one that tells; a code without a run around it is somebody's text."""
    if not episode.exit_codes or not (episode.framed or episode.telling):
        return None
    return next((code for code in episode.exit_codes if code), 0)


def _steps_missing(
    collector: FormatCollector | None, track: StepSeries, expected: int | None, *, orderly: bool
) -> bool | None:
    """Whether steps are missing at the end; `None` where nothing says how many there should be.

    A log of every tenth step may end in order up to nine steps after its last line.
    """
    if expected is None:
        return None
    first = collector.form.first_step if collector else 0
    unseen = track.stride - 1 if orderly else 0
    return track.last is None or track.last.step + unseen < expected - 1 + first


def _state(
    episode: LogSegment,
    track: StepSeries,
    cause: PossibleCause | None,
    exit_code: int | None,
    *,
    missing: bool | None,
) -> OutcomeState:
    killed = exit_code in KILL_CODES or (
        exit_code is None and cause is not None and "OOMKilled" in cause.error
    )
    if killed:
        return OutcomeState.KILLED
    if exit_code or track.not_finite is not None:
        return OutcomeState.FAILED
    if exit_code == 0:
        return (
            OutcomeState.STOPPED if missing or (episode.quits and missing is None) else OutcomeState.SUCCEEDED
        )
    if cause is not None and not (missing is False and cause.echo):
        return OutcomeState.FAILED
    if missing is not False and (episode.quits or episode.finished):
        return OutcomeState.STOPPED
    orderly = episode.finished or not episode.framed or episode.ended
    return OutcomeState.SUCCEEDED if orderly and missing is False else OutcomeState.INCOMPLETE


def _expected_steps(
    episode: LogSegment, collector: FormatCollector | None, track: StepSeries, marks: Sequence[Mark]
) -> int | None:
    """The number of steps the run was to take: stated, else shown by the save on completion."""
    if collector is None:
        return None
    last = track.last.step if track.last else -1
    least = last + 1 - collector.form.first_step
    stated = [int(value) for value in collector.quantities.get(QuantityKind.EXPECTED_STEPS, ())]
    if fitting := [count for count in stated if count >= least]:
        return fitting[0]
    grid = next(iter(collector.quantities.get(QuantityKind.SAVE_INTERVAL, ())), None)
    saves = [
        mark.step for mark in marks if mark.kind is MarkKind.CHECKPOINT_STARTED and mark.step is not None
    ]
    if not grid or not saves or episode.quits or max(saves) < max(last, 1) or max(saves) % int(grid) == 0:
        return None
    return max(saves) + 1


def _cause(episode: LogSegment) -> PossibleCause | None:
    """The first thing that went wrong and was not survived; an echo only where nothing else is known."""
    fatal = _by_time(
        [trouble for trouble, before in episode.troubles if episode.steps_seen - before < SURVIVED_STEPS]
    )
    own = [trouble for trouble in fatal if not trouble.echo]
    if own and is_usage_error(own[-1].error):
        return own[-1]  # that ends a program at once: what failed before was an earlier start
    known = [trouble for trouble in own if trouble.training or trouble.kind != FailureClass.UNKNOWN]
    return next(iter(known or own or fatal), None)


def _by_time(troubles: list[PossibleCause]) -> list[PossibleCause]:
    """In the order in which they happened, where every line tells its time; else in the log's order, which
    for hosts' logs that were pasted one behind the other is another one."""
    times = [trouble.time for trouble in troubles if trouble.time is not None]
    dated = {time >= UNDATED for time in times}
    if len(times) < len(troubles) or len(dated) > 1:
        return troubles
    return sorted(troubles, key=lambda trouble: trouble.time or 0.0)


def _failure(
    episode: LogSegment, track: StepSeries, cause: PossibleCause | None, exit_code: int | None
) -> Failure | None:
    bad = track.not_finite
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
    if episode.quits:
        return _early_stop_failure(episode.quits[0])
    if exit_code:
        kind, code = exit_code_class(exit_code), str(exit_code)
        return Failure(kind=kind, error="", fingerprint=fingerprint(kind, f"exit code {code}", code))
    return None


def _early_stop_failure(reason: str) -> Failure:
    kind, _ = classify(reason, FailureClass.STOPPED)
    if "preemption" in reason:
        kind = FailureClass.PREEMPTED
    error = f"Training stopped: {reason}"
    return Failure(kind=kind, error=error, excerpt=error, fingerprint=fingerprint(kind, error, ""))
