"""A page opens a found log only where the operator's policy lets its repository read."""

from pathlib import Path

import pytest

from bot.domain.run import RunOrigin, RunRecord
from bot.web.log_viewer.source import Logs, LogUnavailable, open_run_log


def _record(path: Path, origin: RunOrigin = RunOrigin.FOUND) -> RunRecord:
    return RunRecord(
        id="1", repository="acme/maxtext", case="a", variant="b", log_uri=path.as_uri(), origin=origin
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of another tenant, which an older version imported for whoever named it."""
    path = tmp_path / "theirs.txt"
    path.write_text("secret\n")
    return path


def test_a_found_log_without_a_grant_is_not_opened(log: Path) -> None:
    """What was imported before there was a policy is not shown either; whether it exists is not said."""
    logs = Logs(guard_of=lambda _repository: lambda _address: False)
    said = []
    for path in (log, log.with_name("nothing.txt")):
        with pytest.raises(LogUnavailable) as caught:
            open_run_log(logs, _record(path))
        said.append((caught.value.status, caught.value.what, caught.value.why))

    assert said[0] == said[1]
    assert said[0][:2] == (404, "This server may not read this log")


def test_the_guard_is_that_of_the_runs_repository(log: Path) -> None:
    """One that may read sees the log as before."""
    asked = []

    def guard_of(repository: str) -> object:
        asked.append(repository)
        return lambda address: address == f"file:{log.resolve()}" or address == f"file:{log.parent.resolve()}"

    source = open_run_log(Logs(guard_of=guard_of), _record(log))  # type: ignore[arg-type]

    assert source.read(0, 6) == b"secret"
    assert asked == ["acme/maxtext"]


def test_a_launched_log_is_our_own(log: Path) -> None:
    """It lies in our artifacts, which no repository names."""
    logs = Logs(guard_of=lambda _repository: lambda _address: False)

    assert open_run_log(logs, _record(log, RunOrigin.LAUNCHED)).read(0, 6) == b"secret"


def test_a_link_put_in_place_of_a_log_leads_nowhere(log: Path, tmp_path: Path) -> None:
    """What may be read is asked of the place behind every link, at every opening."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "log.txt").symlink_to(log)
    logs = Logs(guard_of=lambda _repository: lambda address: address.startswith(f"file:{folder.resolve()}"))
    with pytest.raises(LogUnavailable):
        open_run_log(logs, _record(folder / "log.txt"))
