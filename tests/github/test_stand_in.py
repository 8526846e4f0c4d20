"""The stand-in behaves as GitHub does where the client, the webhook or a browser can see it."""

import hashlib
import hmac
import json

import httpx
import pytest

from bot.demo.github.git import GitHistory
from bot.demo.github.stand_in import StandInGitHub
from bot.webhooks.events import Commented, InstallationChanged, PullAction, PullChanged, Pushed, read_event
from tests.github.conftest import APP_ID, SECRET, Hub

pytestmark = pytest.mark.anyio


def _events(hub: Hub) -> list[str]:
    return [
        f"{one.headers['X-GitHub-Event']} {json.loads(one.content).get('action', '')}".strip()
        for one in hub.webhooks
    ]


async def _ask(hub: Hub, path: str, authorization: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(hub.stand_in.application)) as client:
        headers = {"Authorization": authorization}
        return await client.request(method, f"{hub.stand_in.state.url}{path}", headers=headers)


async def test_webhooks_are_signed_as_github_signs_them(hub: Hub) -> None:
    """The signature covers the exact bytes; the id is a GUID; the target is the App."""
    await hub.stand_in.open_pull("feat/x#1", "Ädd", "alice")
    (sent,) = hub.webhooks
    digest = hmac.new(SECRET.encode(), sent.content, hashlib.sha256).hexdigest()
    assert f"sha256={digest}" == sent.headers["X-Hub-Signature-256"]
    assert str(APP_ID) == sent.headers["X-GitHub-Hook-Installation-Target-ID"]
    assert len(sent.headers["X-GitHub-Delivery"]) == 36


async def test_actions_of_people_arrive_as_webhook_events(hub: Hub) -> None:
    """Our own reader turns every method's delivery into its event."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "bob", draft=True)
    await hub.stand_in.mark_ready(number)
    await hub.stand_in.comment(number, "mallory", "/benchmark")
    head = hub.git.write("feat/x#1", {"src/new.py": "x = 2\n"})
    assert head == await hub.stand_in.push("feat/x#1", "bob")
    await hub.stand_in.close_pull(number)
    await hub.stand_in.reopen_pull(number)
    await hub.stand_in.install()
    events = [read_event(one.headers["X-GitHub-Event"], json.loads(one.content)) for one in hub.webhooks]
    assert [PullChanged, PullChanged, Commented, Pushed, PullChanged, PullChanged, PullChanged] == [
        type(one) for one in events[:-1]
    ]
    assert isinstance(events[-1], InstallationChanged)
    assert ["acme/maxtext"] == [one.full_name for one in events[-1].added]
    synchronized, pushed = events[4], events[3]
    assert isinstance(synchronized, PullChanged)
    assert isinstance(pushed, Pushed)
    assert (PullAction.SYNCHRONIZE, head, "bob") == (
        synchronized.action,
        synchronized.head_sha,
        synchronized.by.login,
    )
    assert (head, hub.clock.time) == (pushed.after, pushed.pushed_at)


async def test_the_app_s_own_comments_come_back_as_events(hub: Hub) -> None:
    """GitHub reports an App's own actions to it too; a bot's comment is no command."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    made = await hub.github.create_comment(hub.repository, number, "/benchmark")
    await hub.github.edit_comment(hub.repository, made.id, "/benchmark run")
    await hub.github.delete_comment(hub.repository, made.id)
    await hub.stand_in.settle()
    expected = {
        "pull_request opened",
        "issue_comment created",
        "issue_comment edited",
        "issue_comment deleted",
    }
    assert expected == set(_events(hub))


async def test_a_deleted_branch_is_a_push_of_zeros(hub: Hub) -> None:
    """After a deletion the new commit is all zeros."""
    await hub.stand_in.push("feat/x#1")
    await hub.stand_in.push("gone")
    pushed = [read_event("push", json.loads(one.content)) for one in hub.webhooks]
    assert isinstance(pushed[1], Pushed)
    assert (True, "0" * 40) == (pushed[1].deleted, pushed[1].after)


async def test_failed_deliveries_are_kept_and_redelivered_under_their_id(hub: Hub) -> None:
    """As on GitHub there is no automatic repetition, and a redelivery keeps its GUID."""
    hub.stand_in.send_webhooks_to(None)
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    hub.stand_in.send_webhooks_to("http://maxview.test/webhook")
    token = "Bearer a.b.c"
    (failed,) = (await _ask(hub, "/app/hook/deliveries", token)).json()
    assert ("pull_request", "opened", 0, False) == (
        failed["event"],
        failed["action"],
        failed["status_code"],
        failed["redelivery"],
    )
    whole = (await _ask(hub, f"/app/hook/deliveries/{failed['id']}", token)).json()
    assert whole["request"]["payload"]["number"] == 1
    again = await _ask(hub, f"/app/hook/deliveries/{failed['id']}/attempts", token, "POST")
    assert again.status_code == 202
    newest, _ = (await _ask(hub, "/app/hook/deliveries", token)).json()
    assert (failed["guid"], True, "OK") == (newest["guid"], newest["redelivery"], newest["status"])
    assert failed["guid"] == hub.webhooks[0].headers["X-GitHub-Delivery"]


