"""The check of a commit: a check run, or a commit status.

A check is created when it can be concluded, or while runs are awaited if the repository wants pending
checks. A
check that GitHub reset, and one of an older head, are concluded at once: some repositories merge only if
every
check is. Before a check run is created it is looked up by our own key, so a lost answer leads to no second
one.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.config import CheckConfig, CheckKind
from bot.domain.check import (
    CHECK_NAME,
    MAX_DESCRIPTION_LENGTH,
    STATUS_CONTEXT,
    Annotation,
    Conclusion,
    RenderedCheck,
    check_key,
)
from bot.domain.repository import Repository
from bot.errors import NotFound
from bot.github.client import GitHubClient, repository_path
from bot.github.payload import JsonFields
from bot.publish.comment import RenderedComment
from bot.publish.lease_fence import Fence
from bot.publish.publisher import CheckState
from bot.report.check import CheckOutcome, check_outcome, check_text, conclude
from bot.report.model import Report
from bot.storage import pull_requests
from bot.storage.database import Database
from bot.storage.pull_requests import CheckOutput, OutputState, PullRow

ANNOTATIONS_AT_ONCE = 50
"""GitHub takes no more in one request."""

_HIGHEST_CODE_POINT = 0xFFFF

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class GitHubChecks:
    """Writes check runs and statuses through one App's connection."""

    github: GitHubClient

    async def check(
        self, repository: Repository, head_sha: str, text: RenderedCheck, *, key: str, known_id: int | None
    ) -> int:
        """Make the check run say this; `key` is our own name for it. Returns its id."""
        found = known_id if known_id is not None else await self._find(repository, head_sha, key)
        if found is None:
            return await self._create(repository, head_sha, text, key)
        try:
            left = await self._unsaid(repository, found, text.annotations)
            await self._update(repository, found, _check_run_body(text), left)
        except NotFound:
            # A check run goes with its commit, as a force-push and a cleaning take it.
            return await self._create(repository, head_sha, text, key)
        return found

    async def status(self, repository: Repository, head_sha: str, text: RenderedCheck) -> None:
        """Make the newest commit status say this."""
        wanted = {
            "state": _status_state(text.conclusion),
            "context": STATUS_CONTEXT,
            "description": _status_description(text.title, MAX_DESCRIPTION_LENGTH),
            **({"target_url": text.url} if text.url else {}),
        }
        path = repository_path(repository)
        async for page in self.github.door.pages(
            repository.installation, f"{path}/commits/{head_sha}/statuses"
        ):
            for status in page.read_each(lambda fields: fields):
                if status.find("context") == STATUS_CONTEXT:
                    if {name: status.find(name) for name in wanted} != wanted:
                        await self._post_status(repository, head_sha, wanted)
                    return
        await self._post_status(repository, head_sha, wanted)

    async def _post_status(self, repository: Repository, head_sha: str, wanted: Json) -> None:
        await self.github.door.ask(
            repository.installation, "POST", f"{repository_path(repository)}/statuses/{head_sha}", body=wanted
        )

    async def _find(self, repository: Repository, head_sha: str, key: str) -> int | None:
        """The newest check run of ours with this key; only the App that made one can have given it."""
        path = f"{repository_path(repository)}/commits/{head_sha}/check-runs"
        query: dict[str, str | int] = {
            "check_name": CHECK_NAME,
            "app_id": self.github.app_id,
            "filter": "all",
        }
        found: list[int] = []
        async for page in self.github.door.pages(repository.installation, path, query):
            for run in page.read_each(lambda fields: fields, within="check_runs"):
                ours = run.find("external_id") == key and run.find("app.id") == self.github.app_id
                found += [run.number("id")] if ours else []
        return max(found, default=None)

    async def _create(self, repository: Repository, head_sha: str, text: RenderedCheck, key: str) -> int:
        body = {**_check_run_body(text), "name": CHECK_NAME, "head_sha": head_sha, "external_id": key}
        first, rest = text.annotations[:ANNOTATIONS_AT_ONCE], text.annotations[ANNOTATIONS_AT_ONCE:]
        path = f"{repository_path(repository)}/check-runs"
        answer = await self.github.door.ask(
            repository.installation, "POST", path, body=_with_annotations(body, first)
        )
        made = answer.read(lambda fields: fields.number("id"))
        if rest:
            await self._update(repository, made, _check_run_body(text), rest)
        return made

    async def _update(
        self, repository: Repository, check_id: int, body: Json, left: Sequence[Annotation]
    ) -> None:
        """One request, and one more for every fifty remarks beyond the first."""
        path = f"{repository_path(repository)}/check-runs/{check_id}"
        pieces = [left[at : at + ANNOTATIONS_AT_ONCE] for at in range(0, len(left), ANNOTATIONS_AT_ONCE)]
        for piece in pieces or [()]:
            await self.github.door.ask(
                repository.installation, "PATCH", path, body=_with_annotations(body, piece)
            )

    async def _unsaid(
        self, repository: Repository, check_id: int, wanted: Sequence[Annotation]
    ) -> list[Annotation]:
        """The remarks that the check run has not got yet."""
        if not wanted:
            return []
        path = f"{repository_path(repository)}/check-runs/{check_id}/annotations"
        there: set[tuple[object, ...]] = set()
        async for page in self.github.door.pages(repository.installation, path):
            there.update(page.read_each(_annotation_key))
        return [one for one in wanted if (one.path, one.line, one.message) not in there]


