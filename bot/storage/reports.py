"""Reports, one for each head commit, and the failures that the newest ones name.

What the comment said is what the page shows. Step lines are left out: they stay with the runs.
"""

import logging
import zlib
from collections.abc import Collection
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Select, and_, select

from bot.domain.case_key import CaseKey
from bot.domain.pull_request import SubjectKind
from bot.report.assess import headline as headline_of
from bot.report.assess import superseded_report, with_kinds
from bot.report.model import CaseReport, Novelty, ParityRow, PullFailure, Report
from bot.storage.sql import column_decoder, insert_missing, msgpack_decoder, upsert
from bot.storage.tables import FAILURE, PULL_REQUEST, REPORT
from bot.verdict.judgement import Comparison, MeasuredRun


def save_failures(connection: Connection, report: Report) -> None:
    """Save the failures of this report in place of the pull request's earlier ones."""
    here = {"repository": report.repository, "number": report.number}
    connection.execute(
        FAILURE.delete().where(FAILURE.c.repository == report.repository, FAILURE.c.number == report.number)
    )
    for row in report.rows:
        if row.failure and row.failure.fingerprint and row.failure.novelty is not Novelty.FIXED:
            values = {"case": row.case, "variant": row.variant, "fingerprint": row.failure.fingerprint}
            insert_missing(connection, FAILURE, **here, **values)


def pulls_with_failures(
    connection: Connection, *, repository: str, number: int, fingerprints: Collection[str]
) -> dict[str, tuple[PullFailure, ...]]:
    """Where the newest reports of the other open pull requests of a repository have one of these failures."""
    if not fingerprints:
        return {}
    rows = connection.execute(
        select(FAILURE.c.fingerprint, FAILURE.c.number, FAILURE.c.case, FAILURE.c.variant)
        .join(
            PULL_REQUEST,
            and_(
                PULL_REQUEST.c.repository == FAILURE.c.repository, PULL_REQUEST.c.number == FAILURE.c.number
            ),
        )
        .where(
            FAILURE.c.repository == repository,
            FAILURE.c.number != number,
            PULL_REQUEST.c.kind == SubjectKind.PULL_REQUEST,
            FAILURE.c.fingerprint.in_(sorted(fingerprints)),
            PULL_REQUEST.c.open,
        )
        .order_by(FAILURE.c.number, FAILURE.c.case, FAILURE.c.variant)
    )
    found: dict[str, tuple[PullFailure, ...]] = {}
    for fingerprint, other, case, variant in rows:
        failure = PullFailure(number=other, key=CaseKey(case, variant))
        found[fingerprint] = (*found.get(fingerprint, ()), failure)
    return found


SlimmedRow = TypeVar("SlimmedRow", CaseReport, ParityRow)

_DECODE_REPORT, _READ_REPORT = msgpack_decoder(Report), column_decoder(Report)

LOG = logging.getLogger(__name__)


class ReportListing(Struct, frozen=True, kw_only=True):
    """One line of a list of reports."""

    repository: str
    number: int
    head_sha: str
    headline: str
    made: float


def save(connection: Connection, report: Report, *, headline: str) -> None:
    """Save the report of a head in place of the earlier one."""
    document = zlib.compress(msgspec.msgpack.encode(slim(report)), level=6)
    values = {"headline": headline, "document": document, "made": report.made_at}
    key = {"repository": report.repository, "number": report.number, "head_sha": report.head_sha}
    upsert(connection, REPORT, key, values)
    save_failures(connection, report)


def supersede(connection: Connection, report: Report) -> None:
    """End what is pending in the newest stored report, if that is of another head than this one."""
    before = newest(connection, report.repository, report.number)
    if before is not None and before.head_sha != report.head_sha:
        ended = superseded_report(before, report.head_sha)
        if ended is not None:
            save(connection, ended, headline=headline_of(ended))


def report_version(
    connection: Connection, repository: str, number: int, head_sha: str | None = None
) -> tuple[str, float] | None:
    """The head commit and time of the report that `newest` returns: they change when it does."""
    query = _newest_report(select(REPORT.c.head_sha, REPORT.c.made), repository, number, head_sha)
    row = connection.execute(query).first()
    return (row.head_sha, row.made) if row else None


def newest(
    connection: Connection, repository: str, number: int, head_sha: str | None = None
) -> Report | None:
    """The newest report of a pull request, or of one of its heads. A report of another version that cannot be
    read is None: an open pull request gets a new one, a closed one has nothing to show."""
    query = _newest_report(select(REPORT.c.document), repository, number, head_sha)
    document = connection.execute(query).scalar_one_or_none()
    if document is None:
        return None
    try:
        report = with_kinds(_decode_report(zlib.decompress(document)))
    except (msgspec.DecodeError, zlib.error) as problem:
        LOG.warning("a stored report cannot be read: %s", problem, extra={"pull": f"{repository}#{number}"})
        return None
    # A repository may have been renamed since.
    return report if report.repository == repository else replace(report, repository=repository)


def _decode_report(packed: bytes) -> Report:
    """The report; older versions stored the keys of waiting runs as texts."""
    try:
        return _DECODE_REPORT(packed)
    except msgspec.ValidationError:
        document = msgspec.msgpack.decode(packed)
        try:
            for group in (document.get("plan") or {}).get("waiting", ()):
                texts = [key for key in group["keys"] if isinstance(key, str)]
                group["keys"] = [msgspec.to_builtins(CaseKey.parse(text)) for text in texts] or group["keys"]
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise msgspec.ValidationError(f"its plan is of another shape: {problem}") from problem
        return _READ_REPORT(document)


def _newest_report(query: Select[Any], repository: str, number: int, head_sha: str | None) -> Select[Any]:
    query = query.where(REPORT.c.repository == repository, REPORT.c.number == number)
    if head_sha:
        query = query.where(REPORT.c.head_sha.startswith(head_sha, autoescape=True))
    return query.order_by(REPORT.c.made.desc()).limit(1)


class ReportDefaults(Struct, frozen=True, kw_only=True):
    """The settings of a repository's newest report: its margins, and its variants in order."""

    practical_percent: float = 1.0
    equivalence_percent: float = 5.0
    variants: tuple[str, ...] = ()
    base_branch: str = "main"


_DECODE_DEFAULTS = msgpack_decoder(ReportDefaults)


def report_defaults(connection: Connection, repository: str) -> ReportDefaults:
    """The settings of a repository's newest report, or the usual ones if there is none."""
    newest_first = select(REPORT.c.document).where(REPORT.c.repository == repository)
    document = connection.execute(newest_first.order_by(REPORT.c.made.desc()).limit(1)).scalar_one_or_none()
    return _DECODE_DEFAULTS(zlib.decompress(document)) if document else ReportDefaults()


def headlines(connection: Connection, repository: str) -> dict[int, ReportListing]:
    """The newest headline of every pull request of a repository, by number."""
    names = [REPORT.c[name] for name in ReportListing.__struct_fields__]
    rows = connection.execute(select(*names).where(REPORT.c.repository == repository).order_by(REPORT.c.made))
    return {row["number"]: ReportListing(**row) for row in rows.mappings()}


def slim(report: Report) -> Report:
    """The report without step lines and marks: a page reads those from the run."""
    rows = tuple(_slim_row(row) for row in report.rows)
    parity = tuple(_slim_row(row) for row in report.parity)
    return replace(report, rows=rows, parity=parity)


def _slim_row(row: SlimmedRow) -> SlimmedRow:
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
