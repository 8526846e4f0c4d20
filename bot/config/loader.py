"""Load a repository's configuration, from its default branch only, with a cache of one minute.

The database holds what any process saw last. A process that sees something else makes main and all open pull
requests due, and every other process drops its copy.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.config import CONFIG_PATH, Suite, read_suite
from bot.config.preview import describe_changes
from bot.domain.forge import Forge
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.repositories import SeenConfiguration

CACHE_SECONDS = 60.0
"""A change is seen at the push to the default branch; this is for a push we did not hear of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSuite:
    """What the default branch says: a suite, a problem with it, or (neither) no configuration at all."""

    suite: Suite | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedSuite:
    """What was read, when that began, and after how many changes that anybody saw."""

    read: LoadedSuite
    began: float
    changes: int | None


MOST_READS = 3
"""Of one configuration that changes while it is read; who still reads an older one is told by the change."""


@dataclass(slots=True, kw_only=True)
class SuiteLoader:
    """Reads configurations, and keeps each for a minute, or until some process sees another."""

    forge: Forge
    database: Database
    now: Callable[[], float]
    _kept: dict[str, _CachedSuite] = field(default_factory=dict)

    async def read(self, repository: Repository) -> LoadedSuite:
        """The configuration as of at most a minute ago, and no older than the last change that was seen."""
        kept, last = self._kept.get(repository.full_name), await self._last(repository)
        if kept and self.now() - kept.began < CACHE_SECONDS and kept.changes == (last and last.changes):
            return kept.read
        await self.renew(repository)
        return self._kept[repository.full_name].read

    async def preview(self, repository: Repository, head_sha: str) -> str:
        """What a pull request's own copy would change, in one clause; before it is merged, nothing."""
        text = await self.forge.file(repository, CONFIG_PATH, head_sha)
        if text is None:
            return f"this pull request removes {CONFIG_PATH}: without it nothing is measured"
        try:
            suite = read_suite(text, CONFIG_PATH)
        except UserError as told:
            problems = "; ".join(told.text.splitlines())
            return f"{CONFIG_PATH} as this pull request leaves it is not valid: {problems}"
        before = (await self.read(repository)).suite
        return (
            f"this pull request edits {CONFIG_PATH}: once it is on the default branch, and not before, it "
            f"{describe_changes(before, suite)}"
        )

    async def renew(self, repository: Repository) -> bool:
        """Read it anew; whether it is another than any process saw last. Main and the open pull requests are
        looked at then."""
        for _ in range(MOST_READS):
            began, last = self.now(), await self._last(repository)
            text = await self._text(repository, last)
            changed = last is not None and last.digest != config_digest(text)
            changes = last.changes if last else None
            if last and changed:
                changes = last.changes + 1 if await self._tell(repository, text, last) else None
            self._kept[repository.full_name] = _CachedSuite(read=_parsed(text), began=began, changes=changes)
            if last is None or changes is not None:
                break
        return changed

    async def invalidate(self, repository: Repository) -> None:
        """Have it read anew by every process at its next look."""
        await self.database.write(repositories.invalidate_configuration, repository.full_name)

    async def _last(self, repository: Repository) -> SeenConfiguration | None:
        return await self.database.read(repositories.seen_configuration, repository.full_name)

    async def _tell(self, repository: Repository, text: str | None, last: SeenConfiguration) -> bool:
        return await self.database.write(
            repositories.save_configuration,
            repository.full_name,
            digest=config_digest(text),
            since=last.changes,
            now=self.now(),
        )

    async def _text(self, repository: Repository, last: SeenConfiguration | None) -> str | None:
        """What the default branch holds. Which that is, a delivery that comes late says wrongly: before
        something else than `last` is believed, GitHub is asked."""
        text, named = None, repository.default_branch
        if named is not None:
            text = await self.forge.file(repository, CONFIG_PATH, named)
            if last is not None and last.digest == config_digest(text):
                return text
        branch = (await self.forge.repository_facts(repository)).default_branch or "HEAD"
        return text if branch == named else await self.forge.file(repository, CONFIG_PATH, branch)


def config_digest(text: str | None) -> str:
    """What tells one configuration from another, and from none."""
    if text is None:
        return "none"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _parsed(text: str | None) -> LoadedSuite:
    if text is None:
        return LoadedSuite()
    try:
        return LoadedSuite(suite=read_suite(text, CONFIG_PATH))
    except UserError as told:
        return LoadedSuite(problem=told.text)
