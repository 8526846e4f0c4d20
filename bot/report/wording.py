"""Figures, times, run status and caveats about the data as short plain text.

An en dash stands where there is no figure. Texts of clusters and stores are untrusted: callers escape them.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from bot.domain.run import RunState
from bot.errors import InternalError, UserError
from bot.report.model import CaseReport
from bot.runs.eta import DurationRange, silent_for
from bot.runs.run_status import RunStatus
from bot.verdict.judgement import (
    IMPLAUSIBLE_TITLES,
    ImplausibleReason,
    LoopPhase,
    MeasuredRun,
    RunsWanted,
    TimingDecision,
    TimingMeasure,
)
from bot.verdict.noise import LevelShift

NO_VALUE = "–"

_AGE_UNITS = ((86_400.0 * 2, 86_400.0, "d"), (5_400.0, 3_600.0, "h"), (90.0, 60.0, "min"), (0.0, 1.0, "s"))


def significant(value: float | None, digits: int = 3) -> str:
    """`value` with so many significant digits, without exponent where it is of ordinary size."""
    if value is None:
        return NO_VALUE
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # as rounded: 9.996 is 10.0, not 10.00
    if exponent < -6 or exponent > 12:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - exponent, 0)}f}"


def significant_pair(base: float | None, head: float | None, digits: int = 3) -> str:
    """`0.229 → 0.243`, with one digit more where both would read the same but are not."""
    first, second = significant(base, digits), significant(head, digits)
    if first == second and base != head:
        first, second = significant(base, digits + 1), significant(head, digits + 1)
    return f"{first} → {second}"


def signed_percent(log_ratio: float | None) -> str:
    """`+6.1 %` from ln(head/base)."""
    value = _percent_of_log_ratio(log_ratio)
    return NO_VALUE if value is None else f"{_plain_decimals(value, signed='+')} %"


def unsigned_percent(log_ratio: float | None) -> str:
    """`6.1 %` from ln(head/base), without its sign."""
    value = _percent_of_log_ratio(log_ratio)
    return NO_VALUE if value is None else f"{_plain_decimals(abs(value))} %"


def percent_words(value: float | None) -> str:
    """`1.5 %` from percent."""
    return NO_VALUE if value is None else f"{_plain_decimals(value).removesuffix('.0')} %"


def percent_ceiling(value: float) -> str:
    """`1.5 %` from 1.41: a bound is never rounded to less than it is."""
    return f"{math.ceil(round(value * 10, 6)) / 10:.1f} %"


def duration_words(value: float | None) -> str:
    """A duration people can compare: `0.61 s`, `64 s`, `3 min 5 s`."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    if abs(value) < 10:
        return f"{significant(value, 2)} s"
    if abs(value) < 120:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def age_words(value: float | None) -> str | None:
    """`14 h` from seconds; None where it is unknown or lies ahead."""
    if value is None or not math.isfinite(value) or value < 0:
        return None
    return next(f"{value / unit:.0f} {name}" for least, unit, name in _AGE_UNITS if value >= least)


def moment_words(moment: float) -> str:
    """`2026-04-21 10:17 UTC` from Unix seconds."""
    shown = iso_time(moment)
    return f"{shown[:10]} {shown[11:16]} UTC" if shown else NO_VALUE


def iso_time(seconds: float | None) -> str | None:
    """Unix seconds as `2026-04-21T10:17:39.824857Z`; None where there is no such day."""
    if seconds is None or not math.isfinite(seconds):
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 case`, `14 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}".replace(",", " ")


def run_counts(runs: tuple[int, int], beside: int) -> str:
    """`1 v 1+19`: runs of head against base, plus the pooled runs of the base branch."""
    return f"{runs[1]} v {runs[0]}" + (f"+{beside}" if beside else "")


def runs_per_case(numbers: Collection[int]) -> str:
    """`6 runs`, `3 to 6 runs a case`."""
    least, most = min(numbers), max(numbers)
    return counted(most, "run") if least == most else f"{least} to {most} runs a case"


