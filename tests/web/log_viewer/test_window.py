"""Which bytes a log page shows and how they read as lines: nothing is lost, nothing is cut in two."""

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UserError
from bot.web.log_viewer.source import Logs, LogSource, open_log
from bot.web.log_viewer.view import log_view, read_span
from bot.web.log_viewer.window import (
    MAX_PIECE_BYTES,
    LogMark,
    LogMarkKind,
    LogSpan,
    cut_window,
    log_lines,
    readable,
)
from tests.log_writers.maxtext import maxtext_log

CHARACTERS = st.text(alphabet="ab \n\r\tä€😀", max_size=400)

WORDS = ["word ", "a" * 700, "ä€" * 300, "=", " " * 900]


def span(text: str, at: int = 0) -> LogSpan:
    """A span of that text."""
    return LogSpan(at=at, text=text.encode(), ends=True)


def stored(folder: Path, content: bytes, name: str = "x.log") -> LogSource:
    """A log kept in a folder."""
    path = folder / name
    path.write_bytes(content)
    return open_log(f"file:{path}")


@given(CHARACTERS, st.integers(1, 40))
def test_windows_together_are_the_log(text: str, most: int) -> None:
    """Going from window to window shows every byte once, whatever the log is made of."""
    log, at, seen = text.encode(), 0, b""
    while True:
        window = cut_window(
            log[at : at + most + 1], base=at, wanted=at, most=most, ends=at + most >= len(log)
        )
        assert at == window.at
        seen += window.text
        at = window.end
        if window.ends:
            break
        assert window.text
    assert log == seen


@given(CHARACTERS, st.integers(0, 500))
def test_a_window_begins_at_the_line_that_holds_the_place(text: str, wanted: int) -> None:
    """A place within a line shows the line from its beginning."""
    log = text.encode()
    place = min(wanted, max(len(log) - 1, 0))
    window = cut_window(log, base=0, wanted=place, most=len(log) + 1, ends=True)
    before = log[: window.at]
    assert window.at <= place
    if b"\n" in log[:place]:
        assert before.endswith(b"\n")
        assert b"\n" not in log[window.at : place]


@given(CHARACTERS)
def test_lines_are_numbered_and_placed_as_an_editor_does(text: str) -> None:
    """Every line stands under its number at the byte where it begins."""
    shown = list(log_lines(span(text), (), 1))
    expected = text.encode().removesuffix(b"\n").split(b"\n") if text else []
    starts = [sum(len(line) + 1 for line in expected[:n]) for n in range(len(expected))]
    assert [readable(line.rstrip(b"\r")) for line in expected] == [line.text for line in shown]
    assert list(range(1, len(expected) + 1)) == [line.number for line in shown]
    assert starts == [line.offset for line in shown]


@given(
    st.lists(st.sampled_from(["word ", "a" * 700, "ä€" * 300, "=", " " * 900]), min_size=9, max_size=20).map(
        "".join
    )
)
def test_a_long_line_is_broken_softly(text: str) -> None:
    """Its pieces follow each other without a gap, only the first is numbered, none is cut in a character."""
    shown = list(log_lines(span(text), (), 7))
    assert text == "".join(line.text for line in shown)
    assert {7} == {line.number for line in shown}
    assert [False, *[True] * (len(shown) - 1)] == [line.continues for line in shown]
    assert all(len(line.text.encode()) <= MAX_PIECE_BYTES for line in shown)


def test_a_log_in_one_line_is_broken_at_its_marks() -> None:
    """Each step of a pasted log begins a piece of its own, so that a link can lead to it."""
    text = maxtext_log(flat=True, steps=30)
    places = [found for found in range(len(text)) if text.startswith("completed step: ", found)]
    marks = [
        LogMark(offset=at, anchor=f"step-{n}", words="", kind=LogMarkKind.STEP) for n, at in enumerate(places)
    ]
    shown = [line for line in log_lines(span(text), marks, 1) if line.mark]
    assert marks == [line.mark for line in shown]
    assert {True} == {bool(re.match(r"I\d{4} .*\] completed step: \d+, ", line.text)) for line in shown}


