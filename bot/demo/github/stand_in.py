"""The stand-in GitHub: what people, owners and tests do, and the application that answers the App."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.demo.github.app_routes import AppRoutes
from bot.demo.github.check_routes import CheckRoutes
from bot.demo.github.code_routes import CodeRoutes
from bot.demo.github.git import History
from bot.demo.github.issue_routes import CommentRoutes, LabelRoutes
from bot.demo.github.pages import PageRoutes
from bot.demo.github.payloads import Json, check_run_json, label_json, pull_json, repository_json
from bot.demo.github.sign_in_routes import SignInRoutes
from bot.demo.github.state import (
    GitHubCheck,
    GitHubComment,
    GitHubState,
    InjectedFault,
    Interruption,
    PullState,
    RecordedDelivery,
    SignInCode,
)
from bot.demo.github.webhooks import NO_COMMIT, EventSender, WebhookSender
from bot.domain.repository import Permission

PEOPLE: Mapping[str, Permission] = {
    "alice": Permission.ADMIN,
    "bob": Permission.WRITE,
    "mallory": Permission.READ,
}


class StandInGitHub:
    """One repository with its people and pull requests, and one App installed on it."""

    def __init__(
        self,
        history: History,
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
        client_id: str = "",
        client_secret: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`url` is where this application is reached; `transport` replaces the connection of webhooks.

        `client_id` and `client_secret` are the App's for signing people in.
        """
        self.state = GitHubState(
            full_name=full_name,
            url=url.rstrip("/"),
            app_id=app_id,
            slug=slug,
            installation=installation_id,
            default_branch=default_branch,
            private=private,
            now=now,
            client_id=client_id,
            client_secret=client_secret,
        )
        for login, permission in people.items():
            self.state.account(login).permission = permission
        self._history = history
        self._heads = history.heads()
        self._webhooks = WebhookSender(
            self.state, webhook_url=webhook_url, secret=secret, transport=transport
        )
        self.events = EventSender(self.state, history, self._webhooks)
        self._announcements: set[asyncio.Task[RecordedDelivery]] = set()
        self.application = self._application()

    # --- the App's installation -----------------------------------------------------------------------

    def send_webhooks_to(self, webhook_url: str | None) -> None:
        """Set the App's address; None for one that nobody answers."""
        self._webhooks.webhook_url = webhook_url

    async def install(self) -> RecordedDelivery:
        """Install the App on the repository."""
        short = {
            name: repository_json(self.state)[name]
            for name in ("id", "node_id", "name", "full_name", "private")
        }
        return await self.events.send(
            "installation", "created", self.events.owner(), {"repositories": [short]}
        )

    async def suspend(self) -> None:
        """Suspend the installation: it gets no tokens."""
        self.state.suspended_at = self.state.now()
        self.state.tokens.clear()
        await self.events.send("installation", "suspend", self.events.owner(), {})

    async def uninstall(self) -> RecordedDelivery:
        """Uninstall the App: it gets no tokens, and is listed nowhere."""
        self.state.installed = False
        self.state.tokens.clear()
        return await self.events.send("installation", "deleted", self.events.owner(), {"repositories": []})

    async def unsuspend(self) -> None:
        """Let the installation work again."""
        self.state.suspended_at = None
        await self.events.send("installation", "unsuspend", self.events.owner(), {})

    async def grant(self, permission: str, access: str) -> None:
        """Change a permission of the App, and accept the change."""
        self.state.permissions[permission] = access
        await self.events.send("installation", "new_permissions_accepted", self.events.owner(), {})

    # --- the repository -------------------------------------------------------------------------------

    async def rename(self, full_name: str, event: str = "renamed") -> None:
        """Give the repository another name, or another owner."""
        self.state.full_name = full_name
        await self._repository_event(event)

    async def change_visibility(self, *, private: bool) -> None:
        """Make the repository private, or public."""
        self.state.private = private
        await self._repository_event("privatized" if private else "publicized")

    async def archive(self) -> None:
        """Make the repository read-only."""
        self.state.archived = True
        await self._repository_event("archived")

    async def unarchive(self) -> None:
        """Let the repository be written to again."""
        self.state.archived = False
        await self._repository_event("unarchived")

    async def push(self, branch: str, author: str = "alice") -> str:
        """Announce that a branch moved to where git has it now; its pull requests are synchronized."""
        before, after = self._heads.get(branch, NO_COMMIT), self._history.heads().get(branch, NO_COMMIT)
        self._heads[branch] = after
        account, pulls = self.state.account(author), self.state.pulls.values()
        if not any(pull.fork and pull.head_branch == branch for pull in pulls):
            await self.events.push(branch, before, after, account)
        for pull in pulls:
            if pull.head_branch == branch and pull.closed_at is None and after != NO_COMMIT:
                pull.head_sha, pull.updated_at = after, self.state.now()
                await self.events.pull("synchronize", pull, account, {"before": before, "after": after})
        return after

    async def _repository_event(self, action: str) -> None:
        facts: Json = {"repository": repository_json(self.state)}
        await self.events.send("repository", action, self.events.owner(), facts)

    # --- pull requests --------------------------------------------------------------------------------

    async def open_pull(
        self, branch: str, title: str, author: str, *, draft: bool = False, fork: str | None = None
    ) -> int:
        """Open a pull request into the default branch, from a branch of the repository or of a `fork`, whose
        commits lie in the same git repository."""
        now = self.state.now()
        pull = PullState(
            number=len(self.state.pulls) + 1,
            id=next(self.state.ids),
            title=title,
            author=self.state.account(author),
            head_branch=branch,
            head_sha=self._history.heads()[branch],
            base_branch=self.state.default_branch,
            draft=draft,
            fork=fork,
            created_at=now,
            updated_at=now,
        )
        self.state.pulls[pull.number] = pull
        self._heads[branch] = pull.head_sha
        await self.events.pull("opened", pull, pull.author)
        return pull.number

    async def mark_ready(self, number: int) -> None:
        """Turn a draft into a pull request that wants review."""
        pull = self.state.pulls[number]
        pull.draft, pull.updated_at = False, self.state.now()
        await self.events.pull("ready_for_review", pull, pull.author)

    async def close_pull(self, number: int, *, merged: bool = False) -> None:
        """Close a pull request; `merged` says so without moving the default branch."""
        pull = self.state.pulls[number]
        pull.closed_at = pull.updated_at = self.state.now()
        pull.merged_at = pull.closed_at if merged else None
        await self.events.pull("closed", pull, pull.author)

    async def reopen_pull(self, number: int) -> None:
        """Open a closed pull request again."""
        pull = self.state.pulls[number]
        pull.closed_at, pull.updated_at = None, self.state.now()
        await self.events.pull("reopened", pull, pull.author)

    def lock(self, number: int) -> None:
        """Lock a conversation: the App cannot write there any more."""
        self.state.pulls[number].locked = True

    async def unlock(self, number: int) -> None:
        """Open a conversation again."""
        pull = self.state.pulls[number]
        pull.locked = False
        facts: Json = {
            "number": number,
            "pull_request": pull_json(self.state, pull, pull.head_sha, changed_files=0),
            "repository": repository_json(self.state),
        }
        await self.events.send("pull_request", "unlocked", pull.author, facts)

    async def label(self, number: int, name: str, by: str) -> None:
        """Put a label on a pull request."""
        self.state.pulls[number].labels.append(self.state.label(name).name)
        await self._label_event("labeled", number, name, by)

    async def unlabel(self, number: int, name: str, by: str) -> None:
        """Take a label away."""
        self.state.pulls[number].labels.remove(name)
        await self._label_event("unlabeled", number, name, by)

    async def _label_event(self, action: str, number: int, name: str, by: str) -> None:
        pull = self.state.pulls[number]
        pull.updated_at = self.state.now()
        label: Json = {"label": label_json(self.state, self.state.label(name))}
        await self.events.pull(action, pull, self.state.account(by), label)

    async def enter_merge_queue(self, number: int, head_sha: str) -> RecordedDelivery:
        """A merge queue made this commit for a pull request, and waits for its checks."""
        return await self.events.merge_group("checks_requested", number, head_sha)

    async def leave_merge_queue(self, number: int, head_sha: str) -> RecordedDelivery:
        """The commit of a merge queue was merged, or left out."""
        return await self.events.merge_group("destroyed", number, head_sha)

    # --- comments -------------------------------------------------------------------------------------

    async def comment(self, number: int, author: str, body: str) -> int:
        """Comment on a pull request; returns the comment's id."""
        now = self.state.now()
        comment = GitHubComment(
            id=next(self.state.ids),
            number=number,
            author=self.state.account(author),
            body=body,
            by_app=False,
            created_at=now,
            updated_at=now,
        )
        self.state.comments[comment.id] = comment
        await self.events.comment("created", comment)
        return comment.id

    async def edit_comment(self, comment_id: int, body: str, by: str | None = None) -> None:
        """Edit a comment, as its author unless somebody else is named."""
        comment = self.state.comments[comment_id]
        comment.body, comment.updated_at = body, self.state.now()
        await self.events.comment("edited", comment, by=None if by is None else self.state.account(by))

    async def delete_comment(self, comment_id: int, by: str) -> None:
        """Delete anybody's comment."""
        comment = self.state.comments.pop(comment_id)
        await self.events.comment("deleted", comment, by=self.state.account(by))

    def comments_of(self, number: int) -> tuple[GitHubComment, ...]:
        """The comments of a pull request, oldest first."""
        return tuple(self.state.comments_of(number))

    def reactions_to(self, comment_id: int) -> tuple[str, ...]:
        """The reactions to a comment."""
        return tuple(self.state.comments[comment_id].reactions)

    # --- checks ---------------------------------------------------------------------------------------

    async def press_button(self, check: GitHubCheck, identifier: str, by: str) -> None:
        """Press a button under a check."""
        facts: Json = {"requested_action": {"identifier": identifier}}
        await self._check_event("requested_action", check, by, facts)

    async def rerequest(self, check: GitHubCheck, by: str) -> None:
        """Request a check again, which takes its conclusion away."""
        check.status, check.conclusion, check.completed_at = "queued", None, None
        await self._check_event("rerequested", check, by, {})

    async def rerequest_all(self, head_sha: str, by: str) -> None:
        """Request all checks of a commit again."""
        for check in self.state.checks.values():
            if check.head_sha == head_sha:
                check.status, check.conclusion, check.completed_at = "queued", None, None
        suite: Json = {"id": 1, "head_sha": head_sha, "pull_requests": []}
        facts: Json = {"check_suite": suite, "repository": repository_json(self.state)}
        await self.events.send("check_suite", "rerequested", self.state.account(by), facts)

    async def _check_event(self, action: str, check: GitHubCheck, by: str, facts: Json) -> None:
        whole: Json = {
            "check_run": check_run_json(self.state, check),
            "repository": repository_json(self.state),
            **facts,
        }
        await self.events.send("check_run", action, self.state.account(by), whole)

    # --- signing in -----------------------------------------------------------------------------------

    def agree_to_sign_in(self, url: str, login: str) -> str:
        """Press the button of GitHub's sign-in page at `url`; returns where the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        if (asked["client_id"], asked["code_challenge_method"]) != (self.state.client_id, "S256"):
            raise ValueError(f"not a sign-in of this App: {url}")
        code = f"code-{next(self.state.ids)}"
        self.state.sign_in_codes[code] = SignInCode(
            login=login, challenge=asked["code_challenge"], redirect_uri=asked["redirect_uri"]
        )
        return f"{urlsplit(asked['redirect_uri']).path}?code={code}&state={asked['state']}"

    def create_user_token(self, login: str) -> str:
        """A token of a person."""
        token = f"ghu_{next(self.state.ids):036d}"
        self.state.user_tokens[token] = login
        return token

    # --- faults ---------------------------------------------------------------------------------------

    def fail_next(
        self,
        method: str,
        ending: str,
        *,
        status: int,
        message: str = "Server Error",
        headers: Mapping[str, str] | None = None,
        after: bool = False,
        times: int = 1,
    ) -> None:
        """Answer the next requests whose path ends so with an error; `after` lets them take effect first."""
        self.state.faults.append(
            InjectedFault(
                method=method,
                ending=ending,
                status=status,
                message=message,
                headers=headers or {},
                after=after,
                times=times,
            )
        )

    def interrupt_next(
        self, method: str, ending: str, act: Callable[[], Awaitable[None]], *, after: bool = False
    ) -> None:
        """Do something right before the next request whose path ends so is read, or `after` that and before
        its answer arrives."""
        self.state.interruptions.append(Interruption(method=method, ending=ending, act=act, after=after))

    def revoke_tokens(self) -> None:
        """Refuse every token of the installation created so far."""
        self.state.tokens.clear()

    async def settle(self) -> None:
        """Wait until the webhooks that the App's own writes caused are delivered."""
        while self._announcements:
            await asyncio.gather(*self._announcements)

    # --- the application ------------------------------------------------------------------------------

    def _application(self) -> Starlette:
        pages = PageRoutes(self.state, self.comment)
        routes = (
            *AppRoutes(self.state, self._webhooks.redeliver).all(),
            *SignInRoutes(self.state, self.create_user_token).all(),
            *CodeRoutes(self.state, self._history).all(),
            *LabelRoutes(self.state).all(),
            *CommentRoutes(self.state, self._announce).all(),
            *CheckRoutes(self.state).all(),
            *pages.all(),
        )

        async def missing(request: Request, _: Exception) -> Response:
            if "text/html" in request.headers.get("accept", ""):
                return pages.missing(request)
            return JSONResponse({"message": "Not Found"}, status_code=404)

        return Starlette(routes=routes, exception_handlers={404: missing})

    def _announce(self, action: str, comment: GitHubComment) -> None:
        task = asyncio.create_task(self.events.comment(action, comment))
        self._announcements.add(task)
        task.add_done_callback(self._announcements.discard)
