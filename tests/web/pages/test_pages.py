"""What people read: golden pages for the main states, and what every page promises."""

import re
from dataclasses import replace

import pytest
from msgspec import structs

from bot.logs.facts import OutcomeState
from bot.report.assess import headline
from bot.report.links import case_anchor
from bot.storage import runs
from bot.storage.tables import PULL_REQUEST
from bot.verdict.measure import measure
from tests.conftest import Accept
from tests.report import sample_states, samples
from tests.verdict.made_runs import Shape, run_log
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest

PULL = f"/{PUBLIC}/pull/4270"

STATES = ("mixed", "all_same", "only_failures", "nothing_done_yet", "stale_runs", "configuration_problem")


def settled(text: str) -> str:
    """The page without the hashes of the stylesheet and the script, which change with every edit."""
    return re.sub(r"(/static/\w+)\.[0-9a-f]{12}\.", r"\1.", text)


@pytest.mark.parametrize("state", STATES)
def test_a_pull_request_reads_as_its_golden_page(state: str, site: SiteUnderTest, accept: Accept) -> None:
    """Every main state of a report is a page somebody has looked at."""
    site.add_report(sample_states.every_state()[state])
    accept(f"pages/pull_{state}.html", settled(site.get(PULL).text))


def test_the_lists_read_as_their_golden_pages(site: SiteUnderTest, accept: Accept) -> None:
    """Home names public repositories; a repository has open pull requests first, with headlines and age."""
    site.add_report(samples.mixed())
    for number in (4270, 4271, 4272):
        site.add_pull(number)
    site.add_repository("octo/gone", private=False, active=False)
    accept("pages/home.html", settled(site.get("/").text))
    accept("pages/repository.html", settled(site.get(f"/{PUBLIC}").text))


def test_a_run_reads_as_its_golden_page(site: SiteUnderTest, accept: Accept) -> None:
    """A run's page has its figures, environment, time and steps, or its failure."""
    site.add_run("good", b"a log\n", measured=samples.measured())
    failed = samples.measured(None, end=samples.outcome(OutcomeState.FAILED, samples.NNX_FAILURE))
    site.add_run("bad", b"a log\n", measured=failed)
    site.add_run("unread", b"a log\n")
    for name in ("good", "bad", "unread"):
        accept(f"pages/run_{name}.html", settled(site.get(f"/runs/{name}").text))


def test_the_page_begins_with_what_the_comment_says(site: SiteUnderTest) -> None:
    """Headline and action line are the comment's own."""
    site.add_report(samples.mixed())
    text = ParsedPage(site.get(PULL).text).text
    assert headline(samples.mixed()) in text
    assert "Act on 2: 04_int8 is 6.1 % slower; 11_offload fails on nnx." in text


def test_every_case_can_be_linked_to_as_the_comment_links(site: SiteUnderTest) -> None:
    """The comment's anchors are ids of the page, each there once."""
    site.add_report(samples.mixed())
    ids = ParsedPage(site.get(PULL).text).values("id")
    wanted = [case_anchor(row.key) for row in samples.mixed().rows]
    assert [ids.count(anchor) for anchor in wanted] == [1] * len(wanted)
    assert sorted(set(ids)) == sorted(ids)


def test_an_unfinished_page_looks_again_and_a_finished_one_does_not(site: SiteUnderTest) -> None:
    """Only where something is awaited does a page ask again."""
    site.add_report(samples.mixed())
    assert "data-live" in site.get(PULL).text
    site.add_report(samples.report(samples.same("04_int8")))
    assert "data-live" not in site.get(PULL).text


def test_a_pull_request_without_a_report_says_so(site: SiteUnderTest) -> None:
    """A remembered pull request has a page before there is anything to say."""
    site.add_pull(7)
    answer = site.get(f"/{PUBLIC}/pull/7")
    assert (200, True) == (answer.status_code, "nothing measured yet" in answer.text)


def test_an_older_head_keeps_its_page(site: SiteUnderTest) -> None:
    """`?head=` shows what was said about an older commit and says that it is not the newest."""
    site.add_report(samples.mixed())
    site.add_report(structs.replace(samples.mixed(), head_sha=samples.OLDER, made_at=samples.NOW + 60))
    assert "1 slower" in site.get(f"{PULL}?head={samples.HEAD[:7]}").text
    assert "newer commits may have reports" in site.get(f"{PULL}?head={samples.HEAD}").text
    assert 404 == site.get(f"{PULL}?head=0123456").status_code
    assert 404 == site.get(f"{PULL}?head=%25").status_code


