"""However large a log is, or claims to be, a bounded part of it is read, and that is said."""

import gzip
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.decoding import GzipDamage
from bot.logs.facts import OutcomeState, RunLog
from bot.logs.limits import SERVER_LIMITS, ReadLimit, ReadLimits
from bot.logs.reader import LogReader, read_log
from tests.log_writers.maxtext import maxtext_log

WHOLE = maxtext_log(steps=10)


def read(chunks: Iterator[bytes], limits: ReadLimits = SERVER_LIMITS) -> tuple[LogReader, RunLog]:
    """The reader and the last run of a log that is read until it is full, as a server does."""
    reader = LogReader("x", limits=limits)
    for chunk in chunks:
        reader.feed(chunk)
        if reader.unread is not None:
            break
    return reader, reader.close()[-1]


BOMBS = {
    "gzip": gzip.compress(WHOLE.encode()) + gzip.compress(bytes(100 << 20)) * 100,
    "zstd": zstd.compress(WHOLE.encode()) + zstd.compress(bytes(1 << 30)) * 10,
    "nested": gzip.compress(gzip.compress(bytes(1 << 30))) + gzip.compress(bytes(1 << 30)) * 10,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_ten_gigabytes_in_a_small_file_are_not_inflated(bomb: str) -> None:
    """Reading ends once a file has expanded too far, and the run before it is not green."""
    stored = BOMBS[bomb]
    began = time.process_time()
    reader, run = read(stored[at : at + (1 << 20)] for at in range(0, len(stored), 1 << 20))
    assert reader.unread is not None
    assert reader.unread.limit is ReadLimit.EXPANSION
    assert reader.unread.offset <= max(64 << 20, 300 * len(stored)) + (1 << 20)
    assert run.unread_from == reader.unread.offset
    assert run.outcome.state in (OutcomeState.INCOMPLETE, OutcomeState.NOT_A_TRAINING_LOG)
    assert (
        "The log is too large: it expands too far from what is stored: read as far as line" in run.warnings[0]
    )
    assert time.process_time() - began < 10


def test_a_log_above_the_size_is_read_up_to_it() -> None:
    """To the byte, however it arrives; line and megabytes are said, and what follows counts for nothing."""
    text = WHOLE.encode() + b"chatter\n" * 10_000 + b"EXIT_CODE=1\n"
    for size in (1, 1000, 1 << 20):
        chunks = (text[at : at + size] for at in range(0, len(text), size))
        reader, run = read(chunks, ReadLimits(text_bytes=len(WHOLE) + 80))
        assert reader.unread is not None
        assert (len(WHOLE) + 80, WHOLE.count("\n") + 11) == (reader.unread.offset, reader.unread.line)
        assert (OutcomeState.INCOMPLETE, 10) == (run.outcome.state, run.steps_seen)
        assert run.warnings[0] == (
            f"The log is too large: read as far as line {reader.unread.line:,} ({len(WHOLE) + 80:,} bytes of "
            "text); the rest is missing."
        )


def test_a_log_within_the_limits_is_read_as_without() -> None:
    """A bound changes nothing for a log below it."""
    text = WHOLE.encode()
    for stored in (text, gzip.compress(text), zstd.compress(text)):
        assert read(iter([stored]))[1] == read_log([text], "x")[-1]


def test_ten_million_step_lines_are_not_all_read() -> None:
    """Two million are enough for three weeks; the reader is free again."""
    text = WHOLE.replace("completed step: 9", "completed step: 8")
    step = next(one for one in text.splitlines() if "completed step: 5" in one)
    before, _, after = step.partition("completed step: 5")

    def lines() -> Iterator[bytes]:
        yield text.encode()
        for n in range(0, 10_000_000, 1000):
            yield "".join(f"{before}completed step: {n + k}{after}\n" for k in range(1000)).encode()

    reader, run = read(lines(), ReadLimits(step_lines=20_000, kept_steps=400_000))
    assert reader.unread is not None
    assert (ReadLimit.STEPS, True) == (reader.unread.limit, 20_000 < run.steps_seen < 30_000)
    assert run.warnings[0].startswith("The log has too many step lines: read as far as line ")


MANY_RUNS = """
import resource
from bot.logs.limits import ReadLimits
from bot.logs.reader import LogReader
from tests.log_writers.maxtext import maxtext_log
text = maxtext_log(steps=900).encode()
reader = LogReader("x", limits=ReadLimits(kept_steps=40_000))
first = 0
for n in range(5000):
    reader.feed(text)
    first = first or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if reader.unread is not None:
        break
print(n, reader.unread.limit, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first) >> 10)
"""


def test_the_memory_of_many_runs_in_a_log_is_bounded() -> None:
    """Each start keeps steps of its own: together they are bounded, too."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_RUNS], capture_output=True, text=True, check=True, timeout=120
    )
    count, limit, grown = done.stdout.split()
    assert (True, "steps", True) == (int(count) < 60, limit, int(grown) < 60)


def test_a_stop_from_outside_is_a_limit_too() -> None:
    """Whoever reads too long is stopped, with the facts so far."""
    reader = LogReader("x")
    reader.feed(WHOLE.encode())
    reader.stop(ReadLimit.TIME)
    reader.feed(b"more\n")
    (run,) = reader.close()
    assert (10, OutcomeState.INCOMPLETE) == (run.steps_seen, run.outcome.state)
    assert run.warnings[0].startswith("The log takes too long to read: read as far as line ")


@given(
    st.lists(st.sampled_from([b"a", "ä€😀".encode(), b"\xff", b"\xed\xa0\x80", b"\xe2\x82", b"\n", b"\0"])),
    st.integers(1, 5),
)
@settings(deadline=None)
def test_the_kept_text_is_utf_8_however_it_arrives(parts: list[bytes], size: int) -> None:
    """Bytes that are none, and halves of surrogates, get the replacement sign."""
    kept: list[bytes] = []
    log = b"log " + b"".join(parts)
    reader = LogReader("x", keep=kept.append)
    for at in range(0, len(log), size):
        reader.feed(log[at : at + size])
    reader.close()
    assert log.decode("utf-8", "replace") == b"".join(kept).decode()


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_zstd_reads_as_what_it_holds(size: int) -> None:
    """Several frames too; what is cut or damaged is told, with the text before it."""
    text = maxtext_log(steps=2000).encode()
    packed = zstd.compress(text[:50_000]) + zstd.compress(text[50_000:])

    def shown(stored: bytes) -> tuple[bytes, tuple[str, ...]]:
        kept: list[bytes] = []
        reader = LogReader("x", keep=kept.append)
        for at in range(0, len(stored), size):
            reader.feed(stored[at : at + size])
        said = reader.close()[-1].warnings
        return b"".join(kept), said

    assert shown(packed) == (text, ())
    assert shown(packed + b"\0" * 20) == (text, ())
    assert shown(packed + b"rubbish, rubbish") == (text, (GzipDamage.ZSTD_TRAILING_DATA,))
    cut, said = shown(packed[: len(packed) // 2])
    assert (True, True, (GzipDamage.ZSTD_TRUNCATED,)) == (text.startswith(cut), len(cut) > 50_000, said[:1])
    flipped = bytearray(packed)
    flipped[len(packed) * 3 // 4] ^= 64
    before, said = shown(bytes(flipped))
    assert (True, (GzipDamage.ZSTD_CORRUPT,)) == (len(before) >= 50_000, said[:1])
