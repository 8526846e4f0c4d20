"""How a launched run stands, in words: for the comment, the pages and the terminal.

In:  a `RunStanding`, the time. Out: plain text; what the cluster itself said is not trusted and must be
     escaped by whoever shows it.
"""

from bot.report.figures import age, counted
from bot.runs.eta import Span, silent_for
from bot.runs.records import RunState
from bot.runs.standing import RunStanding

ON_ITS_WAY = frozenset({RunState.PLANNED, RunState.LAUNCHED, RunState.QUEUED})


def life_words(run: RunStanding, now: float) -> str:
    """One clause: `step 6 of 10`, `silent for 14 min, last step 6 of 10`, `waits: 4 of 4 runs are there`."""
    match run.state:
        case RunState.RUNNING:
            return _running(run, now)
        case RunState.LOST:
            return run.why
        case RunState.ENDED | RunState.CANCELLED:
            return ""
        case _:
            return "; ".join(part for part in (retry_words(run), _waiting(run)) if part)


def retry_words(run: RunStanding) -> str:
    """`attempt 2, since it was preempted`; empty for a first attempt."""
    if not run.past:
        return ""
    return f"attempt {run.attempt}, since {run.past[-1].why}"


def steps_words(run: RunStanding) -> str:
    """`step 6 of 10`, as far as it is known."""
    if run.last_step is None:
        return ""
    return f"step {run.last_step}" + (f" of {run.expected_steps}" if run.expected_steps else "")


def span_words(span: Span | None) -> str:
    """`7–11 min`: to the minute, since nobody needs it finer; empty where nothing is known."""
    if span is None:
        return ""
    if span.high < 60:
        return "less than a minute"
    if span.high >= 2 * 3600:
        low, high, unit = span.low / 3600, span.high / 3600, "h"
    else:
        low, high, unit = span.low / 60, span.high / 60, "min"
    first, last = int(low), max(1, -int(-high // 1))
    return f"{last} {unit}" if first == last else f"{first}–{last} {unit}"


def _running(run: RunStanding, now: float) -> str:
    steps = steps_words(run)
    silent = silent_for(run, now)
    if silent is None:
        return steps
    return f"silent for {age(silent)}" + (f", last {steps}" if steps else "")


def _waiting(run: RunStanding) -> str:
    if run.why:
        return f"waits: {run.why}"
    if run.queue_place is not None:
        ahead = run.queue_place - 1
        return f"{counted(ahead, 'other')} before it in the queue" if ahead else "next in the queue"
    return ""
