"""A found log of an older version is opened only where the operator's policy lets its repository read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.artifacts.folder import FolderStore
from bot.artifacts.store import AddressGuard
from bot.domain.run import RunOrigin, RunRecord
from bot.ingest.log_keeper import LogKeeper
from bot.storage import runs
from bot.web.log_viewer.source import Logs, LogUnavailable
from tests.web.site_under_test import PRIVATE, SiteUnderTest


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of another tenant, which an older version imported for whoever named it."""
    path = tmp_path / "theirs.txt"
    path.write_text("secret\n")
    return path


def _text(site: SiteUnderTest, path: Path, guard_of: Callable[[str], AddressGuard]) -> str:
    """What a reader of the run with this log is shown."""
    artifacts = FolderStore(site.folder / "artifacts")
    keeper = LogKeeper(
        database=site.database,
        artifacts=artifacts,
        now=lambda: site.now,
        guard=lambda record: guard_of(record.repository),
    )
    record = RunRecord(
        id=path.stem,
        repository=PRIVATE,
        case="a",
        variant="b",
        log_uri=path.as_uri(),
        origin=RunOrigin.FOUND,
    )
    site.database.write_now(runs.save, record, now=site.now)
    archive = Logs(site.database, artifacts, keeper.prepare).open(record, redacted=False)
    return b"".join(archive.text()).decode()


def test_a_found_log_without_a_grant_is_not_opened(site: SiteUnderTest, log: Path) -> None:
    """What was imported before there was a policy is not shown either; whether it exists is not said."""
    said = []
    for path in (log, log.with_name("nothing.txt")):
        with pytest.raises(LogUnavailable) as caught:
            _text(site, path, lambda _repository: lambda _address: False)
        said.append((caught.value.status, caught.value.what, caught.value.why))
    assert said[0] == said[1]
    assert said[0][:2] == (404, "This server may not read this log")


def test_the_guard_is_that_of_the_runs_repository(site: SiteUnderTest, log: Path) -> None:
    """One that may read sees the log as before."""
    asked = []

    def guard_of(repository: str) -> AddressGuard:
        asked.append(repository)
        return lambda address: address in (f"file:{log.resolve()}", f"file:{log.parent.resolve()}")

    assert "secret\n" == _text(site, log, guard_of)
    assert [PRIVATE] == asked


def test_a_link_put_in_place_of_a_log_leads_nowhere(site: SiteUnderTest, log: Path, tmp_path: Path) -> None:
    """What may be read is asked of the place behind every link, at every opening."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "log.txt").symlink_to(log)
    with pytest.raises(LogUnavailable):
        _text(
            site, folder / "log.txt", lambda _: lambda address: address.startswith(f"file:{folder.resolve()}")
        )
