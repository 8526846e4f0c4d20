"""Two owners on one server: what the operator grants the one is not done for the other."""

import asyncio
import json
import re
import shlex
import sqlite3
import sys
from collections.abc import Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from bot.demo.github.git import GitHistory
from bot.demo.github.payloads import installation_json
from bot.demo.github.stand_in import StandInGitHub
from tests.end_to_end.finished_runs import RunWriter, configuration
from tests.end_to_end.scenes import CONFIGURATION_PATH, served
from tests.end_to_end.server import Server, ask
from tests.github.git_repository import GitRepository
from tests.peers.keys import private_key
from tests.peers.loopback import free_port

SECRET, APP_ID = "a secret of these tests", 42

BRANCH = "feat/x"

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class TwoOwners:
    """The App on acme's repository and on a stranger's; `stolen` is what the stranger's command writes."""

    server: Server
    acme: StandInGitHub
    mallory: StandInGitHub
    runs: Path
    stolen: Path
    loop: asyncio.AbstractEventLoop

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        """Run what people do on GitHub."""
        return asyncio.run_coroutine_threadsafe(act, self.loop).result(timeout=30)

    def open_pulls(self) -> None:
        """Each owner opens a pull request."""
        self.run(self.acme.open_pull(BRANCH, "A change", "alice"))
        self.run(self.mallory.open_pull(BRANCH, "A theft", "alice"))

    def comment(self, github: StandInGitHub, holds: str) -> str:
        """Our comment on the first pull request, once it contains a text."""

        def found() -> str | None:
            ours = [one.body for one in github.comments_of(1) if one.by_app and holds in one.body]
            return ours[0] if ours else None

        try:
            return self.server.wait_until(found, f"the comment holds {holds!r}")
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{[one.body for one in github.comments_of(1)]}") from problem

    def stored_runs(self, repository: str) -> list[tuple[str, str]]:
        """What became of a repository's runs."""
        with closing(sqlite3.connect(self.server.folder / "data" / "maxview.sqlite")) as file:
            found = file.execute("SELECT origin, state FROM run WHERE repository = ?", (repository,))
            return found.fetchall()


@pytest.fixture
def owners(tmp_path: Path) -> Iterator[TwoOwners]:
    """A server that is not started yet."""
    port, github_port = free_port(), free_port()
    runs, stolen = tmp_path / "runs", tmp_path / "stolen"
    acme = _repository(tmp_path / "acme", configuration(f"file:{runs}", ("04_int8",)), runs)
    command = f"{shlex.quote(sys.executable)} -c 'open({json.dumps(str(stolen))}, chr(119))'"
    theft = (
        configuration(f"file:{runs}", ()).rstrip()
        + f"\n  04_int8: {{command: {json.dumps(command)}}}\n"
        + f"launch: {{cluster: local, local: {{repository: {json.dumps(str(tmp_path / 'mallory'))}}}}}\n"
    )
    mallory = _repository(tmp_path / "mallory", theft, None)
    url, webhook = f"http://127.0.0.1:{github_port}", f"http://127.0.0.1:{port}/webhook"
    first = StandInGitHub(GitHistory(acme.path), "acme/maxtext", webhook, SECRET, APP_ID, url=url)
    other = StandInGitHub(
        GitHistory(mallory.path), "mallory/maxtext", webhook, SECRET, APP_ID, url=url, installation_id=2
    )
    other.state.repository_id = 2
    other.state.ids = count(50_001)  # its tokens and accounts are others than the first one's
    other.state.account("mallory").id = 6666

    async def github(scope: Scope, receive: Receive, send: Send) -> None:
        """Each request goes to the GitHub of its owner, by its path or its token."""
        if scope["path"] == "/app/installations":
            await JSONResponse([installation_json(one.state) for one in (first, other)])(scope, receive, send)
            return
        token = dict(scope["headers"]).get(b"authorization", b"").decode().rpartition(" ")[2]
        theirs = "/mallory/" in scope["path"] or scope["path"].startswith("/app/installations/2/")
        chosen = other if theirs or token in other.state.tokens else first
        await chosen.application(scope, receive, send)

    settings = {
        "GITHUB_APP_ID": str(APP_ID),
        "GITHUB_PRIVATE_KEY": private_key(),
        "GITHUB_API_URL": url,
        "POLL_SECONDS": "1",
    }
    server = Server(folder=tmp_path, port=port, secret=SECRET, settings=settings, sources=(f"file:{runs}/*",))
    with served(github, github_port, first, other) as loop:
        made = TwoOwners(server=server, acme=first, mallory=other, runs=runs, stolen=stolen, loop=loop)
        try:
            yield made
        finally:
            if server.process is not None:
                server.kill()


