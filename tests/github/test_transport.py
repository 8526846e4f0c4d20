"""How requests are sent: tokens, timeouts, limits, secrets."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest

from bot.domain.repository import Person, Repository
from bot.errors import InternalError, NotFound, TransientError
from bot.github.client import GitHubClient
from bot.github.errors import RateLimited, UncertainWrite
from tests.github.conftest import Clock, Hub
from tests.peers.keys import private_key

pytestmark = pytest.mark.anyio

MAXTEXT = Repository(full_name="acme/maxtext", installation=1)

Answering = Callable[[httpx.Request], httpx.Response]


class Wire(httpx.AsyncBaseTransport):
    """A connection that answers every request alike, but creates tokens with the given end."""

    def __init__(self, answer: Answering, expires: str = "2030-01-01T00:00:00Z") -> None:
        self.answer = answer
        self.expires = expires
        self.sent: list[httpx.Request] = []
        self.minted = 0
        self.closed = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Mint, or answer."""
        await asyncio.sleep(0)
        self.sent.append(request)
        if request.url.path.endswith("/access_tokens"):
            self.minted += 1
            body = {"token": f"ghs_secret_{self.minted}", "expires_at": self.expires}
            return httpx.Response(201, json=body)
        return self.answer(request)

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1


def _github(
    wire: Wire, clock: Clock | None = None, key: str | None = None, url: str = "http://g.test"
) -> GitHubClient:
    return GitHubClient(
        app_id=42, private_key=key or private_key(), api_url=url, transport=wire, now=clock or Clock()
    )


def _comment(_: httpx.Request) -> httpx.Response:
    user = {"login": "maxview[bot]", "id": 1, "type": "Bot"}
    return httpx.Response(
        201, json={"id": 5, "user": user, "body": "b", "created_at": "2026-11-21T06:00:00Z"}
    )


def _failing(problem: type[httpx.TransportError]) -> Answering:
    def answer(request: httpx.Request) -> httpx.Response:
        raise problem("no", request=request)

    return answer


async def test_twenty_calls_at_once_mint_one_token() -> None:
    """Each installation has its own token."""
    wire = Wire(_comment)
    github = _github(wire)
    await asyncio.gather(*(github.comment(MAXTEXT, 5) for _ in range(20)))
    assert wire.minted == 1
    other = Repository(full_name="acme/maxtext", installation=2)
    await github.comment(other, 5)
    assert wire.minted == 2


@pytest.mark.parametrize("expires", ["2026-11-21T07:00:00Z", "2026-11-21T07:00:00.123Z"])
async def test_a_token_is_renewed_in_its_last_minute(expires: str) -> None:
    """A token is used for its hour less a minute; an expiry with milliseconds is read too."""
    clock = Clock()
    wire = Wire(_comment, expires)
    github = _github(wire, clock)
    await github.comment(MAXTEXT, 5)
    clock.time += 3600 - 61
    await github.comment(MAXTEXT, 5)
    assert wire.minted == 1
    clock.time += 2
    await github.comment(MAXTEXT, 5)
    assert wire.minted == 2


async def test_a_refused_token_is_replaced_once(hub: Hub) -> None:
    """The call succeeds with a new token, and was sent twice only."""
    await hub.github.repository_facts(hub.repository)
    hub.stand_in.revoke_tokens()
    before = len(hub.stand_in.state.requests)
    # GitHub's description leaves the 401 of this operation out.
    await hub.github.repository_facts(hub.repository)
    assert [
        "GET /repos/acme/maxtext",
        "POST /app/installations/1/access_tokens",
        "GET /repos/acme/maxtext",
    ] == hub.stand_in.state.requests[before:]
    hub.contract.violations.clear()


async def test_a_token_refused_twice_is_a_transient_error() -> None:
    """A new token may not be known everywhere yet."""
    wire = Wire(lambda _: httpx.Response(401, json={"message": "Bad credentials"}))
    with pytest.raises(TransientError) as raised:
        await _github(wire).pull(MAXTEXT, 1)
    assert (2, 4, False) == (wire.minted, len(wire.sent), raised.value.may_have_acted)


