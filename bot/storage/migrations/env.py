"""What Alembic runs: every missing step on the connection it was handed."""

from alembic import context

from bot.storage.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