def _annotation_key(fields: JsonFields) -> tuple[object, ...]:
    return fields.find("path"), fields.find("start_line"), fields.find("message")


def _check_run_body(text: RenderedCheck) -> dict[str, object]:
    """A check run without its remarks; pending where it has no conclusion."""
    ending: dict[str, object] = {"status": "in_progress"}
    if text.conclusion is not None:
        ending = {"status": "completed", "conclusion": text.conclusion.value}
    actions = [
        {"label": one.label, "description": one.description, "identifier": one.identifier}
        for one in text.actions
    ]
    output = {"title": text.title, "summary": text.summary}
    page = {"details_url": text.url} if text.url else {}
    return {**ending, **page, "output": output, "actions": actions}


def _with_annotations(body: Json, annotations: Sequence[Annotation]) -> Json:
    if not annotations:
        return body
    written = [
        {
            "path": one.path,
            "start_line": one.line,
            "end_line": one.line,
            "annotation_level": one.level.value,
            "title": one.title,
            "message": one.message,
        }
        for one in annotations
    ]
    output = body["output"]
    whole = output if isinstance(output, dict) else {}
    return {**body, "output": {**whole, "annotations": written}}


def _status_state(conclusion: Conclusion | None) -> str:
    """A commit status knows no `skipped`: what has no verdict says so in its text."""
    match conclusion:
        case None:
            return "pending"
        case Conclusion.FAILURE:
            return "failure"
        case Conclusion.SUCCESS | Conclusion.SKIPPED:
            return "success"


def _status_description(text: str, limit: int) -> str:
    """Short enough, and without the signs that GitHub refuses in a description."""
    plain = "".join(letter for letter in text if ord(letter) <= _HIGHEST_CODE_POINT).strip()
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


CHECKS_RECONFIGURED = "Nothing is awaited here any more: checks are configured otherwise by now"


