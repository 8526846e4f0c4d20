"""Reports, one per head commit: what the comment said is what the page shows.

In:  `Report`s. Out: the same, without the step lines (those stay with the runs).
"""

import logging
import zlib
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Select, select

from bot.report.ending import superseded
from bot.report.headline import headline as headline_of
from bot.report.model import CaseReport, ParityRow, Report
from bot.storage import failures
from bot.storage.decoders import of_msgpack
from bot.storage.deliveries import insert
from bot.storage.tables import REPORT
from bot.verdict.judgement import Comparison, MeasuredRun

Row = TypeVar("Row", CaseReport, ParityRow)

_REPORT = of_msgpack(Report)

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One line of a list of reports."""

    repository: str
    number: int
    head_sha: str
    headline: str
    made: float


def save(connection: Connection, report: Report, *, headline: str) -> None:
    """Keep what is said about this head, instead of what was said about it before."""
    document = zlib.compress(msgspec.msgpack.encode(slim(report)), level=6)
    values = {"headline": headline, "document": document, "made": report.made_at}
    keys = {"repository": report.repository, "number": report.number, "head_sha": report.head_sha}
    statement = insert(connection, REPORT).values(**keys, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=values))
    failures.keep(connection, report)


def supersede(connection: Connection, report: Report) -> None:
    """Leave nothing pending in the report before this one, if that is of another head."""
    before = newest(connection, report.repository, report.number)
    if before is not None and before.head_sha != report.head_sha:
        ended = superseded(before, report.head_sha)
        if ended is not None:
            save(connection, ended, headline=headline_of(ended))


def stamp(
    connection: Connection, repository: str, number: int, head_sha: str | None = None
) -> tuple[str, float] | None:
    """The head commit and the moment of the report that `newest` gives: what changes when it does."""
    query = _newest(select(REPORT.c.head_sha, REPORT.c.made), repository, number, head_sha)
    row = connection.execute(query).first()
    return (row.head_sha, row.made) if row else None


def newest(
    connection: Connection, repository: str, number: int, head_sha: str | None = None
) -> Report | None:
    """The newest report of a pull request, or of one of its heads. One that another version wrote and this
    one cannot read is as none: an open pull request's is made anew, a closed one's cannot be shown."""
    query = _newest(select(REPORT.c.document), repository, number, head_sha)
    document = connection.execute(query).scalar_one_or_none()
    if document is None:
        return None
    try:
        report = _REPORT(zlib.decompress(document))
    except (msgspec.DecodeError, zlib.error) as problem:
        LOG.warning("a stored report cannot be read: %s", problem, extra={"pull": f"{repository}#{number}"})
        return None
    # A repository may have been renamed since.
    return report if report.repository == repository else replace(report, repository=repository)


def _newest(query: Select[Any], repository: str, number: int, head_sha: str | None) -> Select[Any]:
    query = query.where(REPORT.c.repository == repository, REPORT.c.number == number)
    if head_sha:
        query = query.where(REPORT.c.head_sha.startswith(head_sha, autoescape=True))
    return query.order_by(REPORT.c.made.desc()).limit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What a repository's newest report was made with: its margins, and its variants in their order."""

    practical_percent: float = 1.0
    equivalence_percent: float = 5.0
    variants: tuple[str, ...] = ()
    base_branch: str = "main"


_HABITS = of_msgpack(Habits)


def habits(connection: Connection, repository: str) -> Habits:
    """What the newest report of a repository was made with; what is usual where there is none."""
    newest_first = select(REPORT.c.document).where(REPORT.c.repository == repository)
    document = connection.execute(newest_first.order_by(REPORT.c.made.desc()).limit(1)).scalar_one_or_none()
    return _HABITS(zlib.decompress(document)) if document else Habits()


def headlines(connection: Connection, repository: str) -> dict[int, ReportRow]:
    """The newest headline of every pull request of a repository, by number."""
    names = [REPORT.c[name] for name in ReportRow.__dataclass_fields__]
    rows = connection.execute(select(*names).where(REPORT.c.repository == repository).order_by(REPORT.c.made))
    return {row["number"]: ReportRow(**row) for row in rows.mappings()}


def slim(report: Report) -> Report:
    """The report without step lines and marks: a page reads those from the run itself."""
    rows = tuple(_slim_row(row) for row in report.rows)
    parity = tuple(_slim_row(row) for row in report.parity)
    return replace(report, rows=rows, parity=parity)


def _slim_row(row: Row) -> Row:
    comparison = row.comparison
    return replace(row, comparison=slim_comparison(comparison)) if comparison else row


def slim_comparison(comparison: Comparison) -> Comparison:
    """A comparison without its runs' step lines and marks."""
    return replace(
        comparison,
        base=tuple(_slim_run(run) for run in comparison.base),
        head=tuple(_slim_run(run) for run in comparison.head),
    )


def _slim_run(run: MeasuredRun) -> MeasuredRun:
    return replace(run, log=replace(run.log, steps=(), marks=()))
