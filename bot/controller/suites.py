"""A repository's configuration, from its default branch and nowhere else.

In:  a repository. Out: its `Suite`, or why there is none.

What was seen last stands in the database, and whoever sees something else has everything looked at that it
decides. So no process goes on with a copy that another one knows to be old.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.config import Suite, read_suite
from bot.controller.ports import Forge
from bot.controller.previewing import changes
from bot.errors import Told
from bot.intake.pull import Repository
from bot.storage import configurations
from bot.storage.configurations import LastSeen
from bot.storage.database import Database

PATH = ".github/maxview.yml"
KEPT_SECONDS = 60.0
"""A change is seen at the push to the default branch; this is for a push we did not hear of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSuite:
    """What the default branch says: a suite, a problem with it, or (neither) no configuration at all."""

    suite: Suite | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """What was read, when that began, and after how many changes that anybody saw."""

    read: ReadSuite
    began: float
    changes: int | None


READINGS = 3
"""Of one configuration that changes while it is read; who still reads an older one is told by the change."""


@dataclass(slots=True, kw_only=True)
class Suites:
    """Reads configurations, and keeps each for a minute, or until some process sees another."""

    forge: Forge
    database: Database
    now: Callable[[], float]
    _kept: dict[str, _Copy] = field(default_factory=dict)

    async def read(self, repository: Repository) -> ReadSuite:
        """The configuration as of at most a minute ago, and no older than the last change that was seen."""
        kept, last = self._kept.get(repository.full_name), await self._last(repository)
        if kept and self.now() - kept.began < KEPT_SECONDS and kept.changes == (last and last.changes):
            return kept.read
        await self.renew(repository)
        return self._kept[repository.full_name].read

    async def preview(self, repository: Repository, head_sha: str) -> str:
        """What a pull request's own copy would change, in one clause; before it is merged, nothing."""
        text = await self.forge.file(repository, PATH, head_sha)
        if text is None:
            return f"this pull request removes {PATH}: without it nothing is measured"
        try:
            suite = read_suite(text, PATH)
        except Told as told:
            return f"{PATH} as this pull request leaves it is not valid: {'; '.join(told.text.splitlines())}"
        before = (await self.read(repository)).suite
        return (
            f"this pull request edits {PATH}: once it is on the default branch, and not before, it "
            f"{changes(before, suite)}"
        )

    async def renew(self, repository: Repository) -> bool:
        """Read it anew; whether it is another than any process saw last. Main and the open pull requests are
        looked at then."""
        for _ in range(READINGS):
            began, last = self.now(), await self._last(repository)
            text = await self._text(repository, last)
            changed = last is not None and last.digest != digest(text)
            changes = last.changes if last else None
            if last and changed:
                changes = last.changes + 1 if await self._tell(repository, text, last) else None
            self._kept[repository.full_name] = _Copy(read=_read(text), began=began, changes=changes)
            if last is None or changes is not None:
                break
        return changed

    async def doubt(self, repository: Repository) -> None:
        """Have it read anew by every process at its next look."""
        await self.database.write(configurations.doubt, repository.full_name)

    async def _last(self, repository: Repository) -> LastSeen | None:
        return await self.database.read(configurations.last_seen, repository.full_name)

    async def _tell(self, repository: Repository, text: str | None, last: LastSeen) -> bool:
        return await self.database.write(
            configurations.seen,
            repository.full_name,
            digest=digest(text),
            since=last.changes,
            now=self.now(),
        )

    async def _text(self, repository: Repository, last: LastSeen | None) -> str | None:
        """What the default branch holds. Which that is, a delivery that comes late says wrongly: before
        something else than `last` is believed, GitHub is asked."""
        text, named = None, repository.default_branch
        if named is not None:
            text = await self.forge.file(repository, PATH, named)
            if last is not None and last.digest == digest(text):
                return text
        branch = (await self.forge.repository_facts(repository)).default_branch or "HEAD"
        return text if branch == named else await self.forge.file(repository, PATH, branch)


def digest(text: str | None) -> str:
    """What tells one configuration from another, and from none."""
    if text is None:
        return "none"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _read(text: str | None) -> ReadSuite:
    if text is None:
        return ReadSuite()
    try:
        return ReadSuite(suite=read_suite(text, PATH))
    except Told as told:
        return ReadSuite(problem=told.text)
