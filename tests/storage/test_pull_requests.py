"""Requests for pull requests: none is lost, however they interleave with the work."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import Connection, Row, select

from bot.domain.case_key import CaseKey
from bot.domain.command import CommentOrigin
from bot.domain.published import CheckRun, PostedCheck, PostedComment
from bot.storage import pull_requests, queue, reports, repositories
from bot.storage.database import Database
from bot.storage.output_states import CheckForm
from bot.storage.pull_requests import KEPT_COMMANDS, CommandRecord, InterimAnalyses, PullRow
from bot.storage.queue import Claim
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import PULL_REQUEST
from tests.publish.test_check import REPORT

HERE: dict[str, Any] = {"repository": "acme/maxtext", "number": 7}

ACME = RepositoryRow(
    full_name="acme/maxtext", installation=1, default_branch="main", private=False, active=True
)


def _want(database: Database, now: float, **more: Any) -> None:
    database.write_now(pull_requests.enqueue, **HERE, installation=1, now=now, **more)


def _claim(database: Database, now: float) -> Claim | None:
    return database.write_now(queue.claim, PULL_REQUEST, owner="a", now=now, lease=30.0)


def _taken(database: Database, now: float) -> Claim:
    held = _claim(database, now)
    assert held is not None
    return held


def _found(database: Database) -> PullRow:
    row = database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    return row


def _due(database: Database) -> float | None:
    def read(connection: Connection) -> Row[Any]:
        return connection.execute(select(PULL_REQUEST.c.due)).one()

    due: float | None = database.write_now(read)[0]
    return due


def _command(comment_id: int, text: str = "/benchmark", head_sha: str | None = None) -> CommandRecord:
    return CommandRecord(
        origin=CommentOrigin(comment_id), text=text, by="bob", at=1.0, result="Done.", head_sha=head_sha
    )


def test_a_request_makes_the_row_due_at_once(database: Database) -> None:
    """The first request inserts the row, a later one makes it due again."""
    _want(database, 10.0)
    held = _taken(database, 10.0)
    assert database.write_now(pull_requests.release_pull, held, now=11.0, due=900.0, values={})
    assert _claim(database, 11.0) is None
    _want(database, 12.0)
    assert _taken(database, 12.0).row["wanted"] == 2


@pytest.mark.parametrize("due", [None, 900.0])
def test_a_request_during_the_work_is_not_lost(database: Database, due: float | None) -> None:
    """The release sees the request, and the row is due again at once."""
    _want(database, 10.0)
    held = _taken(database, 10.0)
    _want(database, 11.0)
    assert database.write_now(pull_requests.release_pull, held, now=12.0, due=due, values={"title": "Seen"})
    again = _taken(database, 12.0)
    assert (again.row["title"], again.row["done"], again.row["wanted"]) == ("Seen", 1, 2)


def test_a_request_during_a_failing_step_makes_the_row_due_again(database: Database) -> None:
    """A step that fails is retried, and then does what was requested meanwhile."""
    _want(database, 10.0)
    held = _taken(database, 10.0)
    _want(database, 11.0)
    database.write_now(queue.postpone, held, due=14.0, error="GitHub is away")
    assert _taken(database, 14.0).row["wanted"] == 2


def test_a_request_ends_the_wait_after_a_failure(database: Database) -> None:
    """A row that was postponed for long is due as soon as somebody asks."""
    _want(database, 10.0)
    database.write_now(queue.postpone, _taken(database, 10.0), due=600.0, error="no")
    _want(database, 20.0)
    assert _taken(database, 20.0).row["attempts"] == 1


def test_a_new_head_is_seen_from_now_on(database: Database) -> None:
    """A push that we hear of starts the head's clock anew and drops the looks at the old one."""
    _want(database, 10.0, head_sha="a" * 40)
    held = _taken(database, 10.0)
    values = {"head_sha": "a" * 40, "head_seen": 5.0, "interim_analyses": '{"x/y":{"look":2,"runs":"abc"}}'}
    database.write_now(pull_requests.release_pull, held, now=11.0, due=None, values=values)
    assert _found(database).interim_analyses == {CaseKey("x", "y"): InterimAnalyses(look=2, runs="abc")}
    _want(database, 20.0, head_sha="a" * 40)
    assert _found(database).head_seen == 5.0
    _want(database, 30.0, head_sha="b" * 40)
    row = _found(database)
    assert (row.head_sha, row.head_seen, row.interim_analyses) == ("b" * 40, 30.0, {})


