"""What is stored of a log is its text, whole, and any place of it is found by one block."""

import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.artifacts import log_archive
from bot.artifacts.folder import TEMPORARY_PREFIX, FolderStore
from bot.artifacts.log_archive import (
    BLOCK_BYTES,
    MAX_LINE_BYTES,
    DamagedArchive,
    LogArchive,
    LogText,
    RedactedText,
    open_archive,
)
from bot.errors import InternalError


def archived(folder: Path, text: bytes, chunk: int = 1 << 20, name: str = "a.mvlog") -> LogArchive:
    """The archive of a text that arrives in chunks."""
    log, store = LogText(), FolderStore(folder)
    for at in range(0, len(text), chunk):
        log.feed(text[at : at + chunk])
    log.close().keep(store, name)
    return open_archive(store, name)


def redacted_archive(folder: Path, of: LogArchive, changed: bytes) -> LogArchive:
    """An archive of the same lines with this text."""
    made = RedactedText()
    for block in of.blocks():
        made.add(block)
    for at in range(0, len(changed), 7):
        made.changed(changed[at : at + 7])
    made.close().keep(FolderStore(folder), "r.mvlog")
    return open_archive(FolderStore(folder), "r.mvlog")


SMALL = (("BLOCK_BYTES", 60), ("MAX_LINE_BYTES", 16), ("LONG_LINE_BYTES", 12), ("SOFT_CUT_BYTES", 8))
"""Small blocks show at small texts what large ones show at large ones."""

TEXTS = st.lists(
    st.sampled_from(["\n", "a", "ä€😀", "word ", "x" * 50, "k=", "\r\n", "\0", " I0421 10:17:39.824857 "]),
    max_size=60,
).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the examples."""
    return tmp_path_factory.mktemp("archives")


@given(text=TEXTS, chunk=st.integers(1, 90))
@settings(max_examples=150, deadline=None)
def test_an_archive_is_its_text(text: str, chunk: int, folder: Path) -> None:
    """Every byte, however the text arrived; and the file is the same for the same text."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in SMALL:
            patch.setattr(log_archive, name, size)
        log = text.encode()
        archive = archived(folder, log, chunk)
        first = (folder / "a.mvlog").read_bytes()
        archived(folder, log, 1 << 20)
    assert first == (folder / "a.mvlog").read_bytes()
    assert log == b"".join(archive.text())
    assert len(log) == archive.size
    whole = log.removesuffix(b"\n").split(b"\n") if log else []
    assert len(whole) == archive.line_count
    lines = list(archive.lines_from(0))
    assert all(len(line.text) <= 16 for line in lines)
    for number, expected in enumerate(whole, 1):
        pieces = archive.read_lines(number, 1)
        assert expected == b"".join(piece.text for piece in pieces)
        assert [False, *[True] * (len(pieces) - 1)] == [piece.continues for piece in pieces]
        assert archive.place_of(number) == pieces[0].offset
        pieces[0].text.decode()
    assert archive.place_of(max(len(whole), 1) + 1) is None
    for line in lines:
        assert line.text == log[line.offset : line.offset + len(line.text)]
        assert log[: line.offset].count(b"\n") + 1 == line.number
        assert next(archive.lines_from(line.offset)) == line
    for start in range(0, len(log), 13):
        assert log[start : start + 20] == b"".join(archive.text(start, start + 20))


