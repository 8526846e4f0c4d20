"""Runs and their measurements, kept so that no log is read twice.

In:  `RunRecord`s and `MeasuredRun`s. Out: the same.
"""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, and_, select

from bot.runs.clusters.port import Job
from bot.runs.records import RunRecord, RunState
from bot.storage import decoded, summaries
from bot.storage.decoders import of_columns, of_json, of_msgpack
from bot.storage.deliveries import insert
from bot.storage.tables import MEASUREMENT, RUN, WANT
from bot.verdict.conditions import conditions
from bot.verdict.judgement import MeasuredRun

_COLUMNS = tuple(RunRecord.__dataclass_fields__)
_RECORD, _JOB, _MEASURED = of_columns(RunRecord), of_json(Job), of_msgpack(MeasuredRun)
COLUMNS = tuple(RUN.c[name] for name in _COLUMNS)
"""What `record_of` reads."""

ORDER_SECONDS = 1e-3

NEWEST_PER_KEY = 200
"""Runs of a case and variant on a branch looked through: an older merge base has none."""

NEWEST_UNNAMED = 2_000
"""Runs that name a commit but no branch, of all cases together."""

_FINISHED = (RunState.ENDED, RunState.LOST, RunState.CANCELLED)


def encode(run: MeasuredRun) -> bytes:
    """A measured run as bytes; MessagePack, because JSON has no NaN and a loss may be one."""
    return zlib.compress(msgspec.msgpack.encode(run), level=6)


def decode(document: bytes) -> MeasuredRun:
    """The measured run that `encode` was given; one that was lately asked for is not decoded again."""
    return decoded.LATELY.get(document, decode_once)


def decode_once(document: bytes) -> MeasuredRun:
    """The measured run that `encode` was given, for who will not ask again."""
    return _MEASURED(zlib.decompress(document))


def save(
    connection: Connection, record: RunRecord, *, now: float, measured: MeasuredRun | None = None
) -> None:
    """Keep a run, or what changed of it, and what was measured from its log."""
    values: dict[str, Any] = {name: getattr(record, name) for name in _COLUMNS}
    statement = insert(connection, RUN).values(**values, seen=now, lease_until=0.0, token=0, attempts=0)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))
    summaries.keep_key(connection, record)
    if measured is not None:
        failure = measured.log.outcome.failure
        row = {
            "document": encode(measured),
            "steady_seconds": measured.measurements.steady.seconds,
            "conditions": conditions(measured),
            "fingerprint": (failure.fingerprint or None) if failure else None,
            "chip_hours": measured.measurements.chip_hours,
            "devices": measured.log.environment.devices,
            "made": now,
            **summaries.columns(measured),
        }
        found = insert(connection, MEASUREMENT).values(run=record.id, **row)
        connection.execute(found.on_conflict_do_update(index_elements=["run"], set_=row))


def of_branch(connection: Connection, repository: str, branch: str) -> tuple[RunRecord, ...]:
    """The newest runs of each case and variant on a branch (by its slug), newest first, with those that name
    a commit but no branch."""
    rows = list(_newest(connection, select(*COLUMNS), repository, branch))
    return tuple(record_of(row) for row in sorted(rows, key=_newest_first))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What of a measurement can be asked of many runs at once: the steady step time in seconds, what it was
    measured under (see `bot.verdict.conditions`), and the fingerprint of its failure."""

    steady_seconds: float | None
    conditions: str
    fingerprint: str | None


def figures_of_branch(connection: Connection, repository: str, branch: str) -> dict[str, Figures]:
    """The figures of every measured run that `of_branch` names, by run id."""
    columns = (MEASUREMENT.c[name] for name in Figures.__dataclass_fields__)
    query = select(MEASUREMENT.c.run, *columns).join(RUN, RUN.c.id == MEASUREMENT.c.run)
    return {
        row.pop("run"): Figures(**row) for row in map(dict, _newest(connection, query, repository, branch))
    }


def _newest(connection: Connection, query: Select[Any], repository: str, branch: str) -> Iterator[Any]:
    """The rows of the newest runs of each case and variant on a branch, then of runs of no branch: each read
    from an index, so that it takes no longer the more runs are kept."""
    named = [
        and_(RUN.c.branch == branch, RUN.c.case == case, RUN.c.variant == variant)
        for case, variant in summaries.keys(connection, repository, branch)
    ]
    unnamed = and_(RUN.c.branch.is_(None), RUN.c.sha.is_not(None))
    for here, most in (*((one, NEWEST_PER_KEY) for one in named), (unnamed, NEWEST_UNNAMED)):
        ordered = query.where(RUN.c.repository == repository, here).order_by(
            RUN.c.started.desc().nulls_last()
        )
        yield from connection.execute(ordered.limit(most)).mappings()


def _newest_first(row: Any) -> tuple[float, str]:
    return (-(row["started"] if row["started"] is not None else -inf), row["id"])


def by_id(connection: Connection, run: str) -> RunRecord | None:
    """One run, or None."""
    row = (
        connection.execute(select(*(RUN.c[name] for name in _COLUMNS)).where(RUN.c.id == run))
        .mappings()
        .first()
    )
    return record_of(row) if row else None


def generations(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The content each of these runs was last measured from, by run id; runs without are left out."""
    query = select(RUN.c.id, RUN.c.generation).join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
    parts = (ids[at : at + 1_000] for at in range(0, len(ids), 1_000))  # a statement takes some 30,000
    found = (connection.execute(query.where(RUN.c.id.in_(part))) for part in parts)
    return {row.id: row.generation for rows in found for row in rows if row.generation is not None}


