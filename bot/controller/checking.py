"""Make the check of a pull request's head say its report.

In:  a report, how the repository wants checks, and what the row remembers.
Out: what stands there now, to be remembered.

A check is made when it can be concluded, or while runs are awaited where the repository says that pending is
fine. One that GitHub reset, because somebody asked for it again, and one of an older head are concluded at
once: some repositories merge only where every check is.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.config import CheckKind, Checks
from bot.controller.fence import Fence
from bot.controller.saying import Text
from bot.controller.telling import Checked
from bot.intake.check import CheckText, Conclusion
from bot.intake.life import check_key
from bot.intake.pull import Repository
from bot.report.check import Outcome, check_text, conclude, outcome
from bot.report.model import Report
from bot.storage import standing
from bot.storage.database import Database
from bot.storage.pulls import CHANGED, PullRow
from bot.storage.standing import UNKNOWN_CHECK

OTHERWISE = "Nothing is awaited here any more: checks are configured otherwise by now"


class KeepCheck(Protocol):
    """Writes checks; each may be repeated."""

    async def check(
        self, repository: Repository, head_sha: str, text: CheckText, *, key: str, known_id: int | None
    ) -> int:
        """Make the check run say this; its id."""
        ...

    async def status(self, repository: Repository, head_sha: str, text: CheckText) -> None:
        """Make the commit status say this."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Renders a report and keeps the check."""

    render: Callable[[Report], Awaitable[Text]]
    keep: KeepCheck
    database: Database

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
        """Write what changed; at most one check besides that of an older head, which is concluded."""
        row = await self._without_others(repository, row, report.head_sha, checks.kind, fence)
        found = outcome(report)
        if checks.kind is CheckKind.OFF or not wanted(row, report, found, checks):
            return _remembered(row)
        waits = found is Outcome.AWAITED and checks.pending
        text = await self._text(report, found, checks, changed_paths, waits=waits)
        digest = _digest(text, report.head_sha, checks.kind)
        if (row.check_head, row.check_hash) == (report.head_sha, digest):
            return _remembered(row)
        return await self._write(
            repository, row, report.head_sha, text, digest=digest, kind=checks.kind, fence=fence
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
    ) -> Checked:
        """Conclude the check of a head that is not measured: where it is required, it would be waited for in
        vain."""
        row = await self._without_others(repository, row, head_sha, kind, fence)
        text = CheckText(conclusion=Conclusion.SKIPPED, title=why, summary=f"{why}.", url="")
        digest = _digest(text, head_sha, kind)
        if kind is CheckKind.OFF or (row.check_head, row.check_hash) == (head_sha, digest):
            return _remembered(row)
        return await self._write(repository, row, head_sha, text, digest=digest, kind=kind, fence=fence)

    async def close(self, repository: Repository, row: PullRow, why: str, fence: Fence) -> Checked:
        """Conclude a check of the row that is pending, that GitHub has reset, or of which we do not know what
        it says; nobody waits for its answer any more."""
        unknown = row.check_hash == CHANGED or (row.check_hash is None and row.check_id is not None)
        if row.check_head is None or not (row.check_pending or unknown):
            return _remembered(row)
        text = CheckText(conclusion=Conclusion.SKIPPED, title=why, summary=why, url="")
        kind = _kind(row)
        digest = _digest(text, row.check_head, kind)
        return await self._write(repository, row, row.check_head, text, digest=digest, kind=kind, fence=fence)

    async def _without_others(
        self, repository: Repository, row: PullRow, head_sha: str, kind: CheckKind, fence: Fence
    ) -> PullRow:
        """The row once no check is pending that is not wanted any more."""
        if not row.check_pending or (row.check_head == head_sha and kind is _kind(row)):
            return row
        why = OTHERWISE if row.check_head == head_sha else f"Superseded: the head is {head_sha[:7]} by now"
        return _remembering(row, await self.close(repository, row, why, fence))

    async def _text(
        self, report: Report, found: Outcome, checks: Checks, changed_paths: Sequence[str], *, waits: bool
    ) -> CheckText:
        said = await self.render(report)
        return check_text(
            report,
            conclusion=None if waits else conclude(found, gates=checks.fail_on_regression),
            body=said.body,
            changed_paths=changed_paths,
            url=said.url,
        )

    async def _write(
        self,
        repository: Repository,
        row: PullRow,
        head_sha: str,
        text: CheckText,
        *,
        digest: str,
        kind: CheckKind,
        fence: Fence,
    ) -> Checked:
        # A death between the write and its remembering must not leave an old digest that fits again later.
        await self.database.write(
            standing.doubt_check, repository=repository.full_name, number=row.number, head_sha=head_sha
        )
        await fence()
        known_id = row.check_id if row.check_head == head_sha and row.check_id != UNKNOWN_CHECK else None
        if kind is CheckKind.STATUS:
            await self.keep.status(repository, head_sha, text)
            made = None
        else:
            key = check_key(row.number)
            made = await self.keep.check(repository, head_sha, text, key=key, known_id=known_id)
        return Checked(
            check_id=made, check_head=head_sha, check_hash=digest, check_pending=text.conclusion is None
        )


def wanted(row: PullRow, report: Report, found: Outcome, checks: Checks) -> bool:
    """Whether a check is to be written: there is an answer, pending is fine, or one stands undecided."""
    if found is not Outcome.AWAITED or checks.pending:
        return True
    return row.check_head == report.head_sha and (
        row.check_hash in {None, CHANGED} or bool(row.check_pending)
    )


def _kind(row: PullRow) -> CheckKind:
    """What stands there: a commit status has no id."""
    return CheckKind.STATUS if row.check_id is None else CheckKind.CHECK


def _digest(text: CheckText, head_sha: str, kind: CheckKind) -> str:
    """Of what must be written, and how; progress alone is not worth a write."""
    said = repr(text) if text.conclusion else "pending"
    return hashlib.sha256(f"{kind}\n{head_sha}\n{said}".encode("utf-8", "backslashreplace")).hexdigest()


def _remembered(row: PullRow) -> Checked:
    return Checked(**{name: getattr(row, name) for name in Checked.__dataclass_fields__})


def _remembering(row: PullRow, checked: Checked) -> PullRow:
    return replace(row, **{name: getattr(checked, name) for name in Checked.__dataclass_fields__})
