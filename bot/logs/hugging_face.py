"""Reads the logs of the Hugging Face Trainer, and of what is built on it (TRL, LLaMA-Factory).

In:  sightings of the literals in `HUGGING_FACE`.
Out: statements. Its lines carry an epoch and no step number: the number is that of the progress bar drawn
     right behind a line, else what the epoch implies where the log says how many steps an epoch has, else
     the line's own place. A step's seconds are not printed.
"""

import re
from collections.abc import Iterator
from math import ceil, floor

from bot.logs.almanac import RFC, rfc_time
from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import CUT, Doubt, Figure, Finished, Quantity, Statement

UNNUMBERED = (
    "The Trainer's lines carry no step number: it is that of the progress bar, or follows from the epoch, or "
    "counts the lines."
)
# {'loss': 2.2818, 'grad_norm': 1.25, 'learning_rate': 2.5000e-06, 'epoch': 0.29}      {'loss': '2.282', ...}
_PAIR = re.compile(
    r"'(?P<name>[^'\n]{1,80})': '?(?P<value>-?(?:nan|inf|\d{1,24}(?:\.\d{0,24})?(?:e[+-]?\d{1,3})?))'?"
    r"(?P<end>, |\})",
    re.IGNORECASE,
)
_NO_NUMBER = re.compile(r"'[^'\n]{1,80}': (?:'[^'\n]{0,200}'|\[[^\[\]\n]{0,200}\]|\w{1,20})(?P<end>, |\})")
# 5%|▌         | 5/100 [00:01<00:19,  5.00it/s]
# A label in front of it, as in "config.json: 45%|", makes it another one's; a prefix of the line does not.
_BAR = re.compile(
    r"(?:(?:[ \t]*[\r\n][^\r\n{}|%]{0,120}){0,3}[ \t]*[\r\n][^\r\n{}|%:]{0,120}?|[ \t]+)(?<!\d)\d{1,3}%\|"
    r"[^|\n]{0,120}\| *(?P<step>\d{1,12})/(?P<total>\d{1,12}) \["
)
_AFTER_A_DICT = re.compile(r"\}\s*\Z")
# [INFO|2024-11-26 22:09:01] logging.py:157 >>      [INFO|trainer.py:2313] 2024-11-26 22:09:01,123 >>
_WHEN = re.compile(rf"{RFC}(?:\] [\w./]{{1,80}}:\d{{1,7}})? >>\s{{1,3}}\Z")
# Num examples = 2,182 / Num Epochs = 1,000 / Total train batch size (w. parallel, ...) = 128
_OPENING = re.compile(
    r"(?:(?P<examples>Num examples)|(?P<epochs>Num Epochs)|(?P<batch>Total train batch size[^=\n]{0,80})) = "
    r"(?P<count>[\d,]{1,20})"
)
# Total optimization steps = 17,000
_TOTAL = re.compile(r"optimization steps = (?P<count>[\d,]{1,20})")
_OPENED = 2048
"""Bytes in front of the total that hold the lines printed with it."""


def _time(seen: Sighting) -> float | None:
    found = _WHEN.search(seen.front)
    return rfc_time(found) if found else seen.time


def _pairs(text: str) -> tuple[dict[str, float], int | None]:
    """The numbers of a printed dict, and where it closes; `None` where it does not."""
    pairs: dict[str, float] = {}
    at = 1
    while found := _PAIR.match(text, at) or _NO_NUMBER.match(text, at):
        if "value" in found.groupdict():
            pairs.setdefault(found["name"], float(found["value"]))
        at = found.end()
        if found["end"] == "}":
            return pairs, at
    return pairs, None


def _line(seen: Sighting) -> Iterator[Statement]:
    pairs, end = _pairs(seen.text)
    if end is None:
        if seen.last and "epoch" not in pairs:
            yield Doubt(text=CUT)
        return
    loss = pairs.pop("loss", None)
    if "epoch" not in pairs:
        return
    bar = None if _AFTER_A_DICT.search(seen.front) else _BAR.match(seen.text, end)
    if bar:
        yield Quantity(figure=Figure.EXPECTED_STEPS, value=float(bar["total"]))
    yield Doubt(text=UNNUMBERED)
    yield Step(
        step=int(bar["step"]) if bar else 0,
        loss=loss,
        time=_time(seen),
        offset=seen.offset,
        extras=tuple(pairs.items()),
    )


def _evaluating(seen: Sighting) -> Iterator[Statement]:
    # ***** Running Evaluation *****
    yield Mark(kind=MarkKind.EVAL_STARTED, time=_time(seen), offset=seen.offset)


def _evaluated(seen: Sighting) -> Iterator[Statement]:
    # {'eval_loss': 2.1, 'eval_runtime': 10.5, 'epoch': 1.0}
    pairs, end = _pairs(seen.text)
    if end is not None:
        loss = pairs.get("eval_loss")
        yield Mark(kind=MarkKind.EVAL_ENDED, time=_time(seen), loss=loss, offset=seen.offset)


def _ended(seen: Sighting) -> Iterator[Statement]:
    # {'train_runtime': 36.9, 'train_samples_per_second': 43.3, ..., 'train_loss': 2.1, 'epoch': 1.0}
    if _pairs(seen.text)[1] is not None:
        yield Finished()


def _total(seen: Sighting) -> Iterator[Statement]:
    found = _TOTAL.match(seen.text)
    if found is None:
        return
    total = _count(found["count"])
    said = {
        name: _count(line["count"])
        for line in _OPENING.finditer(seen.before(_OPENED))
        for name in ("examples", "epochs", "batch")
        if line[name]
    }
    per_epoch = _steps_per_epoch(total, said)
    if per_epoch is not None:
        yield Quantity(figure=Figure.EXPECTED_STEPS, value=total)
        yield Quantity(figure=Figure.STEPS_PER_EPOCH, value=per_epoch)
        # some versions carry the examples of a last, partial batch over into the next epoch
        yield Quantity(figure=Figure.STEPS_PER_EPOCH, value=said["examples"] / said["batch"])


def _count(text: str) -> float:
    return float(text.replace(",", "") or 0)


def _steps_per_epoch(total: float, said: dict[str, float]) -> float | None:
    """Examples over batch, rounded as the epochs of the whole run show; the last epoch may be a part."""
    examples, batch, epochs = (said.get(name, 0) for name in ("examples", "batch", "epochs"))
    if not examples or not batch or not epochs or not total:
        return None
    fitting = {
        count
        for count in (floor(examples / batch), ceil(examples / batch))
        if count and ceil(total / count) == epochs
    }
    exact = {count for count in fitting if count * epochs == total}
    return next(iter(exact or fitting)) if len(exact or fitting) == 1 else None


HUGGING_FACE = (
    Needle(literal=b"{'loss': ", read=_line, telling=True),
    Needle(literal=b"{'eval_loss': ", read=_evaluated, telling=True),
    Needle(literal=b"{'train_runtime': ", read=_ended),
    Needle(literal=b"***** Running Evaluation", read=_evaluating),
    Needle(literal=b"optimization steps = ", read=_total, telling=True, lead="Total "),
)
