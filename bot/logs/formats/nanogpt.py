"""nanoGPT's logs, and those of its many copies.

Iterations count from 0, and the last one is `max_iters` itself. An iteration's time is its own. The time of
the iteration behind an evaluation includes the evaluation.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.rules import RECORD_CUT, LiteralRule, LogWarning, Match, Quantity, QuantityKind, Statement

# iter 10: loss 4.1234, time 123.45ms, mfu 12.34%      iter 0: loss 4.2, time 300.00ms
_HEAD = re.compile(
    r"(?<![\w])iter (?P<step>\d{1,12}): loss (?P<loss>-?(?:nan|inf|\d{1,9}(?:\.\d{1,20})?)), time "
    r"(?P<time>\d{1,12}(?:\.\d{1,6})?)\Z"
)

_MFU = re.compile(r"ms(?:, mfu (?P<mfu>-?\d{1,6}\.\d+)%)?")

_MFU_CUT = re.compile(r"ms(?:,[^\n%]{0,20})?\Z")

# step 250: train loss 2.4512, val loss 2.4703
_EVAL = re.compile(r"step (?P<step>\d{1,12}): train loss \S{1,24}\Z")

_EVAL_LOSS = re.compile(r", val loss (?P<loss>-?(?:nan|inf|\d{1,9}(?:\.\d{1,20})?))")

# Overriding: max_iters = 2000      max_iters = 5000
_MAX_ITERS = re.compile(r"max_iters = (?P<count>\d{1,12})\b")

_OVERRIDE = "Overriding: "

_CONFIG_BYTES = 8192
"""Bytes of configuration between a value and its override, at most."""


def _iteration(match: Match) -> Iterator[Statement]:
    head, mfu = _HEAD.search(match.front), _MFU.match(match.text)
    if head is None or mfu is None:
        return
    if match.at_end and mfu["mfu"] is None and _MFU_CUT.match(match.text) and match.text != "ms":
        yield LogWarning(text=RECORD_CUT)
        return
    utilisation = float(mfu["mfu"]) if mfu["mfu"] else None
    yield Step(
        step=int(head["step"]),
        seconds=float(head["time"]) / 1000,
        loss=float(head["loss"]),
        time=match.time,
        offset=match.offset,
        extras=(("mfu", utilisation),)
        if utilisation is not None and utilisation >= 0
        else (),  # -100: unknown
    )


def _evaluated(match: Match) -> Iterator[Statement]:
    head, loss = _EVAL.search(match.front), _EVAL_LOSS.match(match.text)
    if head and loss:
        yield Mark(
            kind=MarkKind.EVAL_ENDED,
            time=match.time,
            step=int(head["step"]),
            loss=float(loss["loss"]),
            offset=match.offset,
        )


def _max_iters(match: Match) -> Iterator[Statement]:
    """The number of the last iteration, unless the configuration overrides it further on."""
    found = _MAX_ITERS.match(match.text)
    overridden = not match.front.endswith(_OVERRIDE) and f"{_OVERRIDE}max_iters" in match.after(_CONFIG_BYTES)
    if found and not overridden:
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["count"]) + 1)


NANOGPT = (
    LiteralRule(
        literal=b"ms, mfu ",
        read=_iteration,
        distinctive=True,
        lead=r"iter \d{1,12}: loss \S{1,24}, time [\d.]{1,20}",
    ),
    LiteralRule(literal=b", val loss ", read=_evaluated, lead=r"step \d{1,12}: train loss \S{1,24}"),
    LiteralRule(literal=b"max_iters = ", read=_max_iters),
)
