"""Make the one comment of a pull request say its report.

In:  a report. Out: what the comment says now; None where the head has moved on meanwhile.

The head is asked for once more right before writing: a report on an old head is never posted as if it were
on the new one.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bot.controller.fence import Fence
from bot.controller.ports import Forge
from bot.controller.telling import RESPECTED_LOSSES, Said
from bot.intake.pull import Repository
from bot.report.model import Report
from bot.storage.pulls import CHANGED, PullRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A comment to be: its body, its marker, a digest of what it decides, how bad the news is, its page."""

    body: str
    marker: str
    decided: str
    severity: int
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The comment that stands there, None where none does any more; `lost` says that the known one was gone,
    which is not our doing."""

    id: int | None
    lost: bool = False


class Keep(Protocol):
    """Brings the comment up to date."""

    async def __call__(
        self,
        repository: Repository,
        number: int,
        *,
        text: Text,
        known_id: int | None,
        worse: bool,
        certain: bool,
        again: bool,
        fence: Fence,
    ) -> Kept:
        """Create, edit, re-create or leave the comment; `certain` that the last writing ended well, `again`
        that it may be made once more where somebody deleted it."""
        ...


Render = Callable[[Report], Awaitable[Text]]

Doubt = Callable[[Repository, int], Awaitable[None]]
"""Writes down that the comment is about to be written: a process that dies then leaves that behind."""


PROGRESS_SECONDS = 60.0
"""How often mere progress is written: GitHub allows some 500 writes an hour for all pull requests."""

BUSY, SPARING = 0.5, 10
"""Where half of an hour's writes are used up, progress waits ten times as long: the rest is for decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Renders a report and keeps the comment; `busy` is the share of an hour's writes that is used up."""

    forge: Forge
    render: Render
    keep: Keep
    doubt: Doubt
    now: Callable[[], float]
    busy: Callable[[Repository], float] = lambda _repository: 0.0

    async def __call__(
        self, repository: Repository, row: PullRow, report: Report, *, fence: Fence
    ) -> Said | None:
        """Say the report, if it still concerns the head, and if people want a comment at all. A branch that
        no pull request speaks for has no place for one."""
        said = remembered(row)
        if row.is_branch or row.comment_lost >= RESPECTED_LOSSES:
            return said
        text = await self.render(report)
        digest = hashlib.sha256(text.body.encode()).hexdigest()
        if row.comment_id is not None and (
            digest == row.comment_hash or self._may_wait(repository, row, text)
        ):
            return said
        current = await self.forge.pull(repository, row.number)
        if current.head_sha != report.head_sha:
            return None
        await self.doubt(repository, row.number)
        kept = await self.keep(
            repository,
            row.number,
            text=text,
            known_id=row.comment_id,
            worse=row.comment_id is not None and text.severity > row.comment_severity,
            certain=row.comment_hash not in {None, CHANGED},
            again=row.comment_lost + 1 < RESPECTED_LOSSES,
            fence=fence,
        )
        return Said(
            comment_id=kept.id,
            comment_hash=digest,
            comment_severity=text.severity,
            comment_decided=text.decided,
            comment_written=self.now(),
            comment_lost=row.comment_lost + int(kept.lost),
        )

    def _may_wait(self, repository: Repository, row: PullRow, text: Text) -> bool:
        """Whether there is nothing but progress to tell, and some was told a moment ago."""
        if row.comment_hash in {None, CHANGED}:
            return False
        patience = PROGRESS_SECONDS * (SPARING if self.busy(repository) > BUSY else 1)
        recently = self.now() - (row.comment_written or 0.0) < patience
        return recently and text.decided == row.comment_decided


def remembered(row: PullRow) -> Said:
    """What the row remembers of the comment."""
    return Said(**{name: getattr(row, name) for name in Said.__dataclass_fields__})
