"""Reads MLPerf's `:::MLLOG` lines, whatever framework prints them (NeMo, PaxML, Megatron, Primus).

In:  sightings of the literal in `MLPERF`.
Out: statements. Where each step is timed (NeMo's `train_step_timing`) a step line is one step; else it is a
     block of steps that ends with an evaluation, whose log-loss the format calls `eval_accuracy`.

The counters of these lines count samples or tokens; `samples` makes step numbers of them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.logs.facts import Environment, Mark, MarkKind, Step
from bot.logs.scan import BEHIND
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import CUT, Doubt, Figure, Finished, Quantity, Quit, Statement

BLOCKS = (
    "This log times blocks of steps, not steps: a step's seconds are its block's, shared evenly, and its "
    "loss is that of the evaluation behind the block."
)
BLOCK_SECONDS = "block_seconds"
"""The extra of a step line that stands for a whole block."""
_STEP_TIME = "train_step_timing"
_RECORD = 4096
"""Bytes of one line, at most."""
_COUNTERS = ("samples_count", "epoch_num", "step")
_LOSSES = ("train_loss", "reduced_train_loss", "loss")
_FIGURES = {
    "global_batch_size": Figure.SAMPLES_PER_STEP,
    "max_sequence_length": Figure.TOKENS_PER_SAMPLE,
}
# "time_ms": 1696461173314, "event_type": "INTERVAL_END", "key": "block_stop"
_EVENT = re.compile(r'"time_ms": (?P<time>\d{1,15}), [^\n{}]{0,80}?"key": "(?P<key>\w{1,40})"')
_STARTS = frozenset({"block_start", "eval_stop", "run_start"})
_STOPS = frozenset({"block_stop", "eval_start"})
_CERTAIN = 1.0
"""An `eval_accuracy` above this is no accuracy but the log-loss that language models report."""
_LARGEST = 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """One line: `time` in Unix seconds."""

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
    ordinary = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    return float(value) if ordinary and isinstance(value, int | float) else None


def _event(text: str) -> _Event | None:
    """The event that begins with the literal."""
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


def _line(seen: Sighting) -> Iterator[Statement]:
    if seen.front.endswith("Processing "):  # a program that reads the log prints the line once more
        return
    event = _event(seen.after(_RECORD))
    if event is None:
        if seen.last:
            yield Doubt(text=CUT)
        return
    match event.key:
        case "tracked_stats":
            yield from _timed(seen, event)
        case "eval_accuracy":
            yield from _evaluated(seen, event)
        case "eval_start":
            yield Mark(kind=MarkKind.EVAL_STARTED, time=event.time, offset=seen.offset)
        case "run_stop":
            yield from _stopped(seen, event)
        case "":
            return
        case _:
            yield from _stated(seen, event)


def _timed(seen: Sighting, event: _Event) -> Iterator[Statement]:
    """A step's own time, and its loss where that is tracked."""
    tracked = event.value if isinstance(event.value, dict) else {}
    seconds, counter = _number(tracked.get(_STEP_TIME)), event.counter
    if seconds is not None and counter is not None:
        loss = next((_number(tracked[name]) for name in _LOSSES if name in tracked), None)
        yield Step(step=counter, seconds=seconds, loss=loss, time=event.time, offset=seen.offset)


def _evaluated(seen: Sighting, event: _Event) -> Iterator[Statement]:
    value, counter = _number(event.value), event.counter
    loss = value if value is not None and value > _CERTAIN else None
    yield Mark(kind=MarkKind.EVAL_ENDED, time=event.time, loss=loss, offset=seen.offset)
    before = seen.before(BEHIND)
    if counter is None or _STEP_TIME in before:
        return
    spent = _block_seconds(before)
    yield Doubt(text=BLOCKS)
    extras = ((BLOCK_SECONDS, spent),) if spent is not None else ()
    # without a time of its own: the evaluation would count as a part of the steps
    yield Step(step=counter, loss=loss, offset=seen.offset, extras=extras)


def _block_seconds(before: str) -> float | None:
    """How long the steps before this evaluation took: back to the stop, then to the start before it."""
    stop: int | None = None
    for found in reversed(list(_EVENT.finditer(before))):
        if found["key"] in _STOPS:
            stop = int(found["time"])
        elif found["key"] in _STARTS and stop is not None:
            spent = (stop - int(found["time"])) / 1000
            return spent if spent > 0 else None
    return None


def _stopped(seen: Sighting, event: _Event) -> Iterator[Statement]:
    status = event.metadata.get("status")
    yield Mark(kind=MarkKind.END, time=event.time, offset=seen.offset)
    if status in {None, "success"}:
        yield Finished()
    else:
        yield Quit(reason=f"run_stop with status {status}"[:200])


def _stated(seen: Sighting, event: _Event) -> Iterator[Statement]:
    """What the run was set up with. Every statement makes this a log of this format."""
    figure, value = _FIGURES.get(event.key), _number(event.value)
    if figure is not None and value is not None and value > 0:
        yield Quantity(figure=figure, value=value)
    elif event.key == "submission_platform" and isinstance(event.value, str) and event.value:
        yield Environment(device_kind=event.value[:60])
    elif event.key == "init_start":
        yield Mark(kind=MarkKind.START, time=event.time, offset=seen.offset)
    else:
        yield Environment()


MLPERF = (Needle(literal=b":::MLLOG {", read=_line, telling=True),)
