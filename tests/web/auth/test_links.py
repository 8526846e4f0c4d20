"""A link of a comment opens what belongs to its pull request, for a month, and nothing else."""

import asyncio
import re
from collections.abc import Sequence

import httpx
import pytest
from msgspec.structs import replace
from starlette.routing import Route

from bot.domain.run import RunRecord
from bot.report.model import CaseReport, Report
from bot.storage import repositories
from bot.web.auth.keys import DAY_SECONDS, LINK_DAYS, LinkGrant, LinkKey, read_key
from tests.report import samples
from tests.web.site_under_test import KEY, MEMBER, PRIVATE, URL, SiteUnderTest

OTHER = "octo/vault"

PULL, NEIGHBOUR = 4270, 8

OPENED = {
    "/{owner}/{repo}/pull/{number:int}",
    "/{owner}/{repo}/compare/{ends:path}",
    "/{owner}/{repo}/compare-logs",
    "/{owner}/{repo}/parity/{ref:path}",
    "/runs/{id}",
    "/runs/{id}/log",
    "/runs/{id}/log/raw",
    "/runs/{id}/log/search",
}
"""What a key opens, and the same under `/api/v1`; a branch is opened by the key of a watched branch."""

OF_EVERYBODY = {"/", "/sign-in", "/sign-in/callback", "/api/v1/", "/api/v1/openapi.json", "/static/{name}"}
"""Routes that belong to no repository."""


class Subject:
    """A pull request of a private repository with a report, its runs and their logs."""

    def __init__(self, site: SiteUnderTest, repository: str, number: int) -> None:
        self.repository, self.number = repository, number
        self.head = f"{number:04d}" * 10
        made = samples.mixed()
        rows = tuple(self._own(row) for row in made.rows)
        self.report: Report = replace(
            made, repository=repository, number=number, rows=rows, head_sha=self.head
        )
        site.add_report(self.report)
        site.add_pull(number, repository)
        measured = next(row for row in rows if row.base_runs and row.head_runs)
        self.runs = (measured.base_runs[0].id, measured.head_runs[0].id)
        for run, (branch, sha) in zip(self.runs, (("main", "b" * 40), ("feat", self.head)), strict=True):
            kept = site.add_run(run, b"a secret line\n", measured=samples.measured(), repository=repository)
            site.update_run(kept, branch=branch, sha=sha)

    def _own(self, row: CaseReport) -> CaseReport:
        def named(several: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
            mark = f"{self.repository.replace('/', '-')}-{self.number}"
            return tuple(replace(run, id=f"{mark}-{run.id}", repository=self.repository) for run in several)

        return replace(row, base_runs=named(row.base_runs), head_runs=named(row.head_runs), stale_runs=())

    def address(self, template: str) -> str:
        """The address of this route that is about this pull request."""
        owner, _, name = self.repository.partition("/")
        values = {
            "owner": owner,
            "repo": name,
            "number:int": str(self.number),
            "branch:path": "feat",
            "ends:path": f"main...pr/{self.number}",
            "ref:path": f"pr/{self.number}",
            "id": self.runs[1],
            "name": "page.css",
            "path:path": "none",
        }
        path = re.sub(r"{([^}]+)}", lambda match: values[match[1]], template)
        query = f"?base={self.runs[0]}&head={self.runs[1]}" if "compare-logs" in path else ""
        return path + (query or ("?q=secret" if "search" in path else ""))


@pytest.fixture
def subjects(site: SiteUnderTest) -> dict[str, Subject]:
    """Two pull requests of one private repository, and one of another of the same number."""
    site.add_repository(OTHER, private=True, number=3)
    return {
        "own": Subject(site, PRIVATE, PULL),
        "neighbour": Subject(site, PRIVATE, NEIGHBOUR),
        "stranger": Subject(site, OTHER, PULL),
    }


def templates(site: SiteUnderTest) -> list[str]:
    """Every route that there is."""
    return [route.path for route in site.app.routes if isinstance(route, Route)]


def visit(site: SiteUnderTest, addresses: Sequence[str], *, first: str = "") -> list[httpx.Response]:
    """The answers to one browser, which keeps cookies and follows redirects; `first` is opened before."""

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=site.app)
        async with httpx.AsyncClient(transport=transport, base_url=URL, follow_redirects=True) as client:
            if first:
                await client.get(first)
            return [await client.get(address) for address in addresses]

    return asyncio.run(ask())


def keyed(address: str, key: str) -> str:
    """The address as a link of a comment."""
    return f"{address}{'&' if '?' in address else '?'}key={key}"


