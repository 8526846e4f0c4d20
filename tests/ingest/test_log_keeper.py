"""A log is read once and stored once; its redacted form follows the rules, and outlives its source."""

import asyncio
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from msgspec.structs import replace

from bot.artifacts.folder import FolderStore
from bot.artifacts.log_archive import open_archive
from bot.artifacts.sources import open_source
from bot.config import RunSource
from bot.domain.run import RunOrigin, RunRecord
from bot.domain.run_pattern import RunPattern
from bot.ingest import log_keeper, read_log
from bot.ingest.collect import ImportQuery
from bot.ingest.importer import RunImporter
from bot.ingest.log_keeper import LogKeeper
from bot.ingest.turns import Turns
from bot.logs.limits import SERVER_LIMITS
from bot.redaction.rules import RULES_VERSION
from bot.storage import kept_logs, repositories, runs
from bot.storage.database import Database
from bot.storage.kept_logs import FORMER_SECONDS, Absence, KeptLog
from bot.storage.repositories import RepositoryRow
from tests.log_writers.maxtext import maxtext_log
from tests.policy.open_policy import OPEN

PUBLIC, PRIVATE = "acme/maxtext", "acme/secret"

LOG = maxtext_log(steps=10) + "password=hunter2hunter\nthe end\n"

QUERY = ImportQuery(slug="main", shas=(), variants=("",), cases=("a",))


class Shelf:
    """A server's stored logs, with a clock."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.clock = 1_000.0
        self.folder, self.database = folder, database
        self.artifacts = FolderStore(folder / "artifacts")
        self.artifacts_path = folder / "artifacts"
        self.keeper = LogKeeper(database=database, artifacts=self.artifacts, now=lambda: self.clock)
        self.importer = RunImporter(
            database=database, permissions=OPEN, artifacts=self.artifacts, now=lambda: self.clock
        )
        for name, private in ((PUBLIC, False), (PRIVATE, True)):
            self.visibility(name, private=private)

    def visibility(self, name: str, *, private: bool) -> None:
        """Make a repository public or private."""
        row = RepositoryRow(
            full_name=name, installation=1, default_branch="main", private=private, active=True
        )
        self.database.write_now(repositories.save_repository, row)

    def log(self, text: bytes, name: str = "main/a/0.log") -> Path:
        """Put a log where runs are found."""
        path = self.folder / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        return path

    def add(self, run: str, path: Path | None, repository: str = PUBLIC) -> None:
        """A run of an older version: measured, and its log where it was found."""
        record = RunRecord(
            id=run, repository=repository, case="a", variant="", log_uri=path.as_uri() if path else None
        )
        self.database.write_now(runs.save, record, now=self.clock)

    def imported(self, repository: str = PUBLIC) -> str:
        """Import the runs; the id of the one that is there."""
        source = RunSource(source=f"file:{self.folder / 'runs'}", pattern=RunPattern("{slug}/{case}/*.log"))
        asyncio.run(self.importer.import_runs(repository, source, [QUERY]))
        rows = self.database.read_here(runs.branch_runs, repository, "main")
        return rows[0].id

    def kept(self, run: str) -> KeptLog:
        """What is stored of a run's log."""
        found = self.database.read_here(kept_logs.find, run)
        assert found is not None
        return found

    def text(self, name: str | None) -> str:
        """The text of a stored form."""
        assert name is not None
        return b"".join(open_archive(self.artifacts, name).text()).decode()

    def files(self) -> list[str]:
        """Every file of ours."""
        paths = (path for path in self.artifacts_path.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.artifacts_path)) for path in paths)


@pytest.fixture
def shelf(tmp_path: Path, database: Database) -> Shelf:
    """Stored logs of a public and a private repository."""
    return Shelf(tmp_path, database)


