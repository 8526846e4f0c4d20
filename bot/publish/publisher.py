"""Publish a report to all outputs, and collect what kept us from any of them.

What the people of a repository must fix (a missing permission, a locked conversation, an archived repository)
does not fail the step. It is logged once, shown in the comment and on the page, and retried later.
"""

import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bot.config import CheckConfig, CheckKind
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.publish.lease_fence import Fence
from bot.report.model import Report
from bot.storage.pull_requests import CheckOutput, OutputState, PullRow

REFUSED_RETRY_SECONDS = 900.0
"""How soon after a refusal the same is tried again."""

MOST_DELETIONS = 2
"""Who deletes the comment once may have meant something else; who does it again does not want it."""

COMMENT_DELETED = (
    "The comment was deleted twice, so it is not made again: what it would say stands on this page."
)

LOG = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentState:
    """The comment as it stands now, to be remembered with the row."""

    comment_id: int | None
    comment_state: OutputState
    comment_hash: str | None
    comment_severity: int
    comment_decided: str | None
    comment_written: float | None
    comment_lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckState:
    """The check as it stands now, to be remembered with the row."""

    check_kind: CheckOutput | None = None
    check_state: OutputState = OutputState.UNKNOWN
    check_id: int | None = None
    check_head: str | None = None
    check_hash: str | None = None
    check_pending: bool | None = None


class PublishComment(Protocol):
    """Makes the comment say a report; None where the head has moved on, and nothing was written."""

    async def __call__(
        self, repository: Repository, row: PullRow, report: Report, *, fence: Fence
    ) -> CommentState | None:
        """Write at most once, and not at all where nothing changed."""
        ...


class PublishCheck(Protocol):
    """Makes the check say a report."""

    async def __call__(
        self,
        repository: Repository,
        row: PullRow,
        report: Report,
        *,
        checks: CheckConfig,
        changed_paths: Sequence[str],
        fence: Fence,
    ) -> CheckState:
        """Write what changed."""
        ...

    async def skip(
        self,
        repository: Repository,
        row: PullRow,
        head_sha: str,
        why: str,
        *,
        kind: CheckKind,
        fence: Fence,
    ) -> CheckState:
        """Conclude the check of a head that is not measured."""
        ...

    async def close(self, repository: Repository, row: PullRow, why: str, fence: Fence) -> CheckState:
        """Conclude a check that is pending."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishResult:
    """What to remember, whether there is trouble that was not there before, or no more, and whether GitHub
    refused something."""

    values: Mapping[str, Any]
    news: bool
    refused: bool

    def due(self, now: float, otherwise: float | None) -> float | None:
        """At once where the trouble is news, since page and comment are to say it; later where it lasts."""
        if self.news:
            return now
        return now + REFUSED_RETRY_SECONDS if self.refused else otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Says a report in every place that the repository wants."""

    say: PublishComment
    check: PublishCheck

    async def __call__(
        self,
        repository: Repository,
        row: PullRow,
        report: Report,
        *,
        checks: CheckConfig,
        changed_paths: Sequence[str],
        fence: Fence,
    ) -> PublishResult | None:
        """Comment first: it is what people read."""
        trouble: list[str] = []
        said = await _attempt(self.say(repository, row, report, fence=fence), "comment", trouble)
        if said is None and not trouble:
            return None
        checked = await _attempt(
            self.check(repository, row, report, checks=checks, changed_paths=changed_paths, fence=fence),
            "check",
            trouble,
        )
        refused = bool(trouble)
        if said is not None and said.comment_lost >= MOST_DELETIONS:
            trouble.append(COMMENT_DELETED)
        after = " ".join(trouble) or None
        if after and after != row.trouble:
            LOG.warning("%s#%s: %s", row.repository, row.number, after)
        return PublishResult(
            values=_changed_values(row, {**_state_values(said), **_state_values(checked), "trouble": after}),
            news=after != row.trouble,
            refused=refused,
        )

    async def skip(
        self,
        repository: Repository,
        row: PullRow,
        head_sha: str,
        why: str,
        *,
        kind: CheckKind,
        fence: Fence,
    ) -> PublishResult:
        """Say beside the commit alone that it is not measured."""
        trouble: list[str] = []
        skipped = self.check.skip(repository, row, head_sha, why, kind=kind, fence=fence)
        values = {
            **_state_values(await _attempt(skipped, "check", trouble)),
            "trouble": " ".join(trouble) or None,
        }
        if trouble and trouble != [row.trouble]:
            LOG.warning("%s#%s: %s", row.repository, row.number, trouble[0])
        return PublishResult(values=_changed_values(row, values), news=False, refused=bool(trouble))

    async def close(
        self, repository: Repository, row: PullRow, ended: Report | None, *, fence: Fence
    ) -> Mapping[str, Any]:
        """Leave nothing pending on a pull request that is closed; `ended` is its report where some was."""
        trouble: list[str] = []
        why = "Nothing is awaited any more: the pull request is closed"
        said = None
        if ended is not None and row.comment_id is not None:
            said = await _attempt(self.say(repository, row, ended, fence=fence), "comment", trouble)
        checked = await _attempt(self.check.close(repository, row, why, fence), "check", trouble)
        return {**_state_values(said), **_state_values(checked)}


async def _attempt(write: Awaitable[T], what: str, trouble: list[str]) -> T | None:
    try:
        return await write
    except UserError as told:
        trouble.append(f"The {what} cannot be written: {told.text}.")
        return None


def _state_values(value: CommentState | CheckState | None) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__} if value else {}


def _changed_values(row: PullRow, values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is as it was: deliveries write to the row too while it is worked on."""
    return {name: value for name, value in values.items() if value != getattr(row, name)}
