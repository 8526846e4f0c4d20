"""Logs of the Hugging Face Trainer, and of what is built on it (TRL, LLaMA-Factory and its JSON lines).

Its lines carry an epoch and no step number. The number is that of the progress bar right behind a line,
else what the epoch implies where the log states how many steps an epoch has, else the line's own place.
The seconds of a step are those of the bar's rate, where no line carries a time.
"""

import re
from collections.abc import Iterator
from math import ceil, floor

from msgspec.structs import replace

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.prefixes import RFC3339, rfc3339_time
from bot.logs.rules import (
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantities,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
)

STEPS_UNNUMBERED = (
    "The Trainer's lines carry no step number: it is that of the progress bar, or follows from the epoch, or "
    "counts the lines."
)

# {'loss': 2.2818, 'grad_norm': 1.25, 'learning_rate': 2.5000e-06, 'epoch': 0.29}      {'loss': '2.282', ...}
_PAIR = re.compile(
    r"'(?P<name>[^'\n]{1,80})': '?(?P<value>-?(?:nan|inf|\d{1,24}(?:\.\d{0,24})?(?:e[+-]?\d{1,3})?))'?"
    r"(?P<end>, |\})",
    re.IGNORECASE,
)

_OTHER_PAIR = re.compile(r"'[^'\n]{1,80}': (?:'[^'\n]{0,200}'|\[[^\[\]\n]{0,200}\]|\w{1,20})(?P<end>, |\})")

# 5%|▌         | 5/100 [00:01<00:19,  5.00it/s]
# A label in front of it, as in "config.json: 45%|", makes it another bar; a prefix of the line does not.
_PROGRESS_BAR = re.compile(
    r"(?:(?:[ \t]*[\r\n][^\r\n{}|%]{0,120}){0,3}[ \t]*[\r\n][^\r\n{}|%:]{0,120}?|[ \t]+)(?<!\d)\d{1,3}%\|"
    r"[^|\n]{0,120}\| *(?P<step>\d{1,12})/(?P<total>\d{1,12}) \["
    r"(?:[\d:]{4,16}<[\d:?]{1,16}, {1,4}(?P<rate>\d{1,9}(?:\.\d{1,6})?)(?P<unit>it/s|s/it))?"
)

_AFTER_DICT = re.compile(r"\}\s*\Z")

# [INFO|2024-11-26 22:09:01] logging.py:157 >>      [INFO|trainer.py:2313] 2024-11-26 22:09:01,123 >>
_STAMP = re.compile(rf"{RFC3339}(?:\] [\w./]{{1,80}}:\d{{1,7}})? >>\s{{1,3}}\Z")

# Num examples = 2,182 / Num Epochs = 1,000 / Total train batch size (w. parallel, ...) = 128
_SETUP_LINE = re.compile(
    r"(?:(?P<examples>Num examples)|(?P<epochs>Num Epochs)|(?P<batch>Total train batch size[^=\n]{0,80})) = "
    r"(?P<count>[\d,]{1,20})"
)

# Total optimization steps = 17,000
_TOTAL_STEPS = re.compile(r"optimization steps = (?P<count>[\d,]{1,20})")

_SETUP_BYTES = 2048
"""Bytes in front of the total in which the lines printed with it begin."""


def _line_time(match: Match) -> float | None:
    found = _STAMP.search(match.front)
    return rfc3339_time(found) if found else match.time


def _pairs(text: str) -> tuple[dict[str, float], int | None]:
    """The numbers of a printed dict, and where it closes; `None` where it does not close."""
    pairs: dict[str, float] = {}
    at = 1
    while found := _PAIR.match(text, at) or _OTHER_PAIR.match(text, at):
        if "value" in found.groupdict():
            pairs.setdefault(found["name"], float(found["value"]))
        at = found.end()
        if found["end"] == "}":
            return pairs, at
    return pairs, None


