"""The real server with npm's emulate as GitHub, and an emulated bucket."""

import logging
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.finished_runs import RunWriter, configuration
from tests.end_to_end.proxy import FaultProxy, running_proxy
from tests.end_to_end.server import Server
from tests.peers.bucket import Bucket, BucketEmulator, serve_buckets
from tests.peers.emulate import APP_ID, REPOSITORY, SECRET, Emulate, running_emulate
from tests.peers.keys import private_key
from tests.peers.loopback import free_port

CASES = ("03_dropout", "04_int8", "10_shardy_true", "11_offload")

BRANCH = "feat/faster-attention"


@dataclass(slots=True, kw_only=True)
class EmulateScene:
    """A server, its GitHub and its bucket. `base` and `head` are commits of main and of `BRANCH`."""

    github: Emulate
    proxy: FaultProxy
    bucket: Bucket
    runs: RunWriter
    server: Server
    base: str
    head: str
    stack: ExitStack

    def another_server(self) -> Server:
        """A second server with the same settings, on a port and in a folder of its own."""
        folder = self.server.folder / "another"
        folder.mkdir()
        server = Server(
            folder=folder, secret=SECRET, settings=self.server.settings, sources=self.server.sources
        )
        self.stack.callback(_end, server)
        return server

    def configure(self, text: str) -> None:
        """Replace the configuration on main, which sends a push."""
        path = f"/repos/{REPOSITORY}/contents/.github/maxview.yml"
        body = {
            "message": "Configure",
            "content": b64encode(text.encode()).decode(),
            "branch": "main",
            "sha": self.github.ask("alice", "GET", path)["sha"],
        }
        self.github.ask("alice", "PUT", path, body)

    def open_pull(self, branch: str = BRANCH) -> int:
        """Open a pull request, which sends a webhook."""
        return self.github.open_pull(branch, "Make attention faster")

    def ours(self, number: int) -> list[dict[str, Any]]:
        """The comments that the App wrote on a pull request."""
        return [one for one in self.github.comments_of(number) if one["user"]["login"] == "maxview[bot]"]

    def comment(self, number: int, holds: str = "MaxView") -> dict[str, Any]:
        """Our only comment, once it contains a text."""

        def found() -> dict[str, Any] | None:
            ours = self.ours(number)
            # There are two for the moment between creating a worse verdict and deleting the old one.
            return ours[0] if len(ours) == 1 and holds in ours[0]["body"] else None

        try:
            comment = self.server.wait_until(found, f"the comment holds {holds!r}")
        except AssertionError as problem:
            bodies = [one["body"][:3000] for one in self.ours(number)]
            raise AssertionError(f"{problem}\n{bodies}") from problem
        return comment

    def usual_runs(self) -> None:
        """One case slower by a tenth, one the same, one failing, one without a run on the head."""
        for case in CASES:
            self.runs.write_runs(case, "main", self.base, 4)
        self.runs.write_runs("03_dropout", BRANCH, self.head, 3, since=0.5, step_seconds=0.22)
        self.runs.write_runs("04_int8", BRANCH, self.head, 3, since=0.5)
        self.runs.write_run("10_shardy_true", BRANCH, self.head, hours_ago=0.5, ends="failing")


@pytest.fixture(scope="session")
def emulator() -> Iterator[BucketEmulator]:
    """One emulator of buckets for all tests of this process; it logs an error for every object asked for
    that is not there, which would hide what failed."""
    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    with serve_buckets() as running:
        yield running


@pytest.fixture
def make_scene(tmp_path: Path, emulator: BucketEmulator) -> Iterator[Callable[..., EmulateScene]]:
    """Makes a scene; the server is not started yet, so that deliveries before that are missed."""
    with ExitStack() as stack:

        def make(source: str | None = None, **settings: str) -> EmulateScene:
            bucket, port = emulator.bucket(), free_port()
            github = stack.enter_context(running_emulate(f"http://127.0.0.1:{port}/webhook"))
            text = configuration(source or bucket.url, CASES)
            proxy = stack.enter_context(running_proxy(github.url))
            base = github.commit("main", ".github/maxview.yml", text, "Measure")
            github.branch(BRANCH)
            head = github.commit(BRANCH, "src/attention.py", "FAST = True\n", "Make attention faster")
            server = Server(
                folder=tmp_path,
                port=port,
                secret=SECRET,
                settings={
                    "GITHUB_APP_ID": str(APP_ID),
                    "GITHUB_PRIVATE_KEY": private_key(),
                    "GITHUB_API_URL": proxy.url,
                    "POLL_SECONDS": "1",
                    **bucket.env,
                    **settings,
                },
                sources=(f"{(source or bucket.url).rstrip('/')}/*",),
            )
            stack.callback(_end, server)
            runs = RunWriter(put=bucket.upload)
            return EmulateScene(
                github=github,
                proxy=proxy,
                bucket=bucket,
                runs=runs,
                server=server,
                base=base,
                head=head,
                stack=stack,
            )

        yield make


@pytest.fixture
def scene(make_scene: Callable[..., EmulateScene]) -> EmulateScene:
    """A scene with the usual runs, and a server that answers."""
    made = make_scene()
    made.usual_runs()
    made.server.start()
    return made


def _end(server: Server) -> None:
    if server.process is not None:
        with suppress(ProcessLookupError):
            server.kill()


def delivered_pull(scene: EmulateScene, number: int, action: str = "opened") -> dict[str, Any]:
    """The payload of a `pull_request` delivery, as far as it is read."""
    pull = scene.github.ask("alice", "GET", f"/repos/{REPOSITORY}/pulls/{number}")
    return {
        "action": action,
        "number": number,
        "pull_request": pull,
        "repository": pull["base"]["repo"],
        "installation": {"id": 100},
        "sender": {"login": "alice", "id": 1, "type": "User"},
    }
