"""The failures of pull requests' newest reports, found by fingerprint."""

from dataclasses import replace

from sqlalchemy import update

from bot.report.model import CaseReport, FailureNews, Kinship, Report, RowState
from bot.storage import failures, pulls, reports
from bot.storage.database import Database
from bot.storage.tables import PULL_REQUEST

ACME = "acme/maxtext"
CRASH = FailureNews(kinship=Kinship.NEW, kind="code", fingerprint="f1")


def _report(number: int, *rows: FailureNews | None, made: float = 10.0, head: str = "a" * 40) -> Report:
    return Report(
        repository=ACME,
        number=number,
        title="A change",
        head_sha=head,
        head_branch="feat",
        base_branch="main",
        merge_base="b" * 40,
        made_at=made,
        rows=tuple(
            CaseReport(case=f"c{n}", variant="linen", state=RowState.NEW_FAILURE, failure=news)
            for n, news in enumerate(rows)
        ),
    )


def _said(database: Database, report: Report) -> None:
    database.now(
        pulls.want, repository=report.repository, number=report.number, installation=1, now=report.made_at
    )
    database.now(reports.save, report, headline="x")


def _elsewhere(database: Database, *prints: str, number: int = 7) -> dict[str, tuple[int, ...]]:
    return database.now(failures.elsewhere, repository=ACME, number=number, fingerprints=prints)


def test_other_open_pull_requests_with_the_failure_are_found(database: Database) -> None:
    """Each once, by number, whatever the case it fails; neither this one nor another repository's."""
    other = replace(CRASH, fingerprint="f2")
    for report in (
        _report(7, CRASH),
        _report(15, CRASH, CRASH),
        _report(12, None, CRASH, other),
        replace(_report(13, CRASH), repository="octo/net"),
    ):
        _said(database, report)
    assert _elsewhere(database, "f1", "f2", "f3") == {"f1": (12, 15), "f2": (12,)}
    assert _elsewhere(database) == {}
    assert _elsewhere(database, "f2", number=12) == {}


def test_only_the_newest_report_of_a_pull_request_counts(database: Database) -> None:
    """What a later push repaired is no longer said of it, and neither is what it fixes."""
    _said(database, _report(12, CRASH))
    _said(database, _report(12, replace(CRASH, kinship=Kinship.FIXED), made=20.0, head="c" * 40))
    assert _elsewhere(database, "f1") == {}


def test_a_closed_pull_request_is_not_named(database: Database) -> None:
    """Nobody waits for it any more."""
    _said(database, _report(12, CRASH))
    assert _elsewhere(database, "f1") == {"f1": (12,)}
    database.now(lambda connection: connection.execute(update(PULL_REQUEST).values(open=False)))
    assert _elsewhere(database, "f1") == {}
