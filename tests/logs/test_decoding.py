"""What is not a log, damaged gzip and UTF-16: one answer that says so."""

import gzip
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.decoding import UTF16_NOTE, GzipDamage, Inflater
from bot.logs.facts import OutcomeState
from bot.logs.reader import read_log
from tests.log_writers.maxtext import maxtext_log


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 400, "binary"),
        (b"Dear reader, we trained for seven steps and the loss fell. iteration 7, 12.\n" * 50, "No line"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b'```\nTraceback (most recent call last):\n  File "/srv/web.py", line 3, in f\nKeyError: 1\n', "No"),
    ],
)  # fmt: skip
def test_input_without_a_training_log_says_why(content: bytes, why: str) -> None:
    """One run without a format, with the reason as a warning."""
    (run,) = read_log([content], "x")
    assert (OutcomeState.NOT_A_TRAINING_LOG, None, 1) == (run.outcome.state, run.format, run.run)
    assert why in run.warnings[0]


def test_a_truncated_gzip_keeps_the_facts_so_far() -> None:
    """The run is incomplete, and a warning says why."""
    packed = gzip.compress(maxtext_log(steps=200).encode())
    (run,) = read_log([packed[: len(packed) // 2]], "x.gz")
    assert OutcomeState.INCOMPLETE is run.outcome.state
    assert 0 < run.steps_seen < 200
    assert "truncated" in run.warnings[0]


def test_a_corrupt_gzip_keeps_the_facts_so_far() -> None:
    """Damage gives a warning, not an exception. An end in front of the damage stays an end."""
    packed = bytearray(gzip.compress(maxtext_log(steps=200).encode()))
    packed[len(packed) // 2] ^= 0xFF
    (run,) = read_log([bytes(packed)], "x.gz")
    assert any("corrupt" in warning or "truncated" in warning for warning in run.warnings)
    (whole,) = read_log([gzip.compress(maxtext_log().encode()) + b"rubbish"], "x.gz")
    assert OutcomeState.SUCCEEDED is whole.outcome.state


def _inflated(packed: bytes, size: int) -> tuple[bytes, GzipDamage | None]:
    inflater = Inflater()
    pieces = [piece for n in range(0, len(packed), size) for piece in inflater.feed(packed[n : n + size])]
    return b"".join((*pieces, *inflater.close())), inflater.damage


def test_text_before_the_damage_is_read_but_the_run_is_incomplete() -> None:
    """A small file is one piece: it must not be lost because of the checksum at its end."""
    text = maxtext_log().encode()
    packed = bytearray(gzip.compress(text))
    packed[-6] ^= 1  # of the checksum
    assert _inflated(bytes(packed), 1 << 20) == (text, GzipDamage.CORRUPT)
    (run,) = read_log([bytes(packed)], "x.gz")
    assert (OutcomeState.INCOMPLETE, 10, 0) == (run.outcome.state, run.steps_seen, run.outcome.exit_code)
    assert run.warnings[0] == GzipDamage.CORRUPT.value


@given(place=st.integers(10, 4000), bit=st.integers(0, 7), size=st.integers(1, 5000))
@settings(max_examples=60, deadline=None)
def test_the_text_of_a_damaged_gzip_does_not_depend_on_the_chunks(place: int, bit: int, size: int) -> None:
    """A flipped bit anywhere gives the same text and the same damage, never an exception."""
    packed = bytearray(gzip.compress(maxtext_log(steps=40).encode()))
    packed[place % len(packed)] ^= 1 << bit
    assert _inflated(bytes(packed), size) == _inflated(bytes(packed), 1 << 20)


def test_data_behind_a_whole_gzip_is_left_out() -> None:
    """Its checksum proves the text that was read."""
    text = maxtext_log().encode()
    assert _inflated(gzip.compress(text) + b"rubbish", 1 << 20) == (text, GzipDamage.TRAILING_DATA)


def test_members_of_a_gzip_are_one_log() -> None:
    """Logs are rotated and appended as separate members."""
    text = maxtext_log().encode()
    (run,) = read_log([gzip.compress(text[:3000]) + gzip.compress(text[3000:]) + b"\0" * 512], "x.gz")
    assert (10, ()) == (run.steps_seen, run.warnings)


UTF16_FORMS: dict[str, Callable[[str], bytes]] = {
    "PowerShell's": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "the other way round": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "without a mark": lambda text: text.encode("utf-16-le"),
    "the other way round, without a mark": lambda text: text.encode("utf-16-be"),
    "compressed": lambda text: gzip.compress(b"\xff\xfe" + text.encode("utf-16-le")),
}


@pytest.mark.parametrize("form", UTF16_FORMS)
@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_utf_16_gives_the_facts_of_utf_8(form: str, size: int) -> None:
    """PowerShell redirects output as UTF-16. A note says that places are counted in UTF-8."""
    text = maxtext_log(crlf=True)
    content = UTF16_FORMS[form](text)
    (plain,) = read_log([text.encode()], "x")
    (wide,) = read_log([content[n : n + size] for n in range(0, len(content), size)], "x")
    assert (plain.steps, plain.outcome, plain.environment) == (wide.steps, wide.outcome, wide.environment)
    assert (UTF16_NOTE, *plain.warnings) == wide.warnings


@given(st.binary(max_size=40), st.integers(1, 7), st.sampled_from([b"\xff\xfe", b"\xfe\xff", b"a\0b\0", b""]))
@settings(max_examples=80, deadline=None)
def test_broken_utf_16_gives_one_run_without_steps(content: bytes, size: int, head: bytes) -> None:
    """Half characters, lone surrogates, marks of other encodings: one run without a step, however cut."""
    whole = head + content
    cut = read_log([whole[n : n + size] for n in range(0, len(whole), size)], "x")
    (run,) = cut
    assert (read_log([whole], "x"), 0, None) == (cut, run.steps_seen, run.format)


def test_utf_32_is_not_taken_for_utf_16() -> None:
    """Its mark begins with that of UTF-16."""
    (run,) = read_log([maxtext_log().encode("utf-32")], "x")
    assert (OutcomeState.NOT_A_TRAINING_LOG, ("This is binary data, not a log.",)) == (
        run.outcome.state,
        run.warnings,
    )
