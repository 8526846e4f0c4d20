"""Webhook events: their payloads, signing and delivery.

As on GitHub, a failed delivery is recorded and not repeated; a redelivery keeps its GUID.
"""

import hashlib
import hmac
import json
import ssl
import uuid
from collections.abc import Mapping
from time import perf_counter

import httpx

from bot.demo.github import payloads as shapes
from bot.demo.github.git import GitHistory
from bot.demo.github.payloads import Json, installation_json, repository_json, timestamp, user_json
from bot.demo.github.state import AccountState, GitHubComment, GitHubState, PullState, RecordedDelivery

# GitHub gives up after this time.
TIMEOUT_SECONDS = 10.0


class WebhookSender:
    """The App's webhook. Without an address deliveries are recorded only, as if nobody answered."""

    def __init__(
        self,
        world: GitHubState,
        *,
        webhook_url: str | None,
        secret: str,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._world = world
        self.webhook_url = webhook_url
        self._secret = secret.encode()
        self._transport = transport
        self._certificates = ssl.create_default_context()  # read once, not for each delivery

    async def deliver(
        self, event: str, payload: Mapping[str, object], *, guid: str | None = None
    ) -> RecordedDelivery:
        """Sign and send one event; with `guid` it repeats an earlier delivery."""
        body = json.dumps(payload, separators=(",", ":")).encode()
        delivery_guid = guid or str(uuid.uuid4())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/stand-in",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery_guid,
            "X-GitHub-Hook-Installation-Target-ID": str(self._world.app_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": sign_body(self._secret, body),
        }
        started = perf_counter()
        status, code = await self._post(body, headers)
        action = payload.get("action")
        made = RecordedDelivery(
            id=next(self._world.ids),
            guid=delivery_guid,
            event=event,
            action=action if isinstance(action, str) else None,
            payload=payload,
            headers=headers,
            delivered_at=self._world.now(),
            redelivery=guid is not None,
            status=status,
            status_code=code,
            duration=round(perf_counter() - started, 3),
        )
        self._world.deliveries.append(made)
        return made

    async def redeliver(self, delivery_id: int) -> bool:
        """Repeat a delivery under its GUID; false where there is none of this id."""
        for made in self._world.deliveries:
            if made.id == delivery_id:
                await self.deliver(made.event, made.payload, guid=made.guid)
                return True
        return False

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, int]:
        if self.webhook_url is None:
            return "failed to connect to host", 0
        try:
            async with httpx.AsyncClient(
                transport=self._transport, timeout=TIMEOUT_SECONDS, verify=self._certificates
            ) as client:
                response = await client.post(self.webhook_url, content=body, headers=headers)
        except httpx.TransportError as problem:
            return f"failed to connect to host: {type(problem).__name__}", 0
        return (
            "OK" if response.is_success else f"Invalid HTTP Response: {response.status_code}",
            response.status_code,
        )


def sign_body(secret: bytes, body: bytes) -> str:
    """The value of `X-Hub-Signature-256`."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


NO_COMMIT = "0" * 40


class EventSender:
    """Sends the events of one world."""

    def __init__(self, world: GitHubState, history: GitHistory, hooks: WebhookSender) -> None:
        self._world = world
        self._history = history
        self._hooks = hooks

    async def comment(
        self, action: str, state: GitHubComment, by: AccountState | None = None
    ) -> RecordedDelivery:
        """A comment was written, edited or deleted."""
        facts: Json = {
            "issue": shapes.issue_json(self._world, self._world.pulls[state.number]),
            "comment": shapes.comment_json(self._world, state),
            "repository": repository_json(self._world),
        }
        return await self.send("issue_comment", action, by or state.author, facts)

    async def pull(
        self, action: str, state: PullState, who: AccountState, more: Json | None = None
    ) -> RecordedDelivery:
        """Something happened to a pull request."""
        base_sha = self._history.heads()[state.base_branch]
        facts: Json = {
            "number": state.number,
            "pull_request": shapes.pull_json(self._world, state, base_sha, changed_files=0),
            "repository": repository_json(self._world),
        }
        return await self.send("pull_request", action, who, {**facts, **(more or {})})

    async def push(self, branch: str, before: str, after: str, who: AccountState) -> RecordedDelivery:
        """A branch moved."""
        # In push events alone these times are numbers.
        pushed_at = {"pushed_at": int(self._world.now())}
        facts: Json = {
            "ref": f"refs/heads/{branch}",
            "before": before,
            "after": after,
            "created": before == NO_COMMIT,
            "deleted": after == NO_COMMIT,
            "forced": False,
            "commits": [],
            "head_commit": None,
            "repository": {**repository_json(self._world), **pushed_at},
            "pusher": {"name": who.login},
        }
        return await self.send("push", None, who, facts)

    async def merge_group(self, action: str, number: int, head_sha: str) -> RecordedDelivery:
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
                    "timestamp": timestamp(made.commit_time),
                },
            },
            "repository": repository_json(self._world),
        }
        return await self.send("merge_group", action, self.owner(), facts)

    async def send(self, event: str, action: str | None, who: AccountState, facts: Json) -> RecordedDelivery:
        """Any event, with what every one of them carries."""
        whole = (
            installation_json(self._world) if event == "installation" else {"id": self._world.installation}
        )
        named = {} if action is None else {"action": action}
        sender = {"sender": user_json(self._world, who)}
        return await self._hooks.deliver(event, {**named, **facts, "installation": whole, **sender})

    def owner(self) -> AccountState:
        """The owner of the repository."""
        return self._world.account(self._world.owner)
