"""Which branch was a repository's default when main was last looked at, and what follows it to another name.

In:  what was seen. Out: the same, as it was kept last.
Promises: what is carried over is main's own: runs under its name, which cases they are of, what landed there.
"""

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, delete, select, update

from bot.runs.pattern import slug
from bot.storage import marks, pulls, summaries
from bot.storage.deliveries import insert
from bot.storage.tables import CASE_KEY, LANDING, REPOSITORY, RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The default branch, and the newest commit of it whose landings are known."""

    branch: str
    sha: str


_DECODER = msgspec.json.Decoder(Seen)


def seen(connection: Connection, repository: str) -> Seen | None:
    """What was seen last; None where main was never looked at."""
    kept = marks.read(connection, _name(connection, repository))
    return _DECODER.decode(kept) if kept is not None else None


def keep(connection: Connection, repository: str, now: Seen) -> None:
    """Remember what is seen now."""
    marks.keep(connection, _name(connection, repository), msgspec.json.encode(now).decode())


def carry_over(connection: Connection, repository: str, *, old: str, new: str, now: float) -> int:
    """Let the history of a default branch go on under its new name, and have the open pull requests looked
    at, which are compared with it; the number of runs. Again is harmless."""
    here, there = slug(old), slug(new)
    landed = (LANDING.c.repository == repository, LANDING.c.branch == old)
    connection.execute(update(LANDING).where(*landed).values(branch=new))
    if here == there:
        return 0
    for case, variant in summaries.keys(connection, repository, here):
        key = insert(connection, CASE_KEY).values(
            repository=repository, branch=there, case=case, variant=variant
        )
        connection.execute(key.on_conflict_do_nothing())
    connection.execute(delete(CASE_KEY).where(CASE_KEY.c.repository == repository, CASE_KEY.c.branch == here))
    of_branch = (RUN.c.repository == repository, RUN.c.branch == here)
    moved = connection.execute(update(RUN).where(*of_branch).values(branch=there)).rowcount
    if moved:
        pulls.touch_open(connection, repository=repository, now=now)
    return moved


def _name(connection: Connection, repository: str) -> str:
    """By GitHub's number, where it is known: a repository's name may change as well."""
    number = select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == repository)
    return f"main of {connection.execute(number).scalar_one_or_none() or repository}"
