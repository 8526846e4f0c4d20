"""A database that an older program left is read by this one: on SQLite and on PostgreSQL."""

import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import pytest
from alembic.command import upgrade
from sqlalchemy import Connection, func, select, text

from bot.domain.case_key import CaseKey
from bot.domain.command import ButtonOrigin, CommentOrigin, LabelOrigin
from bot.domain.price import HoldLimit, HoldReason
from bot.domain.published import (
    CheckRun,
    DirtyCheck,
    DirtyComment,
    NoComment,
    PostedCheck,
    PostedComment,
    UnknownCheckRun,
)
from bot.domain.pull_request import SubjectKind
from bot.domain.run import RunState
from bot.domain.run_request import Cancellation, RunRequest
from bot.report.model import Report
from bot.storage import (
    deliveries,
    histories,
    launched_runs,
    main_branch,
    named_values,
    pull_requests,
    queue,
    rate_limit,
    refs,
    reports,
    repositories,
    requests,
    runs,
    sessions,
    spend,
)
from bot.storage.database import Database
from bot.storage.migrations import configuration
from bot.storage.pull_requests import PullRow
from bot.storage.tables import DELIVERY, MAIN_BRANCH, MERGE_GROUP, METADATA, PULL_REQUEST, RUN
from tests.peers.postgres import KINDS, Postgres
from tests.storage.older import make_older, read_rows
from tests.web.site_under_test import SiteUnderTest

NAME = "acme/maxtext-next"

LATER = 1_795_400_000.0
"""A day after the power failed."""