def test_a_small_price_is_no_zero(site: SiteUnderTest) -> None:
    """A page says as much of the chip-hours as the comment does."""
    site.add_report(samples.report(chip_hours_used=0.0018, chip_hours_saved=11.2))
    text = ParsedPage(site.get(PULL).text).text
    assert "0.0018 chip-hours used. 11.2 chip-hours saved by reuse." in " ".join(text.split())


def test_a_report_on_an_older_commit_says_that_it_is_outdated(site: SiteUnderTest) -> None:
    """After a push the old verdict is not shown as the new commit's."""
    site.add_report(samples.report(samples.same("04_int8")))
    site.add_pull(4270)
    site.database.write_now(lambda c: c.execute(PULL_REQUEST.update().values(head_sha=samples.OLDER)))
    text = site.get(PULL).text
    assert "was pushed after this report" in text
    assert "data-live" in text


NOWHERE = (
    "/nowhere",
    "/a/b",
    "/a/b/c/d",
    f"/{PUBLIC}/pull/999",
    f"/{PUBLIC}/pull/99999999999999999999",
    f"/{PUBLIC}/pull/x",
    "/runs/none",
    "/runs/none/log",
    "/runs/%00",
    "/runs/" + "x" * 5000,
    "/static/../pages.py",
    "/static/%2e%2e%2fpages.py",
)


@pytest.mark.parametrize("path", NOWHERE)
def test_what_does_not_exist_is_one_clear_page(path: str, site: SiteUnderTest) -> None:
    """404 in the site's own style wherever nothing is."""
    answer = site.get(path)
    assert 404 == answer.status_code
    if not path.startswith("/static"):
        assert "There is no such page" in answer.text


def test_a_missing_database_is_one_clear_page(site: SiteUnderTest) -> None:
    """Where the database is away, the page says so with 503 and when to come back."""
    site.database.write_now(PULL_REQUEST.drop)
    answer = site.get(f"/{PUBLIC}")
    assert (503, "30") == (answer.status_code, answer.headers["retry-after"])
    assert "The pages cannot be read right now" in answer.text


def test_head_answers_like_get_without_a_body(site: SiteUnderTest) -> None:
    """HEAD carries the same tag and type."""
    site.add_report(samples.mixed())
    got, head = site.get(PULL), site.get(PULL, "HEAD")
    assert (200, got.headers["etag"]) == (head.status_code, head.headers["etag"])


def test_what_did_not_change_is_not_sent_again(site: SiteUnderTest) -> None:
    """The tag of a page answers 304, until the report changes."""
    site.add_report(samples.mixed())
    tag = site.get(PULL).headers["etag"]
    assert 304 == site.get(PULL, if_none_match=tag).status_code
    site.add_report(structs.replace(samples.mixed(), title="Another", made_at=samples.NOW + 1))
    assert 200 == site.get(PULL, if_none_match=tag).status_code


