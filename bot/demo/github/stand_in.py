"""The stand-in GitHub: what people and owners do, and the application that answers the App."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.demo.github import payloads as shapes
from bot.demo.github.app_routes import AppRoutes
from bot.demo.github.check_routes import CheckRoutes
from bot.demo.github.code_routes import CodeRoutes
from bot.demo.github.git import GitHistory
from bot.demo.github.issue_routes import CommentRoutes, LabelRoutes
from bot.demo.github.pages import PageRoutes
from bot.demo.github.payloads import Json, check_run_json, pull_json, repository_json
from bot.demo.github.state import (
    GitHubCheck,
    GitHubComment,
    GitHubState,
    InjectedFault,
    PullState,
    RecordedDelivery,
)
from bot.demo.github.webhooks import NO_COMMIT, EventSender, WebhookSender
from bot.domain.repository import Permission

PEOPLE: Mapping[str, Permission] = {
    "alice": Permission.ADMIN,
    "bob": Permission.WRITE,
    "mallory": Permission.READ,
}


class StandInGitHub:
    """GitHub, as far as this program sees it."""

    def __init__(
        self,
        repo_path: Path,
        full_name: str,
        webhook_url: str | None,
        secret: str,
        app_id: int,
        *,
        url: str = "http://github.test",
        slug: str = "maxview",
        installation_id: int = 1,
        default_branch: str = "main",
        private: bool = False,
        people: Mapping[str, Permission] = PEOPLE,
        transport: httpx.AsyncBaseTransport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`url` is where this application is reached; `transport` replaces the connection of webhooks."""
        self.world = GitHubState(
            full_name=full_name,
            url=url.rstrip("/"),
            app_id=app_id,
            slug=slug,
            installation=installation_id,
            default_branch=default_branch,
            private=private,
            now=now,
        )
        for login, permission in people.items():
            self.world.account(login).permission = permission
        self._history = GitHistory(repo_path)
        self._heads = self._history.heads()
        self._hooks = WebhookSender(self.world, webhook_url=webhook_url, secret=secret, transport=transport)
        self.events = EventSender(self.world, self._history, self._hooks)
        self._announcing: set[asyncio.Task[RecordedDelivery]] = set()
        self.application = self._application()

    def send_webhooks_to(self, webhook_url: str | None) -> None:
        """Set the App's address; None for one that nobody answers."""
        self._hooks.webhook_url = webhook_url

    async def install(self) -> RecordedDelivery:
        """Say that the App was installed on the repository."""
        short = {
            name: repository_json(self.world)[name]
            for name in ("id", "node_id", "name", "full_name", "private")
        }
        return await self.events.send(
            "installation", "created", self.events.owner(), {"repositories": [short]}
        )

    async def open_pull(
        self, branch: str, title: str, author: str, *, draft: bool = False, fork: str | None = None
    ) -> int:
        """Open a pull request into the default branch, from a branch of the repository or of a `fork`, whose
        commits lie in the same git repository."""
        now = self.world.now()
        state = PullState(
            number=len(self.world.pulls) + 1,
            id=next(self.world.ids),
            title=title,
            author=self.world.account(author),
            head_branch=branch,
            head_sha=self._history.heads()[branch],
            base_branch=self.world.default_branch,
            draft=draft,
            fork=fork,
            created_at=now,
            updated_at=now,
        )
        self.world.pulls[state.number] = state
        self._heads[branch] = state.head_sha
        await self.events.pull("opened", state, state.author)
        return state.number

    async def push(self, branch: str, author: str = "alice") -> str:
        """Say that a branch moved to where git has it now; its pull requests are synchronized."""
        before, after = self._heads.get(branch, NO_COMMIT), self._history.heads().get(branch, NO_COMMIT)
        self._heads[branch] = after
        who = self.world.account(author)
        if not any(state.fork and state.head_branch == branch for state in self.world.pulls.values()):
            await self.events.push(branch, before, after, who)
        for state in self.world.pulls.values():
            if state.head_branch == branch and state.closed_at is None and after != NO_COMMIT:
                state.head_sha, state.updated_at = after, self.world.now()
                await self.events.pull("synchronize", state, who, {"before": before, "after": after})
        return after

    async def label(self, number: int, name: str, who: str) -> None:
        """Let somebody put a label on a pull request."""
        state = self.world.pulls[number]
        state.labels.append(self.world.label(name).name)
        await self._label_event("labeled", number, name, who)

    async def unlabel(self, number: int, name: str, who: str) -> None:
        """Let somebody take a label away."""
        self.world.pulls[number].labels.remove(name)
        await self._label_event("unlabeled", number, name, who)

    async def _label_event(self, action: str, number: int, name: str, who: str) -> None:
        state = self.world.pulls[number]
        state.updated_at = self.world.now()
        label: Json = {"label": shapes.label_json(self.world, self.world.label(name))}
        await self.events.pull(action, state, self.world.account(who), label)

    async def edit_comment(self, comment_id: int, body: str) -> None:
        """Let somebody edit their comment."""
        state = self.world.comments[comment_id]
        state.body, state.updated_at = body, self.world.now()
        await self.events.comment("edited", state)

    async def ready(self, number: int) -> None:
        """Turn a draft into a pull request that wants review."""
        state = self.world.pulls[number]
        state.draft, state.updated_at = False, self.world.now()
        await self.events.pull("ready_for_review", state, state.author)

    async def close_pull(self, number: int, *, merged: bool = False) -> None:
        """Close a pull request; `merged` says so without moving the default branch."""
        state = self.world.pulls[number]
        state.closed_at = state.updated_at = self.world.now()
        state.merged_at = state.closed_at if merged else None
        await self.events.pull("closed", state, state.author)

    async def reopen_pull(self, number: int) -> None:
        """Open a closed pull request again."""
        state = self.world.pulls[number]
        state.closed_at, state.updated_at = None, self.world.now()
        await self.events.pull("reopened", state, state.author)

    async def comment(self, number: int, author: str, body: str) -> int:
        """Let a person comment on a pull request; returns the comment's id."""
        now = self.world.now()
        state = GitHubComment(
            id=next(self.world.ids),
            number=number,
            author=self.world.account(author),
            body=body,
            by_app=False,
            created_at=now,
            updated_at=now,
        )
        self.world.comments[state.id] = state
        await self.events.comment("created", state)
        return state.id

    def comments_of(self, number: int) -> tuple[GitHubComment, ...]:
        """The comments of a pull request, oldest first."""
        return tuple(self.world.comments_of(number))

    def reactions_to(self, comment_id: int) -> tuple[str, ...]:
        """What was put on a comment."""
        return tuple(self.world.comments[comment_id].reactions)

    def fail_next(
        self,
        method: str,
        ending: str,
        *,
        status: int,
        message: str = "Server Error",
        headers: Mapping[str, str] | None = None,
        after: bool = False,
    ) -> None:
        """Answer the next request whose path ends so with an error; `after` lets it take effect first."""
        self.world.faults.append(
            InjectedFault(
                method=method,
                ending=ending,
                status=status,
                message=message,
                headers=headers or {},
                after=after,
            )
        )

    def forget_tokens(self) -> None:
        """Let every token minted so far be refused."""
        self.world.tokens.clear()

    async def settle(self) -> None:
        """Wait until the webhooks that the App's own writes caused are delivered."""
        while self._announcing:
            await asyncio.gather(*self._announcing)

    def _application(self) -> Starlette:
        pages = PageRoutes(self.world, self.comment)
        routes = (
            *AppRoutes(self.world, self._hooks.redeliver).all(),
            *CodeRoutes(self.world, self._history).all(),
            *LabelRoutes(self.world).all(),
            *CommentRoutes(self.world, self._announce).all(),
            *CheckRoutes(self.world).all(),
            *pages.all(),
        )

        async def missing(request: Request, _why: Exception) -> Response:
            if "text/html" in request.headers.get("accept", ""):
                return pages.missing(request)
            return JSONResponse({"message": "Not Found"}, status_code=404)

        return Starlette(routes=routes, exception_handlers={404: missing})

    def _announce(self, action: str, state: GitHubComment) -> None:
        task = asyncio.create_task(self.events.comment(action, state))
        self._announcing.add(task)
        task.add_done_callback(self._announcing.discard)


