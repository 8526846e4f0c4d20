"""MLPerf's `:::MLLOG` lines, whatever framework prints them (NeMo, PaxML, Megatron, Primus).

Where each step is timed (NeMo's `train_step_timing`) a step line is one step. Elsewhere it is a block of
steps that ends with an evaluation, whose log-loss the format calls `eval_accuracy`. The counters of these
lines count samples or tokens: `numbered_by_samples` makes step numbers of them.
"""

import json
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.facts import Environment, Mark, MarkKind, Step
from bot.logs.rules import (
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantities,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
    StoppedEarly,
    first_quantity,
)
from bot.logs.scanner import BYTES_BEFORE

BLOCKS_TIMED = (
    "This log times blocks of steps, not steps: a step's seconds are its block's, shared evenly, and its "
    "loss is that of the evaluation behind the block."
)

BLOCK_SECONDS = "block_seconds"
"""The extra with the seconds of a whole block."""

_STEP_TIME = "train_step_timing"

_LINE_BYTES = 4096
"""Bytes of one line, at most."""

_COUNTERS = ("samples_count", "epoch_num", "step")

_LOSSES = ("train_loss", "reduced_train_loss", "loss")

_QUANTITIES = {
    "global_batch_size": QuantityKind.SAMPLES_PER_STEP,
    "max_sequence_length": QuantityKind.TOKENS_PER_SAMPLE,
}

# "time_ms": 1696461173314, "event_type": "INTERVAL_END", "key": "block_stop"
_EVENT = re.compile(r'"time_ms": (?P<time>\d{1,15}), [^\n{}]{0,80}?"key": "(?P<key>\w{1,40})"')

_STARTS = frozenset({"block_start", "eval_stop", "run_start"})

_STOPS = frozenset({"block_stop", "eval_start"})

_MAX_ACCURACY = 1.0
"""An `eval_accuracy` above this is the log-loss that language models report."""

_MAX_NUMBER = 1e15


class _Event(Struct, frozen=True, kw_only=True):
    """One line. `time` is Unix seconds."""

    key: str
    time: float | None
    value: object
    metadata: Mapping[str, object]

    @property
    def counter(self) -> int | None:
        """Samples or tokens so far."""
        found = next((self.metadata[name] for name in _COUNTERS if name in self.metadata), None)
        number = _number(found)
        return int(number) if number is not None and number > 0 else None


def _number(value: object) -> float | None:
    ordinary = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_NUMBER
    return float(value) if ordinary and isinstance(value, int | float) else None


def _event(text: str) -> _Event | None:
    """The event in a text that begins with the literal."""
    try:
        record, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return None
    key, time, metadata = record.get("key"), _number(record.get("time_ms")), record.get("metadata")
    return _Event(
        key=key if isinstance(key, str) else "",
        time=None if time is None else time / 1000,
        value=record.get("value"),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _line(match: Match) -> Iterator[Statement]:
    if match.front.endswith("Processing "):  # a program that reads the log repeats the line
        return
    event = _event(match.after(_LINE_BYTES))
    if event is None:
        if match.at_end:
            yield LogWarning(text=RECORD_CUT)
        return
    match event.key:
        case "tracked_stats":
            yield from _timed_step(match, event)
        case "eval_accuracy":
            yield from _evaluated(match, event)
        case "eval_start":
            yield Mark(kind=MarkKind.EVAL_STARTED, time=event.time, offset=match.offset)
        case "run_stop":
            yield from _run_stopped(match, event)
        case "":
            return
        case _:
            yield from _run_setup(match, event)


def _timed_step(match: Match, event: _Event) -> Iterator[Statement]:
    """A step's own time, and its loss where that is tracked."""
    tracked = event.value if isinstance(event.value, dict) else {}
    seconds, counter = _number(tracked.get(_STEP_TIME)), event.counter
    if seconds is not None and counter is not None:
        loss = next((_number(tracked[name]) for name in _LOSSES if name in tracked), None)
        yield Step(step=counter, seconds=seconds, loss=loss, time=event.time, offset=match.offset)


def _evaluated(match: Match, event: _Event) -> Iterator[Statement]:
    value, counter = _number(event.value), event.counter
    loss = value if value is not None and value > _MAX_ACCURACY else None
    yield Mark(kind=MarkKind.EVAL_ENDED, time=event.time, loss=loss, offset=match.offset)
    before = match.before(BYTES_BEFORE)
    if counter is None or _STEP_TIME in before:
        return
    seconds = _block_seconds(before)
    yield LogWarning(text=BLOCKS_TIMED)
    extras = ((BLOCK_SECONDS, seconds),) if seconds is not None else ()
    # without a time of its own, since the evaluation would count as a part of the steps
    yield Step(step=counter, loss=loss, offset=match.offset, extras=extras)


def _block_seconds(before: str) -> float | None:
    """Seconds of the block before this evaluation: from its start to its stop."""
    stop: int | None = None
    for found in reversed(list(_EVENT.finditer(before))):
        if found["key"] in _STOPS:
            stop = int(found["time"])
        elif found["key"] in _STARTS and stop is not None:
            seconds = (stop - int(found["time"])) / 1000
            return seconds if seconds > 0 else None
    return None


def _run_stopped(match: Match, event: _Event) -> Iterator[Statement]:
    status = event.metadata.get("status")
    yield Mark(kind=MarkKind.END, time=event.time, offset=match.offset)
    if status in {None, "success"}:
        yield Completed()
    else:
        yield StoppedEarly(reason=f"run_stop with status {status}"[:200])


def _run_setup(match: Match, event: _Event) -> Iterator[Statement]:
    """The setup of the run. An empty statement marks the log as one of this format."""
    kind, value = _QUANTITIES.get(event.key), _number(event.value)
    if kind is not None and value is not None and value > 0:
        yield Quantity(kind=kind, value=value)
    elif event.key == "submission_platform" and isinstance(event.value, str) and event.value:
        yield Environment(device_kind=event.value[:60])
    elif event.key == "init_start":
        yield Mark(kind=MarkKind.START, time=event.time, offset=match.offset)
    else:
        yield Environment()


MLPERF = (LiteralRule(literal=b":::MLLOG {", read=_line, distinctive=True),)


def numbered_by_samples() -> StatefulReader:
    """Number step lines that count samples or tokens, and give each step its share of a block's seconds."""
    return _SampleNumbering().number


class _SampleNumbering:
    """The counter of the line before, and its number."""

    def __init__(self) -> None:
        self._counter = 0
        self._step = 0
        self._unit: int | None = None

    def number(self, stated: Step, quantities: Quantities) -> Step | None:
        """The line with its number, or `None` where its counter is that of the line before."""
        counter = stated.step
        if counter == self._counter:
            return None
        if counter < self._counter or self._unit is None:
            self._counter = self._step = 0
            self._unit = _step_unit(counter, quantities)
        before = self._step
        self._counter = counter
        self._step = counter // self._unit if self._unit else before + 1
        step = replace(stated, step=self._step)
        seconds = dict(stated.extras).get(BLOCK_SECONDS)
        if seconds is None or self._step <= before:
            return step
        return replace(step, seconds=seconds / (self._step - before))


def _step_unit(counter: int, quantities: Quantities) -> int:
    """The counter's increase in one step: its tokens or its samples; 0 where neither fits."""
    samples = int(first_quantity(quantities, QuantityKind.SAMPLES_PER_STEP) or 0)
    tokens = samples * int(first_quantity(quantities, QuantityKind.TOKENS_PER_SAMPLE) or 0)
    return next((unit for unit in (tokens, samples) if unit and counter % unit == 0), 0)