@contextmanager
def _upgraded(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    """The database after this program has started on it."""
    server: Postgres | None = request.getfixturevalue("postgres") if kind == "postgresql" else None
    database = Database(server.empty() if server else f"sqlite:///{folder / 'maxview.sqlite'}")
    database.write_now(make_older)
    database.migrate()
    yield database
    database.close()


@pytest.fixture(scope="module", params=KINDS)
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests that change nothing."""
    with _upgraded(request.param, tmp_path_factory.mktemp("older"), request) as database:
        yield database


def _rows(table: str) -> list[dict[str, Any]]:
    return [row for name, row in read_rows() if name == table]


def _pull(database: Database, number: int) -> PullRow:
    row = database.write_now(pull_requests.find_pull, NAME, number)
    assert row is not None
    return row


def _lost(new: Any, old: Any, at: str = "") -> list[str]:
    """Where a value lacks, or says otherwise, what an older one said; new names may have come."""
    if isinstance(old, dict):
        lacking = [f"{at}.{name}" for name in old if name not in new]
        both = [name for name in old if name in new]
        return lacking + [one for name in both for one in _lost(new[name], old[name], f"{at}.{name}")]
    if isinstance(old, list):
        pairs = zip(new, old, strict=True)
        return [one for n, (now, then) in enumerate(pairs) for one in _lost(now, then, f"{at}[{n}]")]
    if isinstance(new, dict) and set(new) == {"case", "variant"}:
        new = str(CaseKey(**new))  # was a text
    same = new == old or (isinstance(old, float) and isnan(old) and isnan(new))
    return [] if same else [f"{at}: {old} is {new}"]


NAMED_NOW = {
    "ask": "run_request",
    "given": "command_use",
    "sent": "github_use",
    "mark": "named_value",
    "chore": "maintenance_task",
    "mainline": "main_branch",
}
"""What tables are called since."""

NAMED_THEN = {now: then for then, now in NAMED_NOW.items()}


def test_no_row_is_lost(older: Database) -> None:
    """Every table has as many rows as before; each measured run has its loss curve beside it by now."""

    def count(connection: Connection) -> dict[str, int]:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in METADATA.sorted_tables
        }

    before = Counter(NAMED_NOW.get(name, name) for name, _ in read_rows())
    assert set(before) - {"alembic_version"} <= set(older.write_now(count))
    expected = before | Counter({"loss_curve": before["measurement"]})
    assert {name: expected[name] for name in older.write_now(count)} == older.write_now(count)


def test_branches_are_a_kind_of_their_own(older: Database) -> None:
    """What had a number below zero is a branch, and no list of pull requests names it."""
    assert [4, 3, 2, 1] == [row.number for row in older.write_now(pull_requests.list_pulls, NAME)]
    branches = older.write_now(pull_requests.watched_branches, NAME)
    assert ["test_2", "test_936672580"] == [row.head_branch for row in branches]
    assert {SubjectKind.BRANCH} == {row.kind for row in branches}
    assert -1 == older.write_now(pull_requests.branch_number, NAME, "test_936672580")
    assert {NAME: 3} == older.write_now(pull_requests.count_open_pulls)
    heads = older.write_now(main_branch.known_heads, NAME)
    assert [4, 3, 2, 1, None, None] == [head.number for head in heads]


def test_what_stands_on_github_is_a_state(older: Database) -> None:
    """A comment that somebody edited, a reset check of an older head whose id is unknown, and what is as we
    wrote it."""
    one, two, four, branch = _pull(older, 1), _pull(older, 2), _pull(older, 4), _pull(older, -1)
    assert isinstance(four.comment, DirtyComment)
    assert 1125 == four.comment.id
    assert isinstance(two.comment, PostedComment)
    assert 1087 == two.comment.id
    assert NoComment() == branch.comment
    assert isinstance(one.check, DirtyCheck)
    assert (UnknownCheckRun(), True) == (one.check.target, one.check.pending)
    assert isinstance(two.check, PostedCheck)
    assert CheckRun(1089) == two.check.target


def test_commands_say_where_they_were_given(older: Database) -> None:
    """In comments, by a label, by a button; a delivery that comes again finds what it asked for."""
    origins = [one.origin for one in _pull(older, 1).commands]
    button = ButtonOrigin(135388918604972)
    assert [CommentOrigin(1022), CommentOrigin(1027), CommentOrigin(1032), LabelOrigin(), button] == origins
    verbs = [one.verb for one in _pull(older, 1).commands]
    assert ["ack", "run", "baseline", None, "rerun"] == verbs
    asked = older.write_now(requests.run_requests, NAME, 1)
    assert ["benchmark:12_moe", f"button {button.press}:00"] == [one.name for one in asked]
    assert all(isinstance(one, RunRequest) for one in asked)
    (cancelled,) = older.write_now(requests.run_requests, NAME, 4)
    assert isinstance(cancelled, Cancellation)
    assert {CaseKey("12_moe", "nnx")} == cancelled.keys
    again = older.write_now(
        rate_limit.consume, NAME, 1002, name=f"button {button.press}", count=1, made=1_795_328_953.3343434
    )
    assert again.allowed


def test_what_people_approved_and_accepted_still_holds(older: Database) -> None:
    """The approval of a fork's head, the acknowledgement of a case."""
    approval = older.write_now(requests.newest_approval, NAME, 2)
    assert approval is not None
    assert "bob" == approval.by
    (accepted,) = older.write_now(requests.list_acknowledgements, NAME, 1)
    assert ("04_int8", "known: kernel swap") == (accepted.case, accepted.reason)


def test_every_report_is_read_as_it_was_written(older: Database) -> None:
    """Of pull requests and of branches; lists show their headlines."""
    encode = msgspec.msgpack.Encoder().encode
    kept = _rows("report")
    for row in kept:
        report = older.write_now(reports.newest, NAME, row["number"], row["head_sha"])
        assert isinstance(report, Report)
        written = row["document"]["zlib+msgpack"] | {"repository": NAME}
        assert [] == _lost(msgspec.msgpack.decode(encode(report)), written)
    listed = older.write_now(reports.headlines, NAME)
    assert {row["number"] for row in kept} == set(listed)
    assert "no change > 0.3 % in 4 cases" in listed[3].headline
    assert ("main", 20.0) == (
        older.write_now(reports.report_defaults, NAME).base_branch,
        older.write_now(reports.report_defaults, NAME).practical_percent,
    )


def test_every_run_and_measurement_is_read_as_it_was_written(older: Database) -> None:
    """Found and launched, in every state; what was measured holds what it held."""
    for row in _rows("run"):
        record = older.write_now(runs.by_id, row["id"])
        assert record is not None
        assert (row["state"], row["origin"], row["sha"]) == (record.state, record.origin, record.sha)
    documents = {row["run"]: row["document"]["zlib+msgpack"] for row in _rows("measurement")}
    measured = older.write_now(runs.measured, tuple(documents))
    for run, document in documents.items():
        again = msgspec.msgpack.decode(zlib.decompress(runs.encode_measured(measured[run])))
        assert [] == _lost(again, document)


def test_launched_runs_go_on(older: Database) -> None:
    """Each has its job, its status, and who wants it; what ran is claimed and nothing else is woken."""
    states = tuple(RunState)
    listed = older.write_now(launched_runs.newest_launched, repository=NAME, states=states, limit=100)
    assert sum(row["job"] is not None for row in _rows("run")) == len(listed)
    wanted = {one.record.id: (one.wanted_by, one.branches) for one in listed}
    assert any(branches == ("test_2",) for _, branches in wanted.values())
    assert any(by == ((NAME, 4),) for by, _ in wanted.values())
    assert {"cancel", "run", None} == {one.action and one.action.value for one in listed}
    assert {"running", "queued", "planned", "cancelled", "ended"} == {one.record.state for one in listed}


def test_why_a_run_waits_is_known(older: Database) -> None:
    """For a place or for a budget: the limit, and the words that followed it."""
    waiting = {row["id"]: row["waiting"] for row in _rows("run") if row["waiting"]}
    costs = older.write_now(spend.run_costs, tuple(waiting))
    reasons = {run: HoldReason.parse(cost.waiting or "") for run, cost in costs.items()}
    assert waiting == {run: str(reason) for run, reason in reasons.items()}
    assert {HoldLimit.CONCURRENT_RUNS, HoldLimit.DAY} == {one.limit for one in reasons.values() if one}


def test_histories_and_names_are_found(older: Database) -> None:
    """Pages' lists: cases of main over time, and the runs of a name."""
    strips = older.write_now(histories.case_histories, NAME, "main")
    assert [("04_int8", "linen"), ("04_int8", "nnx")] == [(one.case, one.variant) for one in strips][:2]
    assert all(point.value for strip in strips for point in strip.points)
    for name in ("main", "pr/3", "test_936672580"):
        ref = older.write_now(refs.resolve, NAME, name)
        assert ref is not None
        assert older.write_now(refs.runs_of, NAME, ref)


def test_what_the_repository_was_is_known(older: Database) -> None:
    """Its former name, its configuration, what landed, what main was, who is signed in, what it cost."""
    assert {"acme/maxtext": NAME} == older.write_now(repositories.former_names)
    row = older.write_now(repositories.find_repository, NAME)
    assert row is not None
    assert (1, "main", True) == (row.id, row.default_branch, row.active)
    seen = older.write_now(repositories.seen_configuration, NAME)
    assert seen is not None
    assert seen.digest is not None
    branch = older.write_now(main_branch.seen_default_branch, NAME)
    assert branch is not None
    assert "main" == branch.branch
    (landing,) = _rows("landing")
    landed = older.write_now(main_branch.find_landing, NAME, landing["head_sha"])
    assert landed is not None
    assert landing["main_sha"] == landed.main_sha
    (session,) = _rows("session")
    assert older.write_now(sessions.find, session["digest"], session["made"]) is not None
    assert "fcf9509c" == older.write_now(named_values.installation_id)
    spent = [row for row in _rows("spend") if row["number"] == 1]
    assert spent
    assert older.write_now(spend.pull_chip_hours, NAME, 1) >= 0.0
    assert {row["run"] for row in spent} == set(
        older.write_now(spend.run_costs, tuple(row["run"] for row in spent))
    )


def test_everything_that_was_due_is_worked_on(older: Database) -> None:
    """The delivery that had just come, and what the dead process held, once its leases are over."""
    known = older.write_now(deliveries.known_ids, [row["id"] for row in _rows("delivery")])
    assert len(_rows("delivery")) == len(known)
    for table in (DELIVERY, PULL_REQUEST, RUN, MAIN_BRANCH, MERGE_GROUP):
        due = [row for row in _rows(NAMED_THEN.get(table.name, table.name)) if row["due"] is not None]
        claimed = []
        while held := older.write_now(queue.claim, table, owner="me", now=LATER, lease=30.0):
            claimed.append(held)
            assert len(claimed) <= len(due)
        assert len(due) == len(claimed)
        for held in claimed:
            assert older.write_now(queue.return_claim, held)


PAGES = {
    "/": NAME,
    f"/{NAME}": "test_936672580",
    f"/{NAME}/pull/1": "no verdict yet",
    f"/{NAME}/pull/1?head=34e3615": "superseded",
    f"/{NAME}/pull/2": "no verdict yet",
    f"/{NAME}/pull/3": "No action needed",
    f"/{NAME}/pull/4": "issue is locked",
    f"/{NAME}/branch/test_2": "2 new failures",
    f"/{NAME}/branch/test_936672580": "Make int8 faster",
    f"/{NAME}/history?case=04_int8": "04_int8",
    f"/{NAME}/compare/main...pr/3": "04_int8",
    f"/{NAME}/parity/main": "04_int8",
}
"""What each page names."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_is_there(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Lists, reports of pull requests and branches, histories, comparisons, runs: as pages and as JSON, once
    GitHub has said that the repository is public."""
    with _upgraded(kind, tmp_path, request) as database:
        site = SiteUnderTest(folder=tmp_path, database=database, now=LATER, numbers=(92, 91))
        known = database.write_now(repositories.find_repository, NAME)
        assert known is not None
        assert 404 == site.get(f"/{NAME}").status_code
        database.write_now(repositories.confirm_repository, known, closings=None, now=LATER)
        for path, named in PAGES.items():
            page = site.get(path)
            assert (path, 200) == (path, page.status_code)
            assert named in page.text, path
            assert (path, 200) == (path, site.get(f"/api/v1{path}").status_code)
        for row in _rows("run"):
            assert 200 == site.get(f"/runs/{row['id']}").status_code
            assert row["case"] in site.get(f"/api/v1/runs/{row['id']}").text


@pytest.mark.parametrize("kind", KINDS)
def test_a_repository_of_revision_0002_is_known(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A repository of version 0002 is known, and no configuration of it was seen."""
    server: Postgres | None = request.getfixturevalue("postgres") if kind == "postgresql" else None
    database = Database(server.empty() if server else f"sqlite:///{tmp_path / 'maxview.sqlite'}")
    columns = "full_name, installation, default_branch, private, active, id"

    def fill(connection: Connection) -> None:
        config = configuration()
        config.attributes["connection"] = connection
        upgrade(config, "0002")
        values = "'acme/maxtext', 1, 'main', false, true, 5"
        connection.execute(text(f"INSERT INTO repository ({columns}) VALUES ({values})"))  # noqa: S608

    try:
        database.write_now(fill)
        database.migrate()
        seen = database.write_now(repositories.seen_configuration, "acme/maxtext")
        row = database.write_now(repositories.find_repository, "acme/maxtext")
    finally:
        database.close()
    assert repositories.SeenConfiguration(digest=None, changes=0) == seen
    assert row is not None
    assert (1, "main", 5) == (row.installation, row.default_branch, row.id)
