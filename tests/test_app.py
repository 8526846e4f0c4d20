"""The parts are joined: one application that receives, shows and says how it is."""

import asyncio
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import TextClause
from sqlalchemy import text as sql_text

from bot.app import make_app
from bot.errors import InternalError, UserError
from bot.settings import read_settings
from bot.storage.database import DatabaseUnavailable
from tests.peers.keys import private_key
from tests.peers.loopback import free_port

SECRET = "a secret of these tests"


def _environ(folder: Path, **more: str) -> dict[str, str]:
    return {
        "GITHUB_APP_ID": "42",
        "GITHUB_PRIVATE_KEY": private_key(),
        "GITHUB_WEBHOOK_SECRET": SECRET,
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "DATA_DIR": str(folder),
        **more,
    }


class Client:
    """Asks the application, which lives on the same loop."""

    def __init__(self, runner: asyncio.Runner, client: httpx.AsyncClient) -> None:
        self._runner = runner
        self._client = client

    def get(self, path: str) -> httpx.Response:
        """Ask for a page."""
        return self._runner.run(self._client.get(path))

    def get_many(self, path: str, count: int) -> list[httpx.Response]:
        """Ask for a page many times at once."""

        async def ask() -> list[httpx.Response]:
            return await asyncio.gather(*(self._client.get(path) for _ in range(count)))

        return self._runner.run(ask())

    def post(self, path: str, content: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send a body."""
        return self._runner.run(self._client.post(path, content=content, headers=headers))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """The application, from the beginning of its life to the end."""
    app = make_app(read_settings(_environ(tmp_path)))
    transport, life = httpx.ASGITransport(app), app.router.lifespan_context(app)
    with asyncio.Runner() as runner:
        runner.run(life.__aenter__())
        yield Client(runner, httpx.AsyncClient(transport=transport, base_url="http://maxview.test"))
        runner.run(life.__aexit__(None, None, None))


def _deliver(client: Client, body: bytes, event: str = "push") -> int:
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": "d1",
        "X-Hub-Signature-256": f"sha256={digest}",
    }
    return client.post("/webhook", content=body, headers=headers).status_code


def test_a_fresh_installation_is_ready(client: Client) -> None:
    """Process, database and store are well; the tables and folders were made."""
    assert client.get("/healthz").json() == {"process": "ok"}
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"database": "ok", "artifacts": "ok"})


def test_whoever_asks_for_readiness_a_hundred_times_is_answered_by_few_checks(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check takes the database's writing turn, which webhooks wait for: strangers share it."""
    checked: list[str] = []

    def counted(words: str) -> TextClause:
        checked.append(words)
        return sql_text(words)

    monkeypatch.setattr("bot.storage.database.text", counted)
    answers = client.get_many("/readyz", 100)
    assert {(200, b'{"database":"ok","artifacts":"ok"}')} == {
        (one.status_code, one.content) for one in answers
    }
    assert len(checked) <= 3


def test_the_schema_is_made_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making it takes 45 ms of the process that receives webhooks."""
    client.get("/schema/maxview.json")
    made: list[int] = []
    monkeypatch.setattr("bot.config.models.json_schema", lambda: made.append(1))
    assert {200} == {one.status_code for one in client.get_many("/schema/maxview.json", 20)}
    assert made == []


def test_a_webhook_is_received(client: Client) -> None:
    """Signed deliveries are taken, pings answered, and only POST is a delivery."""
    assert _deliver(client, b"{}") == 202
    assert _deliver(client, b"{}", "ping") == 200
    assert client.post("/webhook", content=b"{}").status_code == 401
    assert client.get("/webhook").status_code in {404, 405}


def test_deliveries_are_counted(client: Client) -> None:
    """The metrics tell answers by status and rows by table, in Prometheus' format."""
    _deliver(client, b"{}")
    text = client.get("/metrics").text
    assert 'maxview_webhook_answers_total{status="202"} 1.0' in text
    assert "maxview_database_up 1.0" in text
    assert 'maxview_rows_waiting{table="pull_request"} 0.0' in text


def test_the_configurations_schema_is_published(client: Client) -> None:
    """Editors find the JSON Schema where the documents say."""
    schema = client.get("/schema/maxview.json").json()
    assert "cases" in schema["properties"]


def test_pages_and_their_json_are_there(client: Client) -> None:
    """The first page is one for people, its JSON for programs, and the unknown is said to be so."""
    assert client.get("/").status_code == 200
    assert client.get("/api/v1/").json()["repositories"] == []
    for path in ("/no/such", "/runs/none", "/runs/none/log", "/api/v1/runs/none", "/api/nothing"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "more",
    [{"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}, {"DATABASE_URL": "sqlite:////dev/null/x"}],
)
def test_without_its_database_it_does_not_start(tmp_path: Path, more: dict[str, str]) -> None:
    """The reason is one clear exception of ours, for the one who starts it."""
    with pytest.raises((DatabaseUnavailable, UserError, InternalError)) as caught:
        make_app(read_settings(_environ(tmp_path, **more)))
    assert len(str(caught.value).splitlines()) == 1


@contextmanager
def _running(folder: Path, **settings: str) -> Iterator[tuple[asyncio.Runner, httpx.AsyncClient]]:
    app = make_app(read_settings(_environ(folder, **settings)))
    transport, life = httpx.ASGITransport(app), app.router.lifespan_context(app)
    with asyncio.Runner() as runner:
        runner.run(life.__aenter__())
        yield runner, httpx.AsyncClient(transport=transport, base_url="http://maxview.test")
        runner.run(life.__aexit__(None, None, None))


PUBLIC_SITE = {"PUBLIC_URL": "https://maxview.example"}

TOKEN = "a token of the operator"


def _metrics(folder: Path, settings: dict[str, str], **headers: str) -> int:
    with _running(folder, **settings) as (runner, client):
        return runner.run(client.get("/metrics", headers=headers)).status_code


def test_metrics_are_not_for_the_public(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A server that others can reach serves them to who has its token alone, and says if it serves none."""
    with caplog.at_level("WARNING"):
        assert 404 == _metrics(tmp_path, PUBLIC_SITE)
    assert "/metrics is not served: set METRICS_ADDRESS or METRICS_TOKEN" in caplog.messages
    assert 404 == _metrics(tmp_path, {"HOST": "0.0.0.0", "PUBLIC_URL": "http://127.0.0.1"})  # noqa: S104
    assert 404 == _metrics(tmp_path, {}, **{"x-forwarded-for": "127.0.0.1"})
    secured = {**PUBLIC_SITE, "METRICS_TOKEN": TOKEN}
    assert [404, 404, 200] == [
        _metrics(tmp_path, secured, **({"authorization": given} if given else {}))
        for given in ("", f"Bearer {TOKEN}x", f"Bearer {TOKEN}")
    ]


def test_metrics_have_an_address_of_their_own(tmp_path: Path) -> None:
    """There, and beside the pages no more; a second server says in one line that it is taken."""
    port = free_port()
    settings = {"METRICS_ADDRESS": f"127.0.0.1:{port}"}
    with _running(tmp_path, **settings) as (runner, client):
        with httpx.Client(verify=False) as outside:  # noqa: S501 - nothing here is encrypted
            assert "maxview_database_up 1.0" in outside.get(f"http://127.0.0.1:{port}/metrics").text
        assert 404 == runner.run(client.get("/metrics")).status_code
        with pytest.raises(UserError, match="METRICS_ADDRESS"):
            make_app(read_settings(_environ(tmp_path / "other", **settings)))
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/metrics")


def test_no_answer_is_listed_or_hands_its_address_on(client: Client) -> None:
    """Also those that are no pages."""
    for path in ("/healthz", "/readyz", "/metrics", "/schema/maxview.json", "/webhook", "/", "/none"):
        headers = client.get(path).headers
        assert ("noindex, nofollow", "no-referrer") == (
            headers["x-robots-tag"],
            headers["referrer-policy"],
        ), path
