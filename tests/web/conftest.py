"""The site that the tests of the pages visit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.storage.database import Database
from tests.web.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A site with a public and a private repository."""
    database = Database(f"sqlite:///{tmp_path}/maxview.sqlite")
    database.migrate()
    yield Shop(folder=tmp_path, database=database)
    database.close()
