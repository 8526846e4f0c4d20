"""What became of heads on main: the runs of a head that landed unchanged are runs of main.

In:  `Landing`s. Out: the same as rows, and by them more runs of main.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, Select, literal, select

from bot.runs.lineage import Head, Landing
from bot.runs.pattern import SHORTEST_SHA, slug
from bot.runs.records import RunRecord, RunState
from bot.storage import pulls, runs, summaries
from bot.storage.deliveries import insert
from bot.storage.pace import KEEPS_PACE
from bot.storage.tables import LANDING, MEASUREMENT, PULL_REQUEST, RUN

SHORTENED = (SHORTEST_SHA, 8, 9, 10, 11, 12)
"""How short the commit in a run's name usually is, where it is not whole."""

MOST_HEADS = 1000
"""Pull requests of a repository whose heads are looked for on main, the newest ones, and as many branches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A head that became a commit of `branch`; `same_files` where nothing else came with it."""

    head_sha: str
    branch: str
    main_sha: str
    same_files: bool


def save(connection: Connection, repository: str, branch: str, found: Iterable[Landing], now: float) -> None:
    """Keep what is known of each head; a surer sign, or a newer commit with the same one, replaces it."""
    for landing in found:
        values = {
            "branch": branch,
            "main_sha": landing.commit.sha,
            "known": int(landing.known),
            "same_files": landing.same_files,
            "made": now,
        }
        statement = insert(connection, LANDING).values(
            repository=repository, head_sha=landing.head.sha, **values
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["repository", "head_sha"],
                set_=values,
                where=LANDING.c.known >= int(landing.known),
            )
        )


def of_head(connection: Connection, repository: str, head_sha: str) -> Landed | None:
    """What became of a head; None where it has not landed."""
    row = connection.execute(_landed(repository).where(LANDING.c.head_sha == head_sha)).mappings().first()
    return Landed(**row) if row else None


def adopt(connection: Connection, repository: str, branch: str, now: float) -> int:
    """Make the runs of heads that landed on `branch` with the very same files runs of the commits that they
    became; the number of those that are new there, or of a newer commit than before. Where there are any, the
    open pull requests are looked at, which are compared with them.

    Each is one row of its own with the same log and measurement, also where a change landed twice: one
    measurement must not count twice in main's history. Runs that we started on this machine are left
    out: their times only mean something beside those of the run that they took turns with.
    """
    landed = [one for one in _unchanged(connection, repository) if one.branch == branch]
    became = {spelt: one for one in landed for spelt in _spellings(one.head_sha)}
    rows = connection.execute(
        select(RUN)
        .where(RUN.c.repository == repository, RUN.c.sha.in_(sorted(became)))
        .where(RUN.c.state == RunState.ENDED, RUN.c.measured_sha.is_(None))
        .where(KEEPS_PACE)
    )
    new = 0
    for row in rows.mappings().all():
        if row["branch"] != slug(branch):
            new += _adopt(connection, row, became[row["sha"]], now)
    if new:
        pulls.touch_open(connection, repository=repository, now=now)
    return new


def _adopt(connection: Connection, row: RowMapping, landed: Landed, now: float) -> int:
    adopted = _adopted_before(connection, row, landed) or _adopted_name(row, landed)
    values = {name: row[name] for name in RunRecord.__dataclass_fields__} | {
        "id": adopted,
        "branch": slug(landed.branch),
        "sha": landed.main_sha,
        "measured_sha": landed.head_sha,
        "generation": None,
        "key": None,
        "seen": now,
    }
    kept = insert(connection, RUN).values(values)
    moved = kept.on_conflict_do_update(
        index_elements=["id"], set_={"sha": landed.main_sha}, where=RUN.c.sha != landed.main_sha
    )
    if connection.execute(moved.returning(RUN.c.id)).first() is None:
        return 0
    record = runs.by_id(connection, adopted)
    if record is not None:
        summaries.keep_key(connection, record)
    names = [column.name for column in MEASUREMENT.columns if column.name != "run"]
    copied = select(literal(adopted), *(MEASUREMENT.c[name] for name in names)).where(
        MEASUREMENT.c.run == row["id"]
    )
    copies = insert(connection, MEASUREMENT).from_select(["run", *names], copied)
    connection.execute(copies.on_conflict_do_nothing())
    return 1


def _adopted_name(row: RowMapping, landed: Landed) -> str:
    digest = hashlib.sha256(f"{row['id']} {landed.branch}".encode()).hexdigest()
    return f"landed-{digest[:24]}"


def _adopted_before(connection: Connection, row: RowMapping, landed: Landed) -> str | None:
    """The run's double on this branch, where the branch had another name when it was adopted."""
    same = (RUN.c[name] == row[name] for name in ("repository", "case", "variant", "log_uri", "started"))
    here = (RUN.c.branch == slug(landed.branch), RUN.c.measured_sha == landed.head_sha)
    return connection.execute(select(RUN.c.id).where(*same, *here)).scalars().first()


def _unchanged(connection: Connection, repository: str) -> tuple[Landed, ...]:
    """The heads that landed with the very same files."""
    rows = connection.execute(_landed(repository).where(LANDING.c.same_files)).mappings()
    return tuple(Landed(**row) for row in rows)


def _spellings(sha: str) -> frozenset[str]:
    """The commit as runs may spell it: whole, and shortened as git and people do."""
    return frozenset(sha[:digits] for digits in (*SHORTENED, len(sha)))


def heads(connection: Connection, repository: str) -> tuple[Head, ...]:
    """The heads of a repository's pull requests and watched branches, as we last saw them."""
    columns = (PULL_REQUEST.c[name] for name in ("number", "head_sha", "head_branch", "head_tree"))
    known = select(*columns).where(
        PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.head_sha.is_not(None)
    )
    number = PULL_REQUEST.c.number
    # Branches have numbers below zero, the newest the lowest: no number of pull requests crowds them out.
    newest = (known.where(number > 0).order_by(number.desc()), known.where(number < 0).order_by(number))
    rows = [row for part in newest for row in connection.execute(part.limit(MOST_HEADS))]
    return tuple(
        Head(
            sha=row.head_sha,
            branch=row.head_branch or "",
            number=row.number if row.number > 0 else None,
            tree=row.head_tree,
        )
        for row in rows
    )


def _landed(repository: str) -> Select[tuple[str, str, str, bool]]:
    columns = (LANDING.c[name] for name in Landed.__dataclass_fields__)
    return select(*columns).where(LANDING.c.repository == repository)
