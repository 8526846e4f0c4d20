"""May these two sides be compared at all, and what should be known before believing the figures.

In:  the measured runs of both sides. Out: `Caveat`s, each with its weight, its text and the way out.
Promises: what only one side states is no difference, but is noted where it weakens the check.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.verdict.fields import FIELDS, SAME_WORKLOAD, Field, Read
from bot.verdict.judgement import Caveat, CaveatKind, Clock, MeasuredRun, Weight
from bot.verdict.lost_lines import lost_warnings, lost_words

SAME_WORK = 0.005
"""Relative: work per step is exact; this is far above print rounding and far below a real change."""

PRINTED_TFLOP = 0.01
"""The log's own TFLOP per step has two decimals, which is coarse for a small model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Work of one step on one device, and how far printing may have rounded it."""

    name: str
    title: str
    read: Callable[[MeasuredRun], float | None]
    rounding: Callable[[MeasuredRun], float]


def _tflop_rounding(run: MeasuredRun) -> float:
    return PRINTED_TFLOP if run.measurements.tflop_per_step == run.log.tflop_per_step else 0.0


AMOUNTS: tuple[Amount, ...] = (
    Amount(
        name="tokens_per_step",
        title="tokens per step and device",
        read=lambda run: run.measurements.tokens_per_step,
        rounding=lambda _: 0.0,
    ),
    Amount(
        name="tflop_per_step",
        title="TFLOP per step and device",
        read=lambda run: run.measurements.tflop_per_step,
        rounding=_tflop_rounding,
    ),
)


def caveats(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> tuple[Caveat, ...]:
    """Return everything that differs between two sides that both have runs, in the order of `FIELDS`."""
    found = [_difference(field, base, head) for field in FIELDS]
    found += [_work(amount, base, head) for amount in AMOUNTS]
    found += [_windows(base, head), _clock(base, head), _lost_lines(base, head), _restarts(base, head)]
    return tuple(caveat for caveat in found if caveat is not None)


def summary(grave: Sequence[Caveat]) -> str:
    """Say in one sentence what differs, and each way out once."""
    known = {field.name: field for field in FIELDS}
    brief = [caveat for caveat in grave if caveat.field in known]
    differences = [f"{known[it.field].title} {it.base} → {it.head}" for it in brief]
    ways_out = dict.fromkeys(known[it.field].way_out for it in brief if known[it.field].way_out)
    longer = [caveat.text for caveat in grave if caveat.field not in known]
    return "; ".join(part for part in (", ".join(differences), *ways_out, *longer) if part)


def _difference(field: Field, base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    first = field.read(base[0])
    if first is not None and all(field.read(run) == first for run in (*base, *head)):
        return None
    one, other = _values(base, field.read), _values(head, field.read)
    if not one or not other:
        return _unstated(field, one, other) if field.needed else None
    if one == other and len(one) == 1:
        return None
    shown = (", ".join(one), ", ".join(other))
    text = f"{field.title}: {shown[0]} on base, {shown[1]} on head"
    return Caveat(
        kind=field.kind,
        field=field.name,
        base=shown[0],
        head=shown[1],
        weight=field.weight,
        text=f"{text}; {field.way_out}" if field.way_out else text,
    )


def _unstated(field: Field, one: Sequence[str], other: Sequence[str]) -> Caveat | None:
    """Note that a side does not state what the check needs; both silent matters for the devices alone."""
    if not one and not other and field.name != "device_kind":
        return None
    silent = " and ".join(name for name, values in (("base", one), ("head", other)) if not values)
    return Caveat(
        kind=field.kind,
        field=field.name,
        base=", ".join(one) or None,
        head=", ".join(other) or None,
        text=f"{field.title}: not stated on {silent}, so it is not known to be the same",
    )


def _work(amount: Amount, base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Compare the work of a step, which must not differ by more than printing can."""
    known = [[value for run in side if (value := amount.read(run)) is not None] for side in (base, head)]
    values = [*known[0], *known[1]]
    rounding = max(map(amount.rounding, (*base, *head)))
    if not all(known) or max(values) - min(values) <= SAME_WORK * max(values) + rounding:
        return None
    shown = [f"{side[0]:.5g}" for side in known]
    return Caveat(
        kind=CaveatKind.WORKLOAD,
        field=amount.name,
        base=shown[0],
        head=shown[1],
        weight=Weight.NOT_COMPARABLE,
        text=f"{amount.title}: {shown[0]} on base, {shown[1]} on head; {SAME_WORKLOAD}",
    )


def _windows(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Compare which steps were trained: sides without a common step are different stretches of training."""
    one, other = ({step.step for run in side for step in run.log.steps} for side in (base, head))
    if not one or not other or not one.isdisjoint(other):
        return None
    shown = (f"{min(one)} to {max(one)}", f"{min(other)} to {max(other)}")
    return Caveat(
        kind=CaveatKind.STEPS,
        field="steps",
        base=shown[0],
        head=shown[1],
        weight=Weight.NOT_COMPARABLE,
        text=f"no common step: {shown[0]} on base, {shown[1]} on head; start both from the same step",
    )


def _clock(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Compare which clock the steady times were read from: a printed interval is not a measured one."""
    one, other = (_values(side, lambda run: run.measurements.steady.clock) for side in (base, head))
    mixed = bool(one) and bool(other) and not one == other == one[:1]
    if not mixed and Clock.LOGGER not in one:
        return None
    text = (
        "some logs have no usable timestamps, so their step times come from another clock; "
        "keep the timestamps in front of the lines"
        if mixed
        else "no usable timestamps: step times are as the trainer printed them"
    )
    return Caveat(
        kind=CaveatKind.CLOCK,
        field="steady_clock",
        base=", ".join(one),
        head=", ".join(other),
        weight=Weight.NOT_COMPARABLE if mixed else Weight.NOTED,
        text=text,
    )


def _lost_lines(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Note step lines that a log has lost: its figures rest on the others."""
    shown = [", ".join(dict.fromkeys(lost_words(run.log) for run in side)) for side in (base, head)]
    said = dict.fromkeys(text for run in (*base, *head) for text in lost_warnings(run.log))
    if not said:
        return None
    return Caveat(
        kind=CaveatKind.STEPS,
        field="step_lines",
        base=shown[0],
        head=shown[1],
        text=f"step lines: {shown[0]} on base, {shown[1]} on head; {' '.join(said)}",
    )


def _restarts(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    attempts = [max(run.log.attempts for run in side) for side in (base, head)]
    if max(attempts) <= 1:
        return None
    return Caveat(
        kind=CaveatKind.OUTCOME,
        field="attempts",
        base=str(attempts[0]),
        head=str(attempts[1]),
        text=f"started {attempts[0]} times on base, {attempts[1]} on head; the last attempt is measured",
    )


def _values(side: Sequence[MeasuredRun], read: Read) -> list[str]:
    """Return the different values of a side as text, sorted, without what is not stated."""
    found = {_shown(value) for run in side if (value := read(run)) is not None}
    return sorted(found)


def _shown(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
