"""The real server beside the stand-in GitHub.

`ImportScene` has a folder of finished runs that the server finds; in `LaunchScene` the server launches runs
on this machine.
"""

import asyncio
import json
import re
import shlex
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp

from bot.demo.github.git import GitHistory
from bot.demo.github.stand_in import StandInGitHub
from bot.demo.github.state import GitHubCheck, GitHubComment
from tests.end_to_end.finished_runs import RunWriter, configuration
from tests.end_to_end.proxy import FaultProxy, running_proxy
from tests.end_to_end.server import Server
from tests.github.git_repository import GitRepository
from tests.peers.keys import private_key
from tests.peers.loopback import free_port

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedGitHub:
    """A running stand-in."""

    github: StandInGitHub
    git: GitRepository
    url: str
    loop: asyncio.AbstractEventLoop

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        """Run what people do there; returns when its webhooks were delivered."""
        return asyncio.run_coroutine_threadsafe(act, self.loop).result(timeout=30)


@contextmanager
def hosted_github(
    git: GitRepository, *, webhook_url: str, secret: str, app_id: int, private: bool
) -> Iterator[HostedGitHub]:
    """Serve a repository until the end of the `with` statement."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    github = StandInGitHub(
        GitHistory(git.path), "acme/maxtext", webhook_url, secret, app_id, url=url, private=private
    )
    with served(github.application, port, github) as loop:
        yield HostedGitHub(github=github, git=git, url=url, loop=loop)


@contextmanager
def served(application: ASGIApp, port: int, *stand_ins: StandInGitHub) -> Iterator[asyncio.AbstractEventLoop]:
    """Serve an application on a loop of its own, whose stand-ins settle at the end."""
    config = uvicorn.Config(
        application, host="127.0.0.1", port=port, log_config=None, lifespan="off", loop="asyncio"
    )
    server, loop = uvicorn.Server(config), asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve()))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield loop
    finally:
        for github in stand_ins:
            asyncio.run_coroutine_threadsafe(github.settle(), loop).result(timeout=30)
        server.should_exit = True
        thread.join()
        loop.close()


IMPORT_SECRET, IMPORT_APP_ID = "a secret of these tests", 42

IMPORT_BRANCH = "feat/x"

CONFIGURATION_PATH = ".github/maxview.yml"


@dataclass(slots=True, kw_only=True)
class ImportScene:
    """A server that finds finished runs. `base` and `head` are commits of main and of `IMPORT_BRANCH`."""

    hosted: HostedGitHub
    proxy: FaultProxy
    server: Server
    runs: RunWriter
    base: str
    head: str

    @property
    def github(self) -> StandInGitHub:
        """What people and owners do."""
        return self.hosted.github

    def open_pull(self, branch: str = IMPORT_BRANCH) -> int:
        """Open a pull request."""
        return self.hosted.run(self.hosted.github.open_pull(branch, "A change", "alice"))

    def comment(self, number: int, holds: str, unlike: int | None = None) -> GitHubComment:
        """Our only comment, once it contains a text and has another id than `unlike`."""

        def found() -> GitHubComment | None:
            ours = [one for one in self.hosted.github.comments_of(number) if one.by_app]
            good = len(ours) == 1 and holds in ours[0].body and ours[0].id != unlike
            return ours[0] if good else None

        return self.server.wait_until(found, f"the comment holds {holds!r}")

    def configure(self, checks: str, triggers: str = "{}") -> None:
        """Push another configuration to the default branch."""
        self.hosted.git.write(
            "main", {CONFIGURATION_PATH: _import_configuration(self.server.folder, checks, triggers)}
        )
        self.hosted.run(self.hosted.github.push("main"))

    def check(self, ending: str, unlike: str = "") -> GitHubCheck:
        """The newest check, once its conclusion is `ending` and its title is not `unlike`."""

        def found() -> GitHubCheck | None:
            checks = list(self.hosted.github.state.checks.values())
            good = checks and checks[-1].conclusion == ending and checks[-1].title != unlike
            return checks[-1] if good else None

        return self.server.wait_until(found, f"a check ends as {ending}")

    def count(self, request: str) -> int:
        """How often a request was sent."""
        return sum(re.search(request, one) is not None for one in self.hosted.github.state.requests)


def _import_configuration(folder: Path, checks: str, triggers: str) -> str:
    fetched = configuration(f"file:{folder / 'runs'}", ("04_int8",))
    return f"{fetched}checks: {checks}\ntriggers: {triggers}\n"


def _file_writer(folder: Path) -> Callable[[str, bytes], None]:
    def put(name: str, content: bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


@contextmanager
def import_scene(folder: Path, checks: str = "off", triggers: str = "{}") -> Iterator[ImportScene]:
    """A stand-in with finished runs of one slower case, and a server for it that is not started yet."""
    git, port = GitRepository(folder / "git"), free_port()
    (folder / "runs").mkdir()
    base = git.write("main", {CONFIGURATION_PATH: _import_configuration(folder, checks, triggers)})
    head = git.write(IMPORT_BRANCH, {"src/a.py": "A = 1\n"}, base)
    runs = RunWriter(put=_file_writer(folder / "runs"))
    runs.write_runs("04_int8", "main", base, 4)
    runs.write_runs("04_int8", IMPORT_BRANCH, head, 3, since=0.5, step_seconds=0.25)
    webhook_url = f"http://127.0.0.1:{port}/webhook"
    with (
        hosted_github(
            git, webhook_url=webhook_url, secret=IMPORT_SECRET, app_id=IMPORT_APP_ID, private=False
        ) as hosted,
        running_proxy(hosted.url) as proxy,
    ):
        settings = {
            "GITHUB_APP_ID": str(IMPORT_APP_ID),
            "GITHUB_PRIVATE_KEY": private_key(),
            "GITHUB_API_URL": proxy.url,
            "POLL_SECONDS": "1",
        }
        server = Server(folder=folder, port=port, secret=IMPORT_SECRET, settings=settings)
        try:
            yield ImportScene(hosted=hosted, proxy=proxy, server=server, runs=runs, base=base, head=head)
        finally:
            if server.process is not None:
                server.kill()


BRANCH = "feat/x"

SECRET = "a secret of these tests"

APP_ID = 42

FINAL_STATES = {"cancelled", "ended", "lost"}

# With a file called `slow` the job runs until somebody ends it; without, it ends at once.
_JOB_PROGRAM = "import pathlib, time; time.sleep(300 if pathlib.Path('slow').exists() else 0)\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchScene:
    """The stand-in, its repository, and the server."""

    hosted: HostedGitHub
    git: GitRepository
    server: Server

    @property
    def mark(self) -> str:
        """What the command lines of this server's jobs contain, and no others."""
        return f"of-{self.server.port}-"

    def commit(self, text: str, *, branch: str = BRANCH, onto_main: bool = False) -> str:
        """Commit a head whose runs do not end by themselves."""
        parents = (self.git.head("main"),) if onto_main or not self.git.head(branch) else ()
        return self.git.write(branch, {"src/a.py": text, "slow": "yes"}, *parents, message=text)

    def push(self, branch: str = BRANCH) -> None:
        """Announce that the branch moved."""
        self.hosted.run(self.hosted.github.push(branch))

    def open(self, branch: str = BRANCH, *, author: str = "alice", fork: str | None = None) -> int:
        """Open a pull request, from a fork where one is named."""
        return self.hosted.run(self.hosted.github.open_pull(branch, "A change", author, fork=fork))

    def say(self, number: int, who: str, text: str) -> int:
        """Comment; returns the comment's id."""
        return self.hosted.run(self.hosted.github.comment(number, who, text))

    def reactions(self, comment: int, holds: str) -> set[str]:
        """The reactions to a comment, once one of them is there."""
        github = self.hosted.github
        self.server.wait_until(lambda: holds in github.reactions_to(comment), f"the reaction is {holds}")
        return set(github.reactions_to(comment))

    def running(self, sha: str) -> bool:
        """Whether a job of ours runs a commit."""
        return any(sha in line for line in _command_lines())

    def runs(self, sha: str = "") -> dict[str, str]:
        """The runs of a commit, or all runs, and their states."""
        with closing(sqlite3.connect(self.server.folder / "data" / "maxview.sqlite")) as file:
            return dict(file.execute("SELECT id, state FROM run WHERE ? IN ('', sha)", (sha,)))

    def are_over(self, sha: str = "") -> bool:
        """Whether no process and no open run is left, of a commit or at all."""
        return not (self.running(sha or self.mark) or set(self.runs(sha).values()) - FINAL_STATES)

    def seconds_until_gone(self, sha: str) -> float:
        """How long it takes from now until no process and no open run of a commit is left."""
        begun = time.monotonic()
        self.server.wait_until(lambda: self.are_over(sha), f"nothing of {sha[:7]} is left")
        return time.monotonic() - begun

    def comment(self, number: int, holds: str) -> GitHubComment:
        """Our only comment, once it contains a text."""

        def found() -> GitHubComment | None:
            ours = [one for one in self.hosted.github.comments_of(number) if one.by_app]
            return ours[0] if len(ours) == 1 and holds in ours[0].body else None

        return self.server.wait_until(found, f"the comment holds {holds!r}")


