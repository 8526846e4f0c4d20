"""A repository is known by GitHub's number: everything follows it to another name."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, Select, select

from bot.intake.trust import Approval
from bot.storage import approvals, mainline, pulls, repositories, standing
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import MAINLINE, PULL_REQUEST, WANT

ACME = RepositoryRow(
    full_name="acme/maxtext", installation=1, default_branch="main", private=False, active=True
)
NOW = 1_000.0

NAMED = replace(ACME, id=9)


def _open(database: Database, repository: str, number: int = 7) -> None:
    database.now(pulls.want, repository=repository, number=number, installation=1, now=NOW)


def _numbers(database: Database, repository: str) -> list[int]:
    return [row.number for row in database.now(pulls.of_repository, repository)]


def test_a_renamed_repository_takes_its_pull_requests_along(database: Database) -> None:
    """The first delivery under the new name is enough; chains of names all lead to the last one."""
    database.now(repositories.keep_repository, NAMED)
    _open(database, "acme/maxtext")
    for name in ("acme/second", "else/third"):
        database.now(repositories.keep_repository, replace(NAMED, full_name=name))
    assert [7] == _numbers(database, "else/third")
    assert {"acme/maxtext": "else/third", "acme/second": "else/third"} == database.now(
        repositories.former_names
    )
    assert "acme/maxtext" == database.now(repositories.first_name, "else/third")
    assert ["else/third"] == [one.full_name for one in database.now(repositories.repositories)]


def test_a_repository_that_gets_its_name_back_has_it(database: Database) -> None:
    """No name leads away from where something is."""
    for name in ("acme/maxtext", "acme/second", "acme/maxtext"):
        database.now(repositories.keep_repository, replace(NAMED, full_name=name))
    _open(database, "acme/maxtext")
    assert {"acme/second": "acme/maxtext"} == database.now(repositories.former_names)


def test_a_name_that_is_given_out_again_starts_anew(database: Database) -> None:
    """What was known of the other repository is put aside: its runs are nobody's evidence."""
    database.now(repositories.keep_repository, NAMED)
    _open(database, "acme/maxtext")
    database.now(repositories.keep_repository, replace(NAMED, id=10))
    assert [] == _numbers(database, "acme/maxtext")
    rows = {one.full_name: (one.id, one.active) for one in database.now(repositories.repositories)}
    assert {"acme/maxtext": (10, True), "acme/maxtext~9": (9, False)} == rows
    due = select(PULL_REQUEST.c.due).where(PULL_REQUEST.c.repository == "acme/maxtext~9")
    assert [None] == list(database.now(lambda connection: connection.execute(due).scalars().all()))


def test_what_was_noted_under_the_new_name_gives_way(database: Database) -> None:
    """A push was heard of before the renaming: the rows that have a history win."""
    database.now(repositories.keep_repository, NAMED)
    _open(database, "acme/maxtext")
    _open(database, "acme/second")
    database.now(pulls.doubt_comment, repository="acme/maxtext", number=7)
    database.now(repositories.keep_repository, replace(NAMED, full_name="acme/second"))
    assert [7] == _numbers(database, "acme/second")
    assert [] == _numbers(database, "acme/maxtext")


def test_every_table_that_names_a_repository_follows(database: Database) -> None:
    """A new table cannot be forgotten: they are found by their column."""
    database.now(repositories.keep_repository, NAMED)
    database.now(mainline.look, repository="acme/maxtext", installation=1, now=NOW)
    database.now(repositories.keep_repository, replace(NAMED, full_name="acme/second"))
    for table in (MAINLINE, WANT):
        left = select(table.c.repository).where(table.c.repository == "acme/maxtext")
        assert [] == database.now(_scalars, left)


def test_a_paused_repository_is_revived_with_its_installation(database: Database) -> None:
    """Open pull requests are due again, by the installation that is there now; closed ones stay closed."""
    database.now(repositories.keep_repository, NAMED)
    _open(database, "acme/maxtext")
    database.now(repositories.leave_installation, installation=1)
    database.now(repositories.revive, repository="acme/maxtext", installation=2, now=NOW + 5)
    row = database.now(pulls.find, "acme/maxtext", 7)
    assert row is not None
    assert 2 == row.installation


@pytest.mark.parametrize(("comment_id", "ours"), [(5, True), (6, False)])
def test_only_our_comment_is_put_in_doubt(database: Database, comment_id: int, ours: bool) -> None:  # noqa: FBT001
    """Anybody may delete anybody's comment; ours is known by its id."""
    _open(database, "acme/maxtext")
    values = {"comment_id": 5, "comment_hash": "x"}
    database.now(lambda connection: connection.execute(PULL_REQUEST.update().values(**values)))
    told = database.now(
        standing.comment_was_changed, repository="acme/maxtext", number=7, comment_id=comment_id, now=NOW
    )
    assert ours is told
    row = database.now(pulls.find, "acme/maxtext", 7)
    assert row is not None
    assert (row.comment_hash == pulls.CHANGED) is ours


def test_a_reset_check_is_written_again(database: Database) -> None:
    """Every open pull request whose check stands on that commit."""
    _open(database, "acme/maxtext")
    values = {"check_head": "a" * 40, "check_hash": "x"}
    database.now(lambda connection: connection.execute(PULL_REQUEST.update().values(**values)))
    for sha, numbers in (("b" * 40, ()), ("a" * 40, (7,))):
        reset = database.now(standing.check_was_reset, repository="acme/maxtext", head_sha=sha, now=NOW)
        assert numbers == reset


def test_a_row_without_a_number_of_github_is_found_by_its_name(database: Database) -> None:
    """What was remembered before numbers were has no other."""
    database.now(repositories.keep_repository, replace(NAMED, id=None))
    database.now(repositories.keep_repository, NAMED)
    (kept,) = database.now(repositories.repositories)
    assert 9 == kept.id


def test_approvals_stay_with_the_owner_whose_people_gave_them(database: Database) -> None:
    """A renamed repository keeps them; one that was transferred waits for its new people."""
    approval = Approval(head_sha="a" * 40, tree="1" * 40, by="bob", made=NOW)
    database.now(repositories.keep_repository, NAMED)
    database.now(approvals.keep, "acme/maxtext", 7, approval)

    database.now(repositories.keep_repository, replace(NAMED, full_name="acme/second"))
    assert approval == database.now(approvals.newest, "acme/second", 7)
    database.now(repositories.keep_repository, replace(NAMED, full_name="else/third"))
    assert database.now(approvals.newest, "else/third", 7) is None


def _scalars(connection: Connection, query: Select[Any]) -> list[Any]:
    return list(connection.execute(query).scalars())
