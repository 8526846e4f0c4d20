"""`maxview runs [list | show | log | cancel | retry]`: launched runs, from a terminal.

In:  the database of `maxview serve`, by the same settings; no GitHub settings are needed.
Out: tables, JSON, a log; wishes, which the server carries out. Safe while servers work.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.cli.one_line import say_in_one_line
from bot.cli.runs_view import document, place_words, show_list, show_one
from bot.cli.screen import DIM, Screen
from bot.errors import Told
from bot.report.figures import counted
from bot.runs.clusters.local import LocalCluster
from bot.runs.records import RunState
from bot.runs.standing import TERMINAL
from bot.storage import operators
from bot.storage.database import Database
from bot.storage.operators import LaunchedRun
from bot.storage.sources import open_source

EPILOG = """\
RUN is a run's id, or its first characters as long as they name one run.
The database is that of maxview serve: DATABASE_URL, else a SQLite file in DATA_DIR [.data].
cancel and retry are wishes: the server carries them out within seconds, and when it is started next.

examples:
  maxview runs                       what waits and what runs
  maxview runs list --all --json     every launched run, one JSON object a line
  maxview runs show 3f9a             attempts, reasons, where its log is
  maxview runs log 3f9a | maxview parse -
  maxview runs cancel 3f9a 77c0
"""

LEAST_CHARACTERS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One word, and the runs that it is about."""
    parser.epilog = EPILOG
    kinds = parser.add_subparsers(dest="what", metavar="WHAT", title="what to do [list]")
    listing = kinds.add_parser("list", help="runs that wait or run; with --all those that are over too")
    listing.add_argument("--all", action="store_true", help="ended, lost and cancelled runs as well")
    listing.add_argument("--repository", metavar="OWNER/NAME", help="of this repository alone")
    listing.add_argument("--limit", type=int, default=50, help="the newest so many [50]")
    listing.add_argument("--json", action="store_true", help="one JSON object a run, one per line")
    show = kinds.add_parser("show", help="everything that is known of a run")
    show.add_argument("runs", nargs="+", metavar="RUN")
    show.add_argument("--json", action="store_true", help="one JSON object a run, one per line")
    log = kinds.add_parser("log", help="the log as it was written, nothing redacted")
    log.add_argument("run", metavar="RUN")
    log.add_argument("--attempt", type=int, metavar="N", help="of an earlier attempt")
    cancel = kinds.add_parser("cancel", help="end runs; they stay cancelled until retried")
    cancel.add_argument("runs", nargs="+", metavar="RUN")
    retry = kinds.add_parser("retry", help="have runs that are over run again")
    retry.add_argument("runs", nargs="+", metavar="RUN")
    for kind in kinds.choices.values():
        say_in_one_line(kind)
    parser.set_defaults(all=False, repository=None, limit=50, json=False)


def main(args: argparse.Namespace) -> int:
    """Do what was asked; 2 where a run is unknown or cannot be acted on."""
    with _opened(_Store.of(os.environ)) as (store, database):
        match args.what:
            case "show":
                _show(database, args)
            case "log":
                _log(store, database, args)
            case "cancel":
                _cancel(database, args.runs)
            case "retry":
                _retry(database, args.runs)
            case _:
                _list(database, args)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Store:
    """Where the server keeps what it knows."""

    database_url: str
    data_dir: Path

    @classmethod
    def of(cls, environ: "os._Environ[str]") -> "_Store":
        """By the settings of `maxview serve`."""
        data_dir = Path(environ.get("DATA_DIR", "").strip() or ".data").absolute()
        url = environ.get("DATABASE_URL", "").strip() or f"sqlite:///{data_dir / 'maxview.sqlite'}"
        return cls(database_url=url, data_dir=data_dir)


