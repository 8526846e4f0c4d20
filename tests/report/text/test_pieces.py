"""The pieces of a line: what Markdown, a summary and a page make of them."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report.text import escape
from bot.report.text.pieces import (
    Emphasis,
    Line,
    StyledText,
    bold,
    code,
    foreign,
    line,
    link,
    listed_lines,
    markdown,
    plain_text,
    styled,
    summary_html,
)
from tests.report.github_rendering import visible_text

ODD = st.text(alphabet="ab1 `*_[]()|\\<>&;#@:/~$-+=.!{}\"'", max_size=60)

ACT = line(bold("Act on 2:"), " ", code("04_int8"), " is 6.1 % slower")


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (line("plain"), (StyledText(text="plain"),)),
        (ACT, (
            StyledText(text="Act on 2:", bold=True), StyledText(text=" "),
            StyledText(text="04_int8", code=True), StyledText(text=" is 6.1 % slower"))),
        (line(link("https://example.org/x", "full log"), " now"), (StyledText(text="full log now"),)),
        (line(code("a`b"), " and ", code("a|b")), (
            StyledText(text="a`b", code=True), StyledText(text=" and "),
            StyledText(text="a|b", code=True))),
        (line("a ", foreign("<b> @user *")), (StyledText(text="a <b> @user *"),)),
        (line(Emphasis("Same"), " means"), (StyledText(text="Same means"),)),
        (line(bold(foreign("a"), code("b"))), (
            StyledText(text="a", bold=True), StyledText(text="b", bold=True, code=True))),
    ],
)  # fmt: skip
def test_a_page_sets_each_piece_in_its_style(pieces: Line, expected: tuple[StyledText, ...]) -> None:
    """Bold, code, links without their address, neighbours of one style as one."""
    assert expected == styled(pieces)


def test_markdown_escapes_what_is_foreign_and_nothing_of_ours() -> None:
    """Our own words hold no sign that means anything."""
    shown = line(
        "no change > 1 % on ", foreign("a*b"), " ", code("x"), " ", link("/y", "page"), Emphasis("z")
    )
    assert markdown(shown) == "no change > 1 % on a\\*b `x` [page](/y)*z*"
    assert summary_html(shown) == "no change &gt; 1 % on a*b x pagez"


def test_a_list_of_lines_counts_those_that_are_not_named() -> None:
    """Three of five."""
    items = [foreign(name) for name in "abcde"]
    assert plain_text(listed_lines(items, 3)) == "a, b, c and 2 more"
    assert plain_text(listed_lines(items, 5)) == "a, b, c, d, e"


@given(ODD)
def test_foreign_text_is_shown_as_it_was_written(text: str) -> None:
    """As running text, in Markdown as on a page."""
    expected = escape.one_line(text)
    assert plain_text(foreign(text)) == expected
    assert visible_text(markdown(line("x ", foreign(text)))) == f"x {expected}".strip()


@given(ODD.filter(lambda text: text.strip()))
def test_a_name_is_shown_as_it_was_written(text: str) -> None:
    """As code."""
    assert styled(code(text)) == (StyledText(text=escape.one_line(text), code=True),)


@given(ODD)
def test_a_summary_adds_no_tag(text: str) -> None:
    """Foreign text inside our own HTML tags."""
    shown = summary_html(foreign(text))
    assert html.unescape(shown).replace("\u200b", "") == escape.one_line(text)
    assert "<" not in shown
