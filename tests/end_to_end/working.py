"""A server that starts runs on its own machine for the stand-in GitHub, and what of them is alive.

In:  a folder. Out: a `Works` while it stands.
"""

import json
import shlex
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bot.demo.github_state import CommentState
from tests.end_to_end.hosted import Hosted, hosting
from tests.end_to_end.server import Server
from tests.github.gitting import GitRepository
from tests.peers.keys import private_key
from tests.peers.ports import free_port

BRANCH = "feat/x"
SECRET = "a secret of these tests"
APP_ID = 42
OVER = {"cancelled", "ended", "lost"}

# Where a file called `slow` lies the job goes on until somebody ends it, else it ends at once.
_JOB = "import pathlib, time; time.sleep(300 if pathlib.Path('slow').exists() else 0)\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """The stand-in, its repository, and the server."""

    hosted: Hosted
    git: GitRepository
    server: Server

    @property
    def mark(self) -> str:
        """What the command lines of all jobs of this server hold, and no others."""
        return f"of-{self.server.port}-"

    def commit(self, text: str, *, branch: str = BRANCH, onto_main: bool = False) -> str:
        """Commit a head whose runs do not end by themselves."""
        parents = (self.git.head("main"),) if onto_main or not self.git.head(branch) else ()
        return self.git.write(branch, {"src/a.py": text, "slow": "yes"}, *parents, message=text)

    def push(self, branch: str = BRANCH) -> None:
        """Say that the branch moved."""
        self.hosted.does(self.hosted.github.push(branch))

    def open(self, branch: str = BRANCH, *, author: str = "alice", fork: str | None = None) -> int:
        """Open a pull request, from a fork where one is named."""
        return self.hosted.does(self.hosted.github.open_pull(branch, "A change", author, fork=fork))

    def say(self, number: int, who: str, text: str) -> int:
        """Let somebody comment; the comment's number."""
        return self.hosted.does(self.hosted.github.comment(number, who, text))

    def reactions(self, comment: int, holds: str) -> set[str]:
        """The reactions to a comment, once one of them is there."""
        github = self.hosted.github
        self.server.until(lambda: holds in github.reactions_to(comment), f"the reaction is {holds}")
        return set(github.reactions_to(comment))

    def running(self, sha: str) -> bool:
        """Whether a process of ours works on a commit."""
        return any(sha in line for line in _command_lines())

    def runs(self, sha: str = "") -> dict[str, str]:
        """The runs of a commit, or all of them, and how they stand."""
        with closing(sqlite3.connect(self.server.folder / "data" / "maxview.sqlite")) as file:
            return dict(file.execute("SELECT id, state FROM run WHERE ? IN ('', sha)", (sha,)))

    def are_over(self, sha: str = "") -> bool:
        """Whether no process and no open run is left, of a commit or at all."""
        return not (self.running(sha or self.mark) or set(self.runs(sha).values()) - OVER)

    def seconds_until_gone(self, sha: str) -> float:
        """How long it takes from now until no process and no open run of a commit is left."""
        begun = time.monotonic()
        self.server.until(lambda: self.are_over(sha), f"nothing of {sha[:7]} is left")
        return time.monotonic() - begun

    def comment(self, number: int, holds: str) -> CommentState:
        """The one comment of ours, once it holds a text."""

        def found() -> CommentState | None:
            ours = [one for one in self.hosted.github.comments_of(number) if one.by_app]
            return ours[0] if len(ours) == 1 and holds in ours[0].body else None

        return self.server.until(found, f"the comment holds {holds!r}")


def _command_lines() -> Iterator[str]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                yield (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


@contextmanager
def working(folder: Path, more: str = "") -> Iterator[Works]:
    """Serve until the end of the `with` statement; nothing is left running. `more` are further lines of the
    configuration."""
    git, port = GitRepository(folder / "git"), free_port()
    git.write("main", {".github/maxview.yml": _configuration(git.path, port) + more, "job.py": _JOB})
    with hosting(
        git, webhook_url=f"http://127.0.0.1:{port}/webhook", secret=SECRET, app_id=APP_ID, private=False
    ) as hosted:
        settings = {
            "GITHUB_APP_ID": str(APP_ID),
            "GITHUB_PRIVATE_KEY": private_key(),
            "GITHUB_API_URL": hosted.url,
            "POLL_SECONDS": "1",
        }
        server = Server(folder=folder, port=port, secret=SECRET, settings=settings).start()
        works = Works(hosted=hosted, git=git, server=server)
        try:
            yield works
        finally:
            try:
                _end(works)
            finally:
                server.kill()


def _end(works: Works) -> None:
    """Close what is open, and wait until the jobs are gone with it."""
    github = works.hosted.github
    for number, state in list(github.world.pulls.items()):
        if state.closed_at is None:
            works.hosted.does(github.close_pull(number))
    works.server.until(works.are_over, "no job is left")


def _configuration(repository: Path, port: int) -> str:
    command = json.dumps(f"{shlex.quote(sys.executable)} job.py of-{port}-{{sha}} run_name={{run_name}}")
    return (
        "version: 1\n"
        f"launch: {{cluster: local, local: {{repository: {json.dumps(str(repository))}, timeout: 10m}}}}\n"
        f"cases: {{a: {{command: {command}}}}}\n"
    )
