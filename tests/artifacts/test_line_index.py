"""Where the lines of a log stand: exact, small, and never another log's."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.artifacts import line_index
from bot.artifacts.folder import FolderStore
from bot.artifacts.line_index import STRIDE, LineIndexBuilder, LineIndexCache, content_identity, decode_index
from bot.domain.run import LogFile
from bot.ingest import collect
from bot.web.log_viewer.source import Logs
from tests.log_writers.maxtext import maxtext_log


@settings(deadline=None)  # a megabyte at a time, on a machine that may be busy
@given(st.lists(st.integers(0, 3 * STRIDE // 2), max_size=6), st.integers(5_000, STRIDE))
def test_the_line_of_every_place_is_known(lengths: list[int], piece: int) -> None:
    """Whatever the lines are like and however the text comes: as counting from the start says."""
    text = b"".join(b"x" * length + b"\n" for length in lengths)
    counter = LineIndexBuilder()
    for at in range(0, len(text), piece):
        counter.feed(text[at : at + piece])
    index = counter.index()
    assert (len(text), len(lengths)) == (index.size, sum(index.ends[-1:]))
    for offset in {0, len(text) // 2, len(text)}:
        at, number = index.before(offset)
        assert text.count(b"\n", 0, at) + 1 == number
        assert offset - STRIDE < at <= offset
    assert index == decode_index(index.encoded())


@pytest.mark.parametrize("stored", [b"", b"MVL1", b"MVL1" + b"\xff" * 30, b"other" * 20])
def test_something_else_is_no_index(stored: bytes) -> None:
    """A damaged file is made again, not believed."""
    assert None is decode_index(stored)


def test_gigabytes_make_kilobytes() -> None:
    """Two gigabytes of lines of a hundred letters."""
    counter = LineIndexBuilder()
    piece = (b"x" * 99 + b"\n") * 10_000
    for _ in range(40):
        counter.feed(piece)
    assert len(counter.index().encoded()) * 50 < 50_000


def test_a_log_that_was_read_has_its_index_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made while the log was measured, found by its page, and only for that content."""
    monkeypatch.setattr(line_index, "MIN_INDEXED_BYTES", 1000)
    monkeypatch.setattr(collect, "MIN_INDEXED_BYTES", 1000)
    (tmp_path / "runs").mkdir()
    text = maxtext_log(steps=40)
    (tmp_path / "runs" / "a.log").write_text(text)
    store, shelf = FolderStore(tmp_path / "runs"), LineIndexCache(FolderStore(tmp_path / "own"))
    (file,) = store.find("*.log")
    collect.read_log_file(store, file, shelf)
    source = Logs(shelf).open(store.uri("a.log"))
    found = shelf.find(source.identity)
    assert found is not None
    assert text.count("\n") == found.ends[-1]
    other = LogFile(name="a.log", size=1, updated=0.0, generation="another")
    assert None is shelf.find(content_identity(store.uri("a.log"), other.generation))
