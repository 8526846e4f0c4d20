"""Rows are inserted once and then updated: on SQLite and on PostgreSQL."""

from sqlalchemy import Connection, select

from bot.storage.database import Database
from bot.storage.sql import insert_missing, upsert
from bot.storage.tables import MAIN_BRANCH, NAMED_VALUE

KEY = {"repository": "acme/maxtext"}


def _main_rows(connection: Connection) -> list[tuple[str, int, int]]:
    rows = connection.execute(
        select(MAIN_BRANCH.c.repository, MAIN_BRANCH.c.installation, MAIN_BRANCH.c.wanted)
    )
    return [tuple(row) for row in rows]


def test_a_new_row_takes_what_is_only_for_new_rows(database: Database) -> None:
    """A row that is there takes the values alone, which may count on its own."""
    values = {"installation": 1, "wanted": MAIN_BRANCH.c.wanted + 1}
    for wanted in (0, 1, 2):
        assert database.write_now(upsert, MAIN_BRANCH, KEY, values, new={"wanted": 0})
        assert [("acme/maxtext", 1, wanted)] == database.write_now(_main_rows)


def test_a_row_outside_the_condition_stays(database: Database) -> None:
    """And the caller learns it; a new row needs no condition."""
    one, two = ({"installation": number, "wanted": 0} for number in (1, 2))
    assert database.write_now(upsert, MAIN_BRANCH, KEY, one, where=MAIN_BRANCH.c.installation > 5)
    assert not database.write_now(upsert, MAIN_BRANCH, KEY, two, where=MAIN_BRANCH.c.installation > 5)
    assert [("acme/maxtext", 1, 0)] == database.write_now(_main_rows)
    assert database.write_now(upsert, MAIN_BRANCH, KEY, two, where=MAIN_BRANCH.c.installation < 5)
    assert [("acme/maxtext", 2, 0)] == database.write_now(_main_rows)


def test_a_missing_row_is_inserted_and_another_stays(database: Database) -> None:
    """The first value stays."""
    for value in ("first", "second"):
        database.write_now(insert_missing, NAMED_VALUE, name="n", value=value)
    assert "first" == database.write_now(
        lambda connection: connection.execute(select(NAMED_VALUE.c.value)).scalar_one()
    )
