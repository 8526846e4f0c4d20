"""Which branch is main's.

In:  a repository. Out: the name of its default branch.
"""

from bot.storage import pulls
from bot.storage.database import Database


async def default_branch(database: Database, repository: str) -> str:
    """The branch whose runs are main's."""
    row = await database.read(pulls.repository, repository)
    return (row.default_branch if row else None) or "main"
