"""Redaction of whole logs that arrive in pieces."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.redaction.redact import redact
from bot.redaction.stream import HIDDEN, Redactor

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


def test_a_line_is_redacted_as_a_text_is() -> None:
    """One set of rules."""
    for line in LINES[:4]:
        assert redact(line) == whole([line])