def listed(items: Sequence[str], most: int) -> str:
    """`a, b, c and 5 more`."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"


def _percent_of_log_ratio(log_ratio: float | None) -> float | None:
    if log_ratio is None or not math.isfinite(log_ratio) or log_ratio > 100:
        return None
    return math.expm1(log_ratio) * 100


def _plain_decimals(value: float, signed: str = "") -> str:
    """One decimal; two where one would say zero; none from a hundred on."""
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 0.095 or abs(value) < 0.005 else 2
    shown = format(value, f"{signed}.{decimals}f")
    return "0.0" if float(shown) == 0 else shown


def run_status_words(run: RunStatus, now: float) -> str:
    """One clause: `step 6 of 10`, `silent for 14 min, last step 6 of 10`, `waits: 4 of 4 runs are there`."""
    match run.state:
        case RunState.RUNNING:
            return _running_words(run, now)
        case RunState.LOST:
            return run.why
        case RunState.ENDED | RunState.CANCELLED:
            return ""
        case _:
            return "; ".join(part for part in (_retry_words(run), _waiting_words(run)) if part)


def _retry_words(run: RunStatus) -> str:
    """`attempt 2, since it was preempted`; empty for a first attempt."""
    if not run.past:
        return ""
    return f"attempt {run.attempt}, since {run.past[-1].why}"


def _step_progress_words(run: RunStatus) -> str:
    """`step 6 of 10`, `step 6`; empty where no step is known."""
    if run.last_step is None:
        return ""
    return f"step {run.last_step}" + (f" of {run.expected_steps}" if run.expected_steps else "")


def time_span_words(span: DurationRange | None) -> str:
    """`7–11 min`; empty where nothing is known."""
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


def _running_words(run: RunStatus, now: float) -> str:
    steps = _step_progress_words(run)
    silent = silent_for(run, now)
    if silent is None:
        return steps
    return f"silent for {age_words(silent)}" + (f", last {steps}" if steps else "")


def _waiting_words(run: RunStatus) -> str:
    if run.why:
        return f"waits: {run.why}"
    if run.queue_position is not None:
        ahead = run.queue_position - 1
        return f"{counted(ahead, 'other')} before it in the queue" if ahead else "next in the queue"
    return ""


RAW_SPEEDS = frozenset({"avg_step_seconds", "last_tflops_per_device", "last_tokens_per_device"})
"""Figures that the old page makes of every printed line: shown as that page computes them, and marked."""


def implausible_words(runs: Iterable[MeasuredRun]) -> str:
    """`2 implausible values are struck out of every figure but the page's own: …`"""
    counts = _implausible_counts(runs)
    if not counts:
        return ""
    values = counted(sum(counts.values()), "implausible value")
    verb = "is" if sum(counts.values()) == 1 else "are"
    return f"{values} {verb} struck out of every figure but the page's own: {_implausible_list(counts)}."


def implausible_lines_words(runs: Iterable[MeasuredRun]) -> str:
    """`The step lines hold 2 implausible values: TFLOP/s above the device's peak (2).`"""
    counts = _implausible_counts(runs)
    if not counts:
        return ""
    number = counted(sum(counts.values()), "implausible value")
    return f"The step lines hold {number}: {_implausible_list(counts)}."


def _implausible_counts(runs: Iterable[MeasuredRun]) -> Counter[ImplausibleReason]:
    return Counter(one.why for run in runs for one in run.measurements.implausible)


def _implausible_list(counts: Counter[ImplausibleReason]) -> str:
    return "; ".join(f"{IMPLAUSIBLE_TITLES[why]} ({counts[why]})" for why in ImplausibleReason if counts[why])


DAY_SECONDS = 86_400.0


def noise_history_words(row: CaseReport, branch: str) -> str:
    """`Noise from 20 runs on main, the oldest 9 days before the head's.`; empty where that is not so."""
    if row.noise_history is None or not row.noise_history.runs:
        return ""
    older = noise_history_age(row)
    words = f"Noise from {counted(row.noise_history.runs, 'run')} on {branch}"
    words += f", the oldest {days_words(older)} before the head's" if older is not None else ""
    return f"{words}{_level_change_words(row.noise_history.follows)}."


def noise_history_age(row: CaseReport) -> float | None:
    """Seconds from the start of the oldest run used to that of the head's newest."""
    started = [run.started for run in row.head_runs if run.started is not None]
    if row.noise_history is None or row.noise_history.oldest_started is None or not started:
        return None
    older = max(started) - row.noise_history.oldest_started
    return older if older >= 0 else None


def days_words(older: float) -> str:
    """`9 days`, or a shorter time as an age."""
    return counted(round(older / DAY_SECONDS), "day") if older >= 2 * DAY_SECONDS else age_words(older) or ""


def _level_change_words(shift: LevelShift | None) -> str:
    if shift is None:
        return ""
    at = f" at {shift.at[:7]}" if shift.at else ""
    return f", all since its level changed by {signed_percent(shift.change)}{at}"


RUNS_UNREADABLE = "The runs could not be read"

RETRY_NOTE = "MaxView tries again by itself"

# /srv/runs/maxtext: no such folder; …      gs://bucket/prefix: permission denied; …
_STORE_PREFIX = re.compile(r"^\S*/\S*: ")

