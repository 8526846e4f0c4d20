"""What Keras prints while `model.fit` runs (keras-team/keras, keras/src/utils/progbar.py).

A line says which step of its epoch it is; an epoch whose number is lower than the one before it starts the
next. Loss and time are means since the epoch began: the time counts at the epoch's last line only.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.rules import (
    NUMBER,
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

# 12/24 ━━━━━━ 0s 12ms      24/24 [=====>....] - ETA: 0s - 1s 12ms      24/24 - 1s - 50ms
_HEAD = re.compile(
    r"(?<![\w/.])(?P<step>\d{1,9})/(?P<total>\d{1,9}) (?:[━\u2501]{1,60}|\[[=>.]{1,60}\]|-)[^\r\n|]{0,40}? "
    r"(?P<time>\d{1,9})(?P<unit>us|ms|s)\Z"
)

# /step - loss: 1.2345 - mae: 0.9      /epoch - loss: 1.0e-05      /sample - loss: nan
_PAIR = re.compile(rf" - (?P<name>[A-Za-z][\w./-]{{0,80}}): (?P<value>{NUMBER})(?=[\s\x08]|\Z)")

# Epoch 1/3
_EPOCHS = re.compile(r"Epoch 1/(?P<count>\d{1,9})(?=[\s\x08])")

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

_TOTAL = "steps per epoch"
"""The extra with the number of steps of an epoch."""


def _step_line(match: Match) -> Iterator[Statement]:
    head = _HEAD.search(match.front)
    if head is None or int(head["step"]) == 0:
        return
    pairs: dict[str, float] = {}
    at = len("/step")
    while pair := _PAIR.match(match.text, at):
        if match.at_end and pair.end() == len(match.text):
            yield LogWarning(text=RECORD_CUT)
            break
        pairs.setdefault(pair["name"], float(pair["value"]))
        at = pair.end()
    if "loss" not in pairs:
        return
    last = head["step"] == head["total"]
    yield Quantity(kind=QuantityKind.STEPS_PER_EPOCH, value=float(head["total"]))
    loss = pairs.pop("loss")
    yield Step(
        step=int(head["step"]),
        seconds=float(head["time"]) * _SECONDS[head["unit"]] if last else None,
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=((_TOTAL, float(head["total"])), *pairs.items()),
    )
    if last and "val_loss" in pairs:
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, loss=pairs["val_loss"], offset=match.offset)


def _epochs(match: Match) -> Iterator[Statement]:
    if found := _EPOCHS.match(match.text):
        yield Quantity(kind=QuantityKind.EPOCHS, value=float(found["count"]))


def counted_over_epochs() -> StatefulReader:
    """Number the steps over all epochs: a line whose number is not above the one before starts an epoch."""
    done = last = 0

    def count(stated: Step, _: Quantities) -> Step | None:
        nonlocal done, last
        total = int(dict(stated.extras)[_TOTAL])
        if stated.step == last == total and stated.seconds is None:
            return None
        if stated.step < last or (stated.step == last and last == total):
            done, last = done + total, 0
        if stated.step == last:
            return None  # the same line drawn again
        last = stated.step
        return replace(stated, step=done + stated.step)

    return count


KERAS = (
    LiteralRule(literal=b"/step - ", read=_step_line, distinctive=True, lead=r"\d{1,9}/\d{1,9} [^\n]{1,200}"),
    LiteralRule(literal=b"Epoch 1/", read=_epochs),
)
