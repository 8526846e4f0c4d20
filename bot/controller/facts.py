"""What GitHub says about a head, asked once per head.

In:  a pull request. Out: `HeadFacts`.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from bot.controller.ports import Forge
from bot.intake.pull import Commit, Pull, Repository

ANCESTORS = 100
"""One page of GitHub's answer: at a dozen commits a day, more than a week of main."""

KEPT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFacts:
    """Where a head left its base, what it touches, the commits behind that, the head's own date, and the
    hash of its files."""

    merge_base: Commit
    ancestors: tuple[str, ...]
    changed_paths: tuple[str, ...]
    committed_at: float
    tree: str | None = None


@dataclass(slots=True, kw_only=True)
class HeadReader:
    """Asks GitHub, and remembers the answers for the heads last asked about."""

    forge: Forge
    _kept: OrderedDict[tuple[str, int, str, str], HeadFacts] = field(default_factory=OrderedDict)

    async def read(self, repository: Repository, pull: Pull) -> HeadFacts:
        """The facts of this head against this base."""
        key = (pull.repository, pull.number, pull.head_sha, pull.base_branch)
        if key not in self._kept:
            self._kept[key] = await self._ask(repository, pull)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    async def _ask(self, repository: Repository, pull: Pull) -> HeadFacts:
        merge_base = await self.forge.merge_base(repository, pull.base_branch, pull.head_sha)
        behind = await self.forge.ancestors(repository, merge_base.sha, ANCESTORS)
        head = await self.forge.ancestors(repository, pull.head_sha, 1)
        return HeadFacts(
            merge_base=merge_base,
            ancestors=tuple(commit.sha for commit in behind),
            changed_paths=await self._paths(repository, pull),
            committed_at=head[0].committed_at if head else merge_base.committed_at,
            tree=head[0].tree if head else None,
        )

    async def _paths(self, repository: Repository, pull: Pull) -> tuple[str, ...]:
        if pull.is_branch:
            return await self.forge.compared_paths(repository, pull.base_branch, pull.head_sha)
        return await self.forge.changed_paths(repository, pull.number)
