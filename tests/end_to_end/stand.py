"""The stand-in GitHub, a folder of finished runs, and the real server that works for them.

In:  a folder, and how checks are configured. Out: a `Stand`; its server may be started or not.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.demo.github_life import Life
from bot.demo.github_state import CheckState, CommentState
from tests.end_to_end.between import Between, standing_between
from tests.end_to_end.hosted import Hosted, hosting
from tests.end_to_end.runs import Runs, configuration
from tests.end_to_end.server import Server
from tests.github.gitting import GitRepository
from tests.peers.keys import private_key
from tests.peers.ports import free_port

SECRET, APP_ID = "a secret of these tests", 42
BRANCH = "feat/x"
PATH = ".github/maxview.yml"


@dataclass(slots=True, kw_only=True)
class Stand:
    """A server that works for the stand-in."""

    hosted: Hosted
    between: Between
    server: Server
    runs: Runs
    base: str
    head: str

    @property
    def life(self) -> Life:
        """What owners do."""
        return Life(self.hosted.github)

    def open_pull(self, branch: str = BRANCH) -> int:
        """Open a pull request."""
        return self.hosted.does(self.hosted.github.open_pull(branch, "A change", "alice"))

    def comment(self, number: int, holds: str, unlike: int | None = None) -> CommentState:
        """The one comment of ours, once it holds a text and is another one than that."""

        def found() -> CommentState | None:
            ours = [one for one in self.hosted.github.comments_of(number) if one.by_app]
            good = len(ours) == 1 and holds in ours[0].body and ours[0].id != unlike
            return ours[0] if good else None

        return self.server.until(found, f"the comment holds {holds!r}")

    def configure(self, checks: str, triggers: str = "{}") -> None:
        """Push another configuration to the default branch."""
        self.hosted.git.write("main", {PATH: _configuration(self.server.folder, checks, triggers)})
        self.hosted.does(self.hosted.github.push("main"))

    def check(self, ending: str, unlike: str = "") -> CheckState:
        """The newest check, once it ends so."""

        def found() -> CheckState | None:
            checks = list(self.hosted.github.world.checks.values())
            good = checks and checks[-1].conclusion == ending and checks[-1].title != unlike
            return checks[-1] if good else None

        return self.server.until(found, f"a check ends as {ending}")

    def count(self, request: str) -> int:
        """How often a request was sent."""
        return sum(re.search(request, one) is not None for one in self.hosted.github.world.requests)


def _configuration(folder: Path, checks: str, triggers: str) -> str:
    fetched = configuration(f"file:{folder / 'runs'}", ("04_int8",))
    return f"{fetched}checks: {checks}\ntriggers: {triggers}\n"


def _putter(folder: Path) -> Callable[[str, bytes], None]:
    def put(name: str, content: bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


@contextmanager
def standing(folder: Path, checks: str = "off", triggers: str = "{}") -> Iterator[Stand]:
    """A stand-in with finished runs of one slower case, and a server for it that is not started yet."""
    git, port = GitRepository(folder / "git"), free_port()
    (folder / "runs").mkdir()
    base = git.write("main", {PATH: _configuration(folder, checks, triggers)})
    head = git.write(BRANCH, {"src/a.py": "A = 1\n"}, base)
    runs = Runs(put=_putter(folder / "runs"))
    runs.several("04_int8", "main", base, 4)
    runs.several("04_int8", BRANCH, head, 3, since=0.5, step_seconds=0.25)
    webhook_url = f"http://127.0.0.1:{port}/webhook"
    with (
        hosting(git, webhook_url=webhook_url, secret=SECRET, app_id=APP_ID, private=False) as hosted,
        standing_between(hosted.url) as between,
    ):
        settings = {
            "GITHUB_APP_ID": str(APP_ID),
            "GITHUB_PRIVATE_KEY": private_key(),
            "GITHUB_API_URL": between.url,
            "POLL_SECONDS": "1",
        }
        server = Server(folder=folder, port=port, secret=SECRET, settings=settings)
        try:
            yield Stand(hosted=hosted, between=between, server=server, runs=runs, base=base, head=head)
        finally:
            if server.process is not None:
                server.kill()