def test_a_key_opens_what_belongs_to_its_pull_request(
    site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """These routes and no others, as pages and as JSON; what the whole repository shows stays shut."""
    own = subjects["own"]
    of_repositories = [template for template in templates(site) if template not in OF_EVERYBODY]
    opened = set()
    for template in of_repositories:
        (answer,) = visit(site, [keyed(own.address(template), site.key())])
        if answer.status_code == 200:
            opened.add(template.removeprefix("/api/v1"))
            assert "private, no-cache" == answer.headers["cache-control"], template
            assert "key=" not in answer.text
            assert "key=" not in str(answer.url)
    assert OPENED == opened


@pytest.mark.parametrize("whose", ["neighbour", "stranger"])
def test_a_key_opens_nothing_of_another_pull_request(
    whose: str, site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """On every route there is, with the key in the address and as a cookie: the answer is a stranger's."""
    other, used = subjects[whose], f"/{PRIVATE}/pull/{PULL}?key={site.key()}"
    for template in templates(site):
        address = other.address(template)
        (strangers,) = visit(site, [address])
        for answer in (*visit(site, [address], first=used), *visit(site, [keyed(address, site.key())])):
            assert (strangers.status_code, strangers.content) == (answer.status_code, answer.content), (
                template
            )


def test_names_of_others_are_not_opened_by_mixing_them(
    site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """A comparison or a pair of logs that is half one's own, and every way to name what is not."""
    own, neighbour = subjects["own"], subjects["neighbour"]
    addresses = [
        f"/{PRIVATE}/compare/pr/{PULL}...pr/{NEIGHBOUR}",
        f"/{PRIVATE}/compare/pr/{NEIGHBOUR}...pr/{PULL}",
        f"/{PRIVATE}/compare/main...{neighbour.head}",
        f"/{PRIVATE}/compare/main...main",
        f"/{PRIVATE}/compare/main...pr/99",
        f"/{PRIVATE}/compare/nothing...pr/{PULL}",
        f"/{PRIVATE}/parity/main",
        f"/{PRIVATE}/parity/{neighbour.head}",
        f"/{PRIVATE}/compare-logs?base={own.runs[0]}&head={neighbour.runs[1]}",
        f"/{PRIVATE}/compare-logs?base={neighbour.runs[0]}&head={own.runs[1]}",
        f"/{PRIVATE}/pull/{NEIGHBOUR}?head={own.head}",
        f"/{PRIVATE}/branch/feat",
    ]
    answers = visit(site, addresses, first=f"/{PRIVATE}/pull/{PULL}?key={site.key()}")
    assert {404} == {answer.status_code for answer in answers}
    assert 1 == len({answer.content for answer in answers})


def test_a_key_becomes_a_cookie_and_a_clean_address(
    site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """Out of reach of scripts and of other sites, for the repository's addresses and those of runs alone, as
    long as the key lasts; everything else of the address is kept."""
    head = subjects["own"].head
    answer = site.get(f"/{PRIVATE}/pull/{PULL}?head={head}&key={site.key()}")
    assert (303, f"/{PRIVATE}/pull/{PULL}?head={head}") == (answer.status_code, answer.headers["location"])
    assert ("no-store", "no-referrer") == (
        answer.headers["cache-control"],
        answer.headers["referrer-policy"],
    )
    cookies = answer.headers.get_list("set-cookie")
    assert {f"/{PRIVATE}", f"/api/v1/{PRIVATE}", "/runs", "/api/v1/runs"} == {
        re.search(r"Path=([^;]+)", cookie)[1]  # type: ignore[index]
        for cookie in cookies
    }
    for cookie in cookies:
        assert cookie.startswith(f"__Secure-maxview-link-1-{PULL}=")
        assert {"HttpOnly", "Secure", "SameSite=lax"} <= set(cookie.split("; "))
        seconds = int(re.search(r"Max-Age=(\d+)", cookie)[1])  # type: ignore[index]
        assert LINK_DAYS * DAY_SECONDS <= seconds <= (LINK_DAYS + 1) * DAY_SECONDS


def test_a_cookie_is_no_key_and_a_key_is_no_cookie(site: SiteUnderTest, subjects: dict[str, Subject]) -> None:
    """Each opens in its own place; and the cookie of one pull request does not open under another's name."""
    address = f"/{subjects['own'].repository}/pull/{PULL}"
    answer = site.get(f"{address}?key={site.key()}")
    name, _, value = answer.headers.get_list("set-cookie")[0].split(";")[0].partition("=")
    assert 200 == site.get(address, cookie=f"{name}={value}").status_code
    assert 404 == site.get(f"{address}?key={value}").status_code
    assert 404 == site.get(address, cookie=f"{name}={site.key()}").status_code
    renamed = name.replace(str(PULL), str(NEIGHBOUR))
    neighbours = f"/{PRIVATE}/pull/{NEIGHBOUR}"
    assert 404 == site.get(neighbours, cookie=f"{renamed}={value}").status_code


BAD_KEYS = (
    "forged",
    "wrong epoch",
    "truncated",
    "longer",
    "of another number",
    "of a later day",
    "upper case",
    "of the old kind",
    "endless",
    "digits of another script",
)


def _bad_keys(site: SiteUnderTest) -> dict[str, str]:
    good, now = site.key(), site.now
    forged = LinkKey("another secret").key(1, PULL, epoch=0, now=now)
    wrong_epoch = KEY.key(1, PULL, epoch=77, now=now)
    tomorrow = re.sub(r"_(\d+)_(?=[0-9a-f]{32}$)", lambda day: f"_{int(day[1]) + 1}_", good)
    return {
        "forged": str(forged),
        "wrong epoch": str(wrong_epoch),
        "truncated": good[:-1],
        "longer": good + "0",
        "of another number": good.replace(f"_{PULL}_", f"_{PULL + 1}_"),
        "of a later day": tomorrow,
        "upper case": good.upper(),
        "of the old kind": "0123456789abcdef" * 2,
        "endless": "1" * 5000,
        "digits of another script": good.replace("1", "١"),
    }


@pytest.mark.parametrize("kind", BAD_KEYS)
def test_a_key_that_is_not_ours_opens_nothing(
    kind: str, site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """On every route: no cookie, no redirect, and the answer is a stranger's."""
    key = _bad_keys(site)[kind]
    for template in templates(site):
        address = subjects["own"].address(template)
        without, answer = site.get(address), site.get(keyed(address, key))
        assert (without.status_code, without.content) == (answer.status_code, answer.content), template
        assert "set-cookie" not in answer.headers or template.startswith("/sign-in")


def test_links_last_a_month_and_then_say_how_to_get_others(
    site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """Key and cookie end together; the page names the command, in JSON too."""
    address, key = f"/{subjects['own'].repository}/pull/{PULL}", site.key()
    cookie = site.get(f"{address}?key={key}").headers.get_list("set-cookie")[0].split(";")[0]
    site.now += LINK_DAYS * DAY_SECONDS
    assert 303 == site.get(f"{address}?key={key}").status_code
    assert 200 == site.get(address, cookie=cookie).status_code
    site.now += DAY_SECONDS
    expired = site.get(f"{address}?key={key}")
    assert (410, "no-store") == (expired.status_code, expired.headers["cache-control"])
    assert "This link has expired" in expired.text
    assert "/benchmark status" in expired.text
    assert "/benchmark status" in site.get(f"/api/v1{address}?key={key}").json()["error"]
    assert 404 == site.get(address, cookie=cookie).status_code
    assert "/benchmark status" in site.get(address, cookie=cookie).text
    assert 200 == site.get(f"{address}?key={key}", authorization=MEMBER).status_code


def test_rotated_links_die_at_once_with_their_cookies(
    site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """Those of this repository; new ones open."""
    address, key = f"/{subjects['own'].repository}/pull/{PULL}", site.key()
    others = f"/{OTHER}/pull/{PULL}?key={site.key(OTHER)}"
    cookie = site.get(f"{address}?key={key}").headers.get_list("set-cookie")[0].split(";")[0]
    site.database.write_now(repositories.rotate_links, PRIVATE, now=site.now)
    assert 404 == site.get(f"{address}?key={key}").status_code
    assert 404 == site.get(address, cookie=cookie).status_code
    assert 303 == site.get(f"{address}?key={site.key()}").status_code
    assert 303 == site.get(others).status_code


def test_without_link_keys_none_is_made_and_none_opens() -> None:
    """An operator may want everybody to sign in."""
    off = LinkKey(None)
    assert off.key(1, PULL, epoch=0, now=0.0) is None
    signed = read_key(KEY.key(1, PULL, epoch=0, now=0.0) or "")
    assert signed is not None
    assert LinkGrant(repository_id=1, number=PULL, day=0) == signed.grant
    assert KEY.opens(signed, epoch=0, kind="key")
    assert not off.opens(signed, epoch=0, kind="key")


def test_no_search_engine_keeps_a_page_and_no_site_learns_its_address(
    site: SiteUnderTest, subjects: dict[str, Subject]
) -> None:
    """On every route: pages, JSON, files, refusals, redirects."""
    for template in templates(site):
        for authorization in ("", MEMBER):
            answer = site.get(subjects["own"].address(template), authorization=authorization)
            assert ("noindex, nofollow", "no-referrer") == (
                answer.headers["x-robots-tag"],
                answer.headers["referrer-policy"],
            ), template
            if "html" in answer.headers.get("content-type", ""):
                assert '<meta name="robots" content="noindex' in answer.text
            if authorization and answer.status_code == 200 and template not in OF_EVERYBODY:
                assert answer.headers["cache-control"].startswith("private"), template