def test_an_open_page_asks_for_nothing_to_be_made(
    site: SiteUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its question every few seconds, and that of who has the page, are answered from what it is made of."""
    site.add_report(samples.mixed())
    tag = site.get(PULL).headers["etag"]
    monkeypatch.delattr("bot.web.pages.pull_request.pull_view")
    assert (200, tag, b"") == (
        (head := site.get(PULL, "HEAD")).status_code,
        head.headers["etag"],
        head.content,
    )
    assert 304 == site.get(PULL, if_none_match=tag).status_code
    site.add_report(structs.replace(samples.mixed(), made_at=samples.NOW + 1))
    assert tag != site.get(PULL, "HEAD").headers["etag"]


def test_names_are_found_whatever_their_case(site: SiteUnderTest) -> None:
    """GitHub's names do not tell upper from lower case, nor do the addresses."""
    site.add_report(samples.mixed())
    assert 200 == site.get("/Octo/MaxText/pull/4270").status_code


def test_a_repository_says_where_main_itself_moved(site: SiteUnderTest) -> None:
    """One line for each case whose level changed, with the commits between; none for a steady one."""
    site.add_main_runs("04_int8", [0.2] * 12 + [0.2042] * 12)
    site.add_main_runs("03_dropout", [0.2] * 24)
    page = ParsedPage(site.get(f"/{PUBLIC}").text)
    (moved,) = [line for line in page.text.splitlines() if line.startswith("main: ")]
    assert moved.startswith("main: 04_int8 · linen +2.1 % slower at ")
    assert "12 runs after" in moved
    assert [link for link in page.values("href") if "/compare/" in link] == [
        f"https://github.com/{PUBLIC}/compare/{'0b' * 20}...{'0c' * 20}"
    ]
    steady, shifted = site.get(f"/api/v1/{PUBLIC}").json()["main"]
    assert (steady["case"], steady["shifts"]) == ("03_dropout", [])
    assert shifted["shifts"] == [
        {
            "change_percent": 2.1,
            "before": "0b" * 20,
            "at": "0c" * 20,
            "runs_before": 12,
            "runs_after": 12,
            "started": "2026-04-21T23:13:20.000000Z",
        }
    ]


def test_a_case_draws_its_curves_from_the_runs_themselves(site: SiteUnderTest) -> None:
    """Reports keep no step lines; the page reads those of one run a side, and says the curves in words."""
    row = samples.slower()
    site.add_report(samples.report(row))
    for record, seconds in ((row.base_runs[0], 0.2294), (row.head_runs[0], 0.2434)):
        measured = measure(run_log(Shape(step_seconds=seconds, steps=40, stalls={12: 9.0})))
        site.database.write_now(runs.save, record, now=samples.NOW, measured=measured)
    page = ParsedPage(site.get(PULL).text)
    losses, times = [words for words in page.values("aria-label") if "by step." in words]
    assert losses.startswith("Loss by step. main: 10.87 at step 0")
    assert losses.endswith("Relative difference: none at any common step.")
    assert times.startswith("Step time by step. main: median 0.229 s")
    assert "this change: median 0.24" in times
    own = ParsedPage(site.get(f"/runs/{row.head_runs[0].id}").text)
    assert [words[:30] for words in own.values("aria-label") if "by step." in words] == [
        "Loss by step. this run: 10.87 ",
        "Step time by step. this run: m",
    ]


def test_a_run_of_thousands_of_steps_is_a_page_that_can_be_read(site: SiteUnderTest) -> None:
    """The first and the last of them, and where the others are."""
    site.add_run("r", measured=measure(run_log(Shape(steps=3_000))))
    page = ParsedPage(site.get("/runs/r").text)
    assert 1_000 == sum(tag == "tr" for tag, _ in page.tags[_place(page, "steps") :]) - 1
    assert "The first and the last 500 steps; the 2,000 between them are in the JSON" in page.text
    assert 3_000 == len(site.get("/api/v1/runs/r").json()["steps"])


def _place(page: ParsedPage, style: str) -> int:
    return next(n for n, (_, found) in enumerate(page.tags) if found.get("class") == style)


def test_a_fault_of_the_program_is_one_clear_page(
    site: SiteUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that every page has, and nothing of the fault itself; programs are answered in JSON."""
    site.add_report(samples.report(samples.failing()))
    monkeypatch.delattr("bot.web.pages.pull_request.pull_view")
    answer = site.get(f"/{PUBLIC}/pull/4270", fails=True)
    assert (500, "no-store") == (answer.status_code, answer.headers["cache-control"])
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = ParsedPage(answer.text)
    assert "MaxView failed here" in page.text
    assert "pull_view" not in answer.text
    monkeypatch.delattr("bot.web.pages.pull_request.report_document")
    document = site.get(f"/api/v1/{PUBLIC}/pull/4270", fails=True)
    assert (500, True) == (document.status_code, "MaxView failed here" in document.json()["error"])


def test_pages_lead_to_the_github_that_the_repositories_are_on(site: SiteUnderTest) -> None:
    """A company's own server, say; nothing leads to the public site then."""
    theirs = replace(site, github_url="https://git.company.example")
    theirs.add_report(samples.mixed())
    answer = theirs.get(f"/{PUBLIC}/pull/{samples.mixed().number}")
    assert f"https://git.company.example/{PUBLIC}/commit/" in answer.text
    assert "github.com" not in answer.text