def test_a_marked_line_knows_its_mark() -> None:
    """A mark anywhere in a line marks it; where two stand in one, the first leads."""
    first = LogMark(offset=6, anchor="error", words="error", kind=LogMarkKind.ERROR)
    second = LogMark(offset=8, anchor="end", words="end", kind=LogMarkKind.EVENT)
    shown = list(log_lines(span("one\ntwo three\nfour\n"), (first, second), 1))
    assert [None, first, None] == [line.mark for line in shown]
    assert ("end",) == shown[1].also


@pytest.mark.parametrize(
    ("stored_text", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07after", "after"),
        (b"10%\r20%\r30%", "10% 20% 30%"),
        (b"a\x00b\x07c\x7f", "a␀b␇c␡"),
        (b"tab\tstays", "tab\tstays"),
        (
            "\u202eevil\u202c".encode(),
            "[U+202E RIGHT-TO-LEFT OVERRIDE]evil[U+202C POP DIRECTIONAL FORMATTING]",
        ),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("日本 😀".encode(), "日本 😀"),
    ],
)
def test_what_cannot_be_seen_is_named(stored_text: bytes, shown: str) -> None:
    """Terminal codes are left out; controls and invisible characters get a sign."""
    assert shown == readable(stored_text)


def test_a_gzip_reads_like_what_it_holds(tmp_path: Path) -> None:
    """One member, several members, any part of them."""
    text = "".join(f"line {n}\n" for n in range(5000)).encode()
    plain = stored(tmp_path, text)
    for name, content in (
        ("one", gzip.compress(text)),
        ("two", gzip.compress(text[:999]) + gzip.compress(text[999:])),
    ):
        zipped = stored(tmp_path, content, name)
        assert (None, True) == (zipped.size, zipped.zipped)
        for at, length in ((0, 10), (990, 20), (30_000, 1_000), (len(text) - 5, 50), (len(text) + 5, 5)):
            assert plain.read(at, length) == zipped.read(at, length)
        assert text == b"".join(zipped.pieces())
        assert Logs().index(plain) == Logs().index(zipped)


def test_a_cut_gzip_shows_what_it_holds_and_a_damaged_one_says_so(tmp_path: Path) -> None:
    """A log whose end is missing can be read up to there; a broken one is told."""
    text = "".join(f"line {n * n}\n" for n in range(20_000)).encode()
    content = gzip.compress(text)
    cut_short = b"".join(stored(tmp_path, content[: len(content) // 2]).pieces())
    assert cut_short
    assert text.startswith(cut_short)
    with pytest.raises(UserError, match="damaged"):
        b"".join(stored(tmp_path, content[:2000] + b"\x00" * 500 + content[2500:]).pieces())


def test_line_numbers_hold_wherever_a_window_begins(tmp_path: Path) -> None:
    """A window in the middle counts the lines before it, from the nearest place it knows."""
    source = stored(tmp_path, "".join(f"line {n}\n" for n in range(1, 100_001)).encode())
    logs = Logs()
    for wanted in (0, 700_000, 350_000, 10**12):
        view = log_view(source, wanted=wanted, marks=(), logs=logs, redacts=False)
        assert [f"line {line.number}" for line in view.lines] == [line.text for line in view.lines]
    for line in (1, 2, 54_321, 100_000):
        place = logs.place_of(source, line)
        assert place is not None
        assert f"line {line}\n".encode() == source.read(place, len(f"line {line}\n"))
    assert [None, None] == [logs.place_of(source, line) for line in (100_001, 100_002)]


def test_a_window_is_small_however_long_the_line_is(tmp_path: Path) -> None:
    """A place in the middle of a line of megabytes shows a window that begins at a word."""
    source = stored(tmp_path, b"word " * 1_000_000)
    window, before = read_span(source, 2_500_003)
    assert 2_500_000 == window.at
    assert before.endswith(" ")
    assert window.text.startswith(b"word ")
    assert len(window.text) <= 512 << 10
