"""torchtitan's logs.

Steps count from 1. Only the first and every n-th step is logged, and its rates are averages since the line
before. The time of a step is not printed: it follows from the timestamps of the lines. Every rank may print
every line.
"""

import re
from collections.abc import Iterator
from math import prod

from bot.logs.facts import DeviceMemory, Environment, Mark, MarkKind, Step
from bot.logs.rules import (
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
    StoppedEarly,
)

_MAX_DEVICES = 10_000_000
"""A larger product of sizes is no number of devices."""

# step: 10  loss:  7.31813  grad_norm: 56.2500  memory: 169.10
# validate step: 10  loss:  7.11052  memory: 169.10
_HEAD = re.compile(
    r"(?P<validate>validate )?step: *(?P<step>\d{1,12}) +(?:global_avg_(?:mtp_)?)?loss: *(?P<loss>\S{1,24})"
    r"(?P<rest>(?: +[a-z][\w/]{0,60}: *[^\s:]{1,24}){0,12}?) +memory: *(?P<used>[\d.]{1,12})\Z"
)

# GiB(94.81%)  tps: 10,288  tflops: 866.87  mfu: 38.53%
_MEMORY = re.compile(r"GiB\((?P<percent>\d{1,6}(?:\.\d+)?)%\)")

_PAIR = re.compile(r" +(?P<name>[a-z][\w/]{0,60}): *(?P<value>N/A|[^\s:%]{1,24})(?P<percent>%)?")

_UNFINISHED = re.compile(r"[ ]*(?:\x1b[\[\d;]*)?[a-z]{0,8}:? *[\d.,/NA]{0,12}\Z")

_NUMBER = re.compile(r"-?(?:nan|inf|\d[\d,]{0,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?)\Z", re.IGNORECASE)

_FIELDS = {"tflops": "tflops", "tps": "tokens", "wps": "tokens"}

# Trainer is initialized with local batch size 160, ..., sequence length 128, total steps 10 (warmup 600)
_TOTAL_STEPS = re.compile(r"total steps (?P<count>\d{1,12}) \Z")

# CUDA capacity: NVIDIA B200 with 178.35GiB memory
_DEVICE = re.compile(r"[A-Z]{2,8} capacity: (?P<kind>[\w. /-]{1,60}) with [\d.]{1,12}\Z")

# Model qwen3 14B size: 14,768,307,200 total parameters
_PARAMETERS = re.compile(r" size: (?P<count>[\d,]{1,24})\Z")

# Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1
# Building 1-D device mesh with ['pp'], [4]
_MESH = re.compile(
    r"device mesh with (?:parallelism: (?P<pairs>(?:[a-z_]{1,20}=-?\d{1,7}(?:, )?){1,12})"
    r"|\[[^\]\n]{1,80}\], \[(?P<sizes>[\d, ]{1,80})\])"
)

_SIZE = re.compile(r"(?:(?P<name>[a-z_]+)=)?(?P<size>\d+)")

_NESTED_AXES = frozenset({"ep", "etp"})
"""Axes that divide the ranks of other axes, and add none."""

_LEAD = r" - [\w.]{1,40} - [A-Z]{4,8} - [^\n]{0,60}?"


def _number(text: str) -> float | None:
    """A number with or without separators of thousands."""
    return float(text.replace(",", "")) if _NUMBER.match(text) else None


def _numbers(text: str) -> tuple[dict[str, float], int]:
    """The pairs of a metric line as far as they follow each other, and where they end. `N/A` is left out."""
    found: dict[str, float] = {}
    at = 0
    while pair := _PAIR.match(text, at):
        value = _number(pair["value"])
        if value is not None:
            found[pair["name"]] = value
        at = pair.end()
    return found, at


def _metric_line(match: Match) -> Iterator[Statement]:
    memory = _MEMORY.match(match.text)
    head = _HEAD.search(match.front) if memory else None
    if head is None or memory is None:
        return
    loss = _number(head["loss"])
    if head["validate"]:
        yield Mark(
            kind=MarkKind.EVAL_ENDED, time=match.time, step=int(head["step"]), loss=loss, offset=match.offset
        )
        return
    rates, end = _numbers(match.text[memory.end() :])
    rest = match.text[memory.end() + end :]
    if match.at_end and _UNFINISHED.match(rest) and not match.text.endswith(("%", "N/A")):
        yield LogWarning(text=RECORD_CUT)
        return
    extras, _ = _numbers(head["rest"])
    yield _step(match, head, loss, extras | {"memory_gib": float(head["used"])} | rates)
    yield from _memory(float(head["used"]), float(memory["percent"]), match.offset)


def _step(match: Match, head: re.Match[str], loss: float | None, numbers: dict[str, float]) -> Step:
    known = {_FIELDS[name]: value for name, value in numbers.items() if name in _FIELDS}
    return Step(
        step=int(head["step"]),
        tflops_per_device=known.get("tflops"),
        tokens_per_device=known.get("tokens"),
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=tuple((name, value) for name, value in numbers.items() if name not in _FIELDS),
    )


def _memory(used: float, percent: float, offset: int) -> Iterator[Statement]:
    """The peak that this line states. Its share of the limit gives the limit."""
    if percent > 0:
        yield DeviceMemory(
            device="device",
            used_gb=used,
            limit_gb=round(100 * used / percent, 2),
            percent=percent,
            offset=offset,
        )


def _total_steps(match: Match) -> Iterator[Statement]:
    if found := _TOTAL_STEPS.search(match.front):
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["count"]))


def _device_kind(match: Match) -> Iterator[Statement]:
    if found := _DEVICE.search(match.front):
        yield Environment(device_kind=found["kind"])


def _mesh(match: Match) -> Iterator[Statement]:
    found = _MESH.match(match.text)
    if found is None:
        return
    axes = [(axis["name"], int(axis["size"])) for axis in _SIZE.finditer(found["pairs"] or found["sizes"])]
    devices = prod(size for name, size in axes if name not in _NESTED_AXES)
    if axes and 0 < devices < _MAX_DEVICES:
        yield Environment(devices=devices, mesh=tuple(size for _, size in axes))


def _parameter_count(match: Match) -> Iterator[Statement]:
    if (found := _PARAMETERS.search(match.front)) and (count := _number(found["count"])):
        yield Quantity(kind=QuantityKind.PARAMETERS_BILLION, value=count / 1e9)


def _completed(_: Match) -> Iterator[Statement]:
    # Training completed      Process group destroyed: printed only if nothing was raised
    yield Completed()


def _data_exhausted(_: Match) -> Iterator[Statement]:
    yield StoppedEarly(reason="Ran out of data.")


TORCHTITAN = (
    LiteralRule(
        literal=b"GiB(",
        read=_metric_line,
        distinctive=True,
        lead=_LEAD + r"(?:validate )?step: *\d{1,12} [^\n]{1,200}?memory: *[\d.]{1,12}",
    ),
    LiteralRule(literal=b"(warmup ", read=_total_steps, distinctive=True),
    LiteralRule(literal=b"GiB memory", read=_device_kind, distinctive=True),
    LiteralRule(literal=b"device mesh with ", read=_mesh, distinctive=True),
    LiteralRule(literal=b" total parameters", read=_parameter_count, distinctive=True),
    LiteralRule(literal=b"Training completed", read=_completed),
    LiteralRule(literal=b"Process group destroyed", read=_completed),
    LiteralRule(literal=b"Ran out of data; last step", read=_data_exhausted),
)
