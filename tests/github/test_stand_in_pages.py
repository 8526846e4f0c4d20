"""People can read the stand-in's conversations, and type into them."""

import httpx
import pytest

from tests.github.conftest import Hub

pytestmark = pytest.mark.anyio

PULL = "/acme/maxtext/pull/1"
HTML = {"accept": "text/html"}


def _browser(hub: Hub) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(hub.stand_in.application)
    return httpx.AsyncClient(transport=transport, base_url=hub.stand_in.world.url, headers=HTML)


async def test_a_conversation_is_shown_as_github_shows_it(hub: Hub) -> None:
    """Markdown is set; what a person writes as HTML is left out, and a title is escaped."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add <b>a file</b>", "alice")
    await hub.stand_in.comment(number, "mallory", "**so** <script>alert(1)</script>")
    async with _browser(hub) as browser:
        listed, shown = await browser.get("/acme/maxtext/pulls"), await browser.get(PULL)
    assert f'href="{PULL}"' in listed.text
    assert "<strong>so</strong>" in shown.text
    assert "<script>" not in shown.text.partition("<form")[0]
    assert "Add &lt;b&gt;a file&lt;/b&gt;" in shown.text


async def test_what_is_typed_is_a_comment_that_the_app_hears_of(hub: Hub) -> None:
    """Its webhook is sent as for any other comment, and the page comes back."""
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    async with _browser(hub) as browser:
        answer = await browser.post(PULL, data={"who": "bob", "body": "/benchmark plan"})
        talk = await browser.get(f"{PULL}/conversation")
    assert (303, f"{PULL}#new") == (answer.status_code, answer.headers["location"])
    (said,) = hub.stand_in.comments_of(1)
    assert ("bob", "/benchmark plan") == (said.author.login, said.body)
    assert "issue_comment" == hub.webhooks[-1].headers["X-GitHub-Event"]
    assert "/benchmark plan" in talk.text


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        ({"who": "nobody", "body": "x"}, {}),
        ({"who": "bob", "body": "  "}, {}),
        ({}, {}),
        ({"who": "bob", "body": "x"}, {"origin": "http://another.example"}),
    ],
)
async def test_nothing_else_is_taken(hub: Hub, form: dict[str, str], headers: dict[str, str]) -> None:
    """Strangers to the stand-in, empty comments, and forms of other sites."""
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    async with _browser(hub) as browser:
        await browser.post(PULL, data=form, headers=headers)
    assert () == hub.stand_in.comments_of(1)


@pytest.mark.parametrize("path", ["/acme/maxtext/pull/9", "/acme/other/pulls", "/acme/maxtext/commit/abc"])
async def test_a_browser_is_told_what_is_not_there(hub: Hub, path: str) -> None:
    """Programs get GitHub's JSON."""
    async with _browser(hub) as browser:
        page = await browser.get(path)
        assert (404, True) == (page.status_code, "shows <a" in page.text)
        if "commit" in path:
            assert {"message": "Not Found"} == (await browser.get(path, headers={"accept": "*/*"})).json()
