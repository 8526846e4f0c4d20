"""The check of a commit: a check run, or a commit status.

A check is created when it can be concluded, or while runs are awaited if the repository wants pending
checks. A check that GitHub reset, and one of an older head, are concluded at once: some repositories merge
only if every check is. Before a check run is created it is looked up by our own key, so a lost answer leads
to no second one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol, assert_never

from msgspec import Struct

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
from bot.domain.published import (
    CheckRun,
    CheckState,
    CheckTarget,
    CommitStatus,
    DirtyCheck,
    NoCheck,
    PostedCheck,
)
from bot.domain.repository import Repository
from bot.errors import NotFound
from bot.github.client import GitHubClient, repository_path
from bot.github.payload import JsonFields
from bot.publish.publisher import NewReport, NotMeasured, Publication, Published, PullClosed
from bot.publish.rendering import RenderComment
from bot.report.check import CheckOutcome, check_outcome, check_text, conclude
from bot.report.model import Report
from bot.storage import pull_requests
from bot.storage.database import Database
from bot.storage.output_states import CheckForm, form_of

ANNOTATIONS_AT_ONCE = 50
"""GitHub takes no more in one request."""

_HIGHEST_CODE_POINT = 0xFFFF

Json = Mapping[str, object]


class GitHubChecks(Struct, frozen=True):
    """Writes check runs and statuses through one App's connection."""

    github: GitHubClient

    async def write_check_run(
        self, repository: Repository, head_sha: str, text: RenderedCheck, *, key: str, known_id: int | None
    ) -> int:
        """Create or update the check run; `key` is our own name for it. Returns its id."""
        found = known_id if known_id is not None else await self._find(repository, head_sha, key)
        if found is None:
            return await self._create(repository, head_sha, text, key)
        try:
            left = await self._missing_annotations(repository, found, text.annotations)
            await self._update(repository, found, _check_run_body(text), left)
        except NotFound:
            # GitHub deletes a check run with its commit, which a force-push and a garbage collection remove.
            return await self._create(repository, head_sha, text, key)
        return found

    async def write_status(self, repository: Repository, head_sha: str, text: RenderedCheck) -> None:
        """Write a commit status, unless the newest one says this."""
        wanted = {
            "state": _status_state(text.conclusion),
            "context": STATUS_CONTEXT,
            "description": _status_description(text.title, MAX_DESCRIPTION_LENGTH),
            **({"target_url": text.url} if text.url else {}),
        }
        path = repository_path(repository)
        async for page in self.github.api.pages(
            repository.installation, f"{path}/commits/{head_sha}/statuses"
        ):
            for status in page.read_each(lambda fields: fields):
                if status.find("context") == STATUS_CONTEXT:
                    if {name: status.find(name) for name in wanted} != wanted:
                        await self._post_status(repository, head_sha, wanted)
                    return
        await self._post_status(repository, head_sha, wanted)

    async def _post_status(self, repository: Repository, head_sha: str, wanted: Json) -> None:
        await self.github.api.request(
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
        async for page in self.github.api.pages(repository.installation, path, query):
            for run in page.read_each(lambda fields: fields, within="check_runs"):
                ours = run.find("external_id") == key and run.find("app.id") == self.github.app_id
                found += [run.number("id")] if ours else []
        return max(found, default=None)

    async def _create(self, repository: Repository, head_sha: str, text: RenderedCheck, key: str) -> int:
        body = {**_check_run_body(text), "name": CHECK_NAME, "head_sha": head_sha, "external_id": key}
        first, rest = text.annotations[:ANNOTATIONS_AT_ONCE], text.annotations[ANNOTATIONS_AT_ONCE:]
        path = f"{repository_path(repository)}/check-runs"
        answer = await self.github.api.request(
            repository.installation, "POST", path, body=_with_annotations(body, first)
        )
        made = answer.read(lambda fields: fields.number("id"))
        if rest:
            await self._update(repository, made, _check_run_body(text), rest)
        return made

    async def _update(
        self, repository: Repository, check_id: int, body: Json, left: Sequence[Annotation]
    ) -> None:
        """One request for every `ANNOTATIONS_AT_ONCE` annotations, at least one."""
        path = f"{repository_path(repository)}/check-runs/{check_id}"
        pieces = [left[at : at + ANNOTATIONS_AT_ONCE] for at in range(0, len(left), ANNOTATIONS_AT_ONCE)]
        for piece in pieces or [()]:
            await self.github.api.request(
                repository.installation, "PATCH", path, body=_with_annotations(body, piece)
            )

    async def _missing_annotations(
        self, repository: Repository, check_id: int, wanted: Sequence[Annotation]
    ) -> list[Annotation]:
        """The annotations that the check run lacks."""
        if not wanted:
            return []
        path = f"{repository_path(repository)}/check-runs/{check_id}/annotations"
        there: set[tuple[object, ...]] = set()
        async for page in self.github.api.pages(repository.installation, path):
            there.update(page.read_each(_annotation_key))
        return [one for one in wanted if (one.path, one.line, one.message) not in there]


def _annotation_key(fields: JsonFields) -> tuple[object, ...]:
    return fields.find("path"), fields.find("start_line"), fields.find("message")


def _check_run_body(text: RenderedCheck) -> dict[str, object]:
    """A check run without its annotations; pending where it has no conclusion."""
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

PULL_CLOSED = "Nothing is awaited any more: the pull request is closed"


class CheckApi(Protocol):
    """Writes checks; each call may be repeated."""

    async def write_check_run(
        self, repository: Repository, head_sha: str, text: RenderedCheck, *, key: str, known_id: int | None
    ) -> int:
        """Create or update the check run; returns its id."""
        ...

    async def write_status(self, repository: Repository, head_sha: str, text: RenderedCheck) -> None:
        """Write the commit status."""
        ...


class CheckOutput(Struct, frozen=True, kw_only=True):
    """Publishes reports as the check of the head."""

    render: RenderComment
    checks: CheckApi
    database: Database

    @property
    def name(self) -> str:
        """In messages."""
        return "check"

    async def publish(self, publication: Publication) -> Published:
        """Write what changed; at most one check besides that of an older head, which is concluded."""
        match publication.content:
            case NewReport() as content:
                state = await self._publish_report(publication, content)
            case NotMeasured() as content:
                state = await self._skip(publication, content)
            case PullClosed():
                state = await self._conclude(publication, publication.row.check, PULL_CLOSED)
            case _:
                assert_never(publication.content)
        return Published(state=state)

    async def _publish_report(self, publication: Publication, content: NewReport) -> CheckState:
        report, config = content.report, publication.checks
        state = await self._without_stale(publication, report.head_sha)
        outcome = check_outcome(report)
        if config.kind is CheckKind.OFF or not is_check_wanted(state, report, outcome, config):
            return state
        waits = outcome is CheckOutcome.AWAITED and config.pending
        comment = await self.render(report)
        check = check_text(
            report,
            conclusion=None if waits else conclude(outcome, fail_on_regression=config.fail_on_regression),
            body=comment.body,
            changed_paths=content.changed_paths,
            url=comment.url,
        )
        return await self._write(publication, state, report.head_sha, check, config.kind)

    async def _skip(self, publication: Publication, content: NotMeasured) -> CheckState:
        """Conclude the check of a head that is not measured: if it is required, it would be waited for in
        vain."""
        state = await self._without_stale(publication, content.head_sha)
        if publication.checks.kind is CheckKind.OFF:
            return state
        check = RenderedCheck(
            conclusion=Conclusion.SKIPPED, title=content.reason, summary=f"{content.reason}.", url=""
        )
        return await self._write(publication, state, content.head_sha, check, publication.checks.kind)

    async def _conclude(self, publication: Publication, state: CheckState, reason: str) -> CheckState:
        """Conclude a check that is pending or dirty; nobody waits for its answer any more."""
        if isinstance(state, NoCheck) or not (state.pending or isinstance(state, DirtyCheck)):
            return state
        check = RenderedCheck(conclusion=Conclusion.SKIPPED, title=reason, summary=reason, url="")
        return await self._write(publication, state, state.head_sha, check, CheckKind(form_of(state.target)))

    async def _without_stale(self, publication: Publication, head_sha: str) -> CheckState:
        """The state once no pending check is left that is not wanted any more."""
        state = publication.row.check
        if isinstance(state, NoCheck) or not state.pending:
            return state
        if state.head_sha != head_sha:
            return await self._conclude(publication, state, f"Superseded: the head is {head_sha[:7]} by now")
        if CheckKind(form_of(state.target)) is not publication.checks.kind:
            return await self._conclude(publication, state, CHECKS_RECONFIGURED)
        return state

    async def _write(
        self,
        publication: Publication,
        state: CheckState,
        head_sha: str,
        check: RenderedCheck,
        kind: CheckKind,
    ) -> CheckState:
        digest = _check_digest(check, head_sha, kind)
        if isinstance(state, PostedCheck) and (state.head_sha, state.digest) == (head_sha, digest):
            return state
        repository, number = publication.repository, publication.row.number
        # A death between the write and the release must not leave an old digest that fits again later.
        await self.database.write(
            pull_requests.mark_check_dirty,
            repository=repository.full_name,
            number=number,
            head_sha=head_sha,
            kind=CheckForm(kind),
        )
        await publication.fence()
        target: CheckTarget = CommitStatus()
        if kind is CheckKind.STATUS:
            await self.checks.write_status(repository, head_sha, check)
        else:
            known_id = _known_id(state, head_sha)
            target = CheckRun(
                await self.checks.write_check_run(
                    repository, head_sha, check, key=check_key(number), known_id=known_id
                )
            )
        return PostedCheck(head_sha=head_sha, target=target, digest=digest, pending=check.conclusion is None)


def is_check_wanted(state: CheckState, report: Report, outcome: CheckOutcome, config: CheckConfig) -> bool:
    """Whether to write a check: there is an answer, pending is fine, or one is there without a conclusion."""
    if outcome is not CheckOutcome.AWAITED or config.pending:
        return True
    if isinstance(state, NoCheck) or state.head_sha != report.head_sha:
        return False
    return state.pending or not isinstance(state, PostedCheck)


def _known_id(state: CheckState, head_sha: str) -> int | None:
    """The id of this head's check run; None if it has to be looked up by its key."""
    match state:
        case PostedCheck(head_sha=head, target=CheckRun(id=known_id)) if head == head_sha:
            return known_id
        case DirtyCheck(head_sha=head, target=CheckRun(id=known_id)) if head == head_sha:
            return known_id
        case _:
            return None


def _check_digest(check: RenderedCheck, head_sha: str, kind: CheckKind) -> str:
    """Of what must be written, and how; progress alone is not worth a write."""
    text = repr(check) if check.conclusion else "pending"
    return hashlib.sha256(f"{kind}\n{head_sha}\n{text}".encode("utf-8", "backslashreplace")).hexdigest()
