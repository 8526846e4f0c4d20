"""Logs of OLMo (allenai/OLMo, olmo/train.py) and OLMo-core (src/olmo_core/train/callbacks).

A step's line names the step, and the lines behind it one metric each. Only rank 0 prints them. The rates are
means over several batches, so they are no step's own time.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Step
from bot.logs.rules import (
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
)

# [step=12/739328,epoch=1]      [step=12/1000,epoch=1,eta=2h03m]      [step=12/???,epoch=1]
_HEAD = re.compile(
    r"\[step=(?P<step>\d{1,12})/(?P<total>\d{1,12}|\?\?\?)(?:,epoch=\d{1,9})?(?:, ?eta=[^\]\n]{1,60})?\]"
)

# train/CE loss=10.98      throughput/device/TPS=12,345      optim/total grad norm=0.5012
_PAIR = re.compile(
    r"(?:[\r\n]{1,4}[^\r\n=]{0,160}?)?[ \t]{2,8}(?P<name>[A-Za-z][\w./-]{0,80}(?: [\w./()%-]{1,40}){0,6})="
    r"(?P<value>-?(?:nan|inf|[\d,]{1,24}(?:\.\d{1,24})?(?:e[+-]?\d{1,3})?))(?P<unit>[KMBTPE]?)(?=\s|\Z)"
)

_COMPLETED = re.compile(r"raining complete(?=\s|\Z)")

_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}

_LOSSES = ("train/CrossEntropyLoss", "train/CE loss")

_PERPLEXITIES = ("train/Perplexity", "train/PPL")

_RATES = ("throughput/device/tokens_per_second", "throughput/device/TPS")

_MEMORY_MB = "System/Peak GPU Memory (MB)"

_RECORD_BYTES = 8192
"""Bytes of the metrics of one step."""


def _record(match: Match) -> Iterator[Statement]:
    text = match.after(_RECORD_BYTES)
    head = _HEAD.match(text)
    if head is None:
        return
    pairs: dict[str, float] = {}
    at = head.end()
    while pair := _PAIR.match(text, at):
        if match.at_end and pair.end() == len(text):
            yield LogWarning(text=RECORD_CUT)
            break
        pairs[pair["name"]] = float(pair["value"].replace(",", "") or "nan") * _UNITS[pair["unit"]]
        at = pair.end()
    if head["total"] != "???":
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))
    if memory := pairs.pop(_MEMORY_MB, None):
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=memory)
    yield Step(
        step=int(head["step"]),
        loss=_first(pairs, _LOSSES),
        perplexity=_first(pairs, _PERPLEXITIES),
        tokens_per_device=_first(pairs, _RATES),
        time=match.time,
        offset=match.offset,
        extras=tuple(pairs.items()),
    )


def _first(pairs: dict[str, float], names: tuple[str, ...]) -> float | None:
    """The first of these that is there, taken out of the pairs."""
    found = [pairs.pop(name) for name in names if name in pairs]
    return found[0] if found else None


def _completed(match: Match) -> Iterator[Statement]:
    if _COMPLETED.match(match.text):
        yield Completed()


OLMO = (
    LiteralRule(literal=b"[step=", read=_record, distinctive=True),
    LiteralRule(literal=b"raining complete", read=_completed),
)
