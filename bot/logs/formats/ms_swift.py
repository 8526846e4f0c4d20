"""ms-swift's logs: its console and its `logging.jsonl` (modelscope/ms-swift, swift/trainers/patcher.py).

A line states the step, the number of steps, and the mean speed since training began; from the speeds of two
lines follows the time of the steps in between.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.rules import (
    NUMBER,
    Completed,
    LiteralRule,
    Match,
    Quantities,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
)

# 'loss': 1.47077751      "train_speed(iter/s)": 0.345807      'lr': NaN
_PAIR = re.compile(
    rf"[\"'](?P<name>[^\"'\n]{{1,80}})[\"']: [\"']?(?P<value>{NUMBER}|Infinity)[\"']?(?=[,}}])",
    re.IGNORECASE,
)

# 'global_step/max_steps': '1/94'      'iteration': '5/100'
_STEP = re.compile(
    r"[\"'](?:global_step/max_steps|iteration)[\"']: [\"'](?P<step>\d{1,12})/(?P<total>\d{1,12})[\"']"
)

# 'elapsed_time': '1h 4m 28s'
_ELAPSED = re.compile(
    r"[\"']elapsed_time[\"']: [\"'](?:(?P<d>\d{1,4})d ?)?(?:(?P<h>\d{1,4})h ?)?(?:(?P<m>\d{1,4})m ?)?"
    r"(?:(?P<s>\d{1,4})s)?[\"']"
)

_UNIT = re.compile(
    r"train_speed\((?P<unit>iter/s|s/it)\)[\"']: [\"']?(?P<value>" + NUMBER + r")[^{}\n]{0,400}\}"
)

_RECORD_BYTES = 4096
"""Bytes of one line."""

_CLOCK = "elapsed seconds"
"""The extra with the seconds since training began."""

ROUNDING_SECONDS, ROUNDING = 2.0, 1e-3
"""Printed elapsed times are whole seconds, and speeds may have four digits."""


def _record(match: Match) -> Iterator[Statement]:
    front, speed = match.before(_RECORD_BYTES), _UNIT.match(match.after(_RECORD_BYTES))
    start = front.rfind("{")
    number = _STEP.search(front, start) if start >= 0 else None
    if speed is None or number is None:
        return
    pairs = {pair["name"]: float(pair["value"]) for pair in _PAIR.finditer(front[start:] + speed[0])}
    step, total = int(number["step"]), float(number["total"])
    yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=total)
    if "train_runtime" in pairs:
        if (rate := pairs.get("train_steps_per_second", 0.0)) > 0:
            yield Quantity(kind=QuantityKind.STATED_MEAN_SECONDS, value=1 / rate)
        yield Completed()
    elif "loss" in pairs:
        clock = _clock(step, pairs, speed["unit"], _ELAPSED.search(front, start))
        extras = {name: value for name, value in pairs.items() if name != "loss"}
        if clock is not None:
            extras[_CLOCK] = clock
        yield Step(
            step=step, loss=pairs["loss"], time=match.time, offset=match.offset, extras=tuple(extras.items())
        )
    elif "eval_loss" in pairs:
        yield Mark(
            kind=MarkKind.EVAL_ENDED, time=match.time, step=step, loss=pairs["eval_loss"], offset=match.offset
        )


def _clock(step: int, pairs: dict[str, float], unit: str, elapsed: re.Match[str] | None) -> float | None:
    """Seconds since training began, where the speed counts all steps: a resumed run's does not."""
    speed = pairs.get(f"train_speed({unit})", 0.0)
    if not speed > 0 or elapsed is None:
        return None
    clock = step * speed if unit == "s/it" else step / speed
    parts = (
        int(elapsed[name] or 0) * size for name, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    )
    return clock if abs(clock - sum(parts)) <= ROUNDING_SECONDS + ROUNDING * clock else None


def seconds_by_clock() -> StatefulReader:
    """Give each line the mean seconds of the steps since the line before."""
    before: Step | None = None

    def with_seconds(stated: Step, _: Quantities) -> Step | None:
        nonlocal before
        last, before = before, stated
        if last is not None and last.step == stated.step:
            return None
        clock, earlier = dict(stated.extras).get(_CLOCK), dict(last.extras).get(_CLOCK) if last else None
        if last is None or clock is None or earlier is None or not clock > earlier or stated.step < last.step:
            return stated
        return replace(stated, seconds=(clock - earlier) / (stated.step - last.step))

    return with_seconds


MS_SWIFT = (LiteralRule(literal=b"train_speed(", read=_record, distinctive=True),)
