"""Reports: what the comment said is what the page shows, without the step lines.

The failures of pull requests' newest reports, found by fingerprint."""

import zlib

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, select, update

from bot.domain.case_key import CaseKey
from bot.domain.delivery import Delivery
from bot.report.model import CaseReport, FailureNovelty, Novelty, ParityRow, PullFailure, Report, RowState
from bot.storage import deliveries, pull_requests, queue, reports
from bot.storage.database import Database
from bot.storage.queue import QueueCounts, count_rows
from bot.storage.reports import slim
from bot.storage.tables import DELIVERY, PULL_REQUEST, REPORT
from bot.verdict.compare import compare
from bot.verdict.measure import measure
from tests.verdict.made_runs import Shape, run_log

FIRST, SECOND = "a" * 40, "ab" + "c" * 38


def _report(head: str = FIRST, made_at: float = 10.0, number: int = 7) -> Report:
    base, changed = measure(run_log()), measure(run_log(Shape(step_seconds=0.2)))
    repeated = measure(run_log(Shape(step_seconds=0.2, seed=2)))
    comparison = compare((base,), (changed, repeated))
    return Report(
        repository="acme/maxtext",
        number=number,
        title="A change",
        head_sha=head,
        head_branch="feat",
        base_branch="main",
        merge_base="b" * 40,
        made_at=made_at,
        rows=(
            CaseReport(case="x", variant="linen", state=RowState(comparison.verdict), comparison=comparison),
            CaseReport(case="y", variant="linen", state=RowState.NO_RUN),
        ),
        parity=(
            ParityRow(
                case="x",
                first_variant="linen",
                second_variant="nnx",
                first_passes=True,
                second_passes=None,
                comparison=comparison,
            ),
        ),
    )


def test_a_report_comes_back_without_its_step_lines(database: Database) -> None:
    """Everything but steps and marks survives; those stay with the runs."""
    report = _report()
    database.write_now(reports.save, report, headline="1 slower")
    kept = database.write_now(reports.newest, "acme/maxtext", 7)
    assert kept == slim(report)
    assert kept is not None
    comparison = kept.rows[0].comparison
    assert comparison is not None
    assert [run.log.steps for run in (*comparison.base, *comparison.head)] == [(), (), ()]
    assert comparison.head[0].measurements == measure(run_log(Shape(step_seconds=0.2))).measurements
    assert comparison.head[0].log.environment == run_log().environment


@pytest.mark.parametrize("document", [{"plan": {"waiting": [{"why": "x"}]}}, {"plan": 3}, [1], {"rows": 3}])
def test_a_stored_report_of_another_shape_is_none(database: Database, document: object) -> None:
    """A report that this program cannot read is written anew, and keeps no page or worker from going on."""
    database.write_now(reports.save, _report(), headline="1 slower")
    packed = zlib.compress(msgspec.msgpack.encode(document))
    database.write_now(lambda connection: connection.execute(update(REPORT).values(document=packed)))
    assert database.write_now(reports.newest, "acme/maxtext", 7) is None


def test_a_report_of_the_same_head_replaces_the_one_before(database: Database) -> None:
    """Each head has one report, its newest."""
    database.write_now(reports.save, _report(), headline="first")
    later = replace(_report(), title="Renamed", made_at=20.0)
    database.write_now(reports.save, later, headline="second")
    assert database.write_now(reports.newest, "acme/maxtext", 7) == slim(later)


def test_a_head_is_found_by_the_beginning_of_its_commit(database: Database) -> None:
    """The newest report is that of the newest head; an older head is found by its digits."""
    database.write_now(reports.save, _report(FIRST, 10.0), headline="old")
    database.write_now(reports.save, _report(SECOND, 20.0), headline="new")
    for digits, head in ((None, SECOND), ("aaaaaaa", FIRST), ("abcccc", SECOND)):
        found = database.write_now(reports.newest, "acme/maxtext", 7, digits)
        assert found is not None
        assert found.head_sha == head
    for unknown in ("%", "_", "f00"):
        assert database.write_now(reports.newest, "acme/maxtext", 7, unknown) is None
    assert database.write_now(reports.newest, "acme/maxtext", 8) is None


def test_lists_show_the_newest_headline_of_each_pull_request(database: Database) -> None:
    """One line a pull request, whatever the order its reports were made in."""
    database.write_now(reports.save, _report(SECOND, 20.0), headline="new")
    database.write_now(reports.save, _report(FIRST, 10.0), headline="old")
    database.write_now(reports.save, _report(number=8), headline="other")
    lines = database.write_now(reports.headlines, "acme/maxtext")
    assert {number: line.headline for number, line in lines.items()} == {7: "new", 8: "other"}
    assert database.write_now(reports.headlines, "octo/net") == {}


def test_work_and_failures_are_counted(database: Database) -> None:
    """The metrics see what waits and what fails, by table."""
    assert database.write_now(count_rows) == QueueCounts(
        deliveries={},
        due={"delivery": 0, "pull_request": 0, "run": 0},
        failing={"delivery": 0, "pull_request": 0, "run": 0},
    )
    received = [Delivery(id=name, event="push", payload=b"{}", received=1.0) for name in "ab"]
    database.write_now(deliveries.record, received)
    held = database.write_now(queue.claim, DELIVERY, owner="a", now=1.0, lease=30.0)
    assert held is not None
    database.write_now(queue.postpone, held, due=9.0, error="no")
    assert database.write_now(count_rows) == QueueCounts(
        deliveries={"received": 2},
        due={"delivery": 2, "pull_request": 0, "run": 0},
        failing={"delivery": 1, "pull_request": 0, "run": 0},
    )


