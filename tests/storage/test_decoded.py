"""Measured runs that are kept as values."""

from bot.storage import runs
from bot.storage.decoded import Lately
from bot.verdict.judgement import MeasuredRun
from tests.verdict.samples import Shape
from tests.verdict.samples import run as made

DOCUMENTS = [runs.encode(made(Shape(steps=8, seed=seed))) for seed in range(4)]


class _Counting:
    def __init__(self) -> None:
        self.decoded = 0

    def __call__(self, document: bytes) -> MeasuredRun:
        self.decoded += 1
        return runs.decode_once(document)


def test_the_same_content_is_decoded_once() -> None:
    """Whatever it is called: the content is the key, so nothing kept can be outdated."""
    lately, counting = Lately(), _Counting()
    first = lately.get(DOCUMENTS[0], counting)
    assert first is lately.get(bytes(bytearray(DOCUMENTS[0])), counting)
    assert 1 == counting.decoded
    assert first != lately.get(DOCUMENTS[1], counting)


def test_no_more_is_kept_than_was_allowed() -> None:
    """What was asked for longest ago is let go of; what is larger than all room is not kept."""
    lately, counting = Lately(kept_bytes=len(DOCUMENTS[0]) + len(DOCUMENTS[1]) + 10), _Counting()
    for place in (0, 1, 0, 2):
        lately.get(DOCUMENTS[place], counting)
    assert 3 == counting.decoded
    lately.get(DOCUMENTS[0], counting)
    assert 3 == counting.decoded
    lately.get(DOCUMENTS[1], counting)
    assert 4 == counting.decoded
    small, again = Lately(kept_bytes=10), _Counting()
    assert small.get(DOCUMENTS[0], again) == small.get(DOCUMENTS[0], again)
    assert 2 == again.decoded
