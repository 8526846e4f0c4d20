"""Logs of Composer and LLM Foundry (mosaicml/composer, composer/loggers/console_logger.py).

A line names the batch, and the lines behind it one metric each. Batches count from 1. The rates are means
over several batches, so they are no batch's own time.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind, Step
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

# [batch=1/100]:      [epoch=1][batch=5/64]:      [token=2048/4096]:      [epoch=2][batch=7]:
_HEAD = re.compile(
    r"(?:\[epoch=\d{1,9}(?:/\d{1,9})?\])?\[(?P<unit>batch|token)=(?P<count>\d{1,15})(?:/(?P<total>\d{1,15}))?\]:"
)

_EPOCH = re.compile(r"\[epoch=\d{1,9}\]\Z")

_NEXT_LINE = r"(?:[\r\n]{1,4}[^\r\n]{0,160}?)?[ \t]{1,10}"

_NAME = r"[A-Za-z][\w./-]{0,80}"

# Train loss/train/total: 10.9736
_PAIR = re.compile(rf"{_NEXT_LINE}Train (?P<name>{_NAME}): (?P<value>{NUMBER})(?=\s|\Z)")

_OTHER_PAIR = re.compile(rf"{_NEXT_LINE}Train {_NAME}: [\"{{\[N][^\r\n]{{0,400}}(?=[\r\n]|\Z)")

_EVAL_PAIR = re.compile(rf"[^\r\n]{{0,80}}:{_NEXT_LINE}Eval {_NAME}: (?P<value>{NUMBER})(?=\s)")

_LOSS = "loss/train/total"

_BATCHES = "time/batch"

_RECORD_BYTES = 8192
"""Bytes of the metrics of one batch."""


def _record(match: Match) -> Iterator[Statement]:
    text = match.after(_RECORD_BYTES)
    head = _HEAD.match(text)
    if head is None:
        return
    pairs: dict[str, float] = {}
    at = head.end()
    while pair := _PAIR.match(text, at) or _OTHER_PAIR.match(text, at):
        if match.at_end and pair.end() == len(text):
            yield LogWarning(text=RECORD_CUT)
            break
        if "value" in pair.groupdict():
            pairs[pair["name"]] = float(pair["value"])
        at = pair.end()
    number = _number(match, head, pairs)
    if number is None:
        return
    if head["total"] and head["unit"] == "batch" and not _EPOCH.search(match.front):
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))
    loss = pairs.pop(_LOSS, None)
    yield Step(
        step=number,
        loss=loss,
        tokens_per_device=pairs.pop("throughput/device/tokens_per_sec", None),
        time=match.time,
        offset=match.offset,
        extras=tuple(pairs.items()),
    )


def _number(match: Match, head: re.Match[str], pairs: dict[str, float]) -> int | None:
    """The number of the batch over all epochs: stated, else that of a head that counts batches alone."""
    if (before := pairs.get(_BATCHES)) is not None and 0 <= before < 1e12:
        return int(before) + 1
    if head["unit"] == "batch" and not _EPOCH.search(match.front):
        return int(head["count"])
    return None


def _evaluated(match: Match) -> Iterator[Statement]:
    # [Eval batch=10/10] Eval on eval data: | Eval metrics/eval/LanguageCrossEntropy: 2.1
    found = _EVAL_PAIR.match(match.text)
    if found:
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, loss=float(found["value"]), offset=match.offset)


def _completed(_: Match) -> Iterator[Statement]:
    # 2023-05-09 10:12:01,123: rank0[18][MainThread]: INFO: llmfoundry.command_utils.train: Done.
    yield Completed()


COMPOSER = (
    LiteralRule(literal=b"[batch=", read=_record, distinctive=True, lead=r"(?:\[epoch=\d{1,9}\])?"),
    LiteralRule(literal=b"[token=", read=_record, distinctive=True),
    LiteralRule(literal=b"[Eval batch=", read=_evaluated, distinctive=True),
    LiteralRule(literal=b"llmfoundry.command_utils.train: Done.", read=_completed),
)