@contextmanager
def _opened(store: _Store) -> Iterator[tuple[_Store, Database]]:
    """The database, which must be there already: a wrong folder is no empty list."""
    path = store.database_url.removeprefix("sqlite:///")
    if path != store.database_url and not Path(path).is_file():
        raise Told(f"there is no database at {path}: give DATA_DIR or DATABASE_URL as for maxview serve")
    database = Database(store.database_url)
    try:
        if not asyncio.run(database.read(operators.is_ready)):
            raise Told("the database is empty: start maxview serve once, which makes its tables")
        if asyncio.run(database.read(operators.is_older)):
            raise Told(
                "an older version left the database: start maxview serve once, which brings it up to date"
            )
        yield store, database
    finally:
        database.close()


def _list(database: Database, args: argparse.Namespace) -> None:
    states = [state for state in RunState if args.all or state not in TERMINAL]
    # A reading transaction, which holds up nobody.
    found = asyncio.run(
        database.read(operators.newest, repository=args.repository, states=states, limit=max(1, args.limit))
    )
    if args.json:
        _print_documents(found)
    elif found:
        show_list(Screen(), found, time.time())
    else:
        screen = Screen()
        screen.paragraph(
            "No launched run." if args.all else "No run waits or runs. --all shows the others.", DIM
        )


def _show(database: Database, args: argparse.Namespace) -> None:
    found = [_one(database, name) for name in args.runs]
    if args.json:
        _print_documents(found)
        return
    screen = Screen()
    for place, run in enumerate(found):
        if place:
            screen.gap()
        show_one(screen, run, time.time())


def _print_documents(found: "list[LaunchedRun] | tuple[LaunchedRun, ...]") -> None:
    for run in found:
        print(json.dumps(document(run, time.time()), ensure_ascii=False, allow_nan=False))


def _log(store: _Store, database: Database, args: argparse.Namespace) -> None:
    run = _one(database, args.run)
    with _opened_log(store, run, args.attempt) as pieces:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _opened_log(
    store: _Store, run: LaunchedRun, attempt: int | None
) -> AbstractContextManager[Iterator[bytes]]:
    """The kept log, or the one that is being written on this machine."""
    if attempt is not None and attempt != run.standing.attempt:
        kept = next((one.kept for one in run.standing.past if one.number == attempt), None)
        if kept is None:
            raise Told(f"run {run.record.id}: no log of attempt {attempt} is kept")
        return open_source(kept)
    if run.over and run.record.log_uri:
        return open_source(run.record.log_uri)
    if run.job.place is None:
        return LocalCluster(store.data_dir / "cluster").open_log(run.standing.name)
    where = place_words(run.job.place)
    raise Told(
        f"run {run.record.id} has no kept log yet; while it is on {where}: "
        f"kubectl logs -l jobset.sigs.k8s.io/jobset-name={run.standing.name} --prefix"
    )


def _cancel(database: Database, names: list[str]) -> None:
    for run in [_one(database, name) for name in names]:
        if not database.now(operators.cancel, run.record.id, now=time.time()):
            raise Told(f"run {run.record.id} is {_now(database, run)} already: there is nothing to cancel")
        print(f"{run.record.id} {run.record.case} · {run.record.variant}: will be cancelled")


def _retry(database: Database, names: list[str]) -> None:
    for run in [_one(database, name) for name in names]:
        if not database.now(operators.retry, run.record.id, now=time.time()):
            raise Told(f"run {run.record.id} is {_now(database, run)}: only what is over can run again")
        print(f"{run.record.id} {run.record.case} · {run.record.variant}: will run again")


def _now(database: Database, run: LaunchedRun) -> str:
    return _one(database, run.record.id).record.state.value


def _one(database: Database, name: str) -> LaunchedRun:
    """The run of this id, or of the only id that begins so."""
    if len(name) < LEAST_CHARACTERS:
        raise Told(f"{name!r} is too short for a run's id: give {LEAST_CHARACTERS} characters or more")
    found = asyncio.run(database.read(operators.named, name))
    if not found:
        raise Told(f"no launched run's id begins with {name!r}; maxview runs list --all shows them")
    if len(found) > 1:
        raise Told(f"{counted(len(found), 'run')} or more begin with {name!r}: give more characters")
    return found[0]
