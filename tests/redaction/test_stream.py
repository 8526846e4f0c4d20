"""Redaction of whole logs that arrive in pieces."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.redaction import stream
from bot.redaction.redact import redact
from bot.redaction.stream import HIDDEN, Redactor
from tests.redaction.corpus import samples

BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"

LINES = (
    "step 1 loss 2.5",
    "password=hunter2hunter2",
    "reading gs://bucket/of/ours now",
    "",
    BEGIN,
    "MIIEabcdefghijk/lmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVW",
    END,
    "z" * 500,
)


def whole(pieces: list[str]) -> str:
    """What comes out of one log in the end."""
    redactor = Redactor()
    return "".join([*map(redactor.feed, pieces), redactor.close()])


def test_a_private_key_leaves_one_placeholder_and_its_lines() -> None:
    """Numbers of lines stay what they were."""
    log = f"before\n{BEGIN}\nMIIEabc\nMIIEdef\n{END}\nafter\n"
    assert f"before\n[private key]\n{HIDDEN}\n{HIDDEN}\n{HIDDEN}\nafter\n" == whole([log])


@given(st.lists(st.sampled_from(LINES), max_size=40), st.lists(st.integers(0, 4_000), max_size=8))
def test_the_cuts_change_nothing_and_lines_stay_as_many(lines: list[str], cuts: list[int]) -> None:
    """Whatever the pieces of a log are, the same comes out, line for line."""
    log = "\n".join(lines)
    places = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    pieces = [log[begin:end] for begin, end in pairwise(places)]
    shown = whole([log])
    assert shown == whole(pieces)
    assert log.count("\n") == shown.count("\n")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that many secrets lie over their edges."""
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 4_000)
    monkeypatch.setattr(stream, "_AHEAD", 1_500)
    monkeypatch.setattr(stream, "_AROUND_CUT", 300)


@pytest.mark.usefixtures("small_blocks")
@given(
    st.lists(st.sampled_from([one.text for one in samples()][::7]), min_size=5, max_size=60),
    st.lists(st.integers(0, 20_000), max_size=8),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_edges_of_blocks_show_nothing(texts: list[str], cuts: list[int]) -> None:
    """A secret over an edge is taken out; the pieces that arrive do not matter; lines stay lines."""
    log = "\nstep 1\n".join(texts)
    places = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    out = whole([log])
    assert out == whole([log[begin:end] for begin, end in pairwise(places)])
    assert log.count("\n") == out.count("\n")
    cores = {one.core for one in samples() if one.text in texts}
    assert {core for core in cores if core in out} == set()


@pytest.mark.usefixtures("small_blocks")
@given(st.integers(0, 9_000), st.sampled_from([" ", ",", "x"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_line_of_many_blocks_hides_a_secret_anywhere(before: int, filler: str) -> None:
    """Also without a blank in it; and a value that is longer than a block."""
    core = "S3cr3tS3cr3tS3cr3t"
    log = filler * before + f" password={core} " + filler * 6_000 + "\nnext\n"
    out = whole([log])
    assert core not in out
    assert out.endswith("\nnext\n")
    long = f"password={'Ab1' * 5_000} behind\n"
    assert "Ab1Ab1" not in whole([filler * before + " " + long])


@pytest.mark.usefixtures("small_blocks")
def test_a_key_longer_than_what_is_known_ahead_stays_hidden() -> None:
    """Its lines are hidden as long as they look like a key."""
    key = "\n".join(["MIIE" + "abcd/EFG" * 7] * 400)
    out = whole([f"before\n{BEGIN}\n{key}\n{END}\nafter\n"])
    assert "abcd" not in out
    assert out.startswith("before\n[private key]\n")
    assert out.endswith("\nafter\n")


def test_a_line_is_redacted_as_a_text_is() -> None:
    """One set of rules."""
    for line in LINES[:4]:
        assert redact(line) == whole([line])
