"""Runs that serve more than the one who asked for them: found again by the files that they measured.

In:  hashes of trees, commits, the runs that a pull request could go on with.
Out: `RunRecord`s; wishes for what is there already.
"""

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select

from bot.runs.pattern import SHORTEST_SHA
from bot.runs.records import RunRecord, RunState
from bot.storage import runs
from bot.storage.deliveries import insert
from bot.storage.tables import RUN, WANT

_COLUMNS = tuple(RunRecord.__dataclass_fields__)


def of_trees(connection: Connection, repository: str, trees: Collection[str]) -> tuple[RunRecord, ...]:
    """Every run of these files (hashes of trees), on whatever branch and commit, newest first."""
    if not trees:
        return ()
    rows = connection.execute(
        select(*(RUN.c[name] for name in _COLUMNS))
        .where(RUN.c.repository == repository, RUN.c.tree.in_(sorted(trees)))
        .order_by(RUN.c.started.desc(), RUN.c.id)
    )
    return tuple(runs.record_of(row) for row in rows.mappings())


def learn_trees(connection: Connection, repository: str, trees: Mapping[str, str | None]) -> int:
    """Note the files of commits, by the commits' full hashes, with their runs that do not know them yet; the
    number of those. None as a tree: the commit's files are not known."""
    learnt = 0
    for sha, tree in trees.items():
        spelt = [sha[:digits] for digits in range(SHORTEST_SHA, len(sha) + 1)]
        here = (RUN.c.repository == repository, RUN.c.sha.in_(spelt), RUN.c.tree.is_(None))
        if tree is not None:
            learnt += connection.execute(RUN.update().where(*here).values(tree=tree)).rowcount
    return learnt


def keep(connection: Connection, ids: Collection[str], *, repository: str, number: int) -> None:
    """Want those of these runs that are there and not cancelled, and no others; start nothing."""
    there = select(RUN.c.id).where(RUN.c.id.in_(sorted(ids)), RUN.c.state != RunState.CANCELLED)
    kept = set(connection.execute(there).scalars())
    for run in sorted(kept):
        connection.execute(
            insert(connection, WANT)
            .values(repository=repository, number=number, run=run)
            .on_conflict_do_nothing()
        )
    runs.drop_wants(connection, repository=repository, number=number, but=kept)
