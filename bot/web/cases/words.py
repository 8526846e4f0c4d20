"""What a case's decisions amount to, in whole sentences for its page.

In:  a `CaseReport`. Out: plain text; every figure is that of the decision.
"""

from bot.report.figures import change, counted, percent, significant, size
from bot.report.judged import bound_percent, loss_words
from bot.report.model import CaseReport, RowState
from bot.report.past import past_words
from bot.verdict.judgement import Comparison


def sentences(row: CaseReport, branch: str = "main") -> tuple[str, ...]:
    """Step time, the bound on its change, its noise, the loss curve, and what to know of the runs."""
    comparison = row.comparison
    if comparison is None:
        return ()
    noise = past_words(row, branch)
    note = row.note if comparison.reason else ""
    said = [_timing(row, comparison), _bound(row), noise, _loss(comparison), note]
    return tuple(sentence for sentence in said if sentence)


def _timing(row: CaseReport, comparison: Comparison) -> str:
    timing = comparison.timing
    if timing.change is None:
        said_above = not timing.reason or timing.reason == comparison.reason
        return "" if said_above else f"Step time: {timing.reason}."
    heads, bases = counted(timing.n[1], "run"), counted(timing.n[0], "run")
    main = f" and {timing.main_runs} of the base branch before it" if timing.main_runs else ""
    said = f"Step time {change(timing.change)}, {heads} against {bases}{main}."
    if timing.band is not None:
        said += f" It counts as changed from ±{size(timing.band)} on."
    if timing.mde is not None:
        said += f" A change of {size(timing.mde)} would be seen in 4 of 5 such comparisons."
    if timing.look > 1:
        said += f" This is look {timing.look} at these data; the threshold is adjusted for it."
    if timing.more_runs and row.state is RowState.INCONCLUSIVE:
        said += f" {counted(timing.more_runs, 'more run')} a side would settle it."
    said_above = not timing.reason or timing.reason == comparison.reason
    return said if said_above else f"{said} {timing.reason}."


def _bound(row: CaseReport) -> str:
    bound = bound_percent(row.comparison)
    if bound is None or row.state is not RowState.SAME:
        return ""
    return f"With 95 % confidence the change is at most {percent(bound)}."


def _loss(comparison: Comparison) -> str:
    loss = comparison.loss
    words = loss_words(comparison)
    if words is None:
        return loss.reason and f"Loss curve: {loss.reason}."
    said = f"Loss curve {words}, {counted(loss.compared_steps, 'step')} compared"
    said += f" on {loss.digits}" if loss.digits else ""
    if loss.max_relative:
        said += f"; largest difference {significant(loss.max_relative * 100)} %"
        said += f" at step {loss.worst_step}" if loss.worst_step is not None else ""
    if loss.first_difference_step is not None:
        said += f"; first difference at step {loss.first_difference_step}"
    return said + "."
