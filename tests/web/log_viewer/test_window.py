"""Which lines a log page shows and how they read: nothing is lost, nothing is cut in two."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.artifacts import log_archive
from bot.artifacts.log_archive import BlockCutter, LogArchive, StoredLine
from bot.web.log_viewer.view import log_view
from bot.web.log_viewer.window import (
    MAX_PIECE_BYTES,
    LogLine,
    LogMark,
    LogMarkKind,
    log_lines,
    read_span,
)
from bot.web.sanitize import sanitize
from tests.artifacts.test_log_archive import archived
from tests.log_writers.maxtext import maxtext_log

CHARACTERS = st.text(alphabet="ab \n\r\tä€😀", max_size=400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the examples."""
    return tmp_path_factory.mktemp("windows")


def cut(text: bytes) -> list[StoredLine]:
    """The stored lines of a text."""
    cutter = BlockCutter()
    return [
        line for blocks in (cutter.feed(text), cutter.close()) for block in blocks for line in block.lines()
    ]


def shown_lines(text: str, *marks: LogMark) -> list[LogLine]:
    """A text as it is shown."""
    return list(log_lines(cut(text.encode()), marks))


def small_blocks(folder: Path, text: bytes) -> LogArchive:
    """An archive of many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_archive, "BLOCK_BYTES", 100)
        return archived(folder, text)


@given(text=CHARACTERS, most=st.integers(1, 40))
@settings(deadline=None)
def test_windows_together_are_the_log(folder: Path, text: str, most: int) -> None:
    """Going from window to window shows every line once, whatever the log is made of."""
    log, at, seen = text.encode(), 0, b""
    archive = small_blocks(folder, log)
    while True:
        window = read_span(archive, at, most)
        assert at == window.at
        seen += b"".join(line.text + b"\n" * line.ends for line in window.lines)
        at = window.end
        if window.ends:
            break
        assert window.lines
    assert log == seen


@given(text=CHARACTERS, wanted=st.integers(0, 500))
@settings(deadline=None)
def test_a_window_begins_at_the_line_that_holds_the_place(folder: Path, text: str, wanted: int) -> None:
    """A place within a line shows the line from its beginning."""
    log = text.encode()
    place = min(wanted, max(len(log) - 1, 0))
    window = read_span(small_blocks(folder, log), wanted)
    assert window.at == log.rfind(b"\n", 0, place) + 1


@given(CHARACTERS)
def test_lines_are_numbered_and_placed_as_an_editor_does(text: str) -> None:
    """Every line stands under its number at the byte where it begins."""
    shown = shown_lines(text)
    expected = text.encode().removesuffix(b"\n").split(b"\n") if text else []
    starts = [sum(len(line) + 1 for line in expected[:n]) for n in range(len(expected))]
    assert [sanitize(line.removesuffix(b"\r").decode()) for line in expected] == [line.text for line in shown]
    assert list(range(1, len(expected) + 1)) == [line.number for line in shown]
    assert starts == [line.offset for line in shown]


@given(
    st.lists(st.sampled_from(["word ", "a" * 700, "ä€" * 300, "=", " " * 900]), min_size=9, max_size=20).map(
        "".join
    )
)
def test_a_long_line_is_broken_softly(text: str) -> None:
    """Its pieces follow each other without a gap, only the first is numbered, none is cut in a character."""
    shown = shown_lines(text)
    assert text == "".join(line.text for line in shown)
    assert {1} == {line.number for line in shown}
    assert [False, *[True] * (len(shown) - 1)] == [line.continues for line in shown]
    assert all(len(line.text.encode()) <= MAX_PIECE_BYTES for line in shown)


def test_a_log_in_one_line_is_broken_at_its_marks() -> None:
    """Each step of a pasted log begins a piece of its own, so that a link can lead to it."""
    text = maxtext_log(flat=True, steps=30)
    places = [found for found in range(len(text)) if text.startswith("completed step: ", found)]
    marks = [
        LogMark(offset=at, anchor=f"step-{n}", words="", kind=LogMarkKind.STEP) for n, at in enumerate(places)
    ]
    shown = [line for line in shown_lines(text, *marks) if line.mark]
    assert marks == [line.mark for line in shown]
    assert {True} == {bool(re.match(r"I\d{4} .*\] completed step: \d+, ", line.text)) for line in shown}


def test_a_marked_line_knows_its_mark() -> None:
    """A mark anywhere in a line marks it; where two stand in one, the first leads."""
    first = LogMark(offset=6, anchor="error", words="error", kind=LogMarkKind.ERROR)
    second = LogMark(offset=8, anchor="end", words="end", kind=LogMarkKind.EVENT)
    shown = shown_lines("one\ntwo three\nfour\n", first, second)
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
        (b"\xef\xbf\xbd", "\ufffd"),
        ("日本 😀".encode(), "日本 😀"),
    ],
)
def test_what_cannot_be_seen_is_named(stored_text: bytes, shown: str) -> None:
    """Terminal codes are left out; controls and invisible characters get a sign."""
    assert [shown] == [line.text for line in shown_lines(stored_text.decode())]


def test_line_numbers_hold_wherever_a_window_begins(tmp_path: Path) -> None:
    """A window in the middle knows the lines before it by the index."""
    archive = archived(tmp_path, "".join(f"line {n}\n" for n in range(1, 100_001)).encode())
    for wanted in (0, 700_000, 350_000, 10**12):
        view = log_view(archive, wanted=wanted, marks=())
        assert [f"line {line.number}" for line in view.lines] == [line.text for line in view.lines]
    for line in (1, 2, 54_321, 100_000):
        place = archive.place_of(line)
        assert place is not None
        assert f"line {line}\n".encode() == b"".join(archive.text(place, place + len(f"line {line}\n")))
    assert [None, None] == [archive.place_of(line) for line in (100_001, 100_002)]


def test_a_window_is_small_however_long_the_line_is(tmp_path: Path) -> None:
    """A place in the middle of a line of megabytes shows a window that begins at a word."""
    archive = archived(tmp_path, b"word " * 1_000_000)
    window = read_span(archive, 2_500_003)
    assert 2_500_003 - log_archive.MAX_LINE_BYTES < window.at <= 2_500_003
    assert window.before.endswith(" ")
    assert window.lines[0].text.startswith(b"word ")
    assert window.end - window.at <= 512 << 10
    shown = log_view(archive, wanted=2_500_003, marks=()).lines
    assert {(1, True)} == {(line.number, line.continues) for line in shown}


def test_a_mark_of_a_redacted_line_stays_with_its_line() -> None:
    """The places of marks are those of the text; a redacted line has other lengths, and no mark is lost."""
    line = StoredLine(offset=1_000, number=7, continues=False, length=5_000, text=b"[secret] " * 3, ends=True)
    marks = [
        LogMark(offset=at, anchor=f"step-{at}", words="", kind=LogMarkKind.STEP)
        for at in (1_000, 3_000, 5_999)
    ]
    (shown,) = log_lines((line,), marks)
    assert (marks[0], ("step-3000", "step-5999")) == (shown.mark, shown.also)