# ([Errno -2] Name or service not known)
_SYSTEM_ERROR = re.compile(r"\s?\([^()]{0,400}\)|\[Errno[^\]]{0,20}\]\s?")

_TRY_AGAIN = re.compile(r"[;,]?\s*(?:or )?try again[^;.]{0,80}")

_SERVER_PATH = re.compile(r"[\"'`]?(?:\w{1,20}:/)?(?<![\w.])/[^\s:;,]{2,}")


def unreadable_runs_words(problem: UserError | InternalError) -> str:
    """`The runs could not be read, and MaxView tries again by itself: permission denied; give …`."""
    if isinstance(problem, InternalError):
        return f"{RUNS_UNREADABLE} because their store could not be reached; {RETRY_NOTE}."
    text = _TRY_AGAIN.sub("", _SYSTEM_ERROR.sub("", _STORE_PREFIX.sub("", problem.text)))
    text = _SERVER_PATH.sub("[path]", text).strip(" .;:,")
    return f"{RUNS_UNREADABLE}, and {RETRY_NOTE}: {text}." if text else f"{RUNS_UNREADABLE}; {RETRY_NOTE}."


def phase_seconds(run: MeasuredRun | None) -> dict[str, float]:
    """Seconds by phase, in the ledger's order; phases of one name are added up."""
    totals: dict[str, float] = {}
    for phase in run.measurements.ledger if run else ():
        totals[phase.name] = totals.get(phase.name, 0.0) + phase.seconds
    return totals


def ledger_lines(base: MeasuredRun | None, head: MeasuredRun | None) -> list[tuple[str, str, str, str]]:
    """Phase, base, head and difference in words; the phases of both sides in their order."""
    first, second = phase_seconds(base), phase_seconds(head)
    lines = [
        (
            name,
            _phase_duration(first.get(name)),
            _phase_duration(second.get(name)),
            _duration_difference(first.get(name), second.get(name)),
        )
        for name in dict.fromkeys((*first, *second))
        if round(abs(first.get(name, 0.0)), 2) or round(abs(second.get(name, 0.0)), 2)
    ]
    if not lines:
        return []
    whole = (sum(first.values()) if first else None, sum(second.values()) if second else None)
    return [
        *lines,
        ("whole run", _phase_duration(whole[0]), _phase_duration(whole[1]), _duration_difference(*whole)),
    ]


def _phase_duration(value: float | None) -> str:
    return NO_VALUE if value is None else duration_words(value)


def _duration_difference(base: float | None, head: float | None) -> str:
    if base is None or head is None:
        return NO_VALUE
    difference = head - base
    return (
        f"{'+' if difference > 0 else '-'}{duration_words(abs(difference))}"
        if round(difference, 3)
        else "0 s"
    )


def slower_words(timing: TimingDecision) -> str:
    """`is 6.1 % slower`, or where the loop decided `loses 12 % more time in stalls`."""
    if timing.measure is TimingMeasure.LOOP and timing.loop is not None:
        return f"loses {unsigned_percent(timing.loop.change)} more time in {loop_phase_words(timing)}"
    return f"is {unsigned_percent(timing.change)} slower"


def confirming_words(timing: TimingDecision) -> str:
    """`looks 6.1 % slower: 2 more runs of head decide`."""
    if timing.measure is TimingMeasure.LOOP and timing.loop is not None:
        seen = f"seems to lose {unsigned_percent(timing.loop.change)} more time in {loop_phase_words(timing)}"
    else:
        seen = f"looks {unsigned_percent(timing.change)} {timing.confirms or 'changed'}"
    asked = wanted_runs_words(timing.confirm_runs)
    return f"{seen}: {asked}" if asked else seen


def wanted_runs_words(wanted: RunsWanted) -> str:
    """`1 more run of base and 2 of head decide`; empty where none is wanted."""
    parts = [f"{count} of {side}" for side, count in (("base", wanted.base), ("head", wanted.head)) if count]
    if not parts:
        return ""
    many = wanted.base + wanted.head > 1
    first, *rest = parts
    number, _, name = first.partition(" ")
    asked = " and ".join([f"{number} more run{'s' if number != '1' else ''} {name}", *rest])
    return f"{asked} {'decide' if many else 'decides'}"


def loop_phase_words(timing: TimingDecision) -> str:
    """`stalls`, `checkpoints` or another phase of the loop: the one that moved most to the worse."""
    match timing.loop.worst if timing.loop else None:
        case None:
            return "the loop"
        case LoopPhase.STEADY:
            return "single longer steps"
        case LoopPhase.CHECKPOINT:
            return "checkpoints"
        case LoopPhase.EVAL:
            return "evals"
        case LoopPhase.STALLS | LoopPhase.INPUT as phase:
            return phase.value