@given(text=TEXTS, words=st.lists(st.text("ab []", max_size=30), min_size=1))
@settings(max_examples=100, deadline=None)
def test_a_redacted_form_has_the_same_lines_at_the_same_places(
    text: str, words: list[str], folder: Path
) -> None:
    """Only their text differs, so one address leads to one line in both."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in SMALL:
            patch.setattr(log_archive, name, size)
        archive = archived(folder, text.encode())
        own = list(archive.lines_from(0))
        texts = [words[n % len(words)].encode() for n in range(len(own))]
        other = redacted_archive(folder, archive, b"".join(one + b"\n" for one in texts))
    shown = list(other.lines_from(0))
    assert [line._replace(text=b"") for line in own] == [line._replace(text=b"") for line in shown]
    assert texts == [line.text for line in shown]
    assert (archive.size, archive.line_count) == (other.size, other.line_count)


def test_a_log_pasted_as_one_line_is_cut_at_its_timestamps(tmp_path: Path) -> None:
    """Each record is a stored line, so a link leads to it, whatever is redacted before it."""
    record = b"I0421 10:17:39.824857 1366 metric_logger.py:196] completed step: 7, loss: 1.0 "
    archive = archived(tmp_path, b"short I0421 10:17:39.824857 line\n" + record * 5000 + b"\nlast\n")
    lines = list(archive.lines_from(0))
    assert ([1] + [2] * 5000 + [3], {record}) == (
        [line.number for line in lines],
        {line.text for line in lines[1:-1]},
    )


@pytest.mark.parametrize("changed", [b"a\nb\n", b"a\nb\nc\nd\n", b"a\nb\nc"])
def test_a_redacted_form_with_other_lines_is_refused(tmp_path: Path, changed: bytes) -> None:
    """A line too few, one too many, a line without its end: a bug of ours is not stored."""
    archive = archived(tmp_path, b"1\n2\n3\n")
    with pytest.raises(InternalError, match="other lines"):
        redacted_archive(tmp_path, archive, changed)
    assert not (tmp_path / "r.mvlog").exists()


def test_a_line_of_a_gigabyte_is_stored_in_bounded_memory(tmp_path: Path) -> None:
    """Some blocks' worth, however long the line; its pieces are whole words."""
    tracemalloc.start()
    log = LogText()
    for _ in range(64):  # the peak does not grow after the first megabytes
        log.feed(b"word " * 200_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    log.close().keep(FolderStore(tmp_path), "a.mvlog")
    archive = open_archive(FolderStore(tmp_path), "a.mvlog")
    assert peak < 8 << 20
    assert (64_000_000, 1) == (archive.size, archive.line_count)
    pieces = list(archive.block(200).lines())
    assert all(piece.continues and len(piece.text) <= MAX_LINE_BYTES for piece in pieces)
    assert all(piece.text.startswith(b"word ") for piece in pieces)


def test_a_place_is_found_by_one_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index and a block are read, whatever lies before it."""
    text = b"".join(b"line %d of a long log\n" % n for n in range(1, 400_001))
    archive = archived(tmp_path, text)
    read: list[int] = []
    real = FolderStore.read_range

    def counted(store: FolderStore, name: str, start: int, length: int) -> bytes:
        read.append(length)
        return real(store, name, start, length)

    monkeypatch.setattr(FolderStore, "read_range", counted)
    (line,) = archive.read_lines(200_000, 1)
    assert b"line 200000 of a long log" == line.text
    assert sum(read) <= 2 << 20
    assert archive.block(3).size <= BLOCK_BYTES


@pytest.mark.parametrize("damage", ["cut", "flipped", "index", "other", "empty"])
def test_a_damaged_archive_is_an_error_and_never_another_text(tmp_path: Path, damage: str) -> None:
    """Each block has a checksum."""
    text = b"".join(b"%d\n" % (n * n) for n in range(200_000))
    archived(tmp_path, text)
    path = tmp_path / "a.mvlog"
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 4
    if damage == "index":
        content[-60] ^= 4
    parts = {"cut": bytes(content[: len(content) // 2]), "other": b"a log\n" * 50, "empty": b""}
    path.write_bytes(parts.get(damage, bytes(content)))
    with pytest.raises(DamagedArchive):
        b"".join(open_archive(FolderStore(tmp_path), "a.mvlog").text())


KILLED = """
import os, signal, sys
from pathlib import Path
from bot.artifacts.folder import FolderStore
from bot.artifacts.log_archive import LogText
real = os.fsync
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
log = LogText()
for n in range(40):
    log.feed(b"another line %d\\n" % n * 50_000)
log.close().keep(FolderStore(Path(sys.argv[1])), "a.mvlog")
"""


def test_a_process_that_is_killed_while_it_writes_leaves_what_was_there(tmp_path: Path) -> None:
    """The new form is there as a whole, or not at all."""
    archived(tmp_path, b"the old form\n")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], check=False, env={**os.environ}, timeout=60
    )
    assert -signal.SIGKILL == done.returncode
    assert b"the old form\n" == b"".join(open_archive(FolderStore(tmp_path), "a.mvlog").text())
    left = [path.name for path in tmp_path.iterdir() if path.name != "a.mvlog"]
    assert all(name.startswith(TEMPORARY_PREFIX) for name in left)
