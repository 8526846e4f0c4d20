"""What a comparison's figures amount to, asked in the same way by headline, rows and pages.

In:  a `CaseReport` or its `Comparison`. Out: single facts: a bound, a failure, a memory increase.
"""

from bot.logs.facts import Failure, Outcome, State
from bot.logs.failure import FailureClass, advice
from bot.report.model import CaseReport, Kinship
from bot.verdict.judgement import Caveat, Comparison, Direction, LossVerdict, MeasuredRun, Row, Weight
from bot.verdict.metric import Better, Judging
from bot.verdict.metrics import BY_KEY
from bot.verdict.outcome import Fate, fate
from bot.verdict.student import normal_quantile
from bot.verdict.threshold import EQUIVALENCE_ALPHA, level, percent


def bound_percent(comparison: Comparison | None) -> float | None:
    """The largest change, in percent, that these runs leave possible (equivalence test)."""
    timing = comparison.timing if comparison else None
    if timing is None or timing.change is None or timing.se is None:
        return None
    limit = abs(timing.change) + normal_quantile(1 - level(EQUIVALENCE_ALPHA, timing.look)) * timing.se
    return percent(limit) if limit < 100 else None


def bad_end(runs: tuple[MeasuredRun, ...]) -> Outcome | None:
    """How the first run that did not succeed ended, one that the cluster failed last; None where all did."""
    runs = tuple(sorted(runs, key=lambda run: fate(run.log) is not Fate.FAILED))
    ends = [run.log.outcome for run in runs if run.log.outcome.state is not State.SUCCEEDED]
    return next((end for end in ends if end.failure), ends[0] if ends else None)


def head_failure(row: CaseReport) -> Failure | None:
    """The first cause of the candidate's failure."""
    end = bad_end(row.comparison.head) if row.comparison else None
    return end.failure if end else None


def another_failure(row: CaseReport) -> bool:
    """Whether the head fails in another way than the base: a failure that the base's own hides."""
    return row.failure is not None and row.failure.kinship is Kinship.OTHER_ON_BASE


def failed_runs(runs: tuple[MeasuredRun, ...], fingerprint: str | None = None) -> tuple[int, int]:
    """How many of a side's runs failed (in that way, where one is named), of how many that tell."""
    told = [run.log.outcome for run in runs if fate(run.log) in {Fate.PASSED, Fate.FAILED}]
    prints = [end.failure.fingerprint if end.failure else "" for end in told if end.state in _FAILED]
    return sum(fingerprint in {None, one} for one in prints), len(told)


def sometimes_on_base(row: CaseReport) -> tuple[int, int] | None:
    """In how many of the baseline's runs the head's failure is met, where that is not all of them."""
    if row.failure is None or row.failure.kinship is not Kinship.SAME_ON_BASE or row.comparison is None:
        return None
    failed, told = failed_runs(row.comparison.base, row.failure.fingerprint)
    return (failed, told) if 0 < failed < told else None


def ended(end: Outcome) -> str:
    """How a run ended, in words: `exit 1 before step 0`."""
    match end.state:
        case State.SUCCEEDED:
            how = "succeeded"
        case State.FAILED:
            how = "failed" if end.exit_code in {None, 0} else f"exit {end.exit_code}"
        case State.STOPPED:
            how = "stopped early, exit 0"
        case State.KILLED:
            how = "killed" if end.exit_code is None else f"killed, exit {end.exit_code}"
        case State.INCOMPLETE:
            how = "the log has no end"
        case State.NOT_A_TRAINING_LOG:
            return "not a training log"
    return f"{how} {_after(end)}" if end.state is not State.SUCCEEDED else how


def _after(end: Outcome) -> str:
    if end.last_step is None:
        return "before the first step" if end.state is State.INCOMPLETE else "before step 0"
    return f"after step {end.last_step}"


def next_step(kind: str) -> str:
    """What to do about a failure of a documented class; nothing for a class of no name."""
    return advice(FailureClass(kind)).next_step if kind in set(FailureClass) else ""


def worse_memory(comparison: Comparison | None) -> tuple[Row, ...]:
    """The exact metrics that got worse: memory, since parameters have to be equal to be compared at all."""
    rows = comparison.rows if comparison else ()
    return tuple(row for row in rows if row.judged and row.direction is Direction.WORSE and is_memory(row))


def is_memory(row: Row) -> bool:
    """Whether a metric says exactly how much memory is used: the exact ones of which less is better."""
    metric = BY_KEY.get(row.key)
    return metric is not None and metric.judging is Judging.EXACT and metric.better is Better.LOWER


def weighty(comparison: Comparison | None) -> tuple[Caveat, ...]:
    """The caveats that decided the verdict, the heaviest first; all of them where none is heavy."""
    caveats = comparison.caveats if comparison else ()
    for weight in (Weight.NOT_COMPARABLE, Weight.NOT_LIKE_FOR_LIKE):
        if heavy := tuple(caveat for caveat in caveats if caveat.weight is weight):
            return heavy
    return caveats


def loss_words(comparison: Comparison | None) -> str | None:
    """The loss verdict in words; None where the curves could not be compared."""
    if comparison is None or comparison.loss.verdict is LossVerdict.NOT_COMPARABLE:
        return None
    step = comparison.loss.first_outside_step
    return _LOSS[comparison.loss.verdict] + ("" if step is None else f" from step {step}")


def loss_changed(comparison: Comparison | None) -> bool:
    """Whether the loss curve is outside its tolerance."""
    return comparison is not None and comparison.loss.verdict in _CHANGED


_FAILED = frozenset({State.FAILED, State.KILLED})
_LOSS = {
    LossVerdict.IDENTICAL: "identical",
    LossVerdict.WITHIN_TOLERANCE: "within tolerance",
    LossVerdict.DIFFERENT_START: "different start",
    LossVerdict.DRIFTED: "drifted",
    LossVerdict.DIVERGED: "diverged",
}
_CHANGED = frozenset({LossVerdict.DIFFERENT_START, LossVerdict.DRIFTED, LossVerdict.DIVERGED})
