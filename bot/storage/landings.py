"""What became of heads on main: the runs of a head that landed unchanged are runs of main.

In:  `Landing`s. Out: the same as rows; by them, a head's runs as runs of the commit that it became.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Select, select

from bot.runs.lineage import Head, Landing
from bot.runs.pattern import SHORTEST_SHA, slug
from bot.runs.records import RunRecord
from bot.storage.deliveries import insert
from bot.storage.tables import LANDING, PULL_REQUEST

SHORTENED = (SHORTEST_SHA, 8, 9, 10, 11, 12)
"""How short the commit in a run's name usually is, where it is not whole."""

MOST_HEADS = 1000
"""Heads of a repository that are looked for on main, the newest pull requests first."""


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


def unchanged(connection: Connection, repository: str, branch: str) -> dict[str, str]:
    """The heads that landed on a branch (by its slug) with the very same files: the commit each became."""
    rows = connection.execute(_landed(repository).where(LANDING.c.same_files)).mappings()
    return {row["head_sha"]: row["main_sha"] for row in rows if slug(row["branch"]) == branch}


def spellings(shas: Iterable[str]) -> frozenset[str]:
    """The commits as runs may spell them: whole, and shortened as git and people do."""
    return frozenset(sha[:digits] for sha in shas for digits in (*SHORTENED, len(sha)))


def on_main(run: RunRecord, landed: Mapping[str, str], branch: str) -> RunRecord:
    """A run of a head that landed unchanged, as one of the commit that it became on `branch`."""
    became = {main for head, main in landed.items() if run.sha and head.startswith(run.sha)}
    # A shortened commit that several heads begin with is nobody's.
    return replace(run, sha=became.pop(), branch=branch) if len(became) == 1 else run


def heads(connection: Connection, repository: str) -> tuple[Head, ...]:
    """The heads of a repository's pull requests and watched branches, as we last saw them."""
    columns = (PULL_REQUEST.c[name] for name in ("number", "head_sha", "head_branch", "head_tree"))
    rows = connection.execute(
        select(*columns)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.head_sha.is_not(None))
        .order_by(PULL_REQUEST.c.number.desc())
        .limit(MOST_HEADS)
    )
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
