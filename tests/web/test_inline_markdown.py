"""The report's Markdown read back: the page shows exactly the text that was escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report import escape
from bot.web.inline_markdown import StyledText, parse_inline, plain_text

ODD = st.text(alphabet="ab1 `*_[]()|\\<>&;#@:/~$-+=.!{}\"'", max_size=60)


@pytest.mark.parametrize(
    ("markdown", "pieces"),
    [
        ("plain", (StyledText(text="plain"),)),
        ("**Act on 2:** `04_int8` is 6.1 % slower", (
            StyledText(text="Act on 2:", bold=True), StyledText(text=" "),
            StyledText(text="04_int8", code=True),
            StyledText(text=" is 6.1 % slower"))),
        ("[full log](https://example.org/x) now", (StyledText(text="full log now"),)),
        ("`` a`b `` and <code>a&#124;b</code>", (
            StyledText(text="a`b", code=True), StyledText(text=" and "), StyledText(text="a|b", code=True))),
        ("a &lt;b&gt; @&#8203;user \\*", (StyledText(text="a <b> @user *"),)),
        ("*Same* means", (StyledText(text="Same means"),)),
    ],
)  # fmt: skip
def test_markdown_of_the_report_is_read(markdown: str, pieces: tuple[StyledText, ...]) -> None:
    """Bold, code, links, escapes and entities."""
    assert pieces == parse_inline(markdown)


@given(ODD)
def test_escaped_text_reads_back(text: str) -> None:
    """What was escaped as running text is shown as it was."""
    assert escape.one_line(text) == plain_text(escape.escape_text(text))


@given(ODD.filter(lambda text: text.strip()))
def test_quoted_text_reads_back(text: str) -> None:
    """What was escaped as a code span is shown as it was, as code."""
    assert (StyledText(text=escape.one_line(text), code=True),) == parse_inline(escape.escape_code(text))
