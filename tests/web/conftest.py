"""The site that the tests of the pages visit."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.storage.database import Database
from tests.web.filled_site import fill
from tests.web.site_under_test import SiteUnderTest


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables and nothing in them, to be copied: that takes a tenth of making one."""
    path = tmp_path_factory.mktemp("empty") / "maxview.sqlite"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.close()
    return path


@pytest.fixture
def site(tmp_path: Path, empty_database: Path) -> Iterator[SiteUnderTest]:
    """A site with a public and a private repository."""
    shutil.copy(empty_database, tmp_path / "maxview.sqlite")
    database = Database(f"sqlite:///{tmp_path}/maxview.sqlite")
    yield SiteUnderTest(folder=tmp_path, database=database)
    database.close()


@pytest.fixture(scope="session")
def filled_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteUnderTest]:
    """A site with something to show on every page; tests only read it."""
    folder = tmp_path_factory.mktemp("filled")
    database = Database(f"sqlite:///{folder}/maxview.sqlite")
    database.migrate()
    made = SiteUnderTest(folder=folder, database=database)
    fill(made)
    yield made
    database.close()