@pytest.mark.parametrize("output", ["comment", "check"])
def test_what_people_change_while_a_row_is_worked_on_keeps_no_digest(database: Database, output: str) -> None:
    """The digest of our text would fit a comment or check that says something else by now."""
    _want(database, 10.0)
    held = _taken(database, 10.0)
    columns = [PULL_REQUEST.c[f"{output}_state"], PULL_REQUEST.c[f"{output}_digest"]]

    def change(connection: Connection) -> None:
        connection.execute(PULL_REQUEST.update().values({columns[0]: "changed", columns[1]: None}))

    def found(connection: Connection) -> Row[Any]:
        return connection.execute(select(*columns)).one()

    database.write_now(change)
    values = {f"{output}_state": "written", f"{output}_digest": "of our text"}
    database.write_now(pull_requests.release_pull, held, now=11.0, due=None, values=values)
    assert tuple(database.write_now(found)) == ("changed", None)


def test_a_late_push_resets_no_interim_analyses(database: Database) -> None:
    """Deliveries come out of order: a commit that has a report was the head before. Whether it is again, only
    GitHub knows, so the pull request is due."""
    _want(database, 10.0, head_sha="b" * 40)
    old = replace(REPORT, number=7, head_sha="a" * 40)
    database.write_now(reports.save, old, headline="x")
    looks = '{"x/y":{"look":2,"runs":"abc"}}'
    values = {"head_sha": "b" * 40, "head_seen": 5.0, "interim_analyses": looks, "head_branch": "feat/x"}
    database.write_now(pull_requests.release_pull, _taken(database, 10.0), now=11.0, due=None, values=values)

    def row() -> tuple[object, ...]:
        found = _found(database)
        return found.head_sha, found.head_seen, len(found.interim_analyses)

    _want(database, 20.0, head_sha="a" * 40)
    assert ("b" * 40, 5.0, 1) == row()
    database.write_now(pull_requests.release_pull, _taken(database, 20.0), now=21.0, due=None, values={})
    late: dict[str, Any] = {"repository": "acme/maxtext", "branch": "feat/x", "now": 30.0}
    assert 1 == database.write_now(pull_requests.enqueue_by_branch, sha="a" * 40, **late)
    assert ("b" * 40, 5.0, 1) == row()
    assert 1 == database.write_now(pull_requests.enqueue_by_branch, sha="c" * 40, **late)
    assert ("c" * 40, 30.0, 0) == row()
    _taken(database, 30.0)


def test_a_command_is_remembered_once(database: Database) -> None:
    """The same comment, delivered and worked on twice, is one command, on the head it was given for."""
    _want(database, 10.0)
    _want(database, 11.0, head_sha="a" * 40)
    database.write_now(
        pull_requests.release_pull, _taken(database, 11.0), now=12.0, due=None, values={"head_sha": "a" * 40}
    )
    for _ in range(2):
        _want(database, 13.0, commands=(_command(1),))
    _want(database, 14.0, commands=(_command(2, "/benchmark status", head_sha="b" * 40),))
    assert [(one.origin, one.head_sha) for one in _found(database).commands] == [
        (CommentOrigin(1), "a" * 40),
        (CommentOrigin(2), "b" * 40),
    ]


def test_the_newest_commands_are_kept(database: Database) -> None:
    """Hundreds of commands do not make the row grow without end."""
    for n in range(KEPT_COMMANDS + 5):
        _want(database, float(n), commands=(_command(n),))
    kept = [one.origin for one in _found(database).commands]
    assert kept == [CommentOrigin(n) for n in range(5, KEPT_COMMANDS + 5)]


def test_a_push_touches_the_open_pull_requests_of_its_branch(database: Database) -> None:
    """A push makes the open pull requests of its branch due, and no others: a fork's branch of that name
    has not moved."""
    known = ((1, "feat", True, False), (2, "feat", False, False), (3, "other", True, False))
    for number, branch, is_open, from_fork in (*known, (4, "feat", True, True)):
        database.write_now(
            pull_requests.enqueue, repository="acme/maxtext", number=number, installation=1, now=1.0
        )
        values = {"head_branch": branch, "open": is_open, "head_sha": "a" * 40, "from_fork": from_fork}
        database.write_now(
            pull_requests.release_pull, _taken(database, 1.0), now=1.0, due=None, values=values
        )
    moved = {"repository": "acme/maxtext", "branch": "feat", "sha": "b" * 40}
    assert database.write_now(pull_requests.enqueue_by_branch, **moved, now=2.0) == 1
    assert _taken(database, 2.0).row["number"] == 1
    assert _claim(database, 2.0) is None
    assert database.write_now(pull_requests.enqueue_by_branch, **moved, now=3.0) == 0


