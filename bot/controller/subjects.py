"""What a row of the pull requests is about, as GitHub has it now.

In:  a row. Out: a `Pull`: a pull request, or a watched branch in the shape of one.
"""

from dataclasses import dataclass

from bot.controller.ports import Forge
from bot.errors import Missing
from bot.intake.pull import GHOST, Pull, Repository
from bot.storage import branches
from bot.storage.database import Database
from bot.storage.pulls import PullRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Asks GitHub."""

    database: Database
    forge: Forge

    async def read(self, repository: Repository, row: PullRow) -> Pull:
        """The subject of the row. `Missing` where it is gone; a branch counts as closed as soon as an open
        pull request speaks for it."""
        if row.number > 0:
            return await self.forge.pull(repository, row.number)
        return await self._branch(repository, row)

    async def _branch(self, repository: Repository, row: PullRow) -> Pull:
        name = row.head_branch
        facts = await self.forge.repository_facts(repository)
        commits = await self.forge.ancestors(repository, name, 1) if name else ()
        if not (name and commits and facts.default_branch):
            raise Missing(f"the branch {name} of {repository.full_name} is gone")
        spoken_for = await self.database.read(branches.has_pull, row.repository, name)
        return Pull(
            repository=row.repository,
            number=row.number,
            title=commits[0].message.split("\n", 1)[0].strip() or name,
            open=not spoken_for,
            merged=False,
            draft=False,
            head_sha=commits[0].sha,
            head_branch=name,
            head_repository=row.repository,
            base_branch=facts.default_branch,
            base_sha="",
            author=GHOST,
            updated_at=commits[0].committed_at,
            labels=(),
        )
