"""The whole way through a GitHub that no one here wrote, in a browser: the flow, its cookies, its end."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from bot.github.sign_in import SignInClient
from bot.storage.database import Database
from tests.browser.chromium import OpenedPage, serving
from tests.peers.emulate import REPOSITORY, Emulate, running_emulate
from tests.peers.loopback import free_port
from tests.web.site_under_test import SiteUnderTest

pytestmark = pytest.mark.xdist_group("browser")  # one browser for all of them

PAGE = f"/{REPOSITORY}/history?case=x#here"


@pytest.fixture
def github() -> Iterator[Emulate]:
    """With a private repository that alice may read and mallory may not."""
    with running_emulate() as emulate:
        emulate.ask("alice", "PATCH", f"/repos/{REPOSITORY}", {"private": True})
        yield emulate


@pytest.fixture
def site(tmp_path: Path, github: Emulate) -> Iterator[str]:
    """A site of that App."""
    database = Database(f"sqlite:///{tmp_path}/maxview.sqlite")
    database.migrate()
    port = free_port()
    # No connection is kept: the loop of the server's thread ends with the server.
    transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
    people = SignInClient(
        client_id="Iv1", client_secret="s", api_url=github.url, now=lambda: 0.0, transport=transport
    )
    web_site = SiteUnderTest(
        folder=tmp_path, database=database, identity_provider=people, url=f"http://127.0.0.1:{port}"
    )
    number = github.ask("alice", "GET", f"/repos/{REPOSITORY}")["id"]
    web_site.add_repository(REPOSITORY, private=True, number=number)
    with serving(web_site.app, port) as url:
        yield url
    database.close()


def _sign_in(page: Page, who: str) -> None:
    page.get_by_role("link", name="Sign in with GitHub").click()
    page.get_by_role("button", name=who).click()


def test_people_sign_in_and_out(browser: Browser, site: str) -> None:
    """Alice reads the private repository, back where she came from; mallory reads what nobody reads."""
    look = OpenedPage(browser.new_page(base_url=site))
    page = look.page
    assert 404 == getattr(page.goto(f"/{REPOSITORY}"), "status", None)
    hidden = page.locator("main").inner_text()
    _sign_in(page, "mallory")
    page.wait_for_url(f"{site}/{REPOSITORY}")
    assert hidden == page.locator("main").inner_text()
    page.get_by_role("button", name="Sign out").click()
    page.goto(PAGE)
    _sign_in(page, "alice")
    page.wait_for_url(f"{site}{PAGE}")
    assert [] == look.violations()
    assert 200 == getattr(page.goto(f"/{REPOSITORY}"), "status", None)
    cookies = page.context.cookies(site)
    assert [("maxview-session", True, "Lax")] == [
        (one["name"], one["httpOnly"], one["sameSite"])
        for one in cookies
        if one["name"].startswith("maxview")
    ]
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site}/")
    assert [] == [one for one in page.context.cookies(site) if one["name"].startswith("maxview")]
    assert 404 == getattr(page.goto(f"/{REPOSITORY}"), "status", None)
    assert [] == [said for said in look.complaints if "404" not in said]
    page.context.close()