def _command_lines() -> Iterator[str]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                yield (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


@contextmanager
def launch_scene(folder: Path, more: str = "") -> Iterator[LaunchScene]:
    """A server that launches runs, started. Nothing keeps running afterwards. `more` are further lines of the
    configuration."""
    git, port = GitRepository(folder / "git"), free_port()
    git.write(
        "main", {".github/maxview.yml": _launch_configuration(git.path, port) + more, "job.py": _JOB_PROGRAM}
    )
    with hosted_github(
        git, webhook_url=f"http://127.0.0.1:{port}/webhook", secret=SECRET, app_id=APP_ID, private=False
    ) as hosted:
        settings = {
            "GITHUB_APP_ID": str(APP_ID),
            "GITHUB_PRIVATE_KEY": private_key(),
            "GITHUB_API_URL": hosted.url,
            "POLL_SECONDS": "1",
        }
        server = Server(folder=folder, port=port, secret=SECRET, settings=settings).start()
        scene = LaunchScene(hosted=hosted, git=git, server=server)
        try:
            yield scene
        finally:
            try:
                _close_pulls(scene)
            finally:
                server.kill()


def _close_pulls(scene: LaunchScene) -> None:
    """Close every pull request, and wait until no job is left."""
    github = scene.hosted.github
    for number, state in list(github.state.pulls.items()):
        if state.closed_at is None:
            scene.hosted.run(github.close_pull(number))
    scene.server.wait_until(scene.are_over, "no job is left")


def _launch_configuration(repository: Path, port: int) -> str:
    command = json.dumps(f"{shlex.quote(sys.executable)} job.py of-{port}-{{sha}} run_name={{run_name}}")
    return (
        "version: 1\n"
        f"launch: {{cluster: local, local: {{repository: {json.dumps(str(repository))}, timeout: 10m}}}}\n"
        f"cases: {{a: {{command: {command}}}}}\n"
    )