def test_a_new_head_leaves_nothing_pending_on_the_one_before(database: Database) -> None:
    """The page of the old head says that it was pushed over; a report of the same head changes nothing."""
    going = CaseReport(case="y", variant="linen", state=RowState.RUNNING)
    old = replace(_report("1" * 40), rows=(going,))
    database.write_now(reports.save, old, headline="x")
    database.write_now(reports.supersede, replace(old, made_at=old.made_at + 1))
    kept = database.write_now(reports.newest, old.repository, old.number)
    assert kept is not None
    assert kept.rows[0].state is RowState.RUNNING
    database.write_now(reports.supersede, replace(old, head_sha="2" * 40))
    kept = database.write_now(reports.newest, old.repository, old.number, "1" * 40)
    assert kept is not None
    assert (kept.rows[0].state, kept.made_at) == (RowState.SUPERSEDED, old.made_at)


def test_a_report_that_cannot_be_read_is_as_none(database: Database) -> None:
    """Another version may have written it: the next one takes its place, and no page fails."""
    database.write_now(reports.save, _report(), headline="1 slower")
    unreadable = zlib.compress(msgspec.msgpack.encode({"repository": "acme/maxtext"}))
    database.write_now(lambda connection: connection.execute(REPORT.update().values(document=unreadable)))

    assert database.write_now(reports.newest, "acme/maxtext", 7) is None

    database.write_now(reports.save, _report(SECOND, made_at=20.0), headline="same")
    database.write_now(reports.supersede, _report("d" * 40, made_at=30.0))
    assert database.write_now(reports.newest, "acme/maxtext", 7) == slim(_report(SECOND, made_at=20.0))


def test_a_report_of_the_first_release_is_read(database: Database) -> None:
    """What its explanations did not have yet is what it was then: base's runs alone."""
    database.write_now(reports.save, _report(), headline="1 slower")
    document = msgspec.msgpack.decode(database.write_now(_document))
    for row in (document["rows"][0], document["parity"][0]):
        figures = row["comparison"]["explanation"]["arithmetic"]
        for name in ("standing", "main", "base_off", "first_level", "rounding"):
            del figures[name]
    older = zlib.compress(msgspec.msgpack.encode(document))
    database.write_now(lambda connection: connection.execute(REPORT.update().values(document=older)))

    kept = database.write_now(reports.newest, "acme/maxtext", 7)

    assert kept is not None
    assert kept.rows[0].comparison is not None
    assert kept.rows[0].comparison.explanation is not None
    arithmetic = kept.rows[0].comparison.explanation.arithmetic
    assert arithmetic is not None
    assert (arithmetic.standing, arithmetic.main) == ("base", 0)


def _document(connection: Connection) -> bytes:
    packed: bytes = connection.execute(select(REPORT.c.document)).scalar_one()
    return zlib.decompress(packed)


ACME = "acme/maxtext"

CRASH = FailureNovelty(novelty=Novelty.NEW, kind="code", fingerprint="f1")


def _report_with_failures(
    number: int, *rows: FailureNovelty | None, made: float = 10.0, head: str = "a" * 40
) -> Report:
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
    database.write_now(
        pull_requests.enqueue,
        repository=report.repository,
        number=report.number,
        installation=1,
        now=report.made_at,
    )
    database.write_now(reports.save, report, headline="x")


def _elsewhere(database: Database, *prints: str, number: int = 7) -> dict[str, tuple[int, ...]]:
    found = database.write_now(
        reports.pulls_with_failures, repository=ACME, number=number, fingerprints=prints
    )
    return {print_: tuple(dict.fromkeys(one.number for one in where)) for print_, where in found.items()}


def test_a_failure_is_found_with_its_case(database: Database) -> None:
    """The case and variant that it was found in, each once."""
    _said(database, _report_with_failures(15, CRASH, None, CRASH))
    found = database.write_now(reports.pulls_with_failures, repository=ACME, number=7, fingerprints=("f1",))
    assert found == {"f1": tuple(PullFailure(number=15, key=CaseKey(f"c{n}", "linen")) for n in (0, 2))}


def test_other_open_pull_requests_with_the_failure_are_found(database: Database) -> None:
    """Each once, by number, whatever the case it fails; neither this one nor another repository's."""
    other = replace(CRASH, fingerprint="f2")
    for report in (
        _report_with_failures(7, CRASH),
        _report_with_failures(15, CRASH, CRASH),
        _report_with_failures(12, None, CRASH, other),
        replace(_report_with_failures(13, CRASH), repository="octo/net"),
    ):
        _said(database, report)
    assert _elsewhere(database, "f1", "f2", "f3") == {"f1": (12, 15), "f2": (12,)}
    assert _elsewhere(database) == {}
    assert _elsewhere(database, "f2", number=12) == {}


def test_only_the_newest_report_of_a_pull_request_counts(database: Database) -> None:
    """What a later push repaired is no longer said of it, and neither is what it fixes."""
    _said(database, _report_with_failures(12, CRASH))
    _said(
        database,
        _report_with_failures(12, replace(CRASH, novelty=Novelty.FIXED), made=20.0, head="c" * 40),
    )
    assert _elsewhere(database, "f1") == {}


def test_a_closed_pull_request_is_not_named(database: Database) -> None:
    """Nobody waits for it any more."""
    _said(database, _report_with_failures(12, CRASH))
    assert _elsewhere(database, "f1") == {"f1": (12,)}
    database.write_now(lambda connection: connection.execute(update(PULL_REQUEST).values(open=False)))
    assert _elsewhere(database, "f1") == {}
