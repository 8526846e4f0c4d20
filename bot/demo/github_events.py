"""What the stand-in for GitHub tells the App: the events, and what stands in them.

In:  what happened. Out: webhook deliveries in GitHub's shapes.
"""

from bot.demo import github_pull_shapes as shapes
from bot.demo.github_git import History
from bot.demo.github_hooks import Hooks
from bot.demo.github_shapes import Json, at, installation, repository, user
from bot.demo.github_state import Account, CommentState, Delivery, PullState, World

NOTHING = "0" * 40


class Events:
    """Sends the events of one world."""

    def __init__(self, world: World, history: History, hooks: Hooks) -> None:
        self._world = world
        self._history = history
        self._hooks = hooks

    async def comment(self, action: str, state: CommentState, by: Account | None = None) -> Delivery:
        """A comment was written, edited or deleted."""
        facts: Json = {
            "issue": shapes.issue(self._world, self._world.pulls[state.number]),
            "comment": shapes.comment(self._world, state),
            "repository": repository(self._world),
        }
        return await self.send("issue_comment", action, by or state.author, facts)

    async def pull(self, action: str, state: PullState, who: Account, more: Json | None = None) -> Delivery:
        """Something happened to a pull request."""
        base_sha = self._history.heads()[state.base_branch]
        facts: Json = {
            "number": state.number,
            "pull_request": shapes.pull(self._world, state, base_sha, changed_files=0),
            "repository": repository(self._world),
        }
        return await self.send("pull_request", action, who, {**facts, **(more or {})})

    async def push(self, branch: str, before: str, after: str, who: Account) -> Delivery:
        """A branch moved."""
        # In push events alone these times are numbers.
        pushed_at = {"pushed_at": int(self._world.now())}
        facts: Json = {
            "ref": f"refs/heads/{branch}",
            "before": before,
            "after": after,
            "created": before == NOTHING,
            "deleted": after == NOTHING,
            "forced": False,
            "commits": [],
            "head_commit": None,
            "repository": {**repository(self._world), **pushed_at},
            "pusher": {"name": who.login},
        }
        return await self.send("push", None, who, facts)

    async def merge_group(self, action: str, number: int, head_sha: str) -> Delivery:
        """A merge queue made a commit whose last pull request is this one, or has no use for it any more."""
        state, made = self._world.pulls[number], self._history.commit(head_sha)
        base_sha = made.parents[0].decode()
        facts: Json = {
            "merge_group": {
                "head_sha": head_sha,
                "head_ref": f"refs/heads/gh-readonly-queue/{state.base_branch}/pr-{number}-{base_sha}",
                "base_sha": base_sha,
                "base_ref": f"refs/heads/{state.base_branch}",
                "head_commit": {
                    "id": head_sha,
                    "tree_id": made.tree.decode(),
                    "message": made.message.decode("utf-8", "replace"),
                    "timestamp": at(made.commit_time),
                },
            },
            "repository": repository(self._world),
        }
        return await self.send("merge_group", action, self.owner(), facts)

    async def send(self, event: str, action: str | None, who: Account, facts: Json) -> Delivery:
        """Any event, with what every one of them carries."""
        whole = installation(self._world) if event == "installation" else {"id": self._world.installation}
        named = {} if action is None else {"action": action}
        sender = {"sender": user(self._world, who)}
        return await self._hooks.deliver(event, {**named, **facts, "installation": whole, **sender})

    def owner(self) -> Account:
        """The owner of the repository."""
        return self._world.account(self._world.owner)
