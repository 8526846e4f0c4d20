"""A repository is known by GitHub's number: everything follows it to another name."""

from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import Connection, Select, select

from bot.domain.published import (
    CheckRun,
    CheckState,
    CommitStatus,
    DirtyCheck,
    DirtyComment,
    PostedCheck,
    PostedComment,
    UnknownCheckRun,
)
from bot.domain.run_request import Approval
from bot.storage import main_branch, pull_requests, queue, reports, repositories, requests
from bot.storage.database import Database
from bot.storage.output_states import CheckForm, OutputState
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import MAIN_BRANCH, PULL_REQUEST, WANT
from tests.publish.test_check import REPORT

ACME = RepositoryRow(
    full_name="acme/maxtext", installation=1, default_branch="main", private=False, active=True
)

NOW = 1_000.0

NAMED = structs.replace(ACME, id=9)


def _open(database: Database, repository: str, number: int = 7) -> None:
    database.write_now(pull_requests.enqueue, repository=repository, number=number, installation=1, now=NOW)


def _numbers(database: Database, repository: str) -> list[int]:
    return [row.number for row in database.write_now(pull_requests.list_pulls, repository)]


def test_a_renamed_repository_takes_its_pull_requests_along(database: Database) -> None:
    """The first delivery under the new name is enough; chains of names all lead to the last one."""
    database.write_now(repositories.save_repository, NAMED)
    _open(database, "acme/maxtext")
    for name in ("acme/second", "else/third"):
        database.write_now(repositories.save_repository, structs.replace(NAMED, full_name=name))
    assert [7] == _numbers(database, "else/third")
    assert {"acme/maxtext": "else/third", "acme/second": "else/third"} == database.write_now(
        repositories.former_names
    )
    assert "acme/maxtext" == database.write_now(repositories.first_name, "else/third")
    assert ["else/third"] == [one.full_name for one in database.write_now(repositories.list_repositories)]


def test_a_repository_that_gets_its_name_back_has_it(database: Database) -> None:
    """No name leads away from where something is."""
    for name in ("acme/maxtext", "acme/second", "acme/maxtext"):
        database.write_now(repositories.save_repository, structs.replace(NAMED, full_name=name))
    _open(database, "acme/maxtext")
    assert {"acme/second": "acme/maxtext"} == database.write_now(repositories.former_names)


def test_a_name_that_is_given_out_again_starts_anew(database: Database) -> None:
    """What was known of the other repository is put aside: its runs are nobody's evidence."""
    database.write_now(repositories.save_repository, NAMED)
    _open(database, "acme/maxtext")
    database.write_now(repositories.save_repository, structs.replace(NAMED, id=10))
    assert [] == _numbers(database, "acme/maxtext")
    rows = {one.full_name: (one.id, one.active) for one in database.write_now(repositories.list_repositories)}
    assert {"acme/maxtext": (10, True), "acme/maxtext~9": (9, False)} == rows
    due = select(PULL_REQUEST.c.due).where(PULL_REQUEST.c.repository == "acme/maxtext~9")
    assert [None] == list(database.write_now(lambda connection: connection.execute(due).scalars().all()))


def test_what_was_noted_under_the_new_name_gives_way(database: Database) -> None:
    """A push was heard of before the renaming: the rows that have a history win."""
    database.write_now(repositories.save_repository, NAMED)
    _open(database, "acme/maxtext")
    _open(database, "acme/second")
    database.write_now(pull_requests.mark_comment_dirty, repository="acme/maxtext", number=7)
    database.write_now(repositories.save_repository, structs.replace(NAMED, full_name="acme/second"))
    assert [7] == _numbers(database, "acme/second")
    assert [] == _numbers(database, "acme/maxtext")


def test_every_table_that_names_a_repository_follows(database: Database) -> None:
    """A new table cannot be forgotten: they are found by their column."""
    database.write_now(repositories.save_repository, NAMED)
    database.write_now(main_branch.enqueue_main, repository="acme/maxtext", installation=1, now=NOW)
    database.write_now(repositories.save_repository, structs.replace(NAMED, full_name="acme/second"))
    for table in (MAIN_BRANCH, WANT):
        left = select(table.c.repository).where(table.c.repository == "acme/maxtext")
        assert [] == database.write_now(_scalars, left)


def test_a_paused_repository_is_revived_with_its_installation(database: Database) -> None:
    """Open pull requests are due again, by the installation that is there now; closed ones stay closed."""
    database.write_now(repositories.save_repository, NAMED)
    _open(database, "acme/maxtext")
    database.write_now(repositories.deactivate, installation=1)
    database.write_now(repositories.reactivate_pulls, repository="acme/maxtext", installation=2, now=NOW + 5)
    row = database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert 2 == row.installation


