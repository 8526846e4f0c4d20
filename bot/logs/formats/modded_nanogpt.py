"""modded-nanogpt's logs.

`train_time` is the time of all steps so far and `step_avg` its mean. A step's own seconds are the
difference to the line before, to a millisecond. A line with `val_loss` repeats a step number: it is an
evaluation, whose time is not counted.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from bot.logs.facts import Environment, Mark, MarkKind, Step
from bot.logs.rules import (
    RECORD_CUT,
    LiteralRule,
    LogWarning,
    Match,
    Quantities,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
)

# step:1370/1375 train_time:78017ms step_avg:56.95ms
# step:250/1390 val_loss:4.4709 train_time:7893ms step_avg:31.57ms
_HEAD = re.compile(
    r"step:(?P<step>\d{1,12})/(?P<total>\d{1,12})(?: (?P<name>val|train)_loss:(?P<loss>nan|inf|[\d.]{1,20}))?"
    r" train_time:(?P<time>\d{1,15}(?:\.\d{1,6})?)\Z"
)

_MEAN = re.compile(r"ms step_avg:(?P<mean>nan|inf|\d{1,12}(?:\.\d{1,6})?)ms")

# peak memory allocated: 30908 MiB reserved: 46332 MiB
_PEAK_MEMORY = re.compile(r"peak memory allocated: (?P<count>\d{1,12}) MiB")

# |   0  NVIDIA H100 80GB HBM3          On  |   00000000:05:00.0 Off |                    0 |
_DEVICE = re.compile(
    r"\| {1,3}\d{1,3}  (?P<kind>NVIDIA [\w.-]{1,20}(?: [\w.-]{1,20}){0,4}) {2,}(?:On|Off) +\|"
)

_DEVICE_TABLE_BYTES = 8192
"""Bytes of the table that nvidia-smi prints for sixteen devices."""

_TRAIN_TIME = "train_time"
"""The extra with the seconds of all steps so far."""


def _step_line(match: Match) -> Iterator[Statement]:
    head = _HEAD.search(match.front)
    if head is None:
        return
    if not _MEAN.match(match.text):
        if match.at_end:
            yield LogWarning(text=RECORD_CUT)
        return
    number, loss = int(head["step"]), float(head["loss"]) if head["loss"] else None
    yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))
    if head["name"] == "val":
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, step=number, loss=loss, offset=match.offset)
        return
    yield Step(
        step=number,
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=((_TRAIN_TIME, float(head["time"]) / 1000),),
    )


def _devices(match: Match) -> Iterator[Statement]:
    kinds = [found["kind"] for found in _DEVICE.finditer(match.after(_DEVICE_TABLE_BYTES))]
    if kinds:
        yield Environment(device_kind=kinds[0], devices=len(kinds))


def _peak_memory(match: Match) -> Iterator[Statement]:
    if found := _PEAK_MEMORY.match(match.text):
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=float(found["count"]))


def seconds_by_difference() -> StatefulReader:
    """Give each step its own seconds: the difference to the line before."""
    before: Step | None = None

    def with_seconds(stated: Step, _: Quantities) -> Step:
        nonlocal before
        last, before = before, stated
        if last is None or stated.step != last.step + 1:
            return stated
        seconds = dict(stated.extras)[_TRAIN_TIME] - dict(last.extras)[_TRAIN_TIME]
        return replace(stated, seconds=round(seconds, 6)) if seconds > 0 else stated

    return with_seconds


MODDED_NANOGPT = (
    LiteralRule(
        literal=b"ms step_avg:",
        read=_step_line,
        distinctive=True,
        lead=r"step:\d{1,12}/\d{1,12} [^\n]{0,40}train_time:[\d.]{1,20}",
    ),
    LiteralRule(literal=b"|   0  NVIDIA ", read=_devices, sparse=True),
    LiteralRule(literal=b"peak memory allocated: ", read=_peak_memory, repeat_bytes=40),
)