def measured(connection: Connection, ids: Collection[str]) -> dict[str, MeasuredRun]:
    """What was measured of these runs; runs without a measurement are left out."""
    if not ids:
        return {}
    rows = connection.execute(
        select(MEASUREMENT.c.run, MEASUREMENT.c.document).where(MEASUREMENT.c.run.in_(sorted(ids)))
    )
    return {run: decode(document) for run, document in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A run to be started: its record, and the job that executes it.

    `price` is what it may cost, in chip-hours, None where nobody knows; `charged_to` is the person who asked
    for it, empty where a schedule did.
    """

    record: RunRecord
    job: Job
    price: float | None = None
    charged_to: str = ""


def plan(
    connection: Connection, planned: Sequence[Planned], *, repository: str, number: int, now: float
) -> int:
    """Want exactly these launched runs for a pull request, in this order; the number of new ones.

    Runs that exist already (by key) are shared; ones that are not named any more are let go of. One that was
    cancelled when nobody wanted it counts as new: it starts from the beginning.
    """
    ids = [one.record.id for one in planned]
    states = select(RUN.c.id, RUN.c.state, RUN.c.wish).where(RUN.c.id.in_(ids))
    # What an operator cancelled stays cancelled, until an operator has it run again.
    known = {row.id: row.wish or row.state for row in connection.execute(states)}
    new = 0
    for place, one in enumerate(planned):
        # A little later each, so that they are started in this order.
        due = now + place * ORDER_SECONDS
        if known.get(one.record.id, RunState.CANCELLED) == RunState.CANCELLED:
            _plan(connection, one, number, due)
            new += 1
        connection.execute(
            insert(connection, WANT)
            .values(repository=repository, number=number, run=one.record.id)
            .on_conflict_do_nothing()
        )
    drop_wants(connection, repository=repository, number=number, but=set(ids))
    return new


def _plan(connection: Connection, one: Planned, number: int, due: float) -> None:
    """Insert a run that is to be started, or begin anew with one that was cancelled.

    It is charged to the pull request that wants it first; those that come later share it for nothing.
    """
    values: dict[str, Any] = {name: getattr(one.record, name) for name in _COLUMNS}
    values |= {"price": one.price, "charged_to": one.charged_to, "charged_number": number, "waiting": None}
    values |= {"job": msgspec.json.encode(one.job).decode(), "seen": due, "due": due, "standing": None}
    summaries.keep_key(connection, one.record)
    inserted = insert(connection, RUN).values(**values, lease_until=0.0, token=0, attempts=0)
    connection.execute(
        inserted.on_conflict_do_update(
            index_elements=["id"], set_=values, where=RUN.c.state == RunState.CANCELLED
        )
    )


def planned_run(row: Mapping[Any, Any]) -> Planned:
    """The row as values."""
    return Planned(record=record_of(row), job=_JOB(row["job"]))


def wanted(connection: Connection, repository: str, number: int) -> tuple[RunRecord, ...]:
    """The launched runs that a pull request wants, in the order they were planned."""
    rows = connection.execute(
        select(*(RUN.c[name] for name in _COLUMNS))
        .join(WANT, WANT.c.run == RUN.c.id)
        .where(WANT.c.repository == repository, WANT.c.number == number)
        .order_by(RUN.c.seen, RUN.c.id)
    )
    return tuple(record_of(row) for row in rows.mappings())


def drop_wants(connection: Connection, *, repository: str, number: int, but: Collection[str] = ()) -> None:
    """Stop wanting a pull request's runs (all but these); runs nobody wants are due, to be ended."""
    stale = [run.id for run in wanted(connection, repository, number) if run.id not in but]
    for run in stale:
        connection.execute(
            WANT.delete().where(WANT.c.repository == repository, WANT.c.number == number, WANT.c.run == run)
        )
        if not wanters(connection, run):
            connection.execute(
                RUN.update().where(RUN.c.id == run, RUN.c.state.not_in(_FINISHED)).values(due=0.0)
            )


def wanters(connection: Connection, run: str) -> tuple[tuple[str, int], ...]:
    """The pull requests that want a run, as repository and number."""
    rows = connection.execute(select(WANT.c.repository, WANT.c.number).where(WANT.c.run == run))
    return tuple((repository, number) for repository, number in rows)


def record_of(row: Mapping[Any, Any]) -> RunRecord:
    """The row as a run."""
    return _RECORD({name: row[name] for name in _COLUMNS})