@pytest.mark.parametrize(("comment_id", "ours"), [(5, True), (6, False)])
def test_only_our_comment_is_marked_as_changed(database: Database, comment_id: int, ours: bool) -> None:  # noqa: FBT001
    """Anybody may delete anybody's comment; ours is known by its id."""
    _open(database, "acme/maxtext")
    values = {"comment_id": 5, "comment_state": OutputState.WRITTEN, "comment_digest": "x"}
    database.write_now(lambda connection: connection.execute(PULL_REQUEST.update().values(**values)))
    marked = database.write_now(
        pull_requests.mark_comment_changed,
        repository="acme/maxtext",
        number=7,
        comment_id=comment_id,
        now=NOW,
    )
    assert ours is marked
    row = database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert isinstance(row.comment, DirtyComment if ours else PostedComment)


def test_a_reset_check_is_written_again(database: Database) -> None:
    """Every open pull request with a check on that commit."""
    _open(database, "acme/maxtext")
    values = {"check_head": "a" * 40, "check_digest": "x"}
    database.write_now(lambda connection: connection.execute(PULL_REQUEST.update().values(**values)))
    for sha, numbers in (("b" * 40, ()), ("a" * 40, (7,))):
        reset = database.write_now(
            pull_requests.mark_check_reset, repository="acme/maxtext", head_sha=sha, now=NOW
        )
        assert numbers == reset


@pytest.mark.parametrize("number", [7, -1])
def test_a_reset_check_of_an_older_head_is_to_be_concluded(database: Database, number: int) -> None:
    """GitHub cleared it, and nobody writes to that commit any more; a commit that was never a head, and one
    whose repository has no check runs, is let alone."""
    _open(database, "acme/maxtext", number)
    old, head = "a" * 40, "b" * 40
    for sha in (old, head):
        report = structs.replace(REPORT, number=number, head_sha=sha)
        database.write_now(reports.save, report, headline="x")

    def reset(kind: CheckForm, sha: str) -> CheckState:
        written = {"check_kind": kind, "check_state": OutputState.WRITTEN, "check_digest": "x"}
        check_id = 5 if kind is CheckForm.CHECK else None
        values = {**written, "check_head": head, "check_id": check_id, "check_pending": False}
        database.write_now(lambda connection: connection.execute(PULL_REQUEST.update().values(**values)))
        assert () == database.write_now(
            pull_requests.mark_check_reset, repository="acme/maxtext", head_sha=sha, now=NOW
        )
        row = database.write_now(pull_requests.find_pull, "acme/maxtext", number)
        assert row is not None
        return row.check

    assert DirtyCheck(head_sha=old, target=UnknownCheckRun(), pending=True) == reset(CheckForm.CHECK, old)
    assert PostedCheck(head_sha=head, target=CheckRun(5), digest="x") == reset(CheckForm.CHECK, "c" * 40)
    assert PostedCheck(head_sha=head, target=CommitStatus(), digest="x") == reset(CheckForm.STATUS, old)


def test_the_reset_check_of_a_closed_pull_request_is_written_again(database: Database) -> None:
    """It has no one to hear a command, and its commit may be main's by now."""
    _open(database, "acme/maxtext")
    values = {"check_head": "a" * 40, "check_digest": "x", "open": False, "due": None}
    database.write_now(lambda connection: connection.execute(PULL_REQUEST.update().values(**values)))
    reset = database.write_now(
        pull_requests.mark_check_reset, repository="acme/maxtext", head_sha="a" * 40, now=NOW
    )
    assert () == reset
    assert database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=9.0) is not None


def test_a_pull_request_is_not_due_after_its_repository_left(database: Database) -> None:
    """The App was uninstalled, or the repository archived, during a look; a look that comes later finds what
    this one wrote."""
    database.write_now(repositories.save_repository, ACME)
    _open(database, "acme/maxtext")
    held = database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=9.0)
    assert held is not None
    database.write_now(repositories.deactivate, installation=1)
    assert not database.write_now(pull_requests.release_pull, held, now=NOW, due=NOW + 60, values={})
    assert not database.write_now(queue.postpone, held, due=NOW + 60, error="refused")
    assert database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW + 1e6, lease=9.0) is None


def test_a_row_without_a_number_of_github_is_found_by_its_name(database: Database) -> None:
    """What was remembered before numbers were has no other."""
    database.write_now(repositories.save_repository, structs.replace(NAMED, id=None))
    database.write_now(repositories.save_repository, NAMED)
    (kept,) = database.write_now(repositories.list_repositories)
    assert 9 == kept.id


def test_approvals_stay_with_the_owner_whose_people_gave_them(database: Database) -> None:
    """A renamed repository keeps them; one that was transferred waits for its new people."""
    approval = Approval(head_sha="a" * 40, tree="1" * 40, by="bob", made=NOW)
    database.write_now(repositories.save_repository, NAMED)
    database.write_now(requests.save_approval, "acme/maxtext", 7, approval)

    database.write_now(repositories.save_repository, structs.replace(NAMED, full_name="acme/second"))
    assert approval == database.write_now(requests.newest_approval, "acme/second", 7)
    database.write_now(repositories.save_repository, structs.replace(NAMED, full_name="else/third"))
    assert database.write_now(requests.newest_approval, "else/third", 7) is None


def _scalars(connection: Connection, query: Select[Any]) -> list[Any]:
    return list(connection.execute(query).scalars())
