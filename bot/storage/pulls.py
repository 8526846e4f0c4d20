"""Pull requests as the program remembers them: what is wanted, what was said, and when to look again.

In:  wishes and outcomes. Out: `PullRow`s.

A wish that arrives while the row is being worked on is not lost: it raises `wanted`, and who lets go of
the row finds that it must be looked at again at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from sqlalchemy import Connection, Update, and_, case, exists, select, update

from bot.storage.command_records import CommandRecord, merged
from bot.storage.decoders import of_json
from bot.storage.deliveries import insert
from bot.storage.queue import Claim, release
from bot.storage.repositories import (
    RepositoryRow,
    keep_repository,
    leave_installation,
    repositories,
    repository,
)
from bot.storage.tables import PULL_REQUEST, REPORT

__all__ = [
    "CommandRecord",
    "Look",
    "PullRow",
    "RepositoryRow",
    "find",
    "keep_repository",
    "leave_installation",
    "let_go",
    "new_row",
    "of_repository",
    "open_branches",
    "pull_row",
    "repositories",
    "repository",
    "touch",
    "want",
    "want_branch",
]


CHANGED = "changed by somebody else"
"""Stands in place of the digest of a comment that another hand has edited or deleted, and of a check that
GitHub has reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How often a case's data was looked at, and a digest of the runs that the last look saw."""

    look: int
    runs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRow:
    """One remembered pull request. `head_seen` is when its head was first heard of (Unix seconds)."""

    repository: str
    number: int
    installation: int
    open: bool
    title: str
    head_sha: str | None
    head_branch: str | None
    head_seen: float | None
    wanted: int
    comment_id: int | None
    comment_hash: str | None
    comment_severity: int
    comment_decided: str | None
    comment_written: float | None
    attempts: int
    check_id: int | None = None
    check_head: str | None = None
    check_hash: str | None = None
    check_pending: bool | None = None
    comment_lost: int = 0
    trouble: str | None = None
    commands: tuple[CommandRecord, ...] = ()
    looks: dict[str, Look] = field(default_factory=dict)

    @property
    def is_branch(self) -> bool:
        """Whether it stands for a branch that is watched without a pull request."""
        return self.number < 0


_COMMANDS, _LOOKS = of_json(tuple[CommandRecord, ...]), of_json(dict[str, Look])


def pull_row(row: Mapping[Any, Any]) -> PullRow:
    """The row as values."""
    names = [name for name in PullRow.__dataclass_fields__ if name not in {"commands", "looks"}]
    return PullRow(
        **{name: row[name] for name in names},
        commands=_COMMANDS(row["commands"]),
        looks=_LOOKS(row["looks"]),
    )


def want(
    connection: Connection,
    *,
    repository: str,
    number: int,
    installation: int,
    now: float,
    head_sha: str | None = None,
    commands: Sequence[CommandRecord] = (),
) -> None:
    """Have this pull request looked at as soon as possible.

    A `head_sha` other than the one we know says that the branch has just been pushed to; a command that was
    recorded before is not recorded twice.
    """
    connection.execute(
        insert(connection, PULL_REQUEST)
        .values(**new_row(repository, number, installation, now))
        .on_conflict_do_nothing(index_elements=["repository", "number"])
    )
    here = _key(repository, number)
    row = connection.execute(select(PULL_REQUEST).where(here).with_for_update()).mappings().one()
    values: dict[str, Any] = {"wanted": PULL_REQUEST.c.wanted + 1, "due": now, "installation": installation}
    if head_sha and row["head_sha"] not in {None, head_sha}:
        values |= _moved(head_sha, now)
    if commands:
        given = [replace(one, head_sha=one.head_sha or row["head_sha"]) for one in commands]
        values["commands"] = _json(merged(pull_row(row).commands, given))
    connection.execute(update(PULL_REQUEST).where(here).values(**values))


