"""Logs of T5X (google-research/t5x, t5x/train.py), whose metrics CLU's logging writer prints.

A line stands for all steps since the one before it: its rate is their mean.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment, Mark, MarkKind, Step
from bot.logs.rules import (
    NUMBER,
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
)

# [1000] collection=train
_HEAD = re.compile(r"\[(?P<step>\d{1,12})\Z")

_COLLECTION = re.compile(r"\] collection=(?P<name>[\w./-]{1,80})")

# accuracy=0.0123, timing/steps_per_second=1.25
_PAIR = re.compile(rf"(?: |, )(?P<name>[A-Za-z][\w./-]{{0,80}})=(?P<value>{NUMBER})(?=,|\s|\Z)")

# Starting main loop over steps 0-1000
_LOOP = re.compile(r"Starting main loop over steps (?P<first>\d{1,12})-(?P<last>\d{1,12})(?=\s)")

# train.py:588] Finished.
_FINISHED = re.compile(r"train\.py:\d{1,6}\Z")

_RECORD_BYTES = 4096
"""Bytes of one line."""


def _record(match: Match) -> Iterator[Statement]:
    text = match.after(_RECORD_BYTES)
    head, collection = _HEAD.search(match.front), _COLLECTION.match(text)
    if head is None or collection is None:
        return
    pairs: dict[str, float] = {}
    at = collection.end()
    while pair := _PAIR.match(text, at):
        if match.at_end and pair.end() == len(text):
            yield LogWarning(text=RECORD_CUT)
            break
        pairs[pair["name"]] = float(pair["value"])
        at = pair.end()
    if collection["name"] != "train":
        loss = pairs.get("loss")
        yield Mark(
            kind=MarkKind.EVAL_ENDED, time=match.time, step=int(head["step"]), loss=loss, offset=match.offset
        )
        return
    yield Environment()
    rate = pairs.get("timing/steps_per_second")
    if "loss" in pairs:
        yield Step(
            step=int(head["step"]),
            seconds=1 / rate if rate and rate > 0 else None,
            loss=pairs.pop("loss", None),
            time=match.time,
            offset=match.offset,
            extras=tuple(pairs.items()),
        )


def _main_loop(match: Match) -> Iterator[Statement]:
    if found := _LOOP.match(match.text):
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["last"]))


def _finished(match: Match) -> Iterator[Statement]:
    if _FINISHED.search(match.front):
        yield Completed()


T5X = (
    LiteralRule(literal=b"] collection=", read=_record, distinctive=True, lead=r"\[\d{1,12}"),
    LiteralRule(literal=b"Starting main loop over steps ", read=_main_loop, distinctive=True),
    LiteralRule(literal=b"] Finished.", read=_finished),
)
