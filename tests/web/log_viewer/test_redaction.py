"""Redaction of text that comes in parts: what is cut in two is still taken out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.redaction.redact import redact
from bot.web.log_viewer.redaction import BLOCK_BYTES, Redaction

PRIVATE = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nMIIEdef\n-----END RSA PRIVATE KEY-----"


def test_a_private_key_is_followed_over_lines() -> None:
    """Each of its lines is replaced, and the line after it is shown."""
    redaction = Redaction()
    shown = [redaction.text(line) for line in ["before", *PRIVATE.split("\n"), "after"]]
    assert ["before", "[private key]", "[private key]", "[private key]", "", "after"] == shown


def test_a_private_key_that_began_before_the_window_is_known() -> None:
    """A window that begins inside a key shows nothing of it."""
    redaction = Redaction("text\n-----BEGIN PRIVATE KEY-----\nMIIEabc\n")
    assert ["[private key]", "after"] == [
        redaction.text("MIIEdef"),
        redaction.text("-----END PRIVATE KEY-----after"),
    ]


@given(st.integers(0, 3 * BLOCK_BYTES), st.integers(1, 5_000))
def test_a_secret_is_taken_out_wherever_a_stream_is_cut(before: int, size: int) -> None:
    """The pieces of a log as they come do not matter."""
    log = (
        ("x" * 99 + "\n") * (before // 100)
        + "y" * (before % 100)
        + "\npassword=hunter2hunter\n"
        + PRIVATE
        + "\nend\n"
    )
    pieces = [log[at : at + size].encode() for at in range(0, len(log), size)]
    shown = b"".join(Redaction().stream(iter(pieces))).decode()
    assert "hunter2" not in shown
    assert "MIIE" not in shown
    assert shown.endswith("end\n")


def test_bytes_that_are_no_text_are_kept() -> None:
    """A download is the log, but for what is taken out."""
    assert b"\xff\x00 [bucket]\n" == Redaction().whole(b"\xff\x00 gs://a-bucket/name\n")


def test_a_line_is_redacted_as_the_comment_is() -> None:
    """One set of rules."""
    line = "I0421 reading gs://bucket/x for someone@example.com from 10.1.2.3"
    assert redact(line) == Redaction().text(line)


TOKEN = "ghp_" + "S3cr3t" * 6

CUTS = (
    "token: " + TOKEN,
    "password=hunter2hunter2",
    "gs://the-bucket/of/ours",
    "Authorization: Bearer " + TOKEN,
)


@pytest.mark.parametrize("secret", CUTS)
def test_an_edge_in_a_secret_tells_nothing(secret: str) -> None:
    """Wherever a line of megabytes is cut, its parts together are the redacted whole."""
    line = "x" * 50 + " " + secret + " and more"
    for at in range(45, len(line)):
        first = Redaction().lines([line[:at], line[at:]], [False, True])
        assert redact(line) == "".join(first)
        behind = Redaction(line[:at]).lines([line[at:]], [True])
        assert not any(part in "".join(behind) for part in ("S3cr3tS3", "hunter2h", "bucket/of"))
        before = next(iter(Redaction().lines([line[:at], line[at:]], [False, True])))
        assert not any(part in before for part in ("S3cr3t", "hunter", "the-b"))


@pytest.mark.parametrize("size", [700, 5_000, BLOCK_BYTES - 3, BLOCK_BYTES + 3, 3 * BLOCK_BYTES])
def test_a_value_longer_than_a_block_stays_hidden(size: int) -> None:
    """To its last letter, in windows and in streams."""
    value = "".join(chr(97 + n % 26) for n in range(size))
    log = f"before password={value} behind\nnext line\n"
    shown = Redaction().whole(log.encode()).decode()
    assert "before password=[secret] behind\nnext line\n" == shown
    pieces = [log[at : at + 2_000] for at in range(0, len(log) - len("\nnext line\n"), 2_000)]
    joined = "".join(Redaction().lines(pieces, [False, *[True] * (len(pieces) - 1)]))
    assert "abcdef" not in joined


def test_colours_hide_no_secret() -> None:
    """A name and its value are often coloured apart; the line is sent on without its colours then."""
    log = b"\x1b[36mtoken\x1b[0m=\x1b[35mabc123def456\x1b[0m\n\x1b[32mgreen\x1b[0m stays\n"
    assert b"token=[secret]\n\x1b[32mgreen\x1b[0m stays\n" == Redaction().whole(log)


@given(st.lists(st.sampled_from([*CUTS, "plain", "", "a b c", PRIVATE.split("\n")[1]]), max_size=30))
def test_lines_stay_lines(texts: list[str]) -> None:
    """As many come out as went in, and those without a secret unchanged."""
    shown = list(Redaction().lines(texts))
    assert len(texts) == len(shown)
    assert [text for text in texts if redact(text) == text] == [
        one for text, one in zip(texts, shown, strict=True) if redact(text) == text
    ]
