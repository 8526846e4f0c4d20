"""Find out what commands are decided on, and no more than they need.

In:  a comment's commands, the pull request as it stands. Out: the `Scene`.
"""

from dataclasses import dataclass, replace

from bot.controller.ports import Forge
from bot.controller.scene import Scene
from bot.controller.vouching import vouched
from bot.errors import Missing
from bot.intake import command
from bot.intake import intent as intents
from bot.intake.pull import Pull, Repository
from bot.storage import approvals, reports
from bot.storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenery:
    """Asks GitHub and the database."""

    database: Database
    forge: Forge

    async def set_up(self, scene: Scene, intent: intents.Command) -> Scene:
        """The scene, with what these commands have to know."""
        repository, pull = intent.repository, scene.pull
        if pull.from_fork:
            tree = await self._tree(repository, pull.head_sha)
            approval = await self.database.read(approvals.newest, pull.repository, pull.number)
            scene = replace(scene, tree=tree, vouching=vouched(pull, tree, approval))
        if any(isinstance(one, command.Rerun | command.Acknowledge) for one in intent.commands):
            report = await self.database.read(reports.newest, pull.repository, pull.number, pull.head_sha)
            scene = replace(scene, rows=report.rows if report else ())
        refs = {one.ref for one in intent.commands if isinstance(one, command.Baseline)}
        return replace(scene, baselines={ref: await self._baseline(repository, pull, ref) for ref in refs})

    async def _tree(self, repository: Repository, sha: str) -> str | None:
        try:
            commits = await self.forge.ancestors(repository, sha, 1)
        except Missing:
            return None
        return commits[0].tree if commits and commits[0].sha == sha else None

    async def _baseline(self, repository: Repository, pull: Pull, ref: str | None) -> str | None:
        """The commit that is meant, where it is one of the base branch: what others push is no baseline."""
        try:
            if ref is None:
                return (await self.forge.merge_base(repository, pull.base_branch, pull.head_sha)).sha
            commits = await self.forge.ancestors(repository, ref, 1)
            if not commits:
                return None
            base = await self.forge.merge_base(repository, pull.base_branch, commits[0].sha)
        except Missing:
            return None
        return base.sha if base.sha == commits[0].sha else None
