"""Launched runs: their status while they live, and what operators see and ask of them.

The result of a step and the wake-up of those who wait for it are one transaction. An operator's action
only changes rows; the worker carries it out.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    case,
    func,
    inspect,
    null,
    or_,
    select,
    update,
)

from bot.clusters.interface import ClusterPlace, Job
from bot.domain.pull_request import MAIN_ROW_NUMBER, SubjectKind
from bot.domain.run import RunRecord, RunState
from bot.runs.run_status import TERMINAL_STATES, RunStatus
from bot.runs.state_machine import Demand, next_attempt
from bot.storage import kept_logs, main_branch, pull_requests, queue, repositories, runs
from bot.storage.queue import Claim
from bot.storage.sql import json_decoder
from bot.storage.tables import PULL_REQUEST, RUN, SPEND
from bot.verdict.judgement import MeasuredRun

_DECODE_JOB, _DECODE_STATUS = json_decoder(Job), json_decoder(RunStatus)

PROGRESS_DELAY_SECONDS = 30.0
"""How soon pull requests that wait for a run are due on mere progress: each time costs GitHub requests, and
an installation has 5,000 an hour."""


class OperatorAction(StrEnum):
    """What an operator wants, which overrides pull requests: cancel the run, or run it to its end."""

    CANCEL = "cancel"
    RUN = "run"


class RunChange(StrEnum):
    """What a step changed for the pull requests that want the run: nothing, its progress, or its state."""

    NONE = "none"
    PROGRESS = "progress"
    STATE = "state"


def run_status(row: Mapping[Any, Any]) -> RunStatus:
    """The status of a row's run; a fresh one if none is stored yet."""
    if row["status"] is not None:
        return _DECODE_STATUS(row["status"])
    job = decode_job(row["job"])
    return RunStatus(name=job.name, timeout_seconds=job.timeout_seconds, state=RunState(row["state"]))


def run_statuses(connection: Connection, ids: Collection[str]) -> dict[str, RunStatus]:
    """The statuses of these runs, by id; runs that we did not launch are left out."""
    known = select(RUN.c.id, RUN.c.state, RUN.c.status, RUN.c.job)
    rows = connection.execute(known.where(RUN.c.id.in_(sorted(ids)), RUN.c.job.is_not(None)))
    return {row["id"]: run_status(row) for row in rows.mappings()}


def local_runs(connection: Connection) -> tuple[str, ...]:
    """The ids of this machine's open runs, in the order of the local queue."""
    rows = connection.execute(
        select(RUN.c.id)
        .where(RUN.c.job.is_not(None), RUN.c.place.is_(None), RUN.c.state.not_in(TERMINAL_STATES))
        .order_by((RUN.c.state == RunState.RUNNING).desc(), RUN.c.seen, RUN.c.id)
    )
    return tuple(rows.scalars())


def statuses_by_key(connection: Connection, keys: Collection[str]) -> dict[str, RunStatus]:
    """The statuses of the runs with these keys, by id."""
    known = select(RUN.c.id, RUN.c.state, RUN.c.status, RUN.c.job)
    rows = connection.execute(known.where(RUN.c.key.in_(sorted(keys)), RUN.c.job.is_not(None)))
    return {row["id"]: run_status(row) for row in rows.mappings()}


def active_places(connection: Connection, *, since: float) -> tuple[ClusterPlace | None, ...]:
    """Every place that has a run, or had one since then (Unix seconds); None for this machine."""
    recent = or_(RUN.c.seen >= since, RUN.c.state.not_in(TERMINAL_STATES))
    rows = connection.execute(
        select(func.max(RUN.c.job)).where(RUN.c.job.is_not(None), recent).group_by(RUN.c.place)
    )
    found = {job.place.name if job.place else "": job.place for job in map(decode_job, rows.scalars())}
    return tuple(found[name] for name in sorted(found))


