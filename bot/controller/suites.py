"""A repository's configuration, from its default branch and nowhere else.

In:  a repository. Out: its `Suite`, or why there is none.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.config import Suite, read_suite
from bot.controller.ports import Forge
from bot.controller.previewing import changes
from bot.errors import Told
from bot.intake.pull import Repository

PATH = ".github/maxview.yml"
KEPT_SECONDS = 60.0
"""A change is seen at the push to the default branch; this is for a push we did not hear of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSuite:
    """What the default branch says: a suite, a problem with it, or (neither) no configuration at all."""

    suite: Suite | None = None
    problem: str | None = None


@dataclass(slots=True, kw_only=True)
class Suites:
    """Reads configurations, and keeps each for a minute."""

    forge: Forge
    now: Callable[[], float]
    _kept: dict[str, tuple[float, ReadSuite]] = field(default_factory=dict)
    _renewed: dict[str, ReadSuite] = field(default_factory=dict)
    _forgotten: Counter[str] = field(default_factory=Counter)

    async def read(self, repository: Repository) -> ReadSuite:
        """The configuration as of at most a minute ago."""
        name, began = repository.full_name, self.now()
        kept = self._kept.get(name)
        if kept is not None and began - kept[0] < KEPT_SECONDS:
            return kept[1]
        before = self._forgotten[name]
        found = await self._read(repository)
        if self._forgotten[name] == before:  # nobody heard meanwhile that it says something else
            self._kept[name] = (began, found)
        return found

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
        """Read it anew; whether it may say something else than at the last renewal, however often it was read
        between: whoever read it earlier may have seen what was there before. Not known of the first."""
        self.forget(repository)
        after = await self.read(repository)
        before = self._renewed.get(repository.full_name)
        self._renewed[repository.full_name] = after
        return before is None or before != after

    def forget(self, repository: Repository) -> None:
        """Read it anew the next time; what is being read now may be out of date already."""
        self._forgotten[repository.full_name] += 1
        self._kept.pop(repository.full_name, None)

    async def _read(self, repository: Repository) -> ReadSuite:
        facts = repository
        if facts.default_branch is None:
            facts = await self.forge.repository_facts(repository)
        text = await self.forge.file(facts, PATH, facts.default_branch or "HEAD")
        if text is None:
            return ReadSuite()
        try:
            return ReadSuite(suite=read_suite(text, PATH))
        except Told as told:
            return ReadSuite(problem=told.text)
