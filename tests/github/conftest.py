"""A GitHub for each test: our stand-in, or emulate, with GitHub's own description around it."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.demo.github.git import GitHistory
from bot.demo.github.stand_in import StandInGitHub
from bot.domain.repository import Repository
from bot.github.client import GitHubClient
from tests.github.git_repository import GitRepository
from tests.peers.emulate import Emulate, running_emulate
from tests.peers.keys import private_key
from tests.peers.openapi import Contract
from tests.peers.webhooks import WebhookReceiver, webhook_receiver

APP_ID = 42

SECRET = "It's a Secret to Everybody"

WEBHOOK = "http://maxview.test/webhook"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1_795_240_800.0

    def __call__(self) -> float:
        """Unix seconds."""
        return self.time


@dataclass
class Hub:
    """The stand-in with a small repository, and our client on it."""

    git: GitRepository
    stand_in: StandInGitHub
    github: GitHubClient
    contract: Contract
    clock: Clock
    webhooks: list[httpx.Request]
    repository: Repository

    def asked(self, since: int = 0) -> list[str]:
        """The requests so far, without the minting of tokens and the App's own name."""
        quiet = ("/access_tokens", "/app")
        return [one for one in self.stand_in.state.requests[since:] if not one.endswith(quiet)]


@pytest.fixture
def anyio_backend() -> str:
    """Tests run on asyncio, as the program does."""
    return "asyncio"


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    """A repository with `main` and `feat/x#1`; at the end nothing may have broken GitHub's description."""
    git = GitRepository(tmp_path / "repository")
    git.write("main", {"README.md": "# MaxText\n"}, message="Begin")
    git.write("main", {".github/maxview.yml": "version: 1\n", "src/old.py": "".join("one\n" * 40)})
    git.write("feat/x#1", {"src/new.py": "x = 1\n"}, git.head("main"), message="Add a file\n\nFor a reason")
    clock, webhooks = Clock(), list[httpx.Request]()

    def receive(request: httpx.Request) -> httpx.Response:
        webhooks.append(request)
        return httpx.Response(202)

    stand_in = StandInGitHub(
        GitHistory(git.path),
        "acme/maxtext",
        WEBHOOK,
        SECRET,
        APP_ID,
        transport=httpx.MockTransport(receive),
        now=clock,
    )
    contract = Contract(httpx.ASGITransport(stand_in.application))
    github = GitHubClient(
        app_id=APP_ID, private_key=private_key(), api_url=stand_in.state.url, transport=contract, now=clock
    )
    yield Hub(
        git=git,
        stand_in=stand_in,
        github=github,
        contract=contract,
        clock=clock,
        webhooks=webhooks,
        repository=Repository(full_name="acme/maxtext", installation=1),
    )
    await stand_in.settle()
    await github.aclose()
    assert [] == contract.violations


@pytest.fixture(scope="session")
def receiver() -> Iterator[WebhookReceiver]:
    """Where the emulator sends the App's webhooks."""
    with webhook_receiver() as running:
        yield running


@pytest.fixture(scope="session")
def emulate(receiver: WebhookReceiver) -> Iterator[Emulate]:
    """One running emulator for all tests here; each makes its own branches and pull requests."""
    with running_emulate(receiver.url, SECRET) as running:
        yield running