def reschedule_stuck(connection: Connection, *, now: float, later: float) -> int:
    """Make open runs due that are due only after `later`, or never, and free rows that are held for longer:
    only a wrong clock sets either. How many of both."""
    open_runs = and_(RUN.c.job.is_not(None), RUN.c.state.not_in(TERMINAL_STATES))
    late = or_(RUN.c.due.is_(None), RUN.c.due > later)
    woken = connection.execute(update(RUN).where(open_runs, late).values(due=now)).rowcount
    freed = update(RUN).where(RUN.c.job.is_not(None), RUN.c.lease_until > later).values(lease_until=0.0)
    return woken + connection.execute(freed).rowcount


def release_reservations(connection: Connection, *, now: float) -> int:
    """Release reservations of attempts that are over but were never settled; how many.

    An attempt is settled before its end is saved. Only a process that slept past its lease leaves such a row:
    it reserved for a launch that it then was not allowed to make.
    """
    over = (
        select(RUN.c.id)
        .where(RUN.c.id == SPEND.c.run)
        .where(or_(RUN.c.state.in_(TERMINAL_STATES), RUN.c.attempt > SPEND.c.attempt))
    )
    unsettled = update(SPEND).where(SPEND.c.ended.is_(None), over.exists())
    return connection.execute(unsettled.values(spent_chip_hours=0.0, ended=now)).rowcount


def decode_job(text: str) -> Job:
    """The stored job of a run."""
    return _DECODE_JOB(text)


def run_demand(connection: Connection, run: str) -> Demand:
    """Whether the run is to go on: an operator decides, otherwise whether anything wants it."""
    action = connection.execute(select(RUN.c.operator_action).where(RUN.c.id == run)).scalar_one_or_none()
    if action == OperatorAction.CANCEL:
        return Demand.UNWANTED
    if action == OperatorAction.RUN or runs.wanters(connection, run):
        return Demand.WANTED
    return Demand.UNWANTED


def release_run(
    connection: Connection,
    held: Claim,
    record: RunRecord,
    after: RunStatus,
    *,
    due: float | None,
    now: float,
    news: RunChange,
    measured: MeasuredRun | None = None,
    text: str | None = None,
) -> bool:
    """Save the result of a step; False if another process has claimed the row. `text` is the name under
    which the text of the run's log was stored.

    The pull requests that want the run now are due, not those that did when the step began.
    """
    values: dict[str, Any] = {
        "state": record.state,
        "status": msgspec.json.encode(after).decode(),
        "started": record.started,
        "log_uri": record.log_uri,
        "attempt": after.attempt,
    }
    if record.state in TERMINAL_STATES:
        # The stored value: an operator may have acted since the row was claimed.
        values["operator_action"] = case(
            (RUN.c.operator_action == OperatorAction.RUN, null()), else_=RUN.c.operator_action
        )
    if not queue.release(connection, held, due=due, values=values):
        return False
    if measured is not None:
        runs.save(connection, record, now=now, measured=measured)
    if text is not None:
        kept_logs.save_text(connection, record.id, text, now=now)
    for repository, number in runs.wanters(connection, record.id):
        if news is RunChange.STATE:
            pull_requests.touch(connection, repository=repository, number=number, now=now)
            if number == MAIN_ROW_NUMBER:
                main_branch.touch_main(connection, repository, now=now)
        elif news is RunChange.PROGRESS:
            _enqueue_by(connection, repository, number, now + PROGRESS_DELAY_SECONDS)
    return True


def _enqueue_by(connection: Connection, repository: str, number: int, by: float) -> None:
    """Make an open pull request due no later than `by`."""
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number, PULL_REQUEST.c.open)
        .where(or_(PULL_REQUEST.c.due.is_(None), PULL_REQUEST.c.due > by))
        .values(due=by)
    )


RETRY_REASON = "an operator had it run again"


class LaunchedRun(Struct, frozen=True, kw_only=True):
    """A run that we launched or will launch: its record, job and status, the pull requests (repository and
    number) and branches that want it, an operator's action, and the error of its last step if that failed."""

    record: RunRecord
    job: Job
    status: RunStatus
    wanted_by: tuple[tuple[str, int], ...]
    branches: tuple[str, ...]
    action: OperatorAction | None
    error: str | None
    planned_at: float

    @property
    def over(self) -> bool:
        """Whether it is in its final state."""
        return self.record.state in TERMINAL_STATES


