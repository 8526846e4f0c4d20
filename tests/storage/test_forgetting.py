"""A forgotten repository leaves nothing behind, in any table, and takes nothing of others along."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Connection, Float, Integer, LargeBinary, Table, insert, select

from bot.storage import forgetting, repositories
from bot.storage.database import Database
from bot.storage.forgetting import DeliveryKey, ForgottenName, find_forgettable
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import DELIVERY, FORGOTTEN_REPOSITORY, FORMER_NAME, METADATA

GONE, KEPT = "acme/secret", "acme/secret-2"

NUMBERS = {GONE: 7_000_001, KEPT: 7_000_002}

NOTHING_OF_A_REPOSITORY = {
    "session": "of a person",
    "github_use": "of an installation",
    "maintenance_task": "of the server",
    "policy_match": "the operator's: without it the next owner of the name would be granted what it grants",
    "forgotten_repository": "the mark itself",
}
"""Tables that need no forgetting, and why. Every other one is filled, and must be empty afterwards."""


def _cell(column: Column[Any], name: str) -> Any:  # noqa: PLR0911 - a table of cases
    number, run = NUMBERS[name], f"run-of-{NUMBERS[name]}"
    match column.table.name, column.name:
        case (_, "repository") | ("repository", "full_name"):
            return name
        case (_, "run") | ("run", "id"):
            return run
        case ("repository", "id") | ("former_name", "repository_id"):
            return number
        case ("former_name", "name"):
            return f"{name}-before"
        case ("named_value", "name"):
            return f"labels {name}"
        case ("delivery", "id"):
            return f"delivery {name[-1]}"
        case ("delivery", "payload"):
            return json.dumps({"repository": {"id": number, "full_name": name}}).encode()
    if column.nullable:
        return None
    kinds: tuple[tuple[type, Any], ...] = ((Boolean, True), (Integer, 1), (Float, 1.0), (LargeBinary, b""))
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "[]")


def _fill(connection: Connection, name: str) -> None:
    for table in METADATA.sorted_tables:
        if table.name not in NOTHING_OF_A_REPOSITORY:
            connection.execute(insert(table).values({one.name: _cell(one, name) for one in table.c}))


def _rows_naming(connection: Connection, name: str) -> set[str]:
    """The tables in which any value names the repository, its number or its run."""
    return {table.name for table in METADATA.sorted_tables if any(_names(connection, table, name))}


def _names(connection: Connection, table: Table, name: str) -> Iterator[bool]:
    words = (f'"{name}"', f"{name}-before", str(NUMBERS[name]))
    for row in connection.execute(select(table)):
        values = [one.decode() if isinstance(one, bytes) else str(one) for one in row]
        yield any(name in value.split() for value in values) or any(
            word in value for word in words for value in values
        )


@pytest.fixture
def filled(database: Database) -> Database:
    """Two repositories with a row in every table."""
    for name in (GONE, KEPT):
        database.write_now(_fill, name)
    return database


def _forget(connection: Connection, target: ForgottenName) -> None:
    forgetting.mark(connection, target, until=100.0)
    forgetting.remove(connection, target)
    after: DeliveryKey | None = DeliveryKey()
    while after is not None:
        _, after = forgetting.empty_deliveries(connection, target, after)
    forgetting.drop_mark(connection, target)


def _target(database: Database, named: str = GONE) -> ForgottenName:
    target = database.write_now(find_forgettable, named)
    assert target is not None
    return target


EVERY_TABLE = {table.name for table in METADATA.sorted_tables} - set(NOTHING_OF_A_REPOSITORY)


def test_no_table_is_forgotten(filled: Database) -> None:
    """Whatever tables there are: nothing names it any more, and everything of the other is as it was."""
    assert EVERY_TABLE == filled.write_now(_rows_naming, GONE)
    filled.write_now(_forget, _target(filled))
    assert (set(), EVERY_TABLE) == (
        filled.write_now(_rows_naming, GONE),
        filled.write_now(_rows_naming, KEPT),
    )


def test_what_is_there_is_counted(filled: Database) -> None:
    """One row of each table; deliveries are many and not counted."""
    counted = filled.write_now(forgetting.count_rows, _target(filled))
    assert dict.fromkeys(EVERY_TABLE - {"delivery"}, 1) == counted


@pytest.mark.parametrize("named", ["7000001", "ACME/secret", "acme/secret-BEFORE"])
def test_it_is_found_by_number_name_and_former_name(named: str, filled: Database) -> None:
    """Whatever its case, as on GitHub."""
    assert (GONE, NUMBERS[GONE]) == ((found := _target(filled, named)).full_name, found.id)


def test_nothing_is_known_of_others(filled: Database) -> None:
    """A wrong name finds nothing, and not what begins like it."""
    assert [None] * 3 == [
        filled.write_now(find_forgettable, one) for one in ("acme/secre", "acme", "7000003")
    ]


def test_who_has_its_former_name_now_keeps_everything(filled: Database) -> None:
    """A name that another repository took is not followed."""

    def take(connection: Connection) -> None:
        row = {"name": KEPT, "repository_id": NUMBERS[GONE], "leads": False}
        connection.execute(insert(FORMER_NAME).values(row))

    filled.write_now(take)
    assert KEPT not in _target(filled).names
    filled.write_now(_forget, _target(filled))
    assert EVERY_TABLE == filled.write_now(_rows_naming, KEPT)


def _row(**values: Any) -> RepositoryRow:
    return RepositoryRow(
        full_name=values.pop("full_name", GONE),
        installation=1,
        default_branch="main",
        private=True,
        active=True,
        id=values.pop("id", NUMBERS[GONE]),
    )


@pytest.mark.parametrize(
    ("row", "saved"),
    [
        (_row(), False),
        (_row(full_name="acme/renamed"), False),
        (_row(id=None), False),
        (_row(full_name="acme/third", id=9), True),
        (_row(full_name="acme/third", id=None), True),
        (_row(full_name=GONE, id=9), True),
    ],
)
def test_a_mark_keeps_it_from_being_saved(row: RepositoryRow, *, saved: bool, filled: Database) -> None:
    """By its number, or by its name where no number is known; others are saved as ever."""
    filled.write_now(forgetting.mark, _target(filled), until=100.0)
    assert saved is filled.write_now(repositories.save_repository, row)


def test_whoever_works_on_it_loses_what_is_held(filled: Database) -> None:
    """The mark takes every claim on its rows, and none on another's."""

    def tokens(connection: Connection, name: str) -> set[int]:
        found = set()
        for table in METADATA.sorted_tables:
            if "token" in table.c and {"repository", "run"} & set(table.c.keys()):
                column = table.c.repository if "repository" in table.c else table.c.run
                wanted = name if "repository" in table.c else f"run-of-{NUMBERS[name]}"
                found |= set(connection.execute(select(table.c.token).where(column == wanted)).scalars())
        return found

    filled.write_now(forgetting.mark, _target(filled), until=100.0)
    assert min(filled.write_now(tokens, GONE)) > 1
    assert {1} == filled.write_now(tokens, KEPT)


