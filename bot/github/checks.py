"""Keeps the check of a commit: a check run, or a commit status.

In:  a commit, and what should stand beside it. Out: the check run's id.

It may be repeated at any time, after a death at any point, and leads to one check run. Before one is created
it is looked for by the name we gave it, so that an answer which never came does not lead to a second one;
a status that stands there already is not written again. Remarks are only ever added by GitHub: those that a
check has are not sent again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.github.client import GitHub, repository_path
from bot.github.errors import Missing
from bot.intake.check import CONTEXT, LONGEST_DESCRIPTION, NAME, Annotation, CheckText, Conclusion
from bot.intake.fields import Fields
from bot.intake.pull import Repository

ANNOTATIONS_AT_ONCE = 50
"""GitHub takes no more in one request."""

_HIGHEST = 0xFFFF

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CheckKeeper:
    """Writes check runs and statuses through one App's connection."""

    github: GitHub

    async def check(
        self, repository: Repository, head_sha: str, text: CheckText, *, key: str, known_id: int | None
    ) -> int:
        """Make the check run say this; `key` is our own name for it. Returns its id."""
        found = known_id if known_id is not None else await self._find(repository, head_sha, key)
        if found is None:
            return await self._create(repository, head_sha, text, key)
        try:
            left = await self._unsaid(repository, found, text.annotations)
            await self._update(repository, found, _body(text), left)
        except Missing:
            # A check run goes with its commit, as a force-push and a cleaning take it.
            return await self._create(repository, head_sha, text, key)
        return found

    async def status(self, repository: Repository, head_sha: str, text: CheckText) -> None:
        """Make the newest commit status say this."""
        wanted = {
            "state": _state(text.conclusion),
            "context": CONTEXT,
            "description": _cut(text.title, LONGEST_DESCRIPTION),
            **({"target_url": text.url} if text.url else {}),
        }
        path = repository_path(repository)
        async for page in self.github.door.pages(
            repository.installation, f"{path}/commits/{head_sha}/statuses"
        ):
            for status in page.read_each(lambda fields: fields):
                if status.find("context") == CONTEXT:
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
        query: dict[str, str | int] = {"check_name": NAME, "app_id": self.github.app_id, "filter": "all"}
        found: list[int] = []
        async for page in self.github.door.pages(repository.installation, path, query):
            for run in page.read_each(lambda fields: fields, within="check_runs"):
                ours = run.find("external_id") == key and run.find("app.id") == self.github.app_id
                found += [run.number("id")] if ours else []
        return max(found, default=None)

    async def _create(self, repository: Repository, head_sha: str, text: CheckText, key: str) -> int:
        body = {**_body(text), "name": NAME, "head_sha": head_sha, "external_id": key}
        first, rest = text.annotations[:ANNOTATIONS_AT_ONCE], text.annotations[ANNOTATIONS_AT_ONCE:]
        path = f"{repository_path(repository)}/check-runs"
        answer = await self.github.door.ask(repository.installation, "POST", path, body=_with(body, first))
        made = answer.read(lambda fields: fields.number("id"))
        if rest:
            await self._update(repository, made, _body(text), rest)
        return made

    async def _update(
        self, repository: Repository, check_id: int, body: Json, left: Sequence[Annotation]
    ) -> None:
        """One request, and one more for every fifty remarks beyond the first."""
        path = f"{repository_path(repository)}/check-runs/{check_id}"
        pieces = [left[at : at + ANNOTATIONS_AT_ONCE] for at in range(0, len(left), ANNOTATIONS_AT_ONCE)]
        for piece in pieces or [()]:
            await self.github.door.ask(repository.installation, "PATCH", path, body=_with(body, piece))

    async def _unsaid(
        self, repository: Repository, check_id: int, wanted: Sequence[Annotation]
    ) -> list[Annotation]:
        """The remarks that the check run has not got yet."""
        if not wanted:
            return []
        path = f"{repository_path(repository)}/check-runs/{check_id}/annotations"
        there: set[tuple[object, ...]] = set()
        async for page in self.github.door.pages(repository.installation, path):
            there.update(page.read_each(_mark))
        return [one for one in wanted if (one.path, one.line, one.message) not in there]


def _mark(fields: Fields) -> tuple[object, ...]:
    return fields.find("path"), fields.find("start_line"), fields.find("message")


def _body(text: CheckText) -> dict[str, object]:
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


def _with(body: Json, annotations: Sequence[Annotation]) -> Json:
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


def _state(conclusion: Conclusion | None) -> str:
    """A commit status knows no `skipped`: what has no verdict says so in its text."""
    match conclusion:
        case None:
            return "pending"
        case Conclusion.FAILURE:
            return "failure"
        case Conclusion.SUCCESS | Conclusion.SKIPPED:
            return "success"


def _cut(text: str, limit: int) -> str:
    """Short enough, and without the signs that GitHub refuses in a description."""
    plain = "".join(letter for letter in text if ord(letter) <= _HIGHEST).strip()
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"
