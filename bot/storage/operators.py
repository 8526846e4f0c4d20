"""What an operator sees of launched runs, and asks for: carried out by the controller, whoever asks.

In:  ids or the beginnings of them. Out: `LaunchedRun`s; wishes, which are rows changed and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, inspect, select, update

from bot.runs.attempts import another_attempt
from bot.runs.clusters.port import Job
from bot.runs.records import RunRecord, RunState
from bot.runs.standing import TERMINAL, RunStanding
from bot.storage import launched, pulls, runs
from bot.storage.launched import OperatorWish
from bot.storage.mainline import MAIN
from bot.storage.tables import RUN

AGAIN = "an operator had it run again"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedRun:
    """A run that we launched or will: its record, job and standing, which pull requests want it (repository
    and number) and which branches by themselves, what an operator asked for, and the error of the last step
    that failed."""

    record: RunRecord
    job: Job
    standing: RunStanding
    wanted_by: tuple[tuple[str, int], ...]
    branches: tuple[str, ...]
    wish: OperatorWish | None
    error: str | None
    planned: float

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.record.state in TERMINAL


def is_ready(connection: Connection) -> bool:
    """Whether the database holds our tables."""
    return inspect(connection).has_table(RUN.name)


def is_older(connection: Connection) -> bool:
    """Whether the tables of launched runs are those of an older version, and lack columns we read."""
    there = {column["name"] for column in inspect(connection).get_columns(RUN.name)}
    return not there.issuperset(column.name for column in RUN.columns)


def newest(
    connection: Connection, *, repository: str | None, states: Sequence[str], limit: int
) -> tuple[LaunchedRun, ...]:
    """Launched runs in one of these states, those planned last first."""
    wanted: list[ColumnElement[bool]] = [RUN.c.job.is_not(None), RUN.c.state.in_(states)]
    if repository is not None:
        wanted.append(RUN.c.repository == repository)
    return _read(connection, and_(*wanted), limit)


def named(connection: Connection, beginning: str) -> tuple[LaunchedRun, ...]:
    """The launched runs whose id begins so: at most two are read, since two are too many."""
    return _read(connection, and_(RUN.c.job.is_not(None), RUN.c.id.startswith(beginning, autoescape=True)), 2)


def cancel(connection: Connection, run: str, *, now: float) -> bool:
    """Have an open run ended, and kept from being planned anew; False where it is over."""
    asked = connection.execute(
        update(RUN)
        .where(RUN.c.id == run, RUN.c.job.is_not(None), RUN.c.state.not_in(TERMINAL))
        .values(wish=OperatorWish.CANCEL, due=now)
    )
    return asked.rowcount == 1


def retry(connection: Connection, run: str, *, now: float) -> bool:
    """Have a run that is over run again, as another attempt that goes on to its end whoever wants it; False
    where it is open. Its last measurement stands until the new one is there."""
    row = connection.execute(select(RUN).where(RUN.c.id == run).with_for_update()).mappings().first()
    if row is None or row["job"] is None or RunState(row["state"]) not in TERMINAL:
        return False
    again = another_attempt(launched.standing(row), why=AGAIN, now=now)
    values = {
        "state": again.state,
        "standing": msgspec.json.encode(again).decode(),
        "attempt": again.attempt,
        "wish": OperatorWish.RUN,
        "due": now,
        "lease_until": 0.0,
        "token": RUN.c.token + 1,
        "attempts": 0,
        "error": None,
    }
    connection.execute(update(RUN).where(RUN.c.id == run).values(**values))
    for repository, number in runs.wanters(connection, run):
        pulls.touch(connection, repository=repository, number=number, now=now)
    return True


def _read(connection: Connection, where: ColumnElement[bool], limit: int) -> tuple[LaunchedRun, ...]:
    rows = connection.execute(select(RUN).where(where).order_by(RUN.c.seen.desc(), RUN.c.id).limit(limit))
    known = [(row, runs.wanters(connection, row["id"])) for row in rows.mappings().all()]
    return tuple(
        LaunchedRun(
            record=runs.record_of(row),
            job=launched.job_of(row["job"]),
            standing=launched.standing(row),
            wanted_by=tuple(one for one in wanters if one[1] > MAIN),
            branches=tuple(_branch(connection, *one) for one in wanters if one[1] <= MAIN),
            wish=OperatorWish(row["wish"]) if row["wish"] else None,
            error=row["error"],
            planned=row["seen"],
        )
        for row, wanters in known
    )


def _branch(connection: Connection, repository: str, number: int) -> str:
    """The branch that wants a run by itself: the default branch, or one that is watched."""
    if number == MAIN:
        known = pulls.repository(connection, repository)
        return known.default_branch or "main" if known else "main"
    row = pulls.find(connection, repository, number)
    return row.head_branch or "" if row else ""
