"""What happens to an App and its repository on the stand-in, besides pull requests.

In:  method calls for what people and owners do. Out: the changed world, and the webhooks that tell of it.
"""

from bot.demo.github import StandIn
from bot.demo.github_check_shapes import check_run
from bot.demo.github_pull_shapes import pull
from bot.demo.github_shapes import Json, repository
from bot.demo.github_state import CheckState, Delivery


class Life:
    """The life of one stand-in's App."""

    def __init__(self, stand_in: StandIn) -> None:
        self._world = stand_in.world
        self._events = stand_in.events

    async def press(self, check: CheckState, identifier: str, by: str) -> None:
        """Press a button under a check."""
        facts: Json = {"requested_action": {"identifier": identifier}}
        await self._check_event("requested_action", check, by, facts)

    async def rerequest(self, check: CheckState, by: str) -> None:
        """Ask for a check again, which takes its conclusion away."""
        check.status, check.conclusion, check.completed_at = "queued", None, None
        await self._check_event("rerequested", check, by, {})

    async def rerequest_all(self, head_sha: str, by: str) -> None:
        """Ask for all checks of a commit again."""
        for check in self._world.checks.values():
            if check.head_sha == head_sha:
                check.status, check.conclusion, check.completed_at = "queued", None, None
        suite: Json = {"id": 1, "head_sha": head_sha, "pull_requests": []}
        facts: Json = {"check_suite": suite, "repository": repository(self._world)}
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
            "pull_request": pull(self._world, state, state.head_sha, changed_files=0),
            "repository": repository(self._world),
        }
        await self._events.send("pull_request", "unlocked", state.author, facts)

    async def queue(self, number: int, head_sha: str) -> Delivery:
        """A merge queue made this commit for a pull request, and waits for its checks."""
        return await self._events.merge_group("checks_requested", number, head_sha)

    async def leave_queue(self, number: int, head_sha: str) -> Delivery:
        """The commit is of no use any more: it was merged, or left out."""
        return await self._events.merge_group("destroyed", number, head_sha)

    async def _check_event(self, action: str, check: CheckState, by: str, facts: Json) -> None:
        whole: Json = {
            "check_run": check_run(self._world, check),
            "repository": repository(self._world),
            **facts,
        }
        await self._events.send("check_run", action, self._world.account(by), whole)

    async def _repository_event(self, action: str) -> None:
        facts: Json = {"repository": repository(self._world)}
        await self._events.send("repository", action, self._events.owner(), facts)
