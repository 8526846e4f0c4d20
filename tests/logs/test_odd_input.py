"""What is not a log, or a damaged one: one answer that says so."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.facts import State
from bot.logs.inflate import CORRUPT, RUBBISH, Inflater
from bot.logs.read import read_log
from tests.writing import maxtext_log


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 400, "binary"),
        (b"Dear reader, we trained for seven steps and the loss fell. iteration 7, 12.\n" * 50, "No line"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b'Traceback (most recent call last):\n  File "/srv/web.py", line 3, in f\nKeyError: 1', "No"),
    ],
)  # fmt: skip
def test_what_is_no_training_log_is_named(content: bytes, why: str) -> None:
    """One answer, without a format, saying what was seen."""
    (run,) = read_log([content], "x")
    assert (State.NOT_A_TRAINING_LOG, None, 1) == (run.outcome.state, run.format, run.run)
    assert why in run.warnings[0]


def test_a_truncated_gzip_keeps_the_facts_so_far() -> None:
    """The run is incomplete, and a warning says why."""
    packed = gzip.compress(maxtext_log(steps=200).encode())
    (run,) = read_log([packed[: len(packed) // 2]], "x.gz")
    assert State.INCOMPLETE is run.outcome.state
    assert 0 < run.steps_seen < 200
    assert "truncated" in run.warnings[0]


def test_a_corrupt_gzip_keeps_the_facts_so_far() -> None:
    """Broken data is said, never raised; an end that was seen stays an end."""
    packed = bytearray(gzip.compress(maxtext_log(steps=200).encode()))
    packed[len(packed) // 2] ^= 0xFF
    (run,) = read_log([bytes(packed)], "x.gz")
    assert any("corrupt" in warning or "truncated" in warning for warning in run.warnings)
    (whole,) = read_log([gzip.compress(maxtext_log().encode()) + b"rubbish"], "x.gz")
    assert State.SUCCEEDED is whole.outcome.state


def _inflated(packed: bytes, size: int) -> tuple[bytes, str | None]:
    inflater = Inflater()
    pieces = [piece for n in range(0, len(packed), size) for piece in inflater.feed(packed[n : n + size])]
    return b"".join((*pieces, *inflater.close())), inflater.complaint


def test_all_that_precedes_the_damage_is_read_and_nothing_green_rests_on_it() -> None:
    """A small file is one piece: it must not be thrown away for the checksum at its end."""
    text = maxtext_log().encode()
    packed = bytearray(gzip.compress(text))
    packed[-6] ^= 1  # of the checksum
    assert _inflated(bytes(packed), 1 << 20) == (text, CORRUPT)
    (run,) = read_log([bytes(packed)], "x.gz")
    assert (State.INCOMPLETE, 10, 0) == (run.outcome.state, run.steps_seen, run.outcome.exit_code)
    assert run.warnings[0] == CORRUPT


@given(place=st.integers(10, 4000), bit=st.integers(0, 7), size=st.integers(1, 5000))
@settings(max_examples=60, deadline=None)
def test_what_a_damaged_gzip_gives_does_not_depend_on_the_cut(place: int, bit: int, size: int) -> None:
    """A flipped bit anywhere: the same bytes and the same complaint, never an exception."""
    packed = bytearray(gzip.compress(maxtext_log(steps=40).encode()))
    packed[place % len(packed)] ^= 1 << bit
    assert _inflated(bytes(packed), size) == _inflated(bytes(packed), 1 << 20)


def test_rubbish_behind_a_whole_gzip_does_not_spoil_it() -> None:
    """Its checksum has shown that what was read is what was written."""
    text = maxtext_log().encode()
    assert _inflated(gzip.compress(text) + b"rubbish", 1 << 20) == (text, RUBBISH)


def test_members_of_a_gzip_are_one_log() -> None:
    """Logs are rotated and appended as separate members."""
    text = maxtext_log().encode()
    (run,) = read_log([gzip.compress(text[:3000]) + gzip.compress(text[3000:]) + b"\0" * 512], "x.gz")
    assert (10, ()) == (run.steps_seen, run.warnings)