async def test_a_refused_delivery_is_recorded(hub: Hub) -> None:
    """With the answer of the App."""

    def refuse(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/away":
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(503)

    stand_in = StandInGitHub(
        GitHistory(hub.git.path),
        "acme/maxtext",
        "http://m.test/x",
        SECRET,
        APP_ID,
        transport=httpx.MockTransport(refuse),
    )
    await stand_in.install()
    stand_in.send_webhooks_to("http://m.test/away")
    await stand_in.install()
    assert [("Invalid HTTP Response: 503", 503), ("failed to connect to host: ConnectError", 0)] == [
        (one.status, one.status_code) for one in stand_in.state.deliveries
    ]


@pytest.mark.parametrize("authorization", ["", "token unknown", "Bearer x", "token a.b.c"])
async def test_requests_need_the_right_token(hub: Hub, authorization: str) -> None:
    """An App's JWT and an installation's token are not interchangeable."""
    for path in ("/app", "/repos/acme/maxtext"):
        answer = await _ask(hub, path, authorization)
        assert (401, "Bad credentials") == (answer.status_code, answer.json()["message"])


async def test_an_app_may_not_edit_comments_of_others(hub: Hub) -> None:
    """As on GitHub, without the permission of a maintainer."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    theirs = await hub.stand_in.comment(number, "alice", "mine")
    with pytest.raises(Exception, match="403"):
        await hub.github.edit_comment(hub.repository, theirs, "yours")
    hub.contract.violations.clear()
    assert ["mine"] == [one.body for one in hub.stand_in.comments_of(number)]


async def test_answers_about_deliveries_match_the_openapi_description(hub: Hub) -> None:
    """Also on the routes that the client does not call."""
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    async with httpx.AsyncClient(transport=hub.contract, base_url=hub.stand_in.state.url) as client:
        headers = {"Authorization": "Bearer a.b.c", "X-GitHub-Api-Version": "2022-11-28"}
        listed = (await client.get("/app/hook/deliveries?per_page=10", headers=headers)).json()
        await client.get(f"/app/hook/deliveries/{listed[0]['id']}", headers=headers)
        await client.post(f"/app/hook/deliveries/{listed[0]['id']}/attempts", headers=headers)
    assert [
        "GET /app/hook/deliveries",
        "GET /app/hook/deliveries/{delivery_id}",
        "POST /app/hook/deliveries/{delivery_id}/attempts",
    ] == hub.contract.operations


PULL = "/acme/maxtext/pull/1"

HTML = {"accept": "text/html"}


def _browser(hub: Hub) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(hub.stand_in.application)
    return httpx.AsyncClient(transport=transport, base_url=hub.stand_in.state.url, headers=HTML)


async def test_the_page_of_a_conversation_renders_markdown(hub: Hub) -> None:
    """HTML in people's comments is left out, and a title is escaped."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add <b>a file</b>", "alice")
    await hub.stand_in.comment(number, "mallory", "**so** <script>alert(1)</script>")
    async with _browser(hub) as browser:
        listed, shown = await browser.get("/acme/maxtext/pulls"), await browser.get(PULL)
    assert f'href="{PULL}"' in listed.text
    assert "<strong>so</strong>" in shown.text
    assert "<script>" not in shown.text.partition("<form")[0]
    assert "Add &lt;b&gt;a file&lt;/b&gt;" in shown.text


async def test_the_form_posts_a_comment_with_its_webhook(hub: Hub) -> None:
    """And the page comes back."""
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
async def test_the_form_refuses_everything_else(
    hub: Hub, form: dict[str, str], headers: dict[str, str]
) -> None:
    """Unknown people, empty comments, and forms of other sites."""
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    async with _browser(hub) as browser:
        await browser.post(PULL, data=form, headers=headers)
    assert () == hub.stand_in.comments_of(1)


@pytest.mark.parametrize("path", ["/acme/maxtext/pull/9", "/acme/other/pulls", "/acme/maxtext/commit/abc"])
async def test_a_browser_gets_a_page_for_a_missing_address(hub: Hub, path: str) -> None:
    """Programs get GitHub's JSON."""
    async with _browser(hub) as browser:
        page = await browser.get(path)
        assert (404, True) == (page.status_code, "shows <a" in page.text)
        if "commit" in path:
            assert {"message": "Not Found"} == (await browser.get(path, headers={"accept": "*/*"})).json()
