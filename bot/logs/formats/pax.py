"""Logs of Pax (google/paxml, paxml/programs.py and summary_utils.py).

Every so many steps it prints the loss, and in front of it the rate since the last such line: its inverse is
the mean time of a step in between. Step numbers say how many steps are done.
"""

import re
from collections.abc import Iterator

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

# [PAX STATUS] step_i: 100, train loss: 8.123      [PAX STATUS]: step_i: 288, training loss: 2.6897
_STATUS = re.compile(
    rf"step_i: (?P<step>\d{{1,12}}), (?P<what>[\w./ -]{{1,80}}) loss: (?P<loss>{NUMBER})(?=\s|\Z)"
)

# Metrics values at step 100: | I0421 10:17:39.824857 1 summary_utils.py:635]   loss=8.123456
_METRICS = re.compile(
    rf"Metrics values at step (?P<step>\d{{1,12}}):[ \t]*[\r\n \t][^\r\n=]{{0,200}}? {{2,4}}"
    rf"loss=(?P<loss>{NUMBER})(?=\s)"
)

# steps/sec: 1.234567
_RATE = re.compile(r"steps/sec: (?P<rate>\d{1,12}(?:\.\d{1,12})?)(?=\s)")

_RATE_BYTES = 4096
"""Bytes between a rate and the loss of the same steps, at most."""

# Training loop completed (step (`288`) greater than or equal to num_train_step (`288`).
_COMPLETED = re.compile(
    r"Training loop completed \(step \(`\d{1,12}`\) .{0,40}num_train_step \(`(?P<count>\d{1,12})`\)"
)


def _status(match: Match) -> Iterator[Statement]:
    found = _STATUS.match(match.text)
    if found is None or (match.at_end and found.end() == len(match.text)):
        return
    if "eval" in found["what"]:
        yield Mark(
            kind=MarkKind.EVAL_ENDED,
            time=match.time,
            step=int(found["step"]),
            loss=float(found["loss"]),
            offset=match.offset,
        )
    else:
        yield _step(match, found)


def _metrics(match: Match) -> Iterator[Statement]:
    if found := _METRICS.match(match.text):
        yield _step(match, found)


def _step(match: Match, found: re.Match[str]) -> Step:
    before = match.before(_RATE_BYTES)
    behind = max(before.rfind("Metrics values at step "), before.rfind("step_i: "), 0)
    rates = [float(rate["rate"]) for rate in _RATE.finditer(before, behind)]
    return Step(
        step=int(found["step"]),
        seconds=1 / rates[-1] if rates and rates[-1] > 0 else None,
        loss=float(found["loss"]),
        time=match.time,
        offset=match.offset,
    )


def _completed(match: Match) -> Iterator[Statement]:
    if found := _COMPLETED.match(match.text):
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["count"]))
        yield Completed()


def one_line_a_step() -> StatefulReader:
    """Drop the second line of a step: the same values are printed twice."""
    last: int | None = None

    def once(stated: Step, _: Quantities) -> Step | None:
        nonlocal last
        if stated.step == last:
            return None
        last = stated.step
        return stated

    return once


PAX = (
    LiteralRule(literal=b"step_i: ", read=_status, distinctive=True, lead=r"\[PAX STATUS\]:? "),
    LiteralRule(literal=b"Metrics values at step ", read=_metrics, distinctive=True),
    LiteralRule(literal=b"Training loop completed (step", read=_completed, distinctive=True),
)
