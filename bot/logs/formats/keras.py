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

# 128/128 - 5s - loss: 3.1494 - accuracy: 0.1463 - 5s
_EPOCH_LINE = re.compile(
    r"(?<![\w/.])(?P<step>\d{1,9})/(?P<total>\d{1,9}) - \d{1,9}m?s"
    rf"(?P<pairs>(?: - [A-Za-z][\w./-]{{0,80}}: {NUMBER}){{1,20}}) - \d{{1,9}}m?s\Z"
)

# /epoch - 43ms/step
_EPOCH_TIME = re.compile(r"/epoch - (?P<time>\d{1,9})(?P<unit>us|ms|s)/step")

# /step - loss: 1.2345 - mae: 0.9      /epoch - loss: 1.0e-05      /sample - loss: nan
_PAIR = re.compile(rf" - (?P<name>[A-Za-z][\w./-]{{0,80}}): (?P<value>{NUMBER})(?=[\s\x08]|\Z)")

# Epoch 1/3
_EPOCHS = re.compile(r"Epoch 1/(?P<count>\d{1,9})(?=[\s\x08])")

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

_TOTAL, _EPOCH = "steps per epoch", "epoch"
"""The extras with the number of steps of an epoch, and its own number."""

# Epoch 2/3
_HEADING = re.compile(r"Epoch (?P<epoch>\d{1,9})/(?P<count>\d{1,9})(?=[\s\x08])")

_HEADING_BYTES = 8192
"""Bytes between a heading and a line of its epoch within which it is looked for."""


def _step_line(match: Match) -> Iterator[Statement]:
    head = _HEAD.search(match.front)
    if head and int(head["step"]):
        yield from _progress(match, head, head, match.text, len("/step"))


def _epoch_line(match: Match) -> Iterator[Statement]:
    head, time = _EPOCH_LINE.search(match.front), _EPOCH_TIME.match(match.text)
    if head and time and int(head["step"]):
        yield from _progress(match, head, time, f"{head['pairs']} ", 0)


def _progress(
    match: Match, head: re.Match[str], time: re.Match[str], text: str, at: int
) -> Iterator[Statement]:
    pairs: dict[str, float] = {}
    while pair := _PAIR.match(text, at):
        if match.at_end and pair.end() == len(match.text) and text is match.text:
            yield LogWarning(text=RECORD_CUT)
            break
        pairs.setdefault(pair["name"], float(pair["value"]))
        at = pair.end()
    if "loss" not in pairs:
        return
    last = head["step"] == head["total"]
    yield Quantity(kind=QuantityKind.STEPS_PER_EPOCH, value=float(head["total"]))
    loss = pairs.pop("loss")
    extras = [(_TOTAL, float(head["total"])), *pairs.items()]
    if headings := _HEADING.findall(match.before(_HEADING_BYTES)):
        epoch, count = headings[-1]
        extras.append((_EPOCH, float(epoch)))
        yield Quantity(kind=QuantityKind.EPOCHS, value=float(count))
    yield Step(
        step=int(head["step"]),
        seconds=float(time["time"]) * _SECONDS[time["unit"]] if last else None,
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=tuple(extras),
    )
    if last and "val_loss" in pairs:
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, loss=pairs["val_loss"], offset=match.offset)


def _epochs(match: Match) -> Iterator[Statement]:
    if found := _EPOCHS.match(match.text):
        yield Quantity(kind=QuantityKind.EPOCHS, value=float(found["count"]))


def counted_over_epochs() -> StatefulReader:
    """Number the steps over all epochs, and drop lines that are drawn again.

    The epoch is that of the heading; where that is too far away, a lower number starts the next one.
    """
    done = last = total = 0
    epoch: float | None = None

    def count(stated: Step, _: Quantities) -> Step | None:
        nonlocal done, last, total, epoch
        known = dict(stated.extras)
        heading = known.get(_EPOCH)
        if heading is not None and heading != epoch:
            epoch, last, total = heading, 0, int(known[_TOTAL])
            done = (int(heading) - 1) * total
        elif heading is not None and int(known[_TOTAL]) != total:
            return None  # an evaluation behind the last epoch
        elif heading is None and stated.step < last:
            done, last = done + int(known[_TOTAL]), 0
        if stated.step <= last:
            return None
        last = stated.step
        return replace(stated, step=done + stated.step)

    return count


KERAS = (
    LiteralRule(literal=b"/step - ", read=_step_line, distinctive=True, lead=r"\d{1,9}/\d{1,9} [^\n]{1,200}"),
    LiteralRule(
        literal=b"/epoch - ", read=_epoch_line, distinctive=True, lead=r"\d{1,9}/\d{1,9} [^\n]{1,300}"
    ),
    LiteralRule(literal=b"Epoch 1/", read=_epochs),
)