def want_branch(connection: Connection, *, repository: str, branch: str, sha: str, now: float) -> int:
    """Have the open pull requests of this head branch looked at; the number of them. A fork's branch of the
    same name is another one."""
    touched = connection.execute(
        _looked_at(now)
        .where(
            PULL_REQUEST.c.repository == repository,
            PULL_REQUEST.c.head_branch == branch,
            PULL_REQUEST.c.head_sha != sha,
            PULL_REQUEST.c.number > 0,
            PULL_REQUEST.c.from_fork.is_not(True),
        )
        .values(**_moved(sha, now))
    )
    return touched.rowcount


def touch(connection: Connection, *, repository: str, number: int, now: float) -> None:
    """Have a pull request that we know looked at, if it is open."""
    connection.execute(_looked_at(now).where(_key(repository, number)))


def touch_open(connection: Connection, *, repository: str, now: float) -> None:
    """Have every open pull request of a repository looked at: what they are compared with has changed."""
    connection.execute(_looked_at(now).where(PULL_REQUEST.c.repository == repository))


def let_go(
    connection: Connection, held: Claim, *, now: float, due: float | None, values: Mapping[str, Any]
) -> bool:
    """Write what came of looking; due at once where something was wished for meanwhile. What others did to
    the comment or check meanwhile is not forgotten."""
    seen = held.row["wanted"]
    told = {
        name: PULL_REQUEST.c[name] == CHANGED for name in ("comment_hash", "check_hash") if name in values
    }
    values = {**values, **{name: case((it, CHANGED), else_=values[name]) for name, it in told.items()}}
    again = case((PULL_REQUEST.c.wanted != seen, now), else_=due)
    return release(connection, held, due=None, values={**values, "done": seen, "due": again})


def find(connection: Connection, repository: str, number: int) -> PullRow | None:
    """The remembered pull request, or None."""
    row = connection.execute(select(PULL_REQUEST).where(_key(repository, number))).mappings().first()
    return pull_row(row) if row else None


def open_branches(connection: Connection, repository: str) -> tuple[str, ...]:
    """The head branches of a repository's open pull requests, by name."""
    rows = connection.execute(
        select(PULL_REQUEST.c.head_branch)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.open)
        .where(PULL_REQUEST.c.head_branch.is_not(None))
        .distinct()
    )
    return tuple(sorted(rows.scalars()))


def of_repository(connection: Connection, repository: str) -> tuple[PullRow, ...]:
    """Every remembered pull request of a repository, newest first."""
    rows = connection.execute(
        select(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number > 0)
        .order_by(PULL_REQUEST.c.number.desc())
    )
    return tuple(pull_row(row) for row in rows.mappings())


def new_row(repository: str, number: int, installation: int, now: float) -> dict[str, Any]:
    """The values of a row that is looked at for the first time."""
    return {
        "repository": repository,
        "number": number,
        "installation": installation,
        "open": True,
        "title": "",
        "wanted": 0,
        "done": 0,
        "commands": "[]",
        "looks": "{}",
        "comment_severity": 0,
        "due": now,
        "lease_until": 0.0,
        "token": 0,
        "attempts": 0,
    }


def _looked_at(now: float) -> Update:
    again = {"wanted": PULL_REQUEST.c.wanted + 1, "due": now}
    return update(PULL_REQUEST).where(PULL_REQUEST.c.open).values(**again)


def _moved(sha: str, now: float) -> dict[str, Any]:
    """What a push changes. One to a commit that has a report is told late, or goes back: GitHub will tell."""
    told = exists().where(
        REPORT.c.repository == PULL_REQUEST.c.repository,
        REPORT.c.number == PULL_REQUEST.c.number,
        REPORT.c.head_sha == sha,
    )
    moved = {"head_seen": now, "head_sha": sha, "looks": "{}"}
    return {name: case((told, PULL_REQUEST.c[name]), else_=value) for name, value in moved.items()}


def _key(repository: str, number: int) -> Any:
    return and_(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
