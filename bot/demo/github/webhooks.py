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

from bot.demo.github import payloads
from bot.demo.github.git import History
from bot.demo.github.payloads import Json, installation_json, repository_json, timestamp, user_json
from bot.demo.github.state import AccountState, GitHubComment, GitHubState, PullState, RecordedDelivery

# GitHub gives up after this time.
TIMEOUT_SECONDS = 10.0


class WebhookSender:
    """The App's webhook. Without an address deliveries are recorded only, as if nobody answered."""

    def __init__(
        self,
        github: GitHubState,
        *,
        webhook_url: str | None,
        secret: str,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._github = github
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
            "X-GitHub-Hook-Installation-Target-ID": str(self._github.app_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": sign_body(self._secret, body),
        }
        started = perf_counter()
        status, code = await self._post(body, headers)
        action = payload.get("action")
        delivery = RecordedDelivery(
            id=next(self._github.ids),
            guid=delivery_guid,
            event=event,
            action=action if isinstance(action, str) else None,
            payload=payload,
            headers=headers,
            delivered_at=self._github.now(),
            redelivery=guid is not None,
            status=status,
            status_code=code,
            duration=round(perf_counter() - started, 3),
        )
        self._github.deliveries.append(delivery)
        return delivery

    async def redeliver(self, delivery_id: int) -> bool:
        """Repeat a delivery under its GUID; false where there is none of this id."""
        for delivery in self._github.deliveries:
            if delivery.id == delivery_id:
                await self.deliver(delivery.event, delivery.payload, guid=delivery.guid)
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
    """Sends the events of the repository and the App."""

    def __init__(self, github: GitHubState, history: History, webhooks: WebhookSender) -> None:
        self._github = github
        self._history = history
        self._webhooks = webhooks

    async def comment(
        self, action: str, comment: GitHubComment, by: AccountState | None = None
    ) -> RecordedDelivery:
        """A comment was written, edited or deleted."""
        facts: Json = {
            "issue": payloads.issue_json(self._github, self._github.pulls[comment.number]),
            "comment": payloads.comment_json(self._github, comment),
            "repository": repository_json(self._github),
        }
        return await self.send("issue_comment", action, by or comment.author, facts)

    async def pull(
        self, action: str, pull: PullState, by: AccountState, more: Json | None = None
    ) -> RecordedDelivery:
        """Something happened to a pull request."""
        base_sha = self._history.heads()[pull.base_branch]
        facts: Json = {
            "number": pull.number,
            "pull_request": payloads.pull_json(self._github, pull, base_sha, changed_files=0),
            "repository": repository_json(self._github),
        }
        return await self.send("pull_request", action, by, {**facts, **(more or {})})

    async def push(self, branch: str, before: str, after: str, by: AccountState) -> RecordedDelivery:
        """A branch moved."""
        # In push events alone these times are numbers.
        pushed_at = {"pushed_at": int(self._github.now())}
        facts: Json = {
            "ref": f"refs/heads/{branch}",
            "before": before,
            "after": after,
            "created": before == NO_COMMIT,
            "deleted": after == NO_COMMIT,
            "forced": False,
            "commits": [],
            "head_commit": None,
            "repository": {**repository_json(self._github), **pushed_at},
            "pusher": {"name": by.login},
        }
        return await self.send("push", None, by, facts)

    async def merge_group(self, action: str, number: int, head_sha: str) -> RecordedDelivery:
        """A merge queue made a commit whose last pull request is this one, or dropped it."""
        pull, commit = self._github.pulls[number], self._history.commit(head_sha)
        base_sha = commit.parents[0]
        facts: Json = {
            "merge_group": {
                "head_sha": head_sha,
                "head_ref": f"refs/heads/gh-readonly-queue/{pull.base_branch}/pr-{number}-{base_sha}",
                "base_sha": base_sha,
                "base_ref": f"refs/heads/{pull.base_branch}",
                "head_commit": {
                    "id": head_sha,
                    "tree_id": commit.tree,
                    "message": commit.message,
                    "timestamp": timestamp(commit.committer.time),
                },
            },
            "repository": repository_json(self._github),
        }
        return await self.send("merge_group", action, self.owner(), facts)

    async def send(self, event: str, action: str | None, by: AccountState, facts: Json) -> RecordedDelivery:
        """Any event, with the fields that every event has."""
        installation = (
            installation_json(self._github) if event == "installation" else {"id": self._github.installation}
        )
        with_action = {} if action is None else {"action": action}
        sender = {"sender": user_json(self._github, by)}
        return await self._webhooks.deliver(
            event, {**with_action, **facts, "installation": installation, **sender}
        )

    def owner(self) -> AccountState:
        """The owner of the repository."""
        return self._github.account(self._github.owner)
