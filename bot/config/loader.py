"""Load a repository's configuration, from its default branch only, with a cache of one minute.

The database holds what any process saw last. A process that sees something else makes main and all open pull
requests due, and every other process drops its copy.
"""

import hashlib
from collections.abc import Callable

from msgspec import Struct

from bot.config import CONFIG_PATH, Suite, read_suite
from bot.config.preview import describe_changes
from bot.domain.forge import Forge
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.repositories import SeenConfiguration

CACHE_SECONDS = 60.0
"""A push to the default branch refreshes at once; this is for a push whose delivery was lost."""


class LoadedSuite(Struct, frozen=True, kw_only=True):
    """The configuration of the default branch: a suite, or its problem; neither where there is none."""

    suite: Suite | None = None
    problem: str | None = None


class _CachedSuite(Struct, frozen=True, kw_only=True):
    """What was read, when the reading began, and how many changes any process had seen by then."""

    loaded: LoadedSuite
    began: float
    changes: int | None


MAX_READS = 3
"""Attempts at a configuration that changes while it is read; the change has every process read it again."""


class SuiteLoader(Struct, kw_only=True):
    """Loads configurations, and caches each for a minute, or until some process sees a change."""

    forge: Forge
    database: Database
    now: Callable[[], float]
    _cache: dict[str, _CachedSuite] = {}

    async def read(self, repository: Repository) -> LoadedSuite:
        """The configuration, at most a minute old and no older than the last change that any process saw."""
        cached, seen = self._cache.get(repository.full_name), await self._seen(repository)
        if cached and self.now() - cached.began < CACHE_SECONDS and cached.changes == (seen and seen.changes):
            return cached.loaded
        await self.refresh(repository)
        return self._cache[repository.full_name].loaded

    async def preview(self, repository: Repository, head_sha: str) -> str:
        """What a pull request's own copy will change once it is merged, in one clause."""
        text = await self.forge.file(repository, CONFIG_PATH, head_sha)
        if text is None:
            return f"this pull request removes {CONFIG_PATH}: without it nothing is measured"
        try:
            suite = read_suite(text, CONFIG_PATH)
        except UserError as error:
            problems = "; ".join(error.text.splitlines())
            return f"{CONFIG_PATH} as this pull request leaves it is not valid: {problems}"
        before = (await self.read(repository)).suite
        return (
            f"this pull request edits {CONFIG_PATH}: once it is on the default branch, and not before, it "
            f"{describe_changes(before, suite)}"
        )

    async def refresh(self, repository: Repository) -> bool:
        """Load it again; whether it differs from what any process saw last. Then main and the open pull
        requests become due."""
        for _ in range(MAX_READS):
            began, seen = self.now(), await self._seen(repository)
            text = await self._text(repository, seen)
            changed = seen is not None and seen.digest != config_digest(text)
            changes = seen.changes if seen else None
            if seen and changed:
                changes = seen.changes + 1 if await self._save(repository, text, seen) else None
            self._cache[repository.full_name] = _CachedSuite(
                loaded=_loaded(text), began=began, changes=changes
            )
            if seen is None or changes is not None:
                break
        return changed

    async def invalidate(self, repository: Repository) -> None:
        """Have every process load it again at its next read."""
        await self.database.write(repositories.invalidate_configuration, repository.full_name)

    async def _seen(self, repository: Repository) -> SeenConfiguration | None:
        return await self.database.read(repositories.seen_configuration, repository.full_name)

    async def _save(self, repository: Repository, text: str | None, seen: SeenConfiguration) -> bool:
        return await self.database.write(
            repositories.save_configuration,
            repository.full_name,
            digest=config_digest(text),
            since=seen.changes,
            now=self.now(),
        )

    async def _text(self, repository: Repository, seen: SeenConfiguration | None) -> str | None:
        """The file on the default branch. A late delivery may name a former default branch, so GitHub
        confirms the branch before a change is believed."""
        text, named = None, repository.default_branch
        if named is not None:
            text = await self.forge.file(repository, CONFIG_PATH, named)
            if seen is not None and seen.digest == config_digest(text):
                return text
        branch = (await self.forge.repository_facts(repository)).default_branch or "HEAD"
        return text if branch == named else await self.forge.file(repository, CONFIG_PATH, branch)


def config_digest(text: str | None) -> str:
    """A digest of a configuration; a missing one has its own."""
    if text is None:
        return "none"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _loaded(text: str | None) -> LoadedSuite:
    if text is None:
        return LoadedSuite()
    try:
        return LoadedSuite(suite=read_suite(text, CONFIG_PATH))
    except UserError as error:
        return LoadedSuite(problem=error.text)
