"""A terminal's colours in a log: read as a terminal does, and shown as classes."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.log_viewer.ansi import HUES, AnsiReader, StyledSpan, shift_spans
from bot.web.sanitize import sanitize

STYLES = (Path(__file__).parents[3] / "bot" / "web" / "static" / "log.css").read_text(encoding="utf-8")


def shown(text: str, before: str = "") -> list[tuple[str, str]]:
    """The coloured parts of a text and their classes."""
    plain, runs = AnsiReader(before).read(text)
    return [(run.style, plain[run.start : run.end]) for run in runs]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("\x1b[31mred\x1b[0m plain", [("c-0", "red")]),
        ("\x1b[1;32mbold green", [("c-4 t-bold", "bold green")]),
        ("\x1b[38;5;208morange\x1b[39m no", [("c-1", "orange")]),
        ("\x1b[38;2;0;0;255mblue", [("c-8", "blue")]),
        ("\x1b[48;5;196mon red", [("b-0", "on red")]),
        ("\x1b[90mgray \x1b[97mwhite is ink", [("c-gray", "gray ")]),
        ("\x1b[7mturned\x1b[27m", [("t-turned", "turned")]),
        ("\x1b[3;4;9mall\x1b[23mless", [("t-italic t-struck t-under", "all"), ("t-struck t-under", "less")]),
        ("\x1b[mnothing", []),
        ("\x1b[38;5mcut \x1b[999mhuge", []),
        ("\x1b[2Jno colour \x1b]0;title\x07", []),
    ],
)
def test_codes_are_classes(text: str, parts: list[tuple[str, str]]) -> None:
    """The sixteen, the 256, any; bold and its like; what is no colour is left out."""
    assert parts == shown(text)


def test_a_colour_holds_until_it_is_changed() -> None:
    """Over the ends of lines, and from before the window."""
    colours = AnsiReader("earlier \x1b[31m")
    assert [("first", (StyledSpan(start=0, end=5, style="c-0"),)), ("second", ())] == [
        colours.read("first"),
        colours.read("\x1b[0msecond"),
    ]


@given(
    st.lists(
        st.one_of(st.text(max_size=8), st.from_regex(r"\x1b\[[0-9;:]{0,9}[mKJ]", fullmatch=True)), max_size=12
    )
)
def test_colours_change_no_text(parts: list[str]) -> None:
    """What is read is what is read without them, and every run lies in it, one behind the other."""
    text = "".join(parts)
    plain, runs = AnsiReader().read(text)
    assert sanitize(text) == plain
    places = [place for run in runs for place in (run.start, run.end)]
    assert sorted(places) == places
    assert all(0 <= place <= len(plain) for place in places)


def test_every_class_is_drawn_in_both_schemes() -> None:
    """Each hue has its shades for light and for dark pages."""
    for hue in [*map(str, range(HUES)), "gray"]:
        assert f".c-{hue} " in STYLES
        assert 2 == len(re.findall(rf"--ink-{hue}:", STYLES))
        assert 2 == len(re.findall(rf"--tint-{hue}:", STYLES))


@given(st.text("ab", max_size=12), st.text("abX", max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_runs_of_a_changed_text_stay_in_it(before: str, after: str, start: int, length: int) -> None:
    """What was taken out takes its colour along."""
    run = StyledSpan(start=min(start, len(before)), end=min(start + length, len(before)), style="c-0")
    for kept in shift_spans([run], before, after):
        assert 0 <= kept.start <= kept.end <= len(after)
