"""The comment: its golden texts, its size, and what hostile text can do in it."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.report.comment import MAX_BODY_LENGTH, comment_body, head_marker, pull_marker
from bot.report.model import Report, RowState
from bot.templating import Renderer
from tests.conftest import Accept
from tests.report.github_rendering import OURS, broken_tables, rendered
from tests.report.sample_states import every_state, row_in_state
from tests.report.samples import failing, report, same, slower, unlike

URL = "https://maxview.example"

RENDERER = Renderer()

STATES = every_state()

ODD = st.sampled_from(("|", "`", "@", "<b>", "x ")).map(lambda one: one * 300)

NAMES = st.one_of(st.text(min_size=1, max_size=60), ODD)

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # a report of 400 cases takes its time

SOME_STATES = st.sets(st.sampled_from(RowState), min_size=1, max_size=4)


def body(said: Report) -> str:
    """The comment of `said`."""
    return comment_body(said, public_url=URL, render=RENDERER.render)


@pytest.mark.parametrize("name", STATES)
def test_every_state_renders_as_its_golden_file(name: str, accept: Accept) -> None:
    """The whole text of every state is looked at when it changes."""
    accept(f"comment/{name}.md", body(STATES[name]))


@pytest.mark.parametrize("name", STATES)
def test_no_table_breaks_and_no_foreign_tag_appears(name: str) -> None:
    """GitHub's own Markdown sees every row with its columns, and only tags of ours."""
    text = body(STATES[name])
    assert broken_tables(text) == []
    assert {tag for tag, _ in rendered(text).tags} - OURS == set()


@pytest.mark.parametrize("name", STATES)
def test_every_link_leads_to_this_server(name: str) -> None:
    """No text from outside becomes a link."""
    links = [attributes["href"] for tag, attributes in rendered(body(STATES[name])).tags if tag == "a"]
    assert [link for link in links if not (link or "").startswith(URL + "/")] == []


@pytest.mark.parametrize("name", STATES)
def test_the_first_lines_mark_the_pull_request_and_the_head(name: str) -> None:
    """The marks stand first, so that the comment is found again."""
    said = STATES[name]
    text = body(said)
    assert [pull_marker(said.repository, said.number), head_marker(said.head_sha)] == text.splitlines()[:2]
    assert text.splitlines()[2].startswith("## ")


def test_hostile_text_neither_mentions_nor_refers_nor_leaks() -> None:
    """No mention, no issue reference, no raw address, no secret, no second mark in what GitHub reads."""
    text = body(STATES["hostile"])
    outside = "".join(part for part in text.split("`")[::2])  # GitHub links nothing in code spans
    for trap in ("@octocat", "@org/team", " #12", "owner/repo#3", "https://evil", "<script", "</details> "):
        assert trap not in outside.replace("`", "")
    for secret in ("lance-maxtext", "562977990677", "ghp_abc", "\x1b", "\u202e"):
        assert secret not in text
    assert text.count("<!-- maxview:pull") == 1


def test_the_same_report_gives_the_same_text_at_any_time() -> None:
    """Nothing is written to GitHub when only time has passed."""
    said = STATES["mixed"]
    assert body(said) == body(replace(said, made_at=said.made_at + 86_400))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=NO_SHRINKING)
@given(name=NAMES, count=st.sampled_from((1, 7, 60, 400)), states=SOME_STATES)
def test_any_number_of_cases_with_any_names_fits(name: str, count: int, states: set[RowState]) -> None:
    """At most 60,000 characters for 400 cases in any states, with unbroken tables."""
    kinds = sorted(states)
    rows = [row_in_state(kinds[n % len(kinds)], f"{n:03d}_{name}") for n in range(count)]
    text = body(report(*rows, title=name, head_branch=name, variants=("linen", name)))
    assert len(text) <= MAX_BODY_LENGTH
    assert broken_tables(text) == []
    assert text.rstrip().endswith("</sub>")


def test_four_hundred_cases_are_folded_and_not_cut() -> None:
    """Every one of 400 cases is named, the bad ones in the open table."""
    bad = [slower(f"bad_{n:03d}") for n in range(20)] + [failing(f"dead_{n:02d}") for n in range(5)]
    quiet = [same(f"case_{n:03d}", percent=0.1) for n in range(375)]
    text = body(report(*bad, *quiet))
    assert len(text) <= MAX_BODY_LENGTH
    assert [row.case for row in (*bad, *quiet) if row.case not in text] == []
    assert "375 cases same" in text


def test_a_case_without_a_result_keeps_the_headline_from_green() -> None:
    """Missing data is never green."""
    for state in RowState:
        headline = body(report(same("a"), row_in_state(state, "b"))).splitlines()[2]
        green = state in {RowState.SAME, RowState.FASTER, RowState.FIXED, RowState.CARRIED}
        assert green == headline.startswith(("## ✅", "## 🟢", "## 🩹", "## ↩️")), (state, headline)


def test_an_unjudged_figure_is_labelled() -> None:
    """Figures of runs that are not like for like are shown, and are not bold."""
    row = next(line for line in body(report(unlike())).splitlines() if line.startswith("| [03_dropout"))
    assert "not judged: JAX 0.9.2 → 0.8.1" in row
    assert "**" not in row


def test_the_variant_is_named_where_a_case_runs_in_several() -> None:
    """The usual variant is understood; with two of one case both are named."""
    text = body(report(slower("04_int8"), slower("05_fp8"), slower("05_fp8", variant="nnx")))
    assert "[04_int8](" in text
    assert "[05_fp8 · linen](" in text
    assert "[05_fp8 · nnx](" in text