def test_a_closed_pull_request_is_not_touched_by_its_runs(database: Database) -> None:
    """A run that ends after the pull request was closed does not wake it."""
    _want(database, 1.0)
    database.write_now(
        pull_requests.release_pull, _taken(database, 1.0), now=1.0, due=None, values={"open": False}
    )
    database.write_now(pull_requests.touch, **HERE, now=2.0)
    assert _due(database) is None


def test_an_installation_that_leaves_is_let_alone(database: Database) -> None:
    """Where the App was removed nothing is due any more, and the other installation goes on."""
    database.write_now(repositories.save_repository, ACME)
    other = RepositoryRow(
        full_name="octo/net", installation=2, default_branch=None, private=True, active=True
    )
    database.write_now(repositories.save_repository, other)
    _want(database, 1.0)
    database.write_now(pull_requests.enqueue, repository="octo/net", number=1, installation=2, now=1.0)
    database.write_now(repositories.deactivate, installation=1)
    assert _taken(database, 5.0).row["repository"] == "octo/net"
    assert _claim(database, 5.0) is None
    assert [one.active for one in database.write_now(repositories.list_repositories)] == [False, True]


def test_unknown_fields_of_a_repository_keep_their_values(database: Database) -> None:
    """A short mention without the default branch does not make us forget it."""
    database.write_now(repositories.save_repository, ACME)
    short = RepositoryRow(
        full_name="acme/maxtext", installation=9, default_branch=None, private=True, active=True
    )
    database.write_now(repositories.save_repository, short)
    kept = database.write_now(repositories.find_repository, "acme/maxtext")
    assert kept == RepositoryRow(
        full_name="acme/maxtext", installation=9, default_branch="main", private=True, active=True
    )


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(text=texts, result=texts, position=st.integers(0, 9))
def test_commands_come_back_as_they_were_written(text: str, result: str, position: int) -> None:
    """Whatever people write in a command, the row gives it back."""
    command = CommandRecord(
        origin=CommentOrigin(2**53),
        text=text,
        by="bob",
        at=0.1,
        result=result,
        refused=True,
        position=position,
    )
    row: dict[str, Any] = {**dict.fromkeys(PULL_REQUEST.c.keys()), "comment_deletions": 0, "outputs": "{}"}
    row |= {"kind": "pull_request", "comment_state": "unknown", "check_state": "unknown"}
    read = pull_requests.pull_row(
        {**row, "commands": pull_requests._json([command]), "interim_analyses": "{}"}
    )
    assert read.commands == (command,)


@pytest.mark.parametrize("again", [False, True])
def test_an_output_that_was_written_is_not_dirty(database: Database, again: bool) -> None:  # noqa: FBT001
    """It is marked dirty before each write; the first write and every later one clear the mark."""
    comment = PostedComment(id=5, digest="a", severity=1, change_digest="d", written_at=1.0, deletions=0)
    check = PostedCheck(head_sha="a" * 40, target=CheckRun(9), digest="a", pending=False)
    for now, digest in ((10.0, "a"), (20.0, "b")) if again else ((10.0, "a"),):
        _want(database, now)
        held = _taken(database, now)
        row = pull_requests.pull_row(held.row)
        comment, check = replace(comment, digest=digest), replace(check, digest=digest)
        database.write_now(pull_requests.mark_comment_dirty, **HERE)
        database.write_now(pull_requests.mark_check_dirty, **HERE, head_sha="a" * 40, kind=CheckForm.CHECK)
        values = pull_requests.changed_output_values(row, "comment", comment)
        values |= pull_requests.changed_output_values(row, "check", check)
        database.write_now(pull_requests.release_pull, held, now=now, due=None, values=values)
        found = _found(database)
        assert (comment, check) == (found.comment, found.check)
        assert {} == pull_requests.changed_output_values(found, "comment", comment)
