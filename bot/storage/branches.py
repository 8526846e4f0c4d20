"""Branches that are watched without a pull request, remembered as pull requests with numbers below zero.

In:  names of branches. Out: their rows among the pull requests, which the same step moves on.
Everything that is kept by number (wishes, looks, reports) is so kept for them too; GitHub never sees it.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from bot.storage import pulls
from bot.storage.deliveries import insert
from bot.storage.pulls import PullRow
from bot.storage.queue import Claim
from bot.storage.tables import PULL_REQUEST


def watch(
    connection: Connection, *, repository: str, branch: str, installation: int, sha: str | None, now: float
) -> int:
    """Have this branch looked at, which has moved to `sha`, or is gone where that is None; its number."""
    number = number_of(connection, repository, branch)
    if number is None:
        number = _next_number(connection, repository)
        values = pulls.new_row(repository, number, installation, now) | {"head_branch": branch}
        connection.execute(insert(connection, PULL_REQUEST).values(**values))
    pulls.want(
        connection,
        repository=repository,
        number=number,
        installation=installation,
        now=now,
        head_sha=sha,
    )
    return number


def let_go(
    connection: Connection,
    held: Claim,
    *,
    now: float,
    due: float | None,
    values: Mapping[str, Any],
    branch: str | None,
) -> bool:
    """Let go of a row as `pulls.let_go` does, and have the branch looked at that its pull request began or
    ceased to speak for; both or nothing, so that whoever looks sees who speaks for it now."""
    if not pulls.let_go(connection, held, now=now, due=due, values=values):
        return False
    if branch is not None:
        repository, installation = held.row["repository"], held.row["installation"]
        watch(connection, repository=repository, branch=branch, installation=installation, sha=None, now=now)
    return True


def number_of(connection: Connection, repository: str, branch: str) -> int | None:
    """The number below zero that stands for a branch; None where it was never watched."""
    return connection.execute(
        select(PULL_REQUEST.c.number).where(
            PULL_REQUEST.c.repository == repository,
            PULL_REQUEST.c.head_branch == branch,
            PULL_REQUEST.c.number < 0,
        )
    ).scalar_one_or_none()


def pull_of(connection: Connection, repository: str, branch: str) -> int | None:
    """The number of the newest open pull request that speaks for the branch. A fork's speaks for the fork's
    own branch, whatever that is called."""
    found = (
        select(PULL_REQUEST.c.number)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.head_branch == branch)
        .where(PULL_REQUEST.c.number > 0, PULL_REQUEST.c.open, PULL_REQUEST.c.from_fork.is_not(True))
        .order_by(PULL_REQUEST.c.number.desc())
    )
    return connection.execute(found.limit(1)).scalar_one_or_none()


def has_pull(connection: Connection, repository: str, branch: str) -> bool:
    """Whether an open pull request speaks for the branch."""
    return pull_of(connection, repository, branch) is not None


def of_repository(connection: Connection, repository: str) -> tuple[PullRow, ...]:
    """Every branch that is watched by itself and still there, by name."""
    rows = connection.execute(
        select(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number < 0, PULL_REQUEST.c.open)
        .order_by(PULL_REQUEST.c.head_branch)
    )
    return tuple(pulls.pull_row(row) for row in rows.mappings())


def _next_number(connection: Connection, repository: str) -> int:
    """One below the lowest. Two branches at once: the second insert fails, and is repeated as a whole."""
    lowest = connection.execute(
        select(func.min(PULL_REQUEST.c.number)).where(PULL_REQUEST.c.repository == repository)
    ).scalar_one()
    return min(lowest or 0, 0) - 1
