"""Lightning's progress bars and notes (Lightning-AI/pytorch-lightning, callbacks/progress).

A bar says how many batches of its epoch are done. Its rate is the mean since the epoch began, so it is no
batch's own time: what an epoch's last bar says is a mean that the program states. A `metrics.csv` is read as
far as its first rows. What it says at its end is read with NeMo, which is built on it.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from bot.logs.facts import Environment, Mark, MarkKind, Step
from bot.logs.rules import (
    NUMBER,
    LiteralRule,
    LogWarning,
    Match,
    Quantities,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
)
from bot.logs.scanner import BYTES_AFTER

# Epoch 0:  50%|█████     | 12/24 [00:00<00:00, 99.10      Epoch 3: | 12/? [00:10<00:00,  1.20
_BAR = re.compile(
    r"Epoch (?P<epoch>\d{1,9}):\s{0,4}(?:(?:\d{1,3}%)?\|[^|\r\n]{0,200}\| {0,8}|\d{1,3}%\s{1,4})"
    r"(?P<step>\d{1,12})/(?P<total>\d{1,12}|\?) \[[\d:]{4,12}<[\d:?]{1,12}, {0,4}"
    r"(?P<rate>\d{1,9}(?:\.\d{1,6})?)\Z"
)

# Epoch 0/1  ━━━━━━━━━━━━━━━━━━━━ 24/24 0:00:00 • 0:00:00 124.01
_RICH_BAR = re.compile(
    r"Epoch (?P<epoch>\d{1,9})/(?:\d{1,9}|-1|-2) {1,4}[━╸╺ ]{1,80} (?P<step>\d{1,12})/(?P<total>\d{1,12}) "
    r"[\d:]{4,12} •\s{1,20}(?:[\d:-]{4,12} )? {0,12}(?P<rate>\d{1,9}(?:\.\d{1,6})?)\Z"
)

# it/s, v_num=0, train_loss=1.230]      it/s v_num: 0.000 train_loss: 1.23
_PAIR = re.compile(r"(?:, | )(?P<name>[A-Za-z][\w./-]{0,80})(?:=|: )(?P<value>[\w.+-]{1,40})(?=[,\]\s]|\Z)")

_LOSSES = (
    "train_loss", "loss", "train/loss", "loss/train", "train_loss_step", "loss_step", "train/loss_step",
    "loss/train_step",
)  # fmt: skip

_EPOCH, _TOTAL, _TABLE = "epoch", "batches per epoch", "row of a table"

_CELL = re.compile(NUMBER)

_COLUMN = re.compile(r"[A-Za-z][\w./ -]{0,80}")


def _bar(match: Match) -> Iterator[Statement]:
    head = _BAR.search(match.front) or _RICH_BAR.search(match.front)
    if head is None or int(head["step"]) == 0:
        return
    pairs: dict[str, float] = {}
    at = len("it/s")
    while (pair := _PAIR.match(match.text, at)) and pair["name"] not in pairs:
        if match.at_end and pair.end() == len(match.text):
            break
        if _CELL.fullmatch(pair["value"]):
            pairs[pair["name"]] = float(pair["value"])
        at = pair.end()
    pairs.pop("v_num", None)
    loss = next((pairs.pop(name) for name in _LOSSES if name in pairs), None)
    extras = [(_EPOCH, float(head["epoch"]))]
    if head["total"] != "?":
        extras.append((_TOTAL, float(head["total"])))
        if head["total"] == head["step"] and (rate := float(head["rate"])) > 0:
            seconds = rate if match.text.startswith("s/it") else 1 / rate
            yield Quantity(kind=QuantityKind.STATED_MEAN_SECONDS, value=seconds)
    yield Step(
        step=int(head["step"]),
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=(*extras, *pairs.items()),
    )


CSV_CUT = "The table of metrics is long: only its first rows were read."
"""The `LogWarning` of a longer CSV file."""


def _table(match: Match) -> Iterator[Statement]:
    """The rows of a CSV file: the header is the line that the literal stands in."""
    front = re.split(r"[\r\n]", match.front)[-1]
    header, *rows = (front + match.after(BYTES_AFTER)).splitlines()
    names = [name.strip() for name in header.split(",")]
    if not all(re.fullmatch(r"[A-Za-z][\w./ -]{0,80}", name) for name in names) or len(set(names)) < len(
        names
    ):
        return
    loss = next((name for name in _LOSSES if name in names), None)
    if not match.at_end and len(match.after(BYTES_AFTER)) >= BYTES_AFTER // 2:
        rows = rows[:-1]
        yield LogWarning(text=CSV_CUT)
    for row in rows:
        cells = dict(zip(names, row.split(","), strict=False))
        values = {name: float(cell) for name, cell in cells.items() if _CELL.fullmatch(cell)}
        if len(row.split(",")) != len(names) or "step" not in values:
            return
        step, epoch = values.pop("step"), values.pop("epoch", None)
        if loss in values:
            extras = [(name, value) for name, value in values.items() if name != loss]
            yield Step(
                step=int(step),
                loss=values[loss],
                offset=match.offset,
                extras=(*([(_EPOCH, epoch)] if epoch is not None else []), (_TABLE, 1.0), *extras),
            )
        elif "val_loss" in values:
            yield Mark(kind=MarkKind.EVAL_ENDED, step=int(step), loss=values["val_loss"], offset=match.offset)


def _hardware(_: Match) -> Iterator[Statement]:
    # TPU available: False, using: 0 TPU cores
    yield Environment()


def counted_over_epochs() -> StatefulReader:
    """Number the batches over all epochs, and drop bars that were drawn again."""
    epoch = done = last = 0

    def count(stated: Step, _: Quantities) -> Step | None:
        nonlocal epoch, done, last
        known = dict(stated.extras)
        if _TABLE in known:
            return stated
        if int(known[_EPOCH]) != epoch:
            done = int(known[_EPOCH]) * int(known[_TOTAL]) if _TOTAL in known else done + last
            epoch, last = int(known[_EPOCH]), 0
        if stated.step <= last:
            return None
        last = stated.step
        return replace(stated, step=done + stated.step)

    return count


LIGHTNING = (
    LiteralRule(literal=b"it/s, ", read=_bar, distinctive=True, lead=r"Epoch \d{1,9}:[^\n]{1,300}"),
    LiteralRule(literal=b"s/it, ", read=_bar, distinctive=True, lead=r"Epoch \d{1,9}:[^\n]{1,300}"),
    LiteralRule(literal=b"it/s v_num: ", read=_bar, distinctive=True, lead=r"Epoch \d{1,9}/[^\n]{1,300}"),
    LiteralRule(literal=b"it/s train_", read=_bar, distinctive=True, lead=r"Epoch \d{1,9}/[^\n]{1,300}"),
    LiteralRule(literal=b"TPU available: ", read=_hardware, distinctive=True),
    LiteralRule(literal=b"epoch,step", read=_table, distinctive=True),
)
