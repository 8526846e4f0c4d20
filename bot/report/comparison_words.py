"""One comparison in sentences: the headline, what the clock says, what the loss says.

In:  a `Comparison` or its parts. Out: plain text, not escaped.
"""

from collections.abc import Sequence

from bot.report.escape import one_line
from bot.report.figures import change, counted, percent_up, size
from bot.report.judged import bound_percent, loss_words, worse_memory
from bot.report.model import RowState
from bot.report.states import STATES
from bot.verdict.judgement import Comparison, Loss, MeasuredRun, Timing, TimingVerdict, Verdict

QUIET = frozenset({Verdict.SAME, Verdict.FASTER, Verdict.FIXED, Verdict.INCONCLUSIVE})


def headline_words(comparison: Comparison) -> str:
    """`slower: +6.1 % (±1.6 %, 3 v 6 runs)`."""
    words = STATES[RowState(comparison.verdict)].word
    if hides_memory(comparison):
        words = f"{'same time' if comparison.verdict is Verdict.SAME else words}, more memory"
    timing = comparison.timing
    match comparison.verdict:
        case Verdict.SLOWER | Verdict.FASTER | Verdict.INCONCLUSIVE if timing.change is not None:
            return f"{words}: {_change(timing)}"
        case Verdict.SAME if (bound := bound_percent(comparison)) is not None:
            loss = loss_words(comparison) or "not compared"
            return f"{words}: no change > {percent_up(bound)} in step time, loss {loss}"
        case Verdict.DIVERGED:
            return f"{words}: the loss {loss_words(comparison) or 'became NaN or infinite'}"
        case _:
            return words


def hides_memory(comparison: Comparison) -> bool:
    """Whether more memory is used, which a quiet verdict does not tell."""
    return comparison.verdict in QUIET and bool(worse_memory(comparison))


def timing_words(timing: Timing) -> str:
    """The timing decision in one sentence."""
    if timing.change is None or timing.base_seconds is None or timing.head_seconds is None:
        return f"not judged: {one_line(timing.reason, 300)}" if timing.reason else "not judged"
    figures = f"{timing.base_seconds:.5f} → {timing.head_seconds:.5f} s/step, {_change(timing)}"
    withheld = ", not judged" if timing.verdict is TimingVerdict.WITHHELD else ""
    power = f"; {size(timing.mde)} would be seen 4 times in 5" if timing.mde is not None else ""
    more = f"; {counted(timing.more_runs, 'more run')} a side would settle it" if timing.more_runs else ""
    return figures + withheld + power + more


def bound_words(comparison: Comparison) -> str:
    """What *same* rules out, to stand beside the band from which a change counts."""
    bound = bound_percent(comparison)
    if bound is None or comparison.verdict is not Verdict.SAME:
        return ""
    return f"; a change > {percent_up(bound)} is ruled out"


def loss_sentence(loss: Loss, words: str | None) -> str:
    """The loss decision in one sentence."""
    if words is None:
        return f"not compared: {loss.reason}" if loss.reason else "not compared"
    parts = [words, f"in {counted(loss.compared_steps, 'step')}" if loss.compared_steps else ""]
    if loss.first_difference_step is not None:
        parts.append(f"(first difference at step {loss.first_difference_step}")
        parts[-1] += f", at most {loss.max_relative * 100:.2g} %)" if loss.max_relative is not None else ")"
    elif loss.digits:
        parts.append(f"({loss.digits})")
    return " ".join(part for part in parts if part)


def side_words(runs: Sequence[MeasuredRun], others: Sequence[MeasuredRun]) -> str:
    """The runs of a side by source; with its number where the other side is of the same source."""
    shared = {run.log.source for run in others}
    names = [
        f"{run.log.source}#{run.log.run}" if run.log.run > 1 or run.log.source in shared else run.log.source
        for run in runs
    ]
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    return ", ".join(names) or "no run"


def _change(timing: Timing) -> str:
    band = f"±{size(timing.band)}, " if timing.band is not None else ""
    beside = f", and {counted(timing.main_runs, 'run')} of main beside base's" if timing.main_runs else ""
    return f"{change(timing.change)} ({band}{timing.n[1]} v {timing.n[0]} runs{beside})"