def has_tables(connection: Connection) -> bool:
    """Whether the database holds our tables."""
    return inspect(connection).has_table(RUN.name)


def is_outdated(connection: Connection) -> bool:
    """Whether the table of runs is of an older version, and lacks columns that we read."""
    there = {column["name"] for column in inspect(connection).get_columns(RUN.name)}
    return not there.issuperset(column.name for column in RUN.columns)


def newest_launched(
    connection: Connection, *, repository: str | None, states: Sequence[str], limit: int
) -> tuple[LaunchedRun, ...]:
    """Launched runs in one of these states, the newest first."""
    wanted: list[ColumnElement[bool]] = [RUN.c.job.is_not(None), RUN.c.state.in_(states)]
    if repository is not None:
        wanted.append(RUN.c.repository == repository)
    return _launched_runs(connection, and_(*wanted), limit)


def launched_by_prefix(connection: Connection, beginning: str) -> tuple[LaunchedRun, ...]:
    """The launched runs whose id starts with this text; at most two, since two are ambiguous."""
    return _launched_runs(
        connection, and_(RUN.c.job.is_not(None), RUN.c.id.startswith(beginning, autoescape=True)), 2
    )


def cancel_run(connection: Connection, run: str, *, now: float) -> bool:
    """Cancel an open run, and keep it from being planned again; False if it is over."""
    cancelled = connection.execute(
        update(RUN)
        .where(RUN.c.id == run, RUN.c.job.is_not(None), RUN.c.state.not_in(TERMINAL_STATES))
        .values(operator_action=OperatorAction.CANCEL, due=now)
    )
    return cancelled.rowcount == 1


def retry_run(connection: Connection, run: str, *, now: float) -> bool:
    """Retry a run that is over, as another attempt that runs to its end even if nothing wants it; False if it
    is open. Its last measurement stays until the new one is there."""
    row = connection.execute(select(RUN).where(RUN.c.id == run).with_for_update()).mappings().first()
    if row is None or row["job"] is None or RunState(row["state"]) not in TERMINAL_STATES:
        return False
    again = next_attempt(run_status(row), why=RETRY_REASON, now=now)
    values = {
        "state": again.state,
        "status": msgspec.json.encode(again).decode(),
        "attempt": again.attempt,
        "operator_action": OperatorAction.RUN,
        "due": now,
        "lease_until": 0.0,
        "token": RUN.c.token + 1,
        "attempts": 0,
        "error": None,
    }
    connection.execute(update(RUN).where(RUN.c.id == run).values(**values))
    for repository, number in runs.wanters(connection, run):
        pull_requests.touch(connection, repository=repository, number=number, now=now)
    return True


def _launched_runs(connection: Connection, where: ColumnElement[bool], limit: int) -> tuple[LaunchedRun, ...]:
    rows = connection.execute(select(RUN).where(where).order_by(RUN.c.seen.desc(), RUN.c.id).limit(limit))
    return tuple(_launched_run(connection, row) for row in rows.mappings().all())


def _launched_run(connection: Connection, row: RowMapping) -> LaunchedRun:
    pulls, branches = [], []
    for repository, number in runs.wanters(connection, row["id"]):
        branch = _branch_name(connection, repository, number)
        if branch is None:
            pulls.append((repository, number))
        else:
            branches.append(branch)
    return LaunchedRun(
        record=runs.record_of(row),
        job=decode_job(row["job"]),
        status=run_status(row),
        wanted_by=tuple(pulls),
        branches=tuple(branches),
        action=OperatorAction(row["operator_action"]) if row["operator_action"] else None,
        error=row["error"],
        planned_at=row["seen"],
    )


def _branch_name(connection: Connection, repository: str, number: int) -> str | None:
    """The branch that wants a run without a pull request: the default branch, or a watched one; None for a
    pull request."""
    if number == MAIN_ROW_NUMBER:
        known = repositories.find_repository(connection, repository)
        return known.default_branch or "main" if known else "main"
    row = pull_requests.find_pull(connection, repository, number)
    return row.head_branch or "" if row and row.kind is SubjectKind.BRANCH else None