async def test_twenty_refused_calls_mint_one_new_token(hub: Hub) -> None:
    """A late refusal of the old token does not drop the new one."""
    await hub.github.repository_facts(hub.repository)
    hub.stand_in.revoke_tokens()
    before = len(hub.stand_in.state.requests)
    await asyncio.gather(*(hub.github.repository_facts(hub.repository) for _ in range(20)))
    minted = [one for one in hub.stand_in.state.requests[before:] if one.endswith("access_tokens")]
    assert len(minted) == 1
    hub.contract.violations.clear()


async def test_a_refused_app_is_an_internal_error() -> None:
    """The message names the settings, not the key."""

    wire = Wire(lambda _: httpx.Response(401, json={"message": "A JSON web token could not be decoded"}))
    with pytest.raises(InternalError, match="check GITHUB_APP_ID, GITHUB_PRIVATE_KEY") as raised:
        await _github(wire).app_slug()
    assert len(wire.sent) == 1
    assert not isinstance(raised.value, TransientError)


async def test_an_invalid_key_is_not_shown() -> None:
    """Neither the message nor its causes hold the text of the key."""
    with pytest.raises(InternalError, match="GITHUB_PRIVATE_KEY") as raised:
        await _github(Wire(_comment), key="-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n").app_slug()
    assert raised.value.__cause__ is None
    assert "c2VjcmV0" not in str(raised.value)


async def test_no_log_repr_or_error_shows_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    """No log line, no repr and no error holds a token or the key."""
    caplog.set_level(logging.DEBUG)
    wire = Wire(lambda _: httpx.Response(500, text="no"))
    github = _github(wire)
    with pytest.raises(TransientError) as raised:
        await github.pull(MAXTEXT, 1)
    shown = "\n".join([repr(github), repr(raised.value), str(raised.value), repr(vars(github)), caplog.text])
    assert "ghs_secret" not in shown
    assert "PRIVATE KEY" not in shown


async def test_every_request_names_the_api_version_and_the_program() -> None:
    """The minting of tokens too."""
    wire = Wire(_comment)
    await _github(wire).comment(MAXTEXT, 5)
    assert {("2022-11-28", "maxview", "application/vnd.github+json")} == {
        (one.headers["X-GitHub-Api-Version"], one.headers["User-Agent"], one.headers["Accept"])
        for one in wire.sent
    }


async def test_a_prefix_of_the_address_is_kept() -> None:
    """An enterprise server has its API below a path."""
    wire = Wire(_comment)
    await _github(wire, url="http://g.test/api/v3").comment(MAXTEXT, 5)
    assert [
        "/api/v3/app/installations/1/access_tokens",
        "/api/v3/repos/acme/maxtext/issues/comments/5",
    ] == [one.url.path for one in wire.sent]


async def test_the_connection_is_shared_and_closed_once() -> None:
    """All clients share one transport."""
    wire = Wire(_comment)
    github = _github(wire)
    for _ in range(3):
        await github.comment(MAXTEXT, 5)
    assert wire.closed == 0
    await github.aclose()
    assert wire.closed == 1


async def test_a_client_that_was_never_used_closes() -> None:
    """There is nothing to close."""
    wire = Wire(_comment)
    await _github(wire).aclose()
    assert wire.closed == 0


@pytest.mark.parametrize("problem", [httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError])
async def test_a_comment_without_a_response_is_an_uncertain_write(
    problem: type[httpx.TransportError],
) -> None:
    """GitHub may have written it."""
    wire = Wire(_failing(problem))
    with pytest.raises(UncertainWrite):
        await _github(wire).create_comment(MAXTEXT, 1, "b")
    assert len(wire.sent) == 2


@pytest.mark.parametrize("problem", [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout])
async def test_a_comment_that_was_never_sent_is_a_transient_error(
    problem: type[httpx.TransportError],
) -> None:
    """GitHub cannot have written it."""
    with pytest.raises(TransientError) as raised:
        await _github(Wire(_failing(problem))).create_comment(MAXTEXT, 1, "b")
    assert not isinstance(raised.value, UncertainWrite)


