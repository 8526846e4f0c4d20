"""The pages that compare two names: what they name, what they say, and where they lead."""

import pytest

from tests.conftest import Accept
from tests.web.filled_site import MAIN_RUNS, NNX_ERROR, sha
from tests.web.pages.test_pages import settled
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest

COMPARE = f"/{PUBLIC}/compare"

HEAD = "cdc765a1f0e9"


def _rows(site: SiteUnderTest, ends: str) -> dict[str, str]:
    """Each case's state, by `case variant`."""
    rows = site.get(f"/api/v1{COMPARE}/{ends}").json()["rows"]
    return {f"{row['case']} {row['head_variant']}": row["state"] for row in rows}


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("overview", f"main...{HEAD}"),
        ("slower", f"main...{HEAD}?case=04_int8&variant=linen"),
        ("fails_in_a_variant", "main:linen...main:nnx?case=11_offload"),
        ("fixed", f"main...{HEAD}?case=03_dropout&variant=nnx"),
    ],
)
def test_a_comparison_reads_as_its_golden_page(
    name: str, ends: str, filled_site: SiteUnderTest, accept: Accept
) -> None:
    """Every main state is a page somebody has looked at."""
    accept(f"pages/compare_{name}.html", settled(filled_site.get(f"{COMPARE}/{ends}").text))


def test_every_spelling_of_a_name_finds_the_same_runs(filled_site: SiteUnderTest) -> None:
    """A branch in its own or in runs' spelling, a commit by 7 digits or all, a pull request by its head."""
    expected = {
        "03_dropout linen": "fixed",
        "03_dropout nnx": "fixed",
        "04_int8 linen": "confirming",
        "04_int8 nnx": "confirming",
        "11_offload linen": "same",
        "11_offload nnx": "fails_on_both",
    }
    full = filled_site.get(f"/api/v1{COMPARE}/main...{HEAD}").json()["head"]["sha"]
    for head in ("test_1", "test-1", "test/1", HEAD[:7], full, full.upper(), "pr/12", "pull/12"):
        assert expected == _rows(filled_site, f"main...{head}"), head


def test_a_branch_stands_for_the_newest_commit_of_each_case(filled_site: SiteUnderTest) -> None:
    """One run of main a commit: its newest, and none of the older ones."""
    (row, *_) = filled_site.get(f"/api/v1{COMPARE}/main...pr/12").json()["rows"]
    assert [(sha(MAIN_RUNS - 1), f"03_dropout-linen-m{MAIN_RUNS - 1}")] == [
        (run["sha"], run["id"]) for run in row["base_runs"]
    ]
    assert ["03_dropout-linen-h0", "03_dropout-linen-h1", "03_dropout-linen-h2"] == [
        run["id"] for run in row["head_runs"]
    ]


def test_an_old_commit_is_not_held_against_the_runs_that_came_after_it(filled_site: SiteUnderTest) -> None:
    """Before main moved by 3 %, its later level says nothing of it."""
    document = filled_site.get(f"/api/v1{COMPARE}/{sha(5)[:12]}...pr/12?case=04_int8&variant=linen").json()
    timing = document["chosen"]["comparison"]["timing"]
    assert 9.3 == pytest.approx(timing["change_percent"], abs=0.5)
    assert 0 == timing["history"]


def test_two_variants_are_no_before_and_after(filled_site: SiteUnderTest) -> None:
    """A case that fails in one variant alone is said so, and is no new failure."""
    page = ParsedPage(filled_site.get(f"{COMPARE}/main:linen...main:nnx?case=11_offload").text)
    assert "11_offload: fails in nnx, passes in linen" in page.text
    assert NNX_ERROR in page.text
    assert "new failure" not in page.text
    overview = ParsedPage(filled_site.get(f"{COMPARE}/main:linen...main:nnx").text).text
    assert "1 fails in nnx, passes in linen" in overview
    assert "new failure" not in overview


def test_from_case_to_case_by_link(filled_site: SiteUnderTest) -> None:
    """Each case leads to the one before and after by name; the first and the last have one neighbour."""
    seen, link = [], f"{COMPARE}/main...{HEAD}?case=03_dropout&variant=linen"
    while link:
        page = ParsedPage(filled_site.get(link).text)
        seen.append(link.partition("?")[2])
        link = next((a["href"] for tag, a in page.tags if tag == "a" and a.get("rel") == "next"), "")
    assert [
        f"case={case}&variant={variant}"
        for case in ("03_dropout", "04_int8", "11_offload")
        for variant in ("linen", "nnx")
    ] == seen


def test_the_page_of_a_case_has_all_it_rests_on(filled_site: SiteUnderTest) -> None:
    """Figures with how they are measured, curves with their words, time, runs, and the list of keys."""
    page = ParsedPage(filled_site.get(f"{COMPARE}/main...{HEAD}?case=04_int8&variant=linen").text)
    for part in (
        "Figures",
        "Where the time went",
        "Why: samples",
        "The median time between",
        "Keys",
        "left out",
    ):
        assert part in page.text
    labels = page.values("aria-label")
    assert 2 == sum("by step." in label for label in labels)
    titles = [label for label in labels if label.startswith("main, ")]
    assert len(titles) == 1
    assert ["0", "0"] == [a["tabindex"] for tag, a in page.tags if tag == "svg" and "tabindex" in a]


WRONG = {
    "main": "Two names are needed",
    "main...": "Two names are needed",
    "...": "Two names are needed",
    "mian...main": "Did you mean main?",
    "main...test_2": "Did you mean test_1?",
    "main...pr/13": "Did you mean pr/12?",
    "main...pull/99999999999": "is not known here",
    "main...cdc765": "cdc765 is not known here",
    "main...%00": "is not known here",
    "main...main?case=04_int": "Did you mean 04_int8",
    "main...main?case=04_int8&variant=nxn": "has no variant nxn",
    "main:nxn...main": "Did you mean nnx",
    f"main...{'x' * 300}": "Two names are needed",
}


@pytest.mark.parametrize("ends", WRONG)
def test_a_wrong_name_is_one_sentence_with_what_was_meant(ends: str, filled_site: SiteUnderTest) -> None:
    """404, in words, as a page and as JSON."""
    page, document = filled_site.get(f"{COMPARE}/{ends}"), filled_site.get(f"/api/v1{COMPARE}/{ends}")
    assert (404, 404) == (page.status_code, document.status_code)
    assert WRONG[ends] in ParsedPage(page.text).text
    assert WRONG[ends] in document.json()["error"]


def test_a_strangers_wrong_name_is_no_hint(filled_site: SiteUnderTest) -> None:
    """In a private repository every name is as unknown as the repository."""
    answers = {filled_site.get(f"/octo/{name}/compare/main...mian").text for name in ("secret", "nothing")}
    assert 1 == len(answers)


def test_what_is_compared_again_is_not_compared_anew(filled_site: SiteUnderTest) -> None:
    """The same runs give the same page and tag."""
    first, again = (filled_site.get(f"{COMPARE}/main...{HEAD}") for _ in range(2))
    assert first.headers["etag"] == again.headers["etag"]
    same = filled_site.get(f"{COMPARE}/main...{HEAD}", if_none_match=first.headers["etag"])
    assert (304, "no-cache") == (same.status_code, same.headers["cache-control"])
