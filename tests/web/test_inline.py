"""The report's Markdown read back: the page shows exactly the text that was escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report import escape
from bot.web.ground.inline import Piece, inline, plain

ODD = st.text(alphabet="ab1 `*_[]()|\\<>&;#@:/~$-+=.!{}\"'", max_size=60)


@pytest.mark.parametrize(
    ("markdown", "pieces"),
    [
        ("plain", (Piece(text="plain"),)),
        ("**Act on 2:** `04_int8` is 6.1 % slower", (
            Piece(text="Act on 2:", bold=True), Piece(text=" "), Piece(text="04_int8", code=True),
            Piece(text=" is 6.1 % slower"))),
        ("[full log](https://example.org/x) now", (Piece(text="full log now"),)),
        ("`` a`b `` and <code>a&#124;b</code>", (
            Piece(text="a`b", code=True), Piece(text=" and "), Piece(text="a|b", code=True))),
        ("a &lt;b&gt; @&#8203;user \\*", (Piece(text="a <b> @user *"),)),
        ("*Same* means", (Piece(text="Same means"),)),
    ],
)  # fmt: skip
def test_markdown_of_the_report_is_read(markdown: str, pieces: tuple[Piece, ...]) -> None:
    """Bold, code, links, escapes and entities."""
    assert pieces == inline(markdown)


@given(ODD)
def test_escaped_text_reads_back(text: str) -> None:
    """What was escaped as running text is shown as it was."""
    assert escape.one_line(text) == plain(escape.text(text))


@given(ODD.filter(lambda text: text.strip()))
def test_quoted_text_reads_back(text: str) -> None:
    """What was escaped as a code span is shown as it was, as code."""
    assert (Piece(text=escape.one_line(text), code=True),) == inline(escape.code(text))
