"""Links to a repository's former names lead on, whatever else stands in them."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from bot.storage import repositories
from bot.web.former_names import FormerNameRedirect, FormerNames
from tests.web.site_under_test import PRIVATE, PUBLIC, URL, SiteUnderTest


def _asked(site: SiteUnderTest, path: str) -> httpx.Response:
    names = FormerNames(database=site.database, now=lambda: site.now)
    app = Starlette(middleware=[Middleware(FormerNameRedirect, names=names)])

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
            return await client.get(path)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "rest", ["", "/pull/12?head=abcdef0", "/branch/feat/%C3%BC%20x", "/history?case=a%2Bb"]
)
def test_an_old_link_leads_to_the_same_page_of_the_new_name(rest: str, site: SiteUnderTest) -> None:
    """Branches with other letters and questions are kept as they were asked."""
    site.database.write_now(repositories.rename_repository, PUBLIC, "octo/next")
    for above in ("", "/api/v1"):
        answer = _asked(site, f"{above}/{PUBLIC}{rest}")
        assert (307, f"{above}/octo/next{rest}") == (answer.status_code, answer.headers["location"])


def test_nobody_learns_the_new_name_of_a_private_repository(site: SiteUnderTest) -> None:
    """Only who has a key is led on, to an address without one."""
    key = site.key(PRIVATE, 7)
    site.database.write_now(repositories.rename_repository, PRIVATE, "octo/hidden")
    assert 404 == _asked(site, f"/{PRIVATE}/history").status_code
    assert 404 == _asked(site, f"/{PRIVATE}/history?key={key}").status_code
    answer = site.get(f"/{PRIVATE}/pull/7?key={key}&head=abcd")
    assert (303, "/octo/hidden/pull/7?head=abcd") == (answer.status_code, answer.headers["location"])
