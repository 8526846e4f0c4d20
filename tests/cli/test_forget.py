"""`maxview forget`: it shows what there is, and removes it when told so."""

from pathlib import Path

import pytest

from bot.artifacts.folder import FolderStore
from bot.domain.run import RunRecord
from bot.storage import pull_requests, repositories, runs
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow
from tests.cli.conftest import Maxview

NAME = "acme/secret"

SHOWN = """\
  acme/secret (GitHub's number 77)
  what          rows
  case key         1
  pull request     1
  repository       1
  run              1
  Also the stored logs of its runs, and what GitHub's deliveries said of it.
  The App is installed on it: uninstall it, or it is known anew within the hour.
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server's folder with a repository."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    for name in ("DATABASE_URL", "ARTIFACTS_URL"):
        monkeypatch.delenv(name, raising=False)
    database = Database(f"sqlite:///{tmp_path / 'maxview.sqlite'}")
    database.migrate()
    row = RepositoryRow(
        full_name=NAME, installation=1, default_branch="main", private=True, active=True, id=77
    )
    database.write_now(repositories.save_repository, row)
    database.write_now(pull_requests.enqueue, repository=NAME, number=7, installation=1, now=1.0)
    record = RunRecord(
        id="r", repository=NAME, case="a", variant="x", branch="main", sha="a" * 40, started=1.0
    )
    database.write_now(runs.save, record, now=1.0)
    database.close()
    FolderStore(tmp_path / "artifacts").write("runs/r/log-1.mvlog", [b"x"], "application/zstd")
    return tmp_path


def test_it_is_listed_and_stays(maxview: Maxview, data: Path) -> None:
    """Without --yes nothing is removed."""
    result = maxview("forget", NAME)
    said = "Nothing was removed: --yes removes all of it, for good.\n"
    assert (0, SHOWN + said) == (result.status, result.out)
    assert (data / "artifacts/runs/r/log-1.mvlog").exists()


@pytest.mark.parametrize("named", [NAME, "77"])
def test_it_is_removed(named: str, maxview: Maxview, data: Path) -> None:
    """By name or number; then nothing is known of it."""
    result = maxview("forget", named, "--yes")
    assert (0, True) == (
        result.status,
        result.out.endswith("acme/secret: removed, with 1 file of stored logs.\n"),
    )
    assert not (data / "artifacts/runs/r").exists()
    again = maxview("forget", NAME)
    assert (2, "maxview: nothing is known of acme/secret\n") == (again.status, again.err)
