"""When a pull request begins or ceases to speak for a branch, the branch itself is to be looked at.

In:  a pull request as we remembered it and as it is. Out: the branch, where it is or shall be watched.
"""

from bot.controller.suites import Suites
from bot.intake.pull import Pull, Repository
from bot.storage import branches
from bot.storage.database import Database
from bot.storage.pulls import PullRow


async def handed_over(
    database: Database, suites: Suites, repository: Repository, row: PullRow, pull: Pull
) -> str | None:
    """The branch that the pull request took over, or gives back: its own runs are withdrawn then, or wanted
    again. None where nothing changed, or nobody watches such a branch."""
    began = pull.open and (row.head_branch != pull.head_branch or not row.open)
    ceased = row.open and not pull.open
    if pull.is_branch or pull.from_fork or not (began or ceased):
        return None
    if await database.read(branches.number_of, pull.repository, pull.head_branch) is not None:
        return pull.head_branch
    if began or pull.merged:
        return None
    # It was never pushed to without a pull request; from now on it stands for itself.
    suite = (await suites.read(repository)).suite
    return pull.head_branch if suite and suite.triggers.watches(pull.head_branch) else None
