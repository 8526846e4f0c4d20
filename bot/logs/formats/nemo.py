"""Lines that NeMo prints while it trains: those of version 2, and the progress bar of version 1.

Steps count from 0. A bar is drawn again and again: equal lines count once.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.rules import (
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
    UnfinishedStep,
)

# Training epoch 0, iteration 120/149 | lr: 3e-05 | consumed_samples: 121 | global_step: 120 | reduced_train_l
_STEP_LINE = re.compile(
    r"Training epoch \d{1,9}, iteration (?P<step>\d{1,12})/(?P<last>\d{1,12})(?P<pairs> \| [^\n]{0,300})\Z"
)

# Epoch 0:   1%|▏ | 795/77225 [9:07:58<878:01:48, 41.36s/it, loss=3.1, v_num=, reduced_train_loss=3.090]
_PROGRESS_BAR = re.compile(
    r"Epoch \d{1,9}: [^\n\r|]{0,12}\|[^\n\r|]{0,120}\| *(?P<count>\d{1,12})/\d{1,12} \[[^\]\n\r]{0,60}?"
    r"(?:it/s|s/it)(?P<pairs>, [^\n\r\]]{0,300})\Z"
)

_PAIR = re.compile(
    r"(?:\||,)? *(?P<name>[A-Za-z_][\w/]{0,60}(?: in s)?)(?:: |=)"
    r"(?P<value>-?(?:nan|inf|\d{1,24}(?:\.\d{0,24})?(?:e[+-]?\d{1,3})?))?(?= \||,|\]|\s|\Z)",
    re.IGNORECASE,
)

# `Trainer.fit` stopped: `max_steps=150` reached.
_MAX_REACHED = re.compile(r"`Trainer\.fit` stopped: `max_(?P<what>\w{1,12})=(?P<count>\d{1,12})` reached")


def _step_line(match: Match) -> Iterator[Statement]:
    # A pasted log has the record before this one in front of it.
    begins = max(match.front.rfind("Training epoch "), 0)
    line, bar = _STEP_LINE.search(match.front, begins), _PROGRESS_BAR.search(match.front)
    head = line or bar
    if head is None:
        return
    rest = re.split(r"[\r\n]|\]" if bar else r"[\r\n]|(?=Training epoch )", match.text, maxsplit=1)
    ends = len(rest) == 1 and match.at_end
    if ends and bar:
        yield LogWarning(text=RECORD_CUT)
        return
    texts = {pair["name"]: pair["value"] for pair in _PAIR.finditer(head["pairs"] + rest[0]) if pair["value"]}
    step = _step(match, int(line["step"]) if line else _bar_step(texts, head), texts)
    yield UnfinishedStep(step=step) if ends else step
    if line:
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(line["last"]) + 1)


def _bar_step(texts: dict[str, str], bar: re.Match[str]) -> int:
    """The step of a progress bar, which counts finished batches and shortens large numbers of its own."""
    stated = texts.get("global_step", "e")
    return int(bar["count"]) - 1 if "e" in stated.lower() or "n" in stated.lower() else int(float(stated))


def _step(match: Match, number: int, texts: dict[str, str]) -> Step:
    pairs = {name: float(text) for name, text in texts.items()}
    loss, seconds = pairs.pop("reduced_train_loss", None), pairs.pop("train_step_timing in s", None)
    for name in ("global_step", "loss"):  # the step again, and a mean of the last losses
        pairs.pop(name, None)
    return Step(
        step=max(number, 0),
        seconds=seconds,
        loss=loss,
        time=match.time,
        offset=match.offset,
        extras=tuple(pairs.items()),
    )


def _validation_started(match: Match) -> Iterator[Statement]:
    # Validation: iteration 1/32      Validation DataLoader 0:  10%|
    yield Mark(kind=MarkKind.EVAL_STARTED, time=match.time, offset=match.offset)


def _max_reached(match: Match) -> Iterator[Statement]:
    if found := _MAX_REACHED.match(match.text):
        if found["what"] == "steps":
            yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["count"]))
        yield Completed()


NEMO = (
    LiteralRule(
        literal=b"reduced_train_loss",
        read=_step_line,
        distinctive=True,
        lead=r"(?:Training e|E)poch [^\n\r]{1,200}[|,] ",
    ),
    LiteralRule(literal=b"Validation: iteration 1/", read=_validation_started),
    LiteralRule(literal=b"`Trainer.fit` stopped: ", read=_max_reached),
)
