"""A branch that is watched without a pull request has a page of its own."""

import pytest
from msgspec.structs import replace

from bot.planning.lineage import Landing, LandingEvidence, LandingHead, MainCommit
from bot.report.assess import headline
from bot.report.model import Report
from bot.storage import main_branch, pull_requests, queue
from bot.storage.tables import PULL_REQUEST
from tests.report import samples
from tests.report.samples import NOW
from tests.web.api.test_openapi import problems
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest

BRANCH = "test_936672580"

PAGE = f"/{PUBLIC}/branch/{BRANCH}"

MAIN = MainCommit(sha="d" * 40, tree=None, parents=(), message="Fast")


@pytest.fixture
def watched(site: SiteUnderTest) -> Report:
    """A watched branch and its report."""
    number = site.database.write_now(
        pull_requests.watch_branch, repository=PUBLIC, branch=BRANCH, installation=1, sha="c" * 40, now=NOW
    )
    report = replace(samples.mixed(), number=number, head_branch=BRANCH)
    site.add_report(report)
    return report


def test_its_page_is_the_report(site: SiteUnderTest, watched: Report) -> None:
    """With the headline that a comment would have, the branch's name, and no number below zero anywhere."""
    answer = site.get(PAGE)
    page = ParsedPage(answer.text)
    assert headline(watched) in page.text
    assert f"Branch {BRANCH}" in page.text
    assert f"https://github.com/{PUBLIC}/tree/{BRANCH}" in answer.text
    assert "-1" not in answer.text.replace("utf-1", "").split("<main")[0]
    assert f"#{watched.number}" not in answer.text
    assert f"pr/{watched.number}" not in answer.text


def test_its_document_has_no_number(site: SiteUnderTest, watched: Report) -> None:
    """As described, with the branch's own addresses."""
    document = site.get(f"/api/v1{PAGE}").json()
    assert [] == problems("readBranchReport", document)
    assert document["number"] is None
    assert {"page": PAGE, "json": f"/api/v1{PAGE}"} == document["links"]


def test_the_repository_lists_it_apart(site: SiteUnderTest, watched: Report) -> None:
    """Below the pull requests, on the page and in the document."""
    page = site.get(f"/{PUBLIC}").text
    assert f'<a href="{PAGE}"><bdi>{BRANCH}</bdi></a>' in page
    document = site.get(f"/api/v1/{PUBLIC}").json()
    assert [] == problems("readRepository", document)
    assert [] == document["pull_requests"]
    assert [BRANCH] == [one["branch"] for one in document["branches"]]


def test_a_pull_request_speaks_for_its_branch(site: SiteUnderTest, watched: Report) -> None:
    """The branch's old report stays where links to it lead, and says where newer ones are."""
    _open_pull(site)
    assert "Pull request #12 speaks for this branch now" in site.get(PAGE).text


def test_a_branch_with_a_pull_request_alone_points_there(site: SiteUnderTest) -> None:
    """One sentence says where."""
    _open_pull(site)
    answer = site.get(PAGE)
    assert 404 == answer.status_code
    assert "Its report is that of #12." in answer.text


@pytest.mark.parametrize("name", ["feat/x", "a" * 300, "%00", "..%2f..%2fx", "%3Cb%3E"])
def test_other_branches_are_told_from_watched_ones(site: SiteUnderTest, watched: Report, name: str) -> None:
    """Nothing is invented, nothing is escaped from, nothing fails."""
    answer = site.get(f"/{PUBLIC}/branch/{name}")
    assert 404 == answer.status_code
    assert "<b>" not in answer.text.split("<main")[-1].replace("<bdi>", "")


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            LandingEvidence.SAME_FILES,
            "landed on main as ddddddd with the same files: its runs count as runs of main.",
        ),
        (
            LandingEvidence.SAME_CHANGE,
            "landed on main as ddddddd with other files beside it: its runs stay its own.",
        ),
    ],
)
def test_what_landed_is_said(
    site: SiteUnderTest, watched: Report, known: LandingEvidence, words: str
) -> None:
    """Which commit of main the head became, and whose its runs are."""
    assert "landed on" not in site.get(PAGE).text
    head = LandingHead(sha="c" * 40, branch=BRANCH)
    landing = Landing(head=head, commit=MAIN, known=known)
    number = watched.number
    held = site.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW + 1, lease=30.0)
    assert held is not None
    assert number == held.row["number"]
    site.database.write_now(
        pull_requests.release_pull, held, now=NOW, due=None, values={"head_sha": head.sha}
    )
    site.database.write_now(main_branch.save_landings, PUBLIC, "main", [landing], NOW)
    assert f"ccccccc {words}" in ParsedPage(site.get(PAGE).text).text


def _open_pull(site: SiteUnderTest) -> None:
    site.add_pull(12)
    held = None
    while held is None or held.row["number"] != 12:
        held = site.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW + 1, lease=30.0)
        assert held is not None
    site.database.write_now(
        pull_requests.release_pull, held, now=NOW, due=None, values={"head_branch": BRANCH}
    )
