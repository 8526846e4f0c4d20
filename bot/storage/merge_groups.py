"""Commits of merge queues that wait for our check, and when to write it.

In:  wishes. Out: rows that the controller claims.
A wish that arrives while the row is worked on raises `wanted`, so that it is looked at again at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, case, delete, update

from bot.storage.deliveries import insert
from bot.storage.queue import Claim, release
from bot.storage.tables import MERGE_GROUP

KEPT_SECONDS = 7 * 86_400.0
"""After this time nobody asks for the check of such a commit again: its queue has long gone on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    """A commit that a merge queue made of pull requests, `pull` the last of them where its name says so;
    `asked` is when its checks were asked for (Unix seconds)."""

    repository: str
    head_sha: str
    installation: int
    pull: int | None
    asked: float


def merge_group(row: Mapping[Any, Any]) -> MergeGroup:
    """The row as values."""
    return MergeGroup(**{name: row[name] for name in MergeGroup.__dataclass_fields__})


def ask(connection: Connection, one: MergeGroup) -> None:
    """Have the check of this commit written as soon as possible."""
    of_repository = MERGE_GROUP.c.repository == one.repository
    old = MERGE_GROUP.c.asked < one.asked - KEPT_SECONDS
    connection.execute(delete(MERGE_GROUP).where(of_repository, old, MERGE_GROUP.c.due.is_(None)))
    values = {name: getattr(one, name) for name in MergeGroup.__dataclass_fields__}
    first = {**values, "wanted": 0, "due": one.asked, "lease_until": 0.0, "token": 0, "attempts": 0}
    again = {
        "wanted": MERGE_GROUP.c.wanted + 1,
        "due": one.asked,
        "asked": one.asked,
        "installation": one.installation,
    }
    statement = insert(connection, MERGE_GROUP).values(**first)
    keys = ["repository", "head_sha"]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=again))


def ask_again(connection: Connection, *, repository: str, head_sha: str, now: float) -> bool:
    """Have the check of a commit that we know written again; False where it is no merge queue's."""
    touched = connection.execute(
        update(MERGE_GROUP)
        .where(MERGE_GROUP.c.repository == repository, MERGE_GROUP.c.head_sha == head_sha)
        .values(wanted=MERGE_GROUP.c.wanted + 1, due=now, asked=now)
    )
    return touched.rowcount == 1


def let_go(connection: Connection, held: Claim, *, now: float, due: float | None) -> bool:
    """Let go of the row; due at once where something was wished for meanwhile."""
    again = case((MERGE_GROUP.c.wanted != held.row["wanted"], now), else_=due)
    return release(connection, held, due=None, values={"due": again})