def _metrics_line(match: Match) -> Iterator[Statement]:
    pairs, end = _pairs(match.text)
    if end is None:
        if match.at_end and "epoch" not in pairs:
            yield LogWarning(text=RECORD_CUT)
        return
    loss = pairs.pop("loss", None)
    if "epoch" not in pairs or any(name.startswith("train_speed(") for name in pairs):
        return  # the latter is ms-swift's line
    bar = None if _AFTER_DICT.search(match.front) else _PROGRESS_BAR.match(match.text, end)
    if bar:
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(bar["total"]))
    time, number = _line_time(match), pairs.pop("step", 0.0)
    if not number > 0:
        yield LogWarning(text=STEPS_UNNUMBERED)
    yield Step(
        step=int(number) if 0 < number < 1e12 else int(bar["step"]) if bar else 0,
        seconds=_bar_seconds(bar) if bar and time is None else None,
        loss=loss,
        time=time,
        offset=match.offset,
        extras=tuple(pairs.items()),
    )


def _bar_seconds(bar: re.Match[str]) -> float | None:
    """Seconds of a step by the rate that the bar shows: a mean over its last few steps."""
    rate = float(bar["rate"] or 0)
    if not rate > 0:
        return None
    return rate if bar["unit"] == "s/it" else 1 / rate


def _evaluating(match: Match) -> Iterator[Statement]:
    # ***** Running Evaluation *****
    yield Mark(kind=MarkKind.EVAL_STARTED, time=_line_time(match), offset=match.offset)


# {"current_steps": 5, "total_steps": 42, "loss": 1.497, "lr": 5e-05, "epoch": 0.34, ...}
_JSON_LINE = re.compile(
    r'"current_steps": (?P<step>\d{1,12}), "total_steps": (?P<total>\d{1,12}), '
    r'"(?P<what>loss|eval_loss)": (?P<loss>-?[\d.]{1,24}(?:e[+-]?\d{1,3})?|NaN), (?P<rest>[^{}\n]{0,600})\}'
)

_JSON_PAIR = re.compile(
    r'"(?P<name>[\w/]{1,60})": (?P<value>-?\d{1,12}(?:\.\d{1,24})?(?:e[+-]?\d{1,3})?)(?=,|$)'
)


def _json_line(match: Match) -> Iterator[Statement]:
    found = _JSON_LINE.match(match.text)
    if found is None:
        return
    loss = float(found["loss"])
    yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["total"]))
    if found["what"] == "eval_loss":
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, loss=loss, offset=match.offset)
        return
    yield Step(
        step=int(found["step"]),
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=tuple((pair["name"], float(pair["value"])) for pair in _JSON_PAIR.finditer(found["rest"])),
    )


def _evaluated(match: Match) -> Iterator[Statement]:
    # {'eval_loss': 2.1, 'eval_runtime': 10.5, 'epoch': 1.0}
    pairs, end = _pairs(match.text)
    if end is not None:
        loss = pairs.get("eval_loss")
        yield Mark(kind=MarkKind.EVAL_ENDED, time=_line_time(match), loss=loss, offset=match.offset)


def _train_ended(match: Match) -> Iterator[Statement]:
    # {'train_runtime': 36.9, 'train_samples_per_second': 43.3, ..., 'train_loss': 2.1, 'epoch': 1.0}
    pairs, end = _pairs(match.text)
    if end is None:
        return
    if (rate := pairs.get("train_steps_per_second", 0.0)) > 0:
        yield Quantity(kind=QuantityKind.STATED_MEAN_SECONDS, value=1 / rate)
    yield Completed()


def _total_steps(match: Match) -> Iterator[Statement]:
    found = _TOTAL_STEPS.match(match.text)
    if found is None:
        return
    total = _count(found["count"])
    setup = {
        name: _count(line["count"])
        for line in _SETUP_LINE.finditer(match.before(_SETUP_BYTES))
        for name in ("examples", "epochs", "batch")
        if line[name]
    }
    per_epoch = _steps_per_epoch(total, setup)
    if per_epoch is not None:
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=total)
        yield Quantity(kind=QuantityKind.STEPS_PER_EPOCH, value=per_epoch)
        # some versions carry the examples of a last, partial batch over into the next epoch
        yield Quantity(kind=QuantityKind.STEPS_PER_EPOCH, value=setup["examples"] / setup["batch"])


