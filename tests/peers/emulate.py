"""A stateful GitHub that others wrote: npm's `emulate`, in its own process.

Seeded: the organization `acme` with its admin alice, its repository `acme/maxtext` with the branch main, the
writer bob, the stranger mallory, and the App `maxview` installed on `acme`.

It lacks, so tests of these use our stand-in: reactions, the list of an installation's repositories,
deliveries, the mark of pull requests in comment events, `synchronize` after a push, the files of a pull
request, rate limits, 401 for a wrong token. The ids of its deliveries are milliseconds and may repeat.
"""

import base64
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.peers.keys import private_key
from tests.peers.loopback import free_port
from tests.peers.node import node, node_modules

APP_ID = 4242

SLUG = "maxview"

INSTALLATION = 100

REPOSITORY = "acme/maxtext"

SECRET = "a secret of the tests"

PEOPLE = ("alice", "bob", "mallory")

# It starts in 0.3 s on a quiet machine; this one may be busy.
START_SECONDS = 60.0

KNOWN_VIOLATIONS = (
    (
        r"answer \d+ .*\b(user|owner|account)\b",
        "its accounts lack some of GitHub's addresses, and some hold braces",
    ),
    (r"^GET /app: answer 200 :", "the App has no owner there"),
    (r"^GET /app: the status 401 is not described", "GitHub describes no refusal of this call"),
    (r"^GET /app/installations: answer 200 \[\]: \"target_id\"", "an installation lacks its target"),
    (r"^GET /installation/repositories: the status 404", "it has no such operation"),
    (r"^POST .*/reactions: the status 404", "it has no such operation"),
    (
        r"^GET /repos/\{owner\}/\{repo\}: answer 200 : \"(network|subscribers)_count\"",
        "these counts are not kept",
    ),
)
"""What emulate answers and GitHub's description does not allow, as patterns of `operation: text`, and why."""

Json = dict[str, Any]


class Emulate:
    """One running emulator. The methods do what people do, as the person named."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=30)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, who: str, method: str, path: str, body: Json | None = None) -> Any:
        """Send a request as a person."""
        headers = {"Authorization": f"token {token_of(who)}"}
        response = self._client.request(method, path, json=body, headers=headers)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def head(self, branch: str) -> str:
        """The commit of a branch."""
        sha: str = self.ask("alice", "GET", f"/repos/{REPOSITORY}/git/ref/heads/{branch}")["object"]["sha"]
        return sha

    def branch(self, name: str, start: str = "main") -> str:
        """Make a branch; returns its commit."""
        sha = self.head(start)
        body = {"ref": f"refs/heads/{name}", "sha": sha}
        self.ask("alice", "POST", f"/repos/{REPOSITORY}/git/refs", body)
        return sha

    def commit(self, branch: str, path: str, text: str, message: str = "Change a file") -> str:
        """Add a file to a branch, which sends a push; returns the new commit."""
        content = base64.b64encode(text.encode()).decode()
        body = {"message": message, "content": content, "branch": branch}
        made = self.ask("alice", "PUT", f"/repos/{REPOSITORY}/contents/{path}", body)
        sha: str = made["commit"]["sha"]
        return sha

    def open_pull(self, branch: str, title: str, who: str = "alice") -> int:
        """Open a pull request into main."""
        body = {"title": title, "head": branch, "base": "main"}
        number: int = self.ask(who, "POST", f"/repos/{REPOSITORY}/pulls", body)["number"]
        return number

    def close_pull(self, number: int) -> None:
        """Close a pull request."""
        self.ask("alice", "PATCH", f"/repos/{REPOSITORY}/pulls/{number}", {"state": "closed"})

    def comment(self, number: int, who: str, body: str) -> int:
        """Comment on a pull request; returns the comment's id."""
        path = f"/repos/{REPOSITORY}/issues/{number}/comments"
        made: int = self.ask(who, "POST", path, {"body": body})["id"]
        return made

    def comments_of(self, number: int) -> list[Json]:
        """The comments of a pull request, oldest first, as the API gives them."""
        path = f"/repos/{REPOSITORY}/issues/{number}/comments?per_page=100"
        found: list[Json] = self.ask("alice", "GET", path)
        return found

    def tokens_minted(self) -> int:
        """How many installation tokens were given out."""
        return self._client.get("/_emulate/installation-tokens").text.count('"issued_at"')


@contextmanager
def running_emulate(webhook_url: str | None = None, secret: str = SECRET) -> Iterator[Emulate]:
    """Run an emulator that sends the App's webhooks to an address."""
    with tempfile.TemporaryDirectory() as folder:
        seed = Path(folder) / "seed.json"
        seed.write_text(json.dumps(_seed(webhook_url, secret)))
        port = free_port()
        script = node_modules() / "emulate" / "dist" / "index.js"
        program = [str(node()), str(script), "start", "--service", "github"]
        with (Path(folder) / "log").open("w+") as log:
            process = subprocess.Popen(
                [*program, "--port", str(port), "--seed", str(seed)],
                cwd=folder,
                env={**os.environ, "NO_COLOR": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                yield from _ready(process, f"http://127.0.0.1:{port}", Path(log.name))
            finally:
                process.terminate()
                process.wait(timeout=10)


def token_of(who: str) -> str:
    """The token of a person."""
    return f"{who}_token"


def _ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> Iterator[Emulate]:
    deadline = time.monotonic() + START_SECONDS
    emulate = Emulate(url)
    try:
        while not _answers(emulate):
            assert process.poll() is None, f"emulate ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"emulate does not answer: {log.read_text()}"
            time.sleep(0.05)
        collaborator = f"/repos/{REPOSITORY}/collaborators/bob"
        emulate.ask("alice", "PUT", collaborator, {"permission": "push"})
        yield emulate
    finally:
        emulate.close()


def _answers(emulate: Emulate) -> bool:
    try:
        emulate.ask("alice", "GET", f"/repos/{REPOSITORY}")
    except httpx.TransportError:
        return False
    return True


def _seed(webhook_url: str | None, secret: str) -> Json:
    app: Json = {
        "app_id": APP_ID,
        "slug": SLUG,
        "name": "MaxView",
        "private_key": private_key(),
        "permissions": {
            "contents": "read",
            "issues": "read",
            "metadata": "read",
            "pull_requests": "write",
        },
        "events": ["pull_request", "issue_comment", "push"],
        "webhook_secret": secret,
        "installations": [
            {"installation_id": INSTALLATION, "account": "acme", "repository_selection": "all"}
        ],
    }
    if webhook_url is not None:
        app["webhook_url"] = webhook_url
    return {
        "tokens": {token_of(who): {"login": who, "scopes": ["repo", "user"]} for who in PEOPLE},
        "github": {
            "users": [{"login": who, "email": f"{who}@example.org"} for who in PEOPLE],
            "orgs": [{"login": "acme", "members": [{"login": "alice", "role": "admin"}]}],
            "repos": [{"owner": "acme", "name": "maxtext", "auto_init": True}],
            "apps": [app],
        },
    }
