"""Load from GitHub what a row of the pull requests is about, and the facts of its head."""

from collections import OrderedDict
from typing import assert_never

from msgspec import Struct, field

from bot.domain.forge import Forge
from bot.domain.head import HeadFacts
from bot.domain.pull_request import Branch, PullRequest, Subject, SubjectKind
from bot.domain.repository import Repository
from bot.errors import NotFound
from bot.storage import pull_requests
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow


class PullLoader(Struct, frozen=True, kw_only=True):
    """Loads pull requests and watched branches."""

    database: Database
    forge: Forge

    async def load(self, repository: Repository, row: PullRow) -> Subject:
        """The subject of the row; raises `NotFound` if it is gone. A branch counts as closed while an open
        pull request has it as its head."""
        if row.kind is SubjectKind.PULL_REQUEST:
            return await self.forge.pull(repository, row.number)
        return await self._branch(repository, row)

    async def _branch(self, repository: Repository, row: PullRow) -> Branch:
        name = row.head_branch
        facts = await self.forge.repository_facts(repository)
        commits = await self.forge.ancestors(repository, name, 1) if name else ()
        if not (name and commits and facts.default_branch):
            raise NotFound(f"the branch {name} of {repository.full_name} is gone")
        has_pull = await self.database.read(pull_requests.has_pull, row.repository, name)
        return Branch(
            repository=row.repository,
            row_number=row.number,
            title=commits[0].message.split("\n", 1)[0].strip() or name,
            open=not has_pull,
            head_sha=commits[0].sha,
            head_branch=name,
            base_branch=facts.default_branch,
            updated_at=commits[0].committed_at,
        )


ANCESTOR_COUNT = 100
"""One page of GitHub's answer: with a dozen commits a day, more than a week of main."""

CACHED_HEADS = 512


class HeadLoader(Struct, kw_only=True):
    """Loads the facts of heads, with a cache of the latest ones."""

    forge: Forge
    _cache: OrderedDict[tuple[str, int, str, str], HeadFacts] = field(default_factory=OrderedDict)

    async def load(self, repository: Repository, pull: Subject) -> HeadFacts:
        """The facts of this head against this base."""
        key = (pull.repository, pull.row_number, pull.head_sha, pull.base_branch)
        if key not in self._cache:
            self._cache[key] = await self._load(repository, pull)
            while len(self._cache) > CACHED_HEADS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(key)
        return self._cache[key]

    async def _load(self, repository: Repository, pull: Subject) -> HeadFacts:
        merge_base = await self.forge.merge_base(repository, pull.base_branch, pull.head_sha)
        ancestors = await self.forge.ancestors(repository, merge_base.sha, ANCESTOR_COUNT)
        head = await self.forge.ancestors(repository, pull.head_sha, 1)
        return HeadFacts(
            merge_base=merge_base,
            ancestors=tuple(commit.sha for commit in ancestors),
            changed_paths=await self._paths(repository, pull),
            committed_at=head[0].committed_at if head else merge_base.committed_at,
            tree=head[0].tree if head else None,
        )

    async def _paths(self, repository: Repository, pull: Subject) -> tuple[str, ...]:
        match pull:
            case PullRequest():
                return await self.forge.changed_paths(repository, pull.number)
            case Branch():
                return await self.forge.compared_paths(repository, pull.base_branch, pull.head_sha)
            case _:
                assert_never(pull)