async def test_a_502_after_the_write_leaves_one_comment(hub: Hub) -> None:
    """The write took effect, the status says it did not: nothing is sent again."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    hub.stand_in.fail_next("POST", "/comments", status=502, after=True)
    with pytest.raises(UncertainWrite):
        await hub.github.create_comment(hub.repository, number, "b")
    assert ["b"] == [one.body for one in hub.stand_in.comments_of(number)]
    assert ["POST /repos/acme/maxtext/issues/1/comments"] == hub.asked()
    hub.contract.violations.clear()


async def test_a_failed_read_is_transient_and_sent_once() -> None:
    """The caller decides when to retry."""
    wire = Wire(_failing(httpx.ReadTimeout))
    with pytest.raises(TransientError):
        await _github(wire).pull(MAXTEXT, 1)
    assert len(wire.sent) == 2


async def test_after_a_limit_nothing_is_sent_until_it_ends(hub: Hub) -> None:
    """Requests during a limit make GitHub extend it."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(hub.clock.time) + 90)}
    hub.stand_in.fail_next("GET", "/maxtext", status=403, message="API rate limit exceeded", headers=headers)
    for left in (90.0, 90.0, 30.0):
        hub.clock.time += 90.0 - left
        with pytest.raises(RateLimited) as raised:
            await hub.github.repository_facts(hub.repository)
        assert left == raised.value.after
    assert len(hub.asked()) == 1
    hub.clock.time += 31
    await hub.github.repository_facts(hub.repository)
    assert len(hub.asked()) == 2


async def test_a_limit_of_one_installation_leaves_others_alone() -> None:
    """Limits are counted per installation."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/repos/acme/"):
            return httpx.Response(429, headers={"retry-after": "60"}, json={"message": "slow down"})
        return _comment(request)

    github = _github(Wire(answer))
    with pytest.raises(RateLimited):
        await github.comment(MAXTEXT, 5)
    other = Repository(full_name="other/maxtext", installation=2)
    assert await github.comment(other, 5) is not None


@pytest.mark.parametrize("body", [b"<html>", b"[1", b"\xff"])
async def test_a_response_that_is_not_json_is_transient(body: bytes) -> None:
    """A proxy between GitHub and us answered."""
    with pytest.raises(TransientError, match="not JSON"):
        await _github(Wire(lambda _: httpx.Response(200, content=body))).pull(MAXTEXT, 1)


@pytest.mark.parametrize("body", [{}, [], [1], "text", {"number": "x"}])
async def test_a_response_of_another_shape_names_the_request(body: object) -> None:
    """It names the request and what is unexpected."""
    with pytest.raises(InternalError, match="GET /repos/acme/maxtext/pulls/1"):
        await _github(Wire(lambda _: httpx.Response(200, json=body))).pull(MAXTEXT, 1)


async def test_an_endless_list_is_cut() -> None:
    """A next page that links to itself is not followed for ever."""
    link = {"Link": '<http://g.test/installation/repositories?page=2>; rel="next"'}
    wire = Wire(lambda _: httpx.Response(200, json={"repositories": []}, headers=link))
    assert () == await _github(wire).repositories(1)
    assert len(wire.sent) <= 102


async def test_names_are_quoted_as_one_path_segment() -> None:
    """A branch or login stays one segment, whatever its name."""
    wire = Wire(lambda _: httpx.Response(404, json={"message": "Not Found"}))
    github = _github(wire)
    await github.permission(MAXTEXT, Person(login="../../evil?x=1#y", id=1))
    with pytest.raises(NotFound):
        await github.merge_base(MAXTEXT, "a/../b", "c?d#e%2F")
    assert [
        b"/repos/acme/maxtext/collaborators/..%2F..%2Fevil%3Fx%3D1%23y/permission",
        b"/repos/acme/maxtext/compare/a%2F..%2Fb...c%3Fd%23e%252F?per_page=1",
    ] == [one.url.raw_path for one in wire.sent[1:]]


async def test_a_comment_is_sent_unchanged() -> None:
    """Characters and lines survive."""
    wire = Wire(_comment)
    await _github(wire).create_comment(MAXTEXT, 1, "é\n🔴 `x`")
    assert {"body": "é\n🔴 `x`"} == json.loads(wire.sent[-1].content)


def test_importing_the_client_does_not_import_githubkit() -> None:
    """It takes a fifth of a second, so it comes with the first call."""
    code = "import sys, bot.publish.comment; sys.exit('githubkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
