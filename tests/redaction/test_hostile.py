"""Redaction takes time linear in any text, and keeps up with it."""

import time

import pytest

from bot.redaction.stream import Redactor
from tests.redaction.hostile import HOSTILE, repeated

SMALL, LARGE = 1 << 17, 1 << 19

SLOWER = 2
"""Times as long for each byte of a text four times as long."""

FLOOR, QUICK = 2_000, 20
"""Times as long as a text in which nothing is found: the most, and too little to compare."""

TRIES = 4
"""The machine has other work."""


def _seconds(text: str) -> float:
    began = time.process_time()
    redactor = Redactor()
    redactor.feed(text)
    redactor.close()
    return time.process_time() - began


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear_and_bounded(name: str) -> None:
    """Whatever is repeated."""
    small, large = (repeated(HOSTILE[name], size) for size in (SMALL, LARGE))
    plain = repeated("nothing here to see, ", LARGE)
    _seconds(small)
    for _ in range(TRIES):
        each, more, least = _seconds(small) / SMALL, _seconds(large) / LARGE, _seconds(plain) / LARGE
        if more <= max(SLOWER * each, QUICK * least) and more <= FLOOR * least:
            return
    pytest.fail(f"{more / each:.2f} times as long for each byte, {more / least:.0f} times a plain text")
