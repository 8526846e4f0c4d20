"""The steps from an empty database to today's tables, kept by Alembic.

A step that was released never changes: databases took it as it was. Before and after the steps the database
is compared with what they expect, so that a program never works on tables that it does not know.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, Inspector, create_engine, inspect, text

from bot.errors import UserError
from bot.storage.tables import METADATA

LOCK = 0x6D61787669657721
"""Any number of our own: PostgreSQL processes that start together queue up on it."""

Schema = Mapping[str, frozenset[tuple[str, bool]]]
"""The columns of each table: their names, and whether they may be empty."""

RESTORE = "restore the backup from before the last upgrade, or start with an empty database"


def configuration() -> Config:
    """Where Alembic finds the steps."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(engine: Engine) -> None:
    """Run the steps that are missing, in one transaction; `UserError` where the database is not what they
    start from, or what they should lead to."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        revision, newest = _revision(connection), str(_steps().get_current_head())
        if revision != newest:
            _refuse_other(connection, {} if revision is None else _schema_at(revision), revision)
            _run_steps(connection, newest)
        _refuse_other(connection, _expected_schema(), newest)


def _revision(connection: Connection) -> str | None:
    """The last step that the database took; None where it took none."""
    revisions = MigrationContext.configure(connection).get_current_heads()
    if len(revisions) > 1:
        raise UserError(
            "DATABASE_URL: the database was made by an unreleased commit or is damaged: it has several "
            f"revisions ({', '.join(sorted(revisions))}); {RESTORE}"
        )
    revision = revisions[0] if revisions else None
    known = {step.revision for step in _steps().walk_revisions()}
    if revision is None or revision in known:
        return revision
    raise UserError(
        f"DATABASE_URL: the database is of a newer MaxView (revision {revision}, this program knows "
        f"{max(known)}); start that version again, or {RESTORE}"
    )


def _refuse_other(connection: Connection, expected: Schema, revision: str | None) -> None:
    """Raise `UserError` where a table has other columns than expected, or is there too early."""
    inspector = inspect(connection)
    ours = METADATA.tables.keys() | expected.keys()
    found = _columns(inspector, [name for name in inspector.get_table_names() if name in ours])
    differing = sorted(name for name in ours if found.get(name) != expected.get(name))
    if not differing:
        return
    if revision is None:
        what = f"it has tables of MaxView ({differing[0]}) and no revision"
    else:
        what = f"its revision is {revision}, but {_difference(differing[0], found, expected)}"
    raise UserError(
        f"DATABASE_URL: the database was made by an unreleased commit or is damaged: {what}; {RESTORE}"
    )


def _difference(table: str, found: Schema, expected: Schema) -> str:
    if table not in found:
        return f"the table {table} is missing"
    if table not in expected:
        return f"there is a table {table} already"
    missing = sorted({name for name, _ in expected[table]} - {name for name, _ in found[table]})
    extra = sorted({name for name, _ in found[table]} - {name for name, _ in expected[table]})
    if missing:
        return f"{table} has no column {missing[0]}"
    if extra:
        return f"{table} has a column {extra[0]}"
    other = sorted(name for name, _ in found[table] ^ expected[table])
    return f"the column {other[0]} of {table} is defined otherwise"


def _expected_schema() -> Schema:
    """What the program reads and writes."""
    return {
        name: frozenset((column.name, bool(column.nullable)) for column in table.columns)
        for name, table in METADATA.tables.items()
    }


def _schema_at(revision: str) -> Schema:
    """What the steps up to a revision lead to."""
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            _run_steps(connection, revision)
            inspector = inspect(connection)
            names = [name for name in inspector.get_table_names() if name != "alembic_version"]
            return _columns(inspector, names)
    finally:
        engine.dispose()


def _columns(inspector: Inspector, names: Sequence[str]) -> Schema:
    found = inspector.get_multi_columns(filter_names=names) if names else {}
    return {
        table: frozenset((column["name"], bool(column["nullable"])) for column in columns)
        for (_, table), columns in found.items()
    }


def _run_steps(connection: Connection, target: str) -> None:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def _steps() -> ScriptDirectory:
    return ScriptDirectory.from_config(configuration())
