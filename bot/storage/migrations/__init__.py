"""The steps from an empty database to today's tables, kept by Alembic.

In:  an engine. Out: nothing; the tables are as `bot.storage.tables` says.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

LOCK = 0x6D61787669657721
"""Any number of our own: PostgreSQL processes that start together queue up on it."""


def configuration() -> Config:
    """Where Alembic finds the steps."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(engine: Engine) -> None:
    """Run the steps that are missing, in one transaction."""
    config = configuration()
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
