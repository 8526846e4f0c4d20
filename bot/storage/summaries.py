"""What lists and histories need of a measured run, small enough to read by the thousand.

In:  a `MeasuredRun`, when it is saved. Out: `Summary`s; the case keys that a branch has.
Promises: a row that was saved before there were summaries is filled in by `fill`, newest first.
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, select

from bot.runs.records import RunRecord
from bot.storage.deliveries import insert
from bot.storage.tables import CASE_KEY, MEASUREMENT, RUN
from bot.verdict.judgement import MeasuredRun
from bot.verdict.metrics import METRICS

VERSION = 1
"""A new number has every summary made anew, as the metrics change."""

LONGEST_ERROR = 400
FILLED_AT_ONCE = 500
"""Rows of one transaction: writers wait for it, so it stays well below a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How a run ended, and every numeric metric of it by its key (`bot.verdict.metrics`)."""

    version: int
    state: str
    kind: str
    error: str
    figures: dict[str, float]


_DECODE = msgspec.msgpack.Decoder(Summary).decode


def summary(run: MeasuredRun) -> Summary:
    """The summary of a run."""
    failure = run.log.outcome.failure
    values = {metric.key: metric.read(run) for metric in METRICS}
    return Summary(
        version=VERSION,
        state=run.log.outcome.state.value,
        kind=failure.kind if failure else "",
        error=failure.error[:LONGEST_ERROR] if failure else "",
        figures={key: float(value) for key, value in values.items() if isinstance(value, int | float)},
    )


def columns(run: MeasuredRun) -> dict[str, object]:
    """The values of a measurement's row that lists read."""
    made = summary(run)
    return {"outcome": made.state, "summary": msgspec.msgpack.encode(made)}


def read(stored: bytes | None) -> Summary | None:
    """The summary that `columns` made; None where there is none yet."""
    return _DECODE(stored) if stored else None


def keep_key(connection: Connection, record: RunRecord) -> None:
    """Remember that this branch has runs of this case and variant."""
    if record.branch is None:
        return
    names = {name: getattr(record, name) for name in ("repository", "branch", "case", "variant")}
    connection.execute(insert(connection, CASE_KEY).values(**names).on_conflict_do_nothing())


def keys(connection: Connection, repository: str, branch: str) -> tuple[tuple[str, str], ...]:
    """Every case and variant that has a run on a branch (by its slug), by name."""
    rows = connection.execute(
        select(CASE_KEY.c.case, CASE_KEY.c.variant)
        .where(CASE_KEY.c.repository == repository, CASE_KEY.c.branch == branch)
        .order_by(CASE_KEY.c.case, CASE_KEY.c.variant)
    )
    return tuple((case, variant) for case, variant in rows)


def has_branch(connection: Connection, repository: str, branch: str) -> bool:
    """Whether a branch (by its slug) has any run."""
    here = (CASE_KEY.c.repository == repository, CASE_KEY.c.branch == branch)
    return connection.execute(select(CASE_KEY.c.case).where(*here).limit(1)).first() is not None


def branches(connection: Connection, repository: str) -> tuple[str, ...]:
    """Every branch (by its slug) that has a run, by name."""
    rows = connection.execute(select(CASE_KEY.c.branch).where(CASE_KEY.c.repository == repository).distinct())
    return tuple(sorted(rows.scalars()))


def fill_keys(connection: Connection) -> None:
    """Remember the keys of runs that were saved before keys were kept; nothing where some are known."""
    if connection.execute(select(CASE_KEY.c.case).limit(1)).first():
        return
    names = [RUN.c[name] for name in ("repository", "branch", "case", "variant")]
    known = select(*names).where(RUN.c.branch.is_not(None))
    connection.execute(CASE_KEY.insert().from_select([column.name for column in names], known.distinct()))


def fill(
    connection: Connection, decode: Callable[[bytes], MeasuredRun], *, most: int = FILLED_AT_ONCE
) -> int:
    """Summarise up to `most` runs that have no summary, the newest first; how many there were."""
    rows = connection.execute(
        select(MEASUREMENT.c.run, MEASUREMENT.c.document)
        .where(MEASUREMENT.c.summary.is_(None))
        .order_by(MEASUREMENT.c.made.desc())
        .limit(most)
    ).all()
    for run, document in rows:
        connection.execute(
            MEASUREMENT.update().where(MEASUREMENT.c.run == run).values(**columns(decode(document)))
        )
    return len(rows)
