"""torchtune's logs (pytorch/torchtune, recipes and torchtune/training/metric_logging.py).

Its progress bar is labelled with epoch, step and loss; its file has one line a step. Steps count from 1. The
seconds of a step are in neither.
"""

import json
import re
from collections.abc import Iterator

from bot.logs.facts import Step
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

# 1|25|Loss: 1.5839: 100%|██████████| 25/25 [00:10<00:00,  2.30it/s]
_BAR_HEAD = re.compile(r"(?<![\w.])(?P<epoch>\d{1,6})\|(?P<step>\d{1,12})\Z")

_BAR = re.compile(rf"\|Loss: (?P<loss>{NUMBER})(?=: |\s)")

# Step 25 | loss:1.58 lr:2e-05 tokens_per_second_per_gpu:1234.5 peak_memory_active:13.3
_LINE_HEAD = re.compile(r"Step (?P<step>\d{1,12})\Z")

_PAIR = re.compile(
    rf"(?: \| | )(?P<name>[A-Za-z][\w./-]{{0,80}}):(?:tensor\()?(?P<value>{NUMBER})\)?(?=\s|\Z)"
)

_GIB_IN_MB = 1073.741824


def _bar(match: Match) -> Iterator[Statement]:
    head, loss = _BAR_HEAD.search(match.front), _BAR.match(match.text)
    if head and loss:
        yield Step(
            step=int(head["step"]),
            loss=float(loss["loss"]),
            time=match.time,
            offset=match.offset,
            extras=(("epoch", float(head["epoch"])),),
        )


def _line(match: Match) -> Iterator[Statement]:
    head = _LINE_HEAD.search(match.front)
    if head is None:
        return
    pairs: dict[str, float] = {}
    at = 0
    while pair := _PAIR.match(match.text, at):
        if match.at_end and pair.end() == len(match.text):
            yield LogWarning(text=RECORD_CUT)
            break
        pairs[pair["name"]] = float(pair["value"])
        at = pair.end()
    yield from _step(match, int(head["step"]), pairs)


def _json_line(match: Match) -> Iterator[Statement]:
    front, text = match.before(2048), match.after(2048)
    start, end = front.rfind("{"), text.find("}")
    if start < 0 or end < 0:
        return
    try:
        record = json.loads(front[start:] + text[: end + 1])
    except (ValueError, RecursionError):
        return
    pairs = {name: float(value) for name, value in record.items() if isinstance(value, int | float)}
    step = pairs.pop("step", -1.0)
    if 0 <= step < 1e12:
        yield from _step(match, int(step), pairs)


def _step(match: Match, number: int, pairs: dict[str, float]) -> Iterator[Statement]:
    if memory := pairs.get("peak_memory_alloc"):
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=memory * _GIB_IN_MB)
    if "loss" in pairs:
        yield Step(
            step=number,
            loss=pairs.pop("loss"),
            tokens_per_device=pairs.pop("tokens_per_second_per_gpu", None),
            time=match.time,
            offset=match.offset,
            extras=tuple(pairs.items()),
        )


def one_line_a_step() -> StatefulReader:
    """Drop what is drawn again: a bar is redrawn with the label of the step before."""
    last: int | None = None

    def once(stated: Step, _: Quantities) -> Step | None:
        nonlocal last
        if stated.step == last:
            return None
        last = stated.step
        return stated

    return once


TORCHTUNE = (
    LiteralRule(literal=b"|Loss: ", read=_bar, distinctive=True, lead=r"\d{1,6}\|\d{1,12}"),
    LiteralRule(literal=b" | loss:", read=_line, distinctive=True, lead=r"Step \d{1,12}"),
    LiteralRule(literal=b'"tokens_per_second_per_gpu"', read=_json_line, distinctive=True),
)