class OwnerActions:
    """The life of one stand-in's App."""

    def __init__(self, stand_in: StandInGitHub) -> None:
        self._world = stand_in.world
        self._events = stand_in.events

    async def press(self, check: GitHubCheck, identifier: str, by: str) -> None:
        """Press a button under a check."""
        facts: Json = {"requested_action": {"identifier": identifier}}
        await self._check_event("requested_action", check, by, facts)

    async def rerequest(self, check: GitHubCheck, by: str) -> None:
        """Ask for a check again, which takes its conclusion away."""
        check.status, check.conclusion, check.completed_at = "queued", None, None
        await self._check_event("rerequested", check, by, {})

    async def rerequest_all(self, head_sha: str, by: str) -> None:
        """Ask for all checks of a commit again."""
        for check in self._world.checks.values():
            if check.head_sha == head_sha:
                check.status, check.conclusion, check.completed_at = "queued", None, None
        suite: Json = {"id": 1, "head_sha": head_sha, "pull_requests": []}
        facts: Json = {"check_suite": suite, "repository": repository_json(self._world)}
        await self._events.send("check_suite", "rerequested", self._world.account(by), facts)

    async def rename(self, full_name: str, event: str = "renamed") -> None:
        """Give the repository another name, or another owner."""
        self._world.full_name = full_name
        await self._repository_event(event)

    async def archive(self) -> None:
        """Make the repository read-only."""
        self._world.archived = True
        await self._repository_event("archived")

    async def unarchive(self) -> None:
        """Let it be written to again."""
        self._world.archived = False
        await self._repository_event("unarchived")

    async def suspend(self) -> None:
        """Suspend the installation: no token is given out for it."""
        self._world.suspended_at = self._world.now()
        self._world.tokens.clear()
        await self._events.send("installation", "suspend", self._events.owner(), {})

    async def unsuspend(self) -> None:
        """Let it work again."""
        self._world.suspended_at = None
        await self._events.send("installation", "unsuspend", self._events.owner(), {})

    async def grant(self, permission: str, access: str) -> None:
        """Change a permission, and accept that."""
        self._world.permissions[permission] = access
        await self._events.send("installation", "new_permissions_accepted", self._events.owner(), {})

    async def delete_comment(self, comment_id: int, by: str) -> None:
        """Delete anybody's comment."""
        state = self._world.comments.pop(comment_id)
        await self._events.comment("deleted", state, by=self._world.account(by))

    async def edit_comment(self, comment_id: int, by: str, body: str) -> None:
        """Edit anybody's comment."""
        state = self._world.comments[comment_id]
        state.body = body
        await self._events.comment("edited", state, by=self._world.account(by))

    def lock(self, number: int) -> None:
        """Lock a conversation: the App cannot write there any more."""
        self._world.pulls[number].locked = True

    async def unlock(self, number: int) -> None:
        """Open it again."""
        state = self._world.pulls[number]
        state.locked = False
        facts: Json = {
            "number": number,
            "pull_request": pull_json(self._world, state, state.head_sha, changed_files=0),
            "repository": repository_json(self._world),
        }
        await self._events.send("pull_request", "unlocked", state.author, facts)

    async def queue(self, number: int, head_sha: str) -> RecordedDelivery:
        """A merge queue made this commit for a pull request, and waits for its checks."""
        return await self._events.merge_group("checks_requested", number, head_sha)

    async def leave_queue(self, number: int, head_sha: str) -> RecordedDelivery:
        """The commit is of no use any more: it was merged, or left out."""
        return await self._events.merge_group("destroyed", number, head_sha)

    async def _check_event(self, action: str, check: GitHubCheck, by: str, facts: Json) -> None:
        whole: Json = {
            "check_run": check_run_json(self._world, check),
            "repository": repository_json(self._world),
            **facts,
        }
        await self._events.send("check_run", action, self._world.account(by), whole)

    async def _repository_event(self, action: str) -> None:
        facts: Json = {"repository": repository_json(self._world)}
        await self._events.send("repository", action, self._events.owner(), facts)
