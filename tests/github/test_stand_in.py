"""The stand-in behaves as GitHub does where the client or the webhook can see it."""

import hashlib
import hmac
import json

import httpx
import pytest

from bot.demo.github import StandIn
from bot.intake.event import Commented, InstallationChanged, PullAction, PullChanged, Pushed, read_event
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
        return await client.request(method, f"{hub.stand_in.world.url}{path}", headers=headers)


async def test_webhooks_are_signed_as_github_signs_them(hub: Hub) -> None:
    """The signature is over the very bytes; the id is a GUID; the target is the App."""
    await hub.stand_in.open_pull("feat/x#1", "Ädd", "alice")
    (sent,) = hub.webhooks
    digest = hmac.new(SECRET.encode(), sent.content, hashlib.sha256).hexdigest()
    assert f"sha256={digest}" == sent.headers["X-Hub-Signature-256"]
    assert str(APP_ID) == sent.headers["X-GitHub-Hook-Installation-Target-ID"]
    assert len(sent.headers["X-GitHub-Delivery"]) == 36


async def test_what_people_do_reaches_the_webhook_as_events(hub: Hub) -> None:
    """Every method's delivery is read by our own reader into the event it stands for."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "bob", draft=True)
    await hub.stand_in.ready(number)
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
    """GitHub tells an App what it did itself; a bot's comment is no command."""
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


async def test_a_deleted_branch_is_pushed_as_nothing(hub: Hub) -> None:
    """After a deletion the new commit is all zeros."""
    await hub.stand_in.push("feat/x#1")
    await hub.stand_in.push("gone")
    pushed = [read_event("push", json.loads(one.content)) for one in hub.webhooks]
    assert isinstance(pushed[1], Pushed)
    assert (True, "0" * 40) == (pushed[1].deleted, pushed[1].after)


async def test_failed_deliveries_are_kept_and_repeated_under_their_id(hub: Hub) -> None:
    """As on GitHub nothing is repeated by itself, and a repetition keeps its GUID."""
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


async def test_an_address_that_refuses_is_recorded(hub: Hub) -> None:
    """The record says how the App answered."""

    def refuse(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/away":
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(503)

    stand_in = StandIn(
        hub.git.path, "acme/maxtext", "http://m.test/x", SECRET, APP_ID, transport=httpx.MockTransport(refuse)
    )
    await stand_in.install()
    stand_in.send_webhooks_to("http://m.test/away")
    await stand_in.install()
    assert [("Invalid HTTP Response: 503", 503), ("failed to connect to host: ConnectError", 0)] == [
        (one.status, one.status_code) for one in stand_in.world.deliveries
    ]


@pytest.mark.parametrize("authorization", ["", "token unknown", "Bearer x", "token a.b.c"])
async def test_nothing_is_said_without_a_right_token(hub: Hub, authorization: str) -> None:
    """An App's JWT and an installation's token are not the same."""
    for path in ("/app", "/repos/acme/maxtext"):
        answer = await _ask(hub, path, authorization)
        assert (401, "Bad credentials") == (answer.status_code, answer.json()["message"])


async def test_an_app_may_not_edit_what_it_did_not_write(hub: Hub) -> None:
    """As on GitHub, without the permission of a maintainer."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    theirs = await hub.stand_in.comment(number, "alice", "mine")
    with pytest.raises(Exception, match="403"):
        await hub.github.edit_comment(hub.repository, theirs, "yours")
    hub.contract.violations.clear()
    assert ["mine"] == [one.body for one in hub.stand_in.comments_of(number)]


async def test_every_answer_of_deliveries_is_as_described(hub: Hub) -> None:
    """The routes that the client does not call hold against GitHub's description too."""
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    async with httpx.AsyncClient(transport=hub.contract, base_url=hub.stand_in.world.url) as client:
        headers = {"Authorization": "Bearer a.b.c", "X-GitHub-Api-Version": "2022-11-28"}
        listed = (await client.get("/app/hook/deliveries?per_page=10", headers=headers)).json()
        await client.get(f"/app/hook/deliveries/{listed[0]['id']}", headers=headers)
        await client.post(f"/app/hook/deliveries/{listed[0]['id']}/attempts", headers=headers)
    assert [
        "GET /app/hook/deliveries",
        "GET /app/hook/deliveries/{delivery_id}",
        "POST /app/hook/deliveries/{delivery_id}/attempts",
    ] == hub.contract.operations