def _count(text: str) -> float:
    return float(text.replace(",", "") or 0)


def _steps_per_epoch(total: float, setup: dict[str, float]) -> float | None:
    """Examples over batch, rounded to fit the number of epochs. The last epoch may be partial."""
    examples, batch, epochs = (setup.get(name, 0) for name in ("examples", "batch", "epochs"))
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
    LiteralRule(literal=b"{'loss': ", read=_metrics_line, distinctive=True),
    LiteralRule(literal=b'"current_steps": ', read=_json_line, distinctive=True),
    LiteralRule(literal=b"{'eval_loss': ", read=_evaluated, distinctive=True),
    LiteralRule(literal=b"{'train_runtime': ", read=_train_ended),
    LiteralRule(literal=b"***** Running Evaluation", read=_evaluating),
    LiteralRule(literal=b"optimization steps = ", read=_total_steps, distinctive=True, lead="Total "),
)

USUAL_INTERVALS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
"""Logging intervals that people set. Where the first epoch allows several, the nearest one is taken."""

MAX_EPOCH = 1e9
"""A larger number is no epoch."""

ROUNDING = 1e-3
"""Relative difference between the numbers of one line that is printed twice with different rounding."""


def numbered_by_epoch() -> StatefulReader:
    """Number step lines that carry only an epoch: their step is 0 where none was printed.

    The Trainer logs every so many steps: a line is that far behind the one before it as long as its epoch
    allows it.
    """
    return _EpochNumbering().number


class _EpochNumbering:
    """The line before, and the steps between two lines."""

    def __init__(self) -> None:
        self._last: Step | None = None
        self._stride = 0
        self._decimals = 2  # of the epochs printed

    def number(self, stated: Step, quantities: Quantities) -> Step | None:
        """The line with its number, or `None` where it repeats the line before."""
        if self._last is not None and _same_line(self._last, stated):
            return None
        before = self._last.step if self._last else 0
        bounds = self._bounds(stated, quantities)
        fits = bounds is None or bounds[0] <= stated.step <= bounds[1]
        number = stated.step if stated.step > before and fits else self._next(before, bounds)
        totals = [int(total) for total in quantities.get(QuantityKind.EXPECTED_STEPS, ())]
        number = min(number, max(totals)) if totals and before <= max(totals) else number
        self._stride = number - before if number > before else self._stride
        self._last = replace(stated, step=number)
        return self._last

    def _bounds(self, stated: Step, quantities: Quantities) -> tuple[float, float] | None:
        """Between which numbers the step is by its epoch, where the log states the steps of one."""
        per_epoch, epoch = quantities.get(QuantityKind.STEPS_PER_EPOCH), dict(stated.extras).get("epoch")
        if not per_epoch or epoch is None or not 0 <= epoch < MAX_EPOCH:
            return None
        self._decimals = max(self._decimals, len(repr(epoch).partition(".")[2]))
        slack = 0.5 * max(per_epoch) / 10**self._decimals + 1e-6
        return epoch * min(per_epoch) - slack, epoch * max(per_epoch) + slack

    def _next(self, before: int, bounds: tuple[float, float] | None) -> int:
        following = before + (self._stride or 1)
        if bounds is None:
            return following
        least, most = bounds
        if self._stride and least <= following <= most:
            return following
        reached = (least + most) / 2
        usual = [n for n in USUAL_INTERVALS if before == 0 and least <= n <= most]
        return min(usual, key=lambda n: abs(n - reached)) if usual else max(round(reached), 1)


def _same_line(one: Step, other: Step) -> bool:
    """Whether the numbers that both lines print are equal."""
    first, second = dict(one.extras), dict(other.extras)
    pairs = [(first[name], second[name]) for name in first if name in second]
    if one.loss is not None and other.loss is not None:
        pairs.append((one.loss, other.loss))
    return all(a == b or abs(a - b) <= ROUNDING * max(abs(a), abs(b)) for a, b in pairs)
