"""LitGPT's logs (Lightning-AI/litgpt, litgpt/pretrain.py and litgpt/finetune), and lit-gpt's before it.

A line's number is that of its iteration, which counts from 1; several iterations may make one step of the
optimizer, whose number stays an extra. An iteration's time is its own.
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

# Epoch 1 | iter 10 step 2 | loss train: 2.345, val: n/a |
_HEAD = re.compile(
    r"Epoch \d{1,9} \| iter (?P<iteration>\d{1,12}) step (?P<step>\d{1,12}) \| loss train: "
    rf"(?P<loss>{NUMBER}), val: \S{{1,24}} \|\Z"
)

# iter 10 step 2: loss 2.3456,      iter 10 | step 2: loss 2.3456,      iter 10: loss 2.3456,
_OLD_HEAD = re.compile(
    rf"iter (?P<iteration>\d{{1,12}})(?:(?: \|)? step (?P<step>\d{{1,12}}))?: loss (?P<loss>{NUMBER}),\Z"
)

# iter time: 123.45 ms (step) remaining time: 0:10:00      iter time: 123.45ms (optimizer.step)
_TIME = re.compile(r" iter time: (?P<time>\d{1,12}(?:\.\d{1,6})?) ?(?P<unit>ms|s(?=[\s(]|\Z))?")

# iter 10: val loss 2.3456, val time: 123.45 ms
_EVAL_HEAD = re.compile(r"(?:iter|step) (?P<step>\d{1,12})\Z")

_EVAL = re.compile(rf": val loss (?P<loss>{NUMBER}), val time: ")

# | - Memory Used   : 1.23 GB
_MEMORY = re.compile(r"(?:\| - Memory Used {1,8}|Memory used): (?P<count>\d{1,9}(?:\.\d{1,6})?) GB")


def _iteration(match: Match) -> Iterator[Statement]:
    head = _HEAD.search(match.front) or _OLD_HEAD.search(match.front)
    time = _TIME.match(match.text)
    if head is None or time is None:
        return
    if not time["unit"]:
        if match.at_end:
            yield LogWarning(text=RECORD_CUT)
        return
    yield Step(
        step=int(head["iteration"]),
        seconds=float(time["time"]) / (1000 if time["unit"] == "ms" else 1),
        loss=float(head["loss"]),
        time=match.time,
        offset=match.offset,
        extras=(("optimizer_step", float(head["step"])),) if head["step"] else (),
    )


def _evaluated(match: Match) -> Iterator[Statement]:
    head, loss = _EVAL_HEAD.search(match.front), _EVAL.match(match.text)
    if head and loss:
        yield Mark(
            kind=MarkKind.EVAL_ENDED,
            time=match.time,
            step=int(head["step"]),
            loss=float(loss["loss"]),
            offset=match.offset,
        )


# | - Training Time : 12.34 s      Training time: 11.20s
_END = re.compile(r"Training [Tt]ime {0,8}: \d{1,12}(?:\.\d{1,6})? ?s(?=\s)")


def _ended(match: Match) -> Iterator[Statement]:
    if _END.match(match.text):
        yield Completed()


def _peak_memory(match: Match) -> Iterator[Statement]:
    if found := _MEMORY.match(match.text):
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=float(found["count"]) * 1000)


LITGPT = (
    LiteralRule(
        literal=b" iter time: ",
        read=_iteration,
        distinctive=True,
        lead=r"(?:Epoch \d{1,9} \| )?iter [^\n]{1,100}",
    ),
    LiteralRule(literal=b": val loss ", read=_evaluated, lead=r"(?:iter|step) \d{1,12}"),
    LiteralRule(literal=b"Training Time ", read=_ended),
    LiteralRule(literal=b"Training time: ", read=_ended),
    LiteralRule(literal=b"| - Memory Used", read=_peak_memory),
    LiteralRule(literal=b"Memory used: ", read=_peak_memory),
)
