"""What is not a log, or a damaged one: one answer that says so."""

import gzip

import pytest

from bot.logs.facts import State
from bot.logs.read import read_log
from tests.writing import maxtext_log


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 400, "binary"),
        (b"Dear reader, we trained for seven steps and the loss fell. iteration 7, 12.\n" * 50, "No line"),
        (gzip.compress(b""), "empty"),
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


def test_members_of_a_gzip_are_one_log() -> None:
    """Logs are rotated and appended as separate members."""
    text = maxtext_log().encode()
    (run,) = read_log([gzip.compress(text[:3000]) + gzip.compress(text[3000:]) + b"\0" * 512], "x.gz")
    assert (10, ()) == (run.steps_seen, run.warnings)
