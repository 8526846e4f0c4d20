"""Tell a report: the comment, then the check, and what kept us from either.

In:  a report, the row it is of, and how the repository wants checks.
Out: what to remember; None where the head has moved on, and nothing was written.

What the people of a repository must put right (a missing permission, a locked conversation, an archived
repository) does not fail the step: it is said once in the log, and on the page and in the comment from then
on, and it is tried again in its time.
"""

import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bot.config import CheckKind, Checks
from bot.controller.fence import Fence
from bot.errors import Told
from bot.intake.pull import Repository
from bot.report.model import Report
from bot.storage.pulls import PullRow

TROUBLED_SECONDS = 900.0
"""How soon after a refusal the same is tried again."""

RESPECTED_LOSSES = 2
"""Who deletes the comment once may have meant something else; who does it again does not want it."""

GONE = "The comment was deleted twice, so it is not made again: what it would say stands on this page."

LOG = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The comment as it stands now, to be remembered with the row."""

    comment_id: int | None
    comment_hash: str | None
    comment_severity: int
    comment_decided: str | None
    comment_written: float | None
    comment_lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The check as it stands now, to be remembered with the row."""

    check_id: int | None = None
    check_head: str | None = None
    check_hash: str | None = None
    check_pending: bool | None = None


class Say(Protocol):
    """Makes the comment say a report; None where the head has moved on, and nothing was written."""

    async def __call__(
        self, repository: Repository, row: PullRow, report: Report, *, fence: Fence
    ) -> Said | None:
        """Write at most once, and not at all where nothing changed."""
        ...


class Check(Protocol):
    """Makes the check say a report."""

    async def __call__(
        self,
        repository: Repository,
        row: PullRow,
        report: Report,
        *,
        checks: Checks,
        changed_paths: Sequence[str],
        fence: Fence,
    ) -> Checked:
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
    ) -> Checked:
        """Conclude the check of a head that is not measured."""
        ...

    async def close(self, repository: Repository, row: PullRow, why: str, fence: Fence) -> Checked:
        """Conclude a check that is pending."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What to remember, whether there is trouble that was not there before, or no more, and whether GitHub
    refused something."""

    values: Mapping[str, Any]
    news: bool
    refused: bool

    def due(self, now: float, otherwise: float | None) -> float | None:
        """At once where the trouble is news, since page and comment are to say it; later where it lasts."""
        if self.news:
            return now
        return now + TROUBLED_SECONDS if self.refused else otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Says a report in every place that the repository wants."""

    say: Say
    check: Check

    async def __call__(
        self,
        repository: Repository,
        row: PullRow,
        report: Report,
        *,
        checks: Checks,
        changed_paths: Sequence[str],
        fence: Fence,
    ) -> Telling | None:
        """Comment first: it is what people read."""
        trouble: list[str] = []
        said = await _tried(self.say(repository, row, report, fence=fence), "comment", trouble)
        if said is None and not trouble:
            return None
        checked = await _tried(
            self.check(repository, row, report, checks=checks, changed_paths=changed_paths, fence=fence),
            "check",
            trouble,
        )
        refused = bool(trouble)
        if said is not None and said.comment_lost >= RESPECTED_LOSSES:
            trouble.append(GONE)
        after = " ".join(trouble) or None
        if after and after != row.trouble:
            LOG.warning("%s#%s: %s", row.repository, row.number, after)
        return Telling(
            values=_changed(row, {**_fields(said), **_fields(checked), "trouble": after}),
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
    ) -> Telling:
        """Say beside the commit alone that it is not measured."""
        trouble: list[str] = []
        skipped = self.check.skip(repository, row, head_sha, why, kind=kind, fence=fence)
        values = {**_fields(await _tried(skipped, "check", trouble)), "trouble": " ".join(trouble) or None}
        if trouble and trouble != [row.trouble]:
            LOG.warning("%s#%s: %s", row.repository, row.number, trouble[0])
        return Telling(values=_changed(row, values), news=False, refused=bool(trouble))

    async def close(
        self, repository: Repository, row: PullRow, ended: Report | None, *, fence: Fence
    ) -> Mapping[str, Any]:
        """Leave nothing pending on a pull request that is closed; `ended` is its report where some was."""
        trouble: list[str] = []
        why = "Nothing is awaited any more: the pull request is closed"
        said = None
        if ended is not None and row.comment_id is not None:
            said = await _tried(self.say(repository, row, ended, fence=fence), "comment", trouble)
        checked = await _tried(self.check.close(repository, row, why, fence), "check", trouble)
        return {**_fields(said), **_fields(checked)}


async def _tried(write: Awaitable[T], what: str, trouble: list[str]) -> T | None:
    try:
        return await write
    except Told as told:
        trouble.append(f"The {what} cannot be written: {told.text}.")
        return None


def _fields(value: Said | Checked | None) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__} if value else {}


def _changed(row: PullRow, values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is as it was: deliveries write to the row too while it is worked on."""
    return {name: value for name, value in values.items() if value != getattr(row, name)}
