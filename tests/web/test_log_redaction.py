"""Redaction of text that comes in parts: what is cut in two is still taken out."""

from hypothesis import given
from hypothesis import strategies as st

from bot.report.redact import redacted
from bot.web.log_redaction import BLOCK, Redaction

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


@given(st.integers(0, 3 * BLOCK), st.integers(1, 5_000))
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
    assert redacted(line) == Redaction().text(line)
