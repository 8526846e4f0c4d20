"""Foreign text in Markdown: readable, and without effect."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from bot.report.text import escape
from tests.report.github_rendering import rendered, visible_text

MARKED = st.text(alphabet=st.sampled_from("a1 @#:/.`|\\*_[]()<>&!~$-+=\t\n\"'wGHef9\u202e\x1b"), max_size=40)


@given(st.one_of(st.text(max_size=60), MARKED))
@example("1. list")
@example("# head")
@example("a_b_ _c_ 04_int8")
@example("https://a.b www.a.b a@b.c deadbeef1 GH-1 x#1 :tada:")
def test_running_text_is_shown_unchanged(value: str) -> None:
    """GitHub's Markdown shows the very characters, in one paragraph, without a link or a tag."""
    page = rendered(f"x {escape.escape_text(value)} x")
    assert [tag for tag, _ in page.tags] == ["p"]
    assert (
        visible_text(f"x {escape.escape_text(value)} x").split()
        == f"x {escape.one_line(value)} x".replace("\u200b", "").split()
    )


@given(st.one_of(st.text(max_size=60), MARKED))
@example("1. list")
@example("12) list")
@example("- list")
@example("# head")
@example("==")
def test_running_text_starts_no_block_at_a_line_start(value: str) -> None:
    """Neither a list, a heading nor a rule, at the left edge and in an item of ours."""
    shown = escape.escape_text(value)
    assert [tag for tag, _ in rendered(shown).tags] in ([], ["p"])
    assert [tag for tag, _ in rendered(f"* {shown}\n* b").tags] == ["ul", "li", "li"]


@given(st.one_of(st.text(max_size=60), MARKED))
def test_a_code_span_shows_any_text_even_in_a_table(value: str) -> None:
    """One code element in one cell, with the very characters."""
    page = rendered(f"| a | b |\n|:--|:--|\n| {escape.escape_code(value)} | x |")
    assert page.rows == [[2, 2]]
    shown = page.seen.split("b\n", 1)[-1].replace("\u200b", "").split()
    assert shown == [*(escape.one_line(value) or "–").split(), "x"]
    assert {tag for tag, _ in page.tags} <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


@given(st.one_of(st.text(max_size=60), MARKED))
def test_text_inside_a_tag_adds_no_tag(value: str) -> None:
    """A summary holds its text and nothing else."""
    page = rendered(f"<details><summary>{escape.escape_html(value)}</summary>\n\nx\n\n</details>")
    assert [tag for tag, _ in page.tags] == ["details", "summary", "p"]


@given(MARKED)
def test_github_finds_no_mention_reference_or_address_in_running_text(value: str) -> None:
    """What GitHub's filters look for after rendering is broken by a zero-width space."""
    shown = rendered(escape.escape_text(value)).seen
    for filtered in (r"@\w", r"#\d", r"\bGH-\d", r"https?://", r"\bwww\.", r":\w+:"):
        assert not re.search(filtered, shown)


def test_long_text_is_shortened_with_an_ellipsis() -> None:
    """The limit counts characters shown."""
    assert escape.escape_text("z" * 400, 10) == "zzzzzzzzz…"
    assert escape.escape_code("b" * 400, 10) == "`bbbbbbbbb…`"


def test_ordinary_names_stay_as_they_are() -> None:
    """Names that need no escaping are not cluttered."""
    for name in ("04_int8", "11_optimizer_offload_false", "feat/Migrate-Decoder", "0.9.2", "+6.1 %", "-0.3"):
        assert escape.escape_text(name) == name
