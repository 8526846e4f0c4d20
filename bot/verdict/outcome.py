"""What became of each side's runs, before any figure is compared.

In:  measured runs. Out: the `Fate` of a run and of a side, and whose fault a failure is.
Promises: a failure whose fault is not known counts as the change's own: it is shown, never excused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from bot.logs.facts import Failure, RunLog, State
from bot.logs.failure import FailureClass, Fault, advice
from bot.logs.inflate import CORRUPT, TRUNCATED
from bot.verdict.curve import goes_bad
from bot.verdict.judgement import MeasuredRun

SIGKILL_EXIT = 137
"""128 + 9: the kernel for want of memory, an eviction, or a person; the code does not tell which."""

SIGTERM_EXIT = 143
"""128 + 15: the scheduler asked the run to go; training code does not send itself SIGTERM."""


class Fate(StrEnum):
    """What one run, or a side with no better one, can be used for. Best first."""

    PASSED = "passed"
    FAILED = "failed"
    CLUSTER_FAILED = "cluster_failed"
    UNFINISHED = "unfinished"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: its runs, those that can be measured, and the fate that stands for it.

    `telling` is the run that the fate was read from. `flaky` is set where runs of the same code passed and
    failed, the cluster's failures not counted; a kill that nobody explains is not known to be one of those.
    """

    name: str
    runs: Sequence[MeasuredRun]
    usable: Sequence[MeasuredRun]
    fate: Fate
    telling: MeasuredRun | None
    flaky: bool
    goes_bad: bool

    @property
    def fingerprints(self) -> frozenset[str]:
        """Those of every failure of its runs that has one."""
        ends = [run.log.outcome.failure for run in self.runs]
        return frozenset(end.fingerprint for end in ends if end is not None and end.fingerprint)

    @property
    def fingerprint(self) -> str | None:
        """That of the failure that stands for the side."""
        end = self.telling.log.outcome.failure if self.telling else None
        return end.fingerprint if end is not None and end.fingerprint else None


def side(name: str, runs: Sequence[MeasuredRun]) -> Side:
    """Sum up the runs of one side."""
    fates = [fate(run.log) for run in runs]
    passed = [run for run, its in zip(runs, fates, strict=True) if its is Fate.PASSED]
    overall = next((candidate for candidate in Fate if candidate in fates), Fate.ABSENT)
    pairs = zip(runs, fates, strict=True)
    failed = [run for run, its in pairs if its is Fate.FAILED or killed_without_a_word(run.log)]
    first = next((run for run, its in zip(runs, fates, strict=True) if its is overall), None)
    return Side(
        name=name,
        runs=runs,
        usable=passed or runs,
        fate=overall,
        telling=failed[0] if passed and failed else first,
        flaky=bool(passed) and bool(failed),
        goes_bad=any(loss_goes_bad(run.log) for run in runs),
    )


def fate(log: RunLog) -> Fate:
    """Return what one run can be used for."""
    outcome = log.outcome
    match outcome.state:
        case State.SUCCEEDED:
            return Fate.PASSED if log.steps else Fate.UNFINISHED
        case State.FAILED | State.KILLED:
            excused = is_cluster_fault(outcome.failure) or outcome.exit_code == SIGTERM_EXIT
            return Fate.CLUSTER_FAILED if excused and not loss_goes_bad(log) else Fate.FAILED
        case State.STOPPED | State.INCOMPLETE:
            return Fate.CLUSTER_FAILED if is_cluster_fault(outcome.failure) else Fate.UNFINISHED
        case State.NOT_A_TRAINING_LOG:
            return Fate.UNFINISHED
        case _:
            assert_never(outcome.state)


def is_cluster_fault(failure: Failure | None) -> bool:
    """Tell whether a failure is the cluster's, so that a rerun is the remedy."""
    return failure is not None and advice(_kind(failure)).fault is Fault.CLUSTER


def killed_without_a_word(log: RunLog) -> bool:
    """Tell whether a run was killed and no line of its log says why, so that nobody can be blamed."""
    said = log.outcome.failure is not None and log.outcome.failure.error
    return log.outcome.exit_code == SIGKILL_EXIT and not said


def loss_goes_bad(log: RunLog) -> bool:
    """Tell whether the loss of a run became NaN or infinite, printed or reported."""
    failure = log.outcome.failure
    return goes_bad(log) or (failure is not None and _kind(failure) is FailureClass.NOT_FINITE)


def _kind(failure: Failure) -> FailureClass:
    """Return the class of a failure; a class stored by another version of ours is an unknown one."""
    return next((kind for kind in FailureClass if kind == failure.kind), FailureClass.UNKNOWN)


def describe(run: MeasuredRun | None) -> str:
    """Say in one clause how a run ended."""
    if run is None:
        return "has no run"
    outcome = run.log.outcome
    match outcome.state:
        case State.SUCCEEDED:
            return "ended well" if run.log.steps else "ended without a step line"
        case State.FAILED | State.KILLED:
            return _failed(run.log)
        case State.STOPPED:
            return f"stopped {_progress(run.log)} with exit code 0"
        case State.INCOMPLETE:
            return _incomplete(run.log)
        case State.NOT_A_TRAINING_LOG:
            return "is not a training log"
        case _:
            assert_never(outcome.state)


def _incomplete(log: RunLog) -> str:
    if damaged := damage(log):
        return f"has a damaged log: {damaged} {_progress(log)}"
    return f"has no end in its log, which breaks off {_progress(log)}"


def damage(log: RunLog) -> str | None:
    """Say what is wrong with the file that holds a log, None where nothing is."""
    known = {TRUNCATED: "its gzip data is truncated", CORRUPT: "its gzip data is corrupt"}
    return next((known[warning] for warning in log.warnings if warning in known), None)


def _failed(log: RunLog) -> str:
    outcome = log.outcome
    verb = "was killed" if outcome.state is State.KILLED else "failed"
    code = f" (exit code {outcome.exit_code})" if outcome.exit_code else ""
    if outcome.failure is None:
        return f"{verb} {_progress(log)}{code}"
    where = f" at {outcome.failure.where}" if outcome.failure.where else ""
    error = f": {outcome.failure.error}" if outcome.failure.error else ""
    return f"{verb} {_progress(log)}{code}{error}{where}"


def _progress(log: RunLog) -> str:
    last, expected = log.outcome.last_step, log.outcome.expected_steps
    if last is None:
        return "before the first step"
    return f"after step {last}" if expected is None else f"after step {last} of {expected} steps"