class CheckWriter(Protocol):
    """Writes checks; each may be repeated."""

    async def check(
        self, repository: Repository, head_sha: str, text: RenderedCheck, *, key: str, known_id: int | None
    ) -> int:
        """Make the check run say this; its id."""
        ...

    async def status(self, repository: Repository, head_sha: str, text: RenderedCheck) -> None:
        """Make the commit status say this."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPublisher:
    """Renders a report and keeps the check."""

    render: Callable[[Report], Awaitable[RenderedComment]]
    keep: CheckWriter
    database: Database

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
        """Write what changed; at most one check besides that of an older head, which is concluded."""
        row = await self._without_others(repository, row, report.head_sha, checks.kind, fence)
        found = check_outcome(report)
        if checks.kind is CheckKind.OFF or not is_check_wanted(row, report, found, checks):
            return _check_state(row)
        waits = found is CheckOutcome.AWAITED and checks.pending
        text = await self._text(report, found, checks, changed_paths, waits=waits)
        digest = _check_digest(text, report.head_sha, checks.kind)
        if (row.check_head, row.check_hash) == (report.head_sha, digest):
            return _check_state(row)
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
    ) -> CheckState:
        """Conclude the check of a head that is not measured: where it is required, it would be waited for in
        vain."""
        row = await self._without_others(repository, row, head_sha, kind, fence)
        text = RenderedCheck(conclusion=Conclusion.SKIPPED, title=why, summary=f"{why}.", url="")
        digest = _check_digest(text, head_sha, kind)
        if kind is CheckKind.OFF or (row.check_head, row.check_hash) == (head_sha, digest):
            return _check_state(row)
        return await self._write(repository, row, head_sha, text, digest=digest, kind=kind, fence=fence)

    async def close(self, repository: Repository, row: PullRow, why: str, fence: Fence) -> CheckState:
        """Conclude a check of the row that is pending, that GitHub has reset, or of which we do not know what
        it says; nobody waits for its answer any more."""
        unknown = row.check_state is OutputState.CHANGED or (
            row.check_state is OutputState.UNKNOWN and row.check_kind is CheckOutput.CHECK
        )
        if row.check_head is None or row.check_kind is None or not (row.check_pending or unknown):
            return _check_state(row)
        text = RenderedCheck(conclusion=Conclusion.SKIPPED, title=why, summary=why, url="")
        kind = CheckKind(row.check_kind)
        digest = _check_digest(text, row.check_head, kind)
        return await self._write(repository, row, row.check_head, text, digest=digest, kind=kind, fence=fence)

    async def _without_others(
        self, repository: Repository, row: PullRow, head_sha: str, kind: CheckKind, fence: Fence
    ) -> PullRow:
        """The row once no check is pending that is not wanted any more."""
        if not row.check_pending or (row.check_head == head_sha and kind.value == row.check_kind):
            return row
        why = (
            CHECKS_RECONFIGURED
            if row.check_head == head_sha
            else f"Superseded: the head is {head_sha[:7]} by now"
        )
        return _with_check_state(row, await self.close(repository, row, why, fence))

    async def _text(
        self,
        report: Report,
        found: CheckOutcome,
        checks: CheckConfig,
        changed_paths: Sequence[str],
        *,
        waits: bool,
    ) -> RenderedCheck:
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
        text: RenderedCheck,
        *,
        digest: str,
        kind: CheckKind,
        fence: Fence,
    ) -> CheckState:
        # A death between the write and its remembering must not leave an old digest that fits again later.
        await self.database.write(
            pull_requests.mark_check_dirty,
            repository=repository.full_name,
            number=row.number,
            head_sha=head_sha,
            kind=CheckOutput(kind),
        )
        await fence()
        known_id = row.check_id if row.check_head == head_sha else None
        if kind is CheckKind.STATUS:
            await self.keep.status(repository, head_sha, text)
            made = None
        else:
            key = check_key(row.number)
            made = await self.keep.check(repository, head_sha, text, key=key, known_id=known_id)
        return CheckState(
            check_kind=CheckOutput(kind),
            check_state=OutputState.WRITTEN,
            check_id=made,
            check_head=head_sha,
            check_hash=digest,
            check_pending=text.conclusion is None,
        )


def is_check_wanted(row: PullRow, report: Report, found: CheckOutcome, checks: CheckConfig) -> bool:
    """Whether a check is to be written: there is an answer, pending is fine, or one stands undecided."""
    if found is not CheckOutcome.AWAITED or checks.pending:
        return True
    return row.check_head == report.head_sha and (
        row.check_state is not OutputState.WRITTEN or bool(row.check_pending)
    )


def _check_digest(text: RenderedCheck, head_sha: str, kind: CheckKind) -> str:
    """Of what must be written, and how; progress alone is not worth a write."""
    said = repr(text) if text.conclusion else "pending"
    return hashlib.sha256(f"{kind}\n{head_sha}\n{said}".encode("utf-8", "backslashreplace")).hexdigest()


def _check_state(row: PullRow) -> CheckState:
    return CheckState(**{name: getattr(row, name) for name in CheckState.__dataclass_fields__})


def _with_check_state(row: PullRow, checked: CheckState) -> PullRow:
    return replace(row, **{name: getattr(checked, name) for name in CheckState.__dataclass_fields__})
