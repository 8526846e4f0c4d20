"""Launched runs while they live: how they stand, who wants them, and what comes of a step.

In:  rows of `run`. Out: `RunStanding`s, a `Wish`, the row let go of.
Promises: what came of a step, and that those who wait for it look again, is one transaction.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, case, func, null, or_, select, update

from bot.runs.clusters.port import Job, Place
from bot.runs.records import RunRecord, RunState
from bot.runs.standing import TERMINAL, RunStanding
from bot.runs.states import Wish
from bot.storage import mainline, pulls, queue, runs
from bot.storage.decoders import of_json
from bot.storage.queue import Claim
from bot.storage.tables import PULL_REQUEST, RUN, SPEND
from bot.verdict.judgement import MeasuredRun

_JOB, _STANDING = of_json(Job), of_json(RunStanding)

PROGRESS_SECONDS = 30.0
"""How soon those who wait look at mere progress: a look costs GitHub requests, of which there are 5,000 an
hour for a whole installation."""


class OperatorWish(StrEnum):
    """What an operator asked for, which outweighs what pull requests want: end it, or run it to its end."""

    CANCEL = "cancel"
    RUN = "run"


class News(StrEnum):
    """What those who wait for a run are told of a step: nothing, that it went on, or that it is elsewhere."""

    NONE = "none"
    PROGRESS = "progress"
    STATE = "state"


def standing(row: Mapping[Any, Any]) -> RunStanding:
    """How the run of a row stands; from the beginning where nothing was written down yet."""
    if row["standing"] is not None:
        return _STANDING(row["standing"])
    job = job_of(row["job"])
    return RunStanding(name=job.name, timeout_seconds=job.timeout_seconds, state=RunState(row["state"]))


def standings(connection: Connection, ids: Collection[str]) -> dict[str, RunStanding]:
    """How these runs stand, by id; runs that we did not launch are left out."""
    known = select(RUN.c.id, RUN.c.state, RUN.c.standing, RUN.c.job)
    rows = connection.execute(known.where(RUN.c.id.in_(sorted(ids)), RUN.c.job.is_not(None)))
    return {row["id"]: standing(row) for row in rows.mappings()}


def here(connection: Connection) -> tuple[str, ...]:
    """The ids of the open runs of this machine, in the order of their turns."""
    rows = connection.execute(
        select(RUN.c.id)
        .where(RUN.c.job.is_not(None), RUN.c.place.is_(None), RUN.c.state.not_in(TERMINAL))
        .order_by((RUN.c.state == RunState.RUNNING).desc(), RUN.c.seen, RUN.c.id)
    )
    return tuple(rows.scalars())


def of_keys(connection: Connection, keys: Collection[str]) -> dict[str, RunStanding]:
    """How the runs of these keys stand, by id."""
    known = select(RUN.c.id, RUN.c.state, RUN.c.standing, RUN.c.job)
    rows = connection.execute(known.where(RUN.c.key.in_(sorted(keys)), RUN.c.job.is_not(None)))
    return {row["id"]: standing(row) for row in rows.mappings()}


def places(connection: Connection, *, since: float) -> tuple[Place | None, ...]:
    """Every place that has a run, or had one since then (Unix seconds); None is this machine."""
    recent = or_(RUN.c.seen >= since, RUN.c.state.not_in(TERMINAL))
    rows = connection.execute(
        select(func.max(RUN.c.job)).where(RUN.c.job.is_not(None), recent).group_by(RUN.c.place)
    )
    found = {job.place.name if job.place else "": job.place for job in map(job_of, rows.scalars())}
    return tuple(found[name] for name in sorted(found))


def rescue(connection: Connection, *, now: float, later: float) -> int:
    """Have open runs looked at that are due only after `later`, or never, and free rows that are held for
    longer than that: no clock of ours sets either, unless it was wrong. The number of both."""
    open_runs = and_(RUN.c.job.is_not(None), RUN.c.state.not_in(TERMINAL))
    late = or_(RUN.c.due.is_(None), RUN.c.due > later)
    woken = connection.execute(update(RUN).where(open_runs, late).values(due=now)).rowcount
    freed = update(RUN).where(RUN.c.job.is_not(None), RUN.c.lease_until > later).values(lease_until=0.0)
    return woken + connection.execute(freed).rowcount


def free_places(connection: Connection, *, now: float) -> int:
    """Give back what was set aside for attempts that are over, and was never settled; the number of them.

    An attempt is settled before its end is written down, so that only a process that slept past its lease
    leaves such a row: it set something aside for a launch that it then was not allowed to make.
    """
    over = (
        select(RUN.c.id)
        .where(RUN.c.id == SPEND.c.run)
        .where(or_(RUN.c.state.in_(TERMINAL), RUN.c.attempt > SPEND.c.attempt))
    )
    given_back = update(SPEND).where(SPEND.c.ended.is_(None), over.exists())
    return connection.execute(given_back.values(spent_chip_hours=0.0, ended=now)).rowcount


def job_of(text: str) -> Job:
    """The job as it was kept."""
    return _JOB(text)


def wish(connection: Connection, run: str) -> Wish:
    """Whether the run is to go on: an operator's word counts, else whether any pull request wants it."""
    word = connection.execute(select(RUN.c.wish).where(RUN.c.id == run)).scalar_one_or_none()
    if word == OperatorWish.CANCEL:
        return Wish.UNWANTED
    if word == OperatorWish.RUN or runs.wanters(connection, run):
        return Wish.WANTED
    return Wish.UNWANTED


def let_go(
    connection: Connection,
    held: Claim,
    record: RunRecord,
    after: RunStanding,
    *,
    due: float | None,
    now: float,
    news: News,
    measured: MeasuredRun | None = None,
) -> bool:
    """Write down what came of a step; False where another process has taken the row over.

    Those who want the run now, not those who did when the step began, are told.
    """
    values: dict[str, Any] = {
        "state": record.state,
        "standing": msgspec.json.encode(after).decode(),
        "started": record.started,
        "log_uri": record.log_uri,
        "attempt": after.attempt,
    }
    if record.state in TERMINAL:
        # As it is now: an operator may have asked for another thing since the row was claimed.
        values["wish"] = case((RUN.c.wish == OperatorWish.RUN, null()), else_=RUN.c.wish)
    if not queue.release(connection, held, due=due, values=values):
        return False
    if measured is not None:
        runs.save(connection, record, now=now, measured=measured)
    for repository, number in runs.wanters(connection, record.id):
        if news is News.STATE:
            pulls.touch(connection, repository=repository, number=number, now=now)
            if number == mainline.MAIN:
                mainline.touch(connection, repository, now=now)
        elif news is News.PROGRESS:
            _nudge(connection, repository, number, now + PROGRESS_SECONDS)
    return True


def _nudge(connection: Connection, repository: str, number: int, by: float) -> None:
    """Have an open pull request looked at by then, if it is not to be looked at before."""
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number, PULL_REQUEST.c.open)
        .where(or_(PULL_REQUEST.c.due.is_(None), PULL_REQUEST.c.due > by))
        .values(due=by)
    )
