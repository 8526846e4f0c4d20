"""Steps that were released stay as they are, and a database that they do not fit is refused in one line."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from bot.errors import UserError
from bot.storage import migrations
from bot.storage.database import Database
from bot.storage.tables import METADATA
from tests.peers.postgres import KINDS, Postgres
from tests.storage.older import REVISION, make_older

RELEASED = {
    "0001_the_first_tables.py": "721e01ab0a8ad7ff5c469f77ead0c88a",
    "0002_launching_conversation_pages.py": "babbe418ef10eb852d6c9ca371dc9298",
    "0003_merge_queues.py": "2e0e9055fc6e22d699d882976244d91d",
    "0004_typed_state.py": "e55c9c7697473047fb3dcdc17a9f69a7",
    "0005_the_glossarys_words.py": "667c8c6e314264a801e24d4ba9ccae05",
    "0006_policy.py": "40d363fcfb2c1eadc8054d5a2c9f0046",
    "0007_loss_curves.py": "168bf40629425cf563218358b482f0e2",
    "0008_kept_logs.py": "6bb6c577fa9a9c450450742a13f7f0e0",
    "0009_loop_time.py": "f290e95053ac98f0d0c4e820cc7f6f2c",
    "0010_private_stays_private.py": "4113699ce0ae876a21fdc7b84d6236b6",
}
"""The digest of each step's text. A change of the tables is a new step, whose digest is added here."""


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without tables."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.empty()
    else:
        url = f"sqlite:///{tmp_path / 'maxview.sqlite'}"
    database = Database(url)
    yield database
    database.close()


def _run(*statements: str) -> Callable[[Connection], None]:
    def run(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    return run


def _refusal(database: Database) -> str:
    with pytest.raises(UserError) as caught:
        database.migrate()
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_released_steps_stay_as_they_are() -> None:
    """Databases took them as they were: who would change one writes another."""
    folder = Path(migrations.__file__).parent / "versions"
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:32] for path in folder.glob("*.py")}
    assert digests == RELEASED


def test_the_steps_lead_to_the_tables_that_the_program_uses(database: Database) -> None:
    """Alembic finds no difference between the migrated database and `bot.storage.tables`."""

    def differences(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), METADATA)

    assert database.write_now(differences) == []


def test_a_newer_database_is_refused(empty: Database) -> None:
    """An older program that is started by mistake says so, and changes nothing."""
    empty.migrate()
    empty.write_now(_run("UPDATE alembic_version SET version_num = '9000'"))
    said = _refusal(empty)
    assert said.startswith(
        "DATABASE_URL: the database is of a newer MaxView (revision 9000, this program knows "
    )
    assert "start that version again, or restore the backup" in said


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE pull_request DROP COLUMN comment_state", "pull_request has no column comment_state"),
        ("ALTER TABLE run ADD COLUMN flavour VARCHAR", "run has a column flavour"),
        ("DROP TABLE session", "the table session is missing"),
    ],
)
def test_tables_of_an_unreleased_commit_are_refused(empty: Database, statement: str, expected: str) -> None:
    """Their revision bears the name of ours, but the tables are others: it says which, and what to do."""
    empty.migrate()
    empty.write_now(_run(statement))
    said = _refusal(empty)
    assert "made by an unreleased commit or is damaged: its revision is " in said
    assert f", but {expected}; restore the backup from before the last upgrade" in said


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE pull_request ADD COLUMN kind VARCHAR", "pull_request has a column kind"),
        ("ALTER TABLE repository DROP COLUMN configured", "repository has no column configured"),
    ],
)
def test_an_older_database_that_is_half_migrated_is_refused(
    empty: Database, statement: str, expected: str
) -> None:
    """Before a step is taken, and everything stays as it is."""
    empty.write_now(make_older)
    empty.write_now(_run(statement))
    assert f"its revision is {REVISION}, but {expected}; restore" in _refusal(empty)
    kept = empty.write_now(
        lambda connection: connection.execute(text("SELECT version_num FROM alembic_version"))
    )
    assert [REVISION] == list(kept.scalars())


def test_a_database_of_several_revisions_is_refused(empty: Database) -> None:
    """A second row of `alembic_version` is told in one line, and not as an exception of Alembic."""
    empty.migrate()
    empty.write_now(_run("INSERT INTO alembic_version VALUES ('0002')"))
    assert "it has several revisions (0002, 0" in _refusal(empty)


def test_tables_without_a_revision_are_refused(empty: Database) -> None:
    """Somebody else's tables beside ours are let alone."""
    empty.write_now(_run("CREATE TABLE somebody_elses (id INTEGER)", "CREATE TABLE run (id VARCHAR)"))
    assert "it has tables of MaxView (run) and no revision; restore" in _refusal(empty)
    empty.write_now(_run("DROP TABLE run"))
    empty.migrate()