def test_the_runs_that_there_were_are_known_until_the_mark_ends(filled: Database) -> None:
    """Files of them may be written by whoever has not noticed yet."""
    target = _target(filled)
    filled.write_now(forgetting.mark, target, until=100.0)
    filled.write_now(forgetting.remove, target)
    assert ("run-of-7000001",) == filled.write_now(forgetting.marked_runs, target)
    assert ((), (target.full_name,)) == tuple(
        tuple(one.full_name for one in filled.write_now(forgetting.ended_marks, now)) for now in (99.0, 100.0)
    )
    filled.write_now(forgetting.drop_mark, target)
    left: Callable[[Connection], int] = lambda connection: len(  # noqa: E731
        connection.execute(select(FORGOTTEN_REPOSITORY)).all()
    )
    assert (0, ()) == (filled.write_now(left), filled.write_now(forgetting.marked_runs, target))


def test_a_delivery_about_several_is_emptied(filled: Database) -> None:
    """An installation's list names it among others: GitHub sends it anew if anybody asks."""

    def add(connection: Connection) -> None:
        listed = {"repositories_added": [{"id": 1, "full_name": "a/b"}, {"id": NUMBERS[GONE]}]}
        values = {one.name: _cell(one, GONE) for one in DELIVERY.c}
        values |= {"id": "list", "payload": json.dumps(listed).encode()}
        connection.execute(insert(DELIVERY).values(values))

    filled.write_now(add)
    filled.write_now(_forget, _target(filled))
    assert "delivery" not in filled.write_now(_rows_naming, GONE)


def test_uninstalled_repositories_are_found_by_when(filled: Database) -> None:
    """Those that are installed are in no list."""
    filled.write_now(repositories.mark_uninstalled, GONE, now=50.0)
    found = [
        [row.full_name for row in filled.write_now(forgetting.uninstalled_before, moment)]
        for moment in (49.0, 50.0)
    ]
    assert [[], [GONE]] == found