def _repository(path: Path, text: str, runs: Path | None) -> GitRepository:
    git = GitRepository(path)
    base = git.write("main", {CONFIGURATION_PATH: text})
    head = git.write(BRANCH, {"src/a.py": "A = 1\n"}, base)
    if runs is not None:

        def put(name: str, content: bytes) -> None:
            (runs / name).parent.mkdir(parents=True, exist_ok=True)
            (runs / name).write_bytes(content)

        writer = RunWriter(put=put)
        writer.write_runs("04_int8", "main", base, 4)
        writer.write_runs("04_int8", BRANCH, head, 3, since=0.5, step_seconds=0.25)
    return git


def test_what_one_owner_is_granted_is_not_done_for_another(owners: TwoOwners) -> None:
    """The stranger names acme's runs and has a command of its own: neither is read or launched, and the
    comment says so in one line each."""
    owners.server.start()
    owners.open_pulls()
    granted = owners.comment(owners.acme, "slower")
    refused = owners.comment(owners.mallory, "this server may not")

    assert "may not" not in granted
    (line,) = [line for line in refused.splitlines() if "this server may not" in line]
    assert "this server may not run jobs on its own machine: ask its operator" in line
    assert f"this server may not read file:{owners.runs}: ask its operator" in line.replace("\\", "")
    assert "acme" not in refused
    assert owners.stored_runs("mallory/maxtext") == []
    assert not owners.stolen.exists()
    assert owners.stored_runs("acme/maxtext")
    assert (
        'add to repositories: in POLICY: - {match: "mallory/maxtext", sources: ["file:' in owners.server.log
    )


def test_a_command_does_not_get_round_the_policy(owners: TwoOwners) -> None:
    """`/benchmark run` by the stranger's own administrator, and a push to its main branch."""
    owners.server.start()
    owners.open_pulls()
    owners.comment(owners.mallory, "this server may not")
    owners.run(owners.mallory.comment(1, "alice", "/benchmark run --fresh\n/benchmark baseline"))
    owners.run(owners.mallory.push("main"))
    owners.server.wait_until_idle()
    owners.comment(owners.mallory, "this server may not run jobs on its own machine: ask its operator")

    assert owners.stored_runs("mallory/maxtext") == []
    assert not owners.stolen.exists()


def test_an_installation_without_a_policy_answers_and_does_nothing_else(owners: TwoOwners) -> None:
    """It starts, serves, reads and launches nothing, and prints the lines; once they are signed it works."""
    owners.server.settings["POLICY"] = ""
    owners.server.start()
    assert "POLICY is not set" in owners.server.log
    owners.open_pulls()
    owners.comment(owners.acme, "this server may not read")
    owners.comment(owners.mallory, "this server may not run jobs on its own machine")
    assert ask(f"{owners.server.url}/acme/maxtext/pull/1").is_success
    assert owners.stored_runs("acme/maxtext") == owners.stored_runs("mallory/maxtext") == []

    suggested = re.search(r'add to repositories: in POLICY: (- {match: "acme.*)', owners.server.log)
    assert suggested is not None
    policy = owners.server.folder / "signed.yml"
    policy.write_text(f"version: 1\nrepositories:\n{suggested[1]}\n")
    owners.server.stop()
    owners.server.start()
    owners.server.wait_until(
        lambda: (
            "to grant acme/maxtext what it asks for, add to repositories: in POLICY: - {match"
            in owners.server.log
        ),
        "what is served today is suggested at the start",
    )
    owners.server.stop()
    owners.server.settings["POLICY"] = str(policy)
    owners.server.start()

    assert "may not" not in owners.comment(owners.acme, "slower")
    assert not owners.stolen.exists()