@pytest.mark.parametrize("packed", [False, True])
def test_a_found_log_is_stored_when_it_is_read(shelf: Shelf, packed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Its text once, then its redacted form; the bucket may forget it."""
    path = shelf.log(gzip.compress(LOG.encode()) if packed else LOG.encode())
    run = shelf.imported()
    path.unlink()
    kept = shelf.kept(run)
    assert (LOG, None) == (shelf.text(kept.text), kept.redacted)
    shelf.keeper.prepare(run)
    kept = shelf.kept(run)
    assert LOG == shelf.text(kept.text)
    assert "password=[secret]\nthe end\n" in shelf.text(kept.redacted)
    assert "hunter2" not in shelf.text(kept.redacted)
    assert (RULES_VERSION, 2) == (kept.rules, len(shelf.files()))


def test_a_log_that_has_grown_replaces_what_it_was(shelf: Shelf) -> None:
    """Readers of the old form finish reading it; then it is deleted."""
    shelf.log(LOG[:900].encode())
    run = shelf.imported()
    shelf.keeper.prepare(run)
    before = shelf.kept(run)
    shelf.log(LOG.encode())
    shelf.imported()
    grown = shelf.kept(run)
    assert (LOG, None) == (shelf.text(grown.text), grown.redacted)
    assert LOG[:900] == shelf.text(before.text)
    shelf.keeper.prepare(run)
    assert 4 == len(shelf.files())
    shelf.clock += FORMER_SECONDS
    shelf.keeper.prepare(run)
    kept = shelf.kept(run)
    assert sorted([str(kept.text), str(kept.redacted)]) == shelf.files()


def test_a_private_repositorys_log_is_redacted_before_it_becomes_public(shelf: Shelf) -> None:
    """While it is private nobody needs the redacted form; then it is made."""
    shelf.log(LOG.encode())
    run = shelf.imported(PRIVATE)
    shelf.keeper.prepare(run)
    assert shelf.kept(run).redacted is None
    shelf.visibility(PRIVATE, private=False)
    shelf.keeper.prepare(run)
    assert "hunter2" not in shelf.text(shelf.kept(run).redacted)


def test_other_rules_redact_anew_and_until_then_the_old_form_is_shown(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next start everything that older rules made is due."""
    shelf.log(LOG.encode())
    run = shelf.imported()
    shelf.keeper.prepare(run)
    old = shelf.kept(run)
    assert 0 == shelf.database.write_now(kept_logs.schedule, rules=RULES_VERSION, now=shelf.clock)
    for module in (log_keeper, read_log):
        monkeypatch.setattr(module, "RULES_VERSION", "other rules")
    assert 1 == shelf.database.write_now(kept_logs.schedule, rules="other rules", now=shelf.clock)
    assert old == shelf.kept(run)
    shelf.keeper.prepare(run)
    new = shelf.kept(run)
    assert ("other rules", True) == (new.rules, new.redacted != old.redacted)
    assert shelf.text(new.redacted) == shelf.text(old.redacted)


def test_a_log_of_an_older_version_is_stored_from_where_it_lies(shelf: Shelf) -> None:
    """At the next start, or when somebody opens it; one that is gone is said to be, and not tried again."""
    shelf.add("there", shelf.log(LOG.encode()))
    gone = shelf.log(b"", "gone.log")
    shelf.add("gone", gone)
    shelf.add("none", None)
    gone.unlink()
    assert 2 == shelf.database.write_now(kept_logs.schedule, rules=RULES_VERSION, now=shelf.clock)
    for run in ("there", "gone"):
        shelf.keeper.prepare(run)
    assert LOG == shelf.text(shelf.kept("there").text)
    assert (Absence.GONE, None) == (shelf.kept("gone").absence, shelf.kept("gone").text)
    assert 0 == shelf.database.write_now(kept_logs.schedule, rules=RULES_VERSION, now=shelf.clock)


def test_what_may_not_be_opened_is_not_stored(shelf: Shelf) -> None:
    """The guard of a run is asked; our own artifacts need none."""
    path = shelf.log(LOG.encode())
    shelf.add("found", path)
    shelf.add("own", None)
    own = shelf.artifacts_path / "runs" / "own" / "log.txt"
    own.parent.mkdir(parents=True)
    own.write_text(LOG)
    record = shelf.database.read_here(runs.by_id, "own")
    assert record is not None
    launched = replace(record, origin=RunOrigin.LAUNCHED, log_uri=shelf.artifacts.uri("runs/own/log.txt"))
    shelf.database.write_now(runs.save, launched, now=0.0)
    shelf.keeper.guard = lambda _record: lambda _address: False
    for run in ("found", "own"):
        shelf.keeper.prepare(run)
    assert (None, Absence.REFUSED) == (shelf.kept("found").text, shelf.kept("found").absence)
    assert LOG == shelf.text(shelf.kept("own").text)


def test_our_copy_of_a_log_is_not_kept_beside_its_text(shelf: Shelf) -> None:
    """What an older version stored of a launched run is converted: the run names the text, and the copy goes
    when nobody reads it any more."""
    shelf.artifacts.write("runs/own/log.txt", [LOG.encode()], "text/plain")
    record = RunRecord(
        id="own",
        repository=PRIVATE,
        case="a",
        variant="",
        origin=RunOrigin.LAUNCHED,
        log_uri=shelf.artifacts.uri("runs/own/log.txt"),
    )
    shelf.database.write_now(runs.save, record, now=0.0)
    shelf.keeper.prepare("own")
    kept = shelf.kept("own")
    moved = shelf.database.read_here(runs.by_id, "own")
    assert moved is not None
    assert shelf.artifacts.uri(kept.text or "") == moved.log_uri
    assert ["runs/own/log-attempt-1.mvlog", "runs/own/log.txt"] == shelf.files()
    shelf.clock += FORMER_SECONDS
    shelf.keeper.prepare("own")
    assert ["runs/own/log-attempt-1.mvlog"] == shelf.files()
    with open_source(moved.log_uri or "") as pieces:
        assert LOG.encode() == b"".join(pieces)


def test_a_death_before_the_row_is_written_changes_nothing(shelf: Shelf) -> None:
    """The text is there already, and is found by the run."""
    shelf.artifacts.write("runs/own/log.txt", [LOG.encode()], "text/plain")
    uri = shelf.artifacts.uri("runs/own/log.txt")
    record = RunRecord(id="own", repository=PRIVATE, case="a", variant="", log_uri=uri)
    shelf.database.write_now(runs.save, record, now=0.0)
    shelf.keeper.work(KeptLog(run="own"))
    again = shelf.keeper.work(KeptLog(run="own"))
    assert LOG == shelf.text(again.log.text)


def test_a_log_that_is_too_large_is_read_in_part_and_says_so(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows what was read; the facts have the warning, and the run is not green."""
    limits = replace(SERVER_LIMITS, text_bytes=len(maxtext_log(steps=10)))
    monkeypatch.setattr(read_log, "SERVER_LIMITS", limits)
    shelf.log(LOG.encode())
    run = shelf.imported()
    measured = shelf.database.read_here(runs.measured, [run])[run]
    assert maxtext_log(steps=10) == shelf.text(shelf.kept(run).text)
    assert "The log is too large: read as far as line" in measured.log.warnings[0]
    assert "incomplete" == measured.log.outcome.state


def test_a_store_that_gives_a_byte_a_minute_is_not_waited_for() -> None:
    """The facts so far count, and what is missing is said."""
    clock = [0.0]

    def drip() -> Iterator[bytes]:
        for line in LOG.encode().splitlines(keepends=True) * 1000:
            clock[0] += 60.0
            yield line

    read = read_log.read_log(drip(), "x", clock=lambda: clock[0])
    assert read.measured.log.warnings[0].startswith("The log takes too long to read: read as far as line 17 ")


def test_a_log_that_changes_while_it_is_read_is_not_stored(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mixture of two contents is no log: the run is read again when it is listed next."""
    path = shelf.log(LOG.encode() * 200)
    shelf.add("r", path)
    real = FolderStore.open

    @contextmanager
    def shrinking(store: FolderStore, name: str, generation: str | None = None) -> Iterator[Iterator[bytes]]:
        with real(store, name, generation) as chunks:
            path.write_bytes(b"rewritten\n")
            yield chunks

    monkeypatch.setattr(FolderStore, "open", shrinking)
    shelf.keeper.prepare("r")
    assert (None, Absence.UNREADABLE) == (shelf.kept("r").text, shelf.kept("r").absence)
    assert "shorter while it was read" in (shelf.kept("r").problem or "")
    monkeypatch.undo()
    shelf.keeper.prepare("r")
    assert "rewritten\n" == shelf.text(shelf.kept("r").text)


def test_turns_go_round_the_repositories() -> None:
    """Whoever has a hundred pieces to work on lets another go after one of them."""
    turns, order = Turns(at_once=1), []
    started, go = Event(), Event()

    def work(repository: str, pieces: int) -> None:
        taker = turns.of(repository)
        for _ in range(pieces):
            with taker.turn():
                started.set()
                go.wait(10)
                order.append(repository)

    large = [Thread(target=work, args=("large", 50)) for _ in range(4)]
    for thread in large:
        thread.start()
    assert started.wait(10)
    small = Thread(target=work, args=("small", 3))
    small.start()
    while "small" not in turns._waiting:
        pass
    go.set()
    for thread in (*large, small):
        thread.join(10)
    assert 203 == len(order)
    assert max(n for n, one in enumerate(order) if one == "small") < 12


def test_within_a_piece_others_may_go_first() -> None:
    """A piece that expands to hundreds of megabytes is many pieces."""
    turns, order = Turns(at_once=1), []
    taker = turns.of("large")

    def small() -> None:
        with turns.of("small").turn():
            order.append("small")

    with taker.turn():
        thread = Thread(target=small)
        thread.start()
        while not turns.wanted:
            pass
        taker.breathe()
        order.append("large")
    thread.join(10)
    assert ["small", "large"] == order
    assert taker.seconds > 0
