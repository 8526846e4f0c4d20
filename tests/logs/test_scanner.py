"""The scanner finds every literal once, wherever the buffer ends."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs import scanner
from bot.logs.scanner import Scanner

LITERALS = [b"abc", b"bcd", b"ab", b"xyzzy", *(b"many%02d" % n for n in range(70))]
"""More than fit into one automaton; earlier ones win at the same place."""


@pytest.fixture(autouse=True)
def _small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "BLOCK_BYTES", 400)
    monkeypatch.setattr(scanner, "BYTES_AFTER", 100)
    monkeypatch.setattr(scanner, "BYTES_BEFORE", 50)


def _found(chunks: list[bytes]) -> list[tuple[bytes, int, str, str]]:
    scanner = Scanner(LITERALS)
    hits = []
    for chunk in chunks:
        hits += [(LITERALS[h.literal], h.offset, h.before(30), h.after(60)) for h in scanner.feed(chunk)]
    return hits + [(LITERALS[h.literal], h.offset, h.before(30), h.after(60)) for h in scanner.close()]


@given(st.text("abcdxyz m", max_size=3000), st.integers(1, 300))
@settings(max_examples=60, deadline=None)
def test_hits_are_those_of_a_search_over_the_whole(text: str, size: int) -> None:
    """Same literals, same places, same text around them, in order."""
    content = text.encode()
    expected = [
        (m[0].encode(), m.start(), text[max(0, m.start() - 30) : m.start()], text[m.start() : m.start() + 60])
        for m in re.finditer("abc|bcd|ab|xyzzy", text)
    ]
    assert expected == _found([content[n : n + size] for n in range(0, len(content), size)])


def test_literals_beyond_one_automaton_are_found_in_order() -> None:
    """Two automata search the same bytes; their hits are merged."""
    found = _found([b"many69 abc many01 many05 ab" * 40])
    assert [b"many69", b"abc", b"many01", b"many05", b"ab"] * 40 == [hit[0] for hit in found]
    assert sorted(hit[1] for hit in found) == [hit[1] for hit in found]
