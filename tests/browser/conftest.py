"""A browser for each module, and one filled site for each worker."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from bot.storage.database import Database
from tests.browser.chromium import WIDE, OpenedPage, launch, serving
from tests.browser.filled_site import fill_every_page
from tests.peers.loopback import free_port
from tests.web.site_under_test import SiteUnderTest

Open = Callable[..., OpenedPage]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, kept for the tests of one module and no longer.

    Playwright leaves its event loop running in this thread, and tests of other modules start their own."""
    with sync_playwright() as playwright:
        found = launch(playwright)
        yield found
        found.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site on which every kind of page has something to show."""
    folder = tmp_path_factory.mktemp("site")
    database = Database(f"sqlite:///{folder}/maxview.sqlite")
    database.migrate()
    port = free_port()
    web_site = SiteUnderTest(folder=folder, database=database, url=f"http://127.0.0.1:{port}")
    fill_every_page(web_site)
    with serving(web_site.app, port) as url:
        yield url
    database.close()


@pytest.fixture
def look(browser: Browser, site: str) -> Iterator[Open]:
    """Open a path of the site in a window of its own; `width`, `scheme`, `script` say how."""
    contexts = []

    def at(path: str, *, width: int = WIDE, scheme: str = "light", script: bool = True) -> OpenedPage:
        context = browser.new_context(
            base_url=site,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=script,
        )
        contexts.append(context)
        found = OpenedPage(context.new_page())
        found.page.goto(path)
        return found

    yield at
    for context in contexts:
        context.close()
