"""`maxview forget OWNER/REPOSITORY`: remove everything that this server keeps of a repository.

Lists what there is, and removes it with `--yes`. Works beside running servers: what they have under way is
removed by the next maintenance of one.
"""

import argparse
import asyncio
import os
import time

from msgspec import Struct

from bot.artifacts.sources import open_own_store
from bot.cli.server_store import ServerStore, open_database
from bot.cli.terminal import DIM, WARN, Screen
from bot.clusters.local.cluster import LocalCluster
from bot.errors import UserError
from bot.report.wording import counted
from bot.storage import forgetting, repositories
from bot.storage.database import Connection, Database
from bot.storage.forgetting import ForgottenName, RunTrace
from bot.worker.maintenance.forgetting import RepositoryRemoval

EPILOG = """\
Needs the settings of maxview serve that say where it keeps its data: DATA_DIR, DATABASE_URL, ARTIFACTS_URL.
What is removed: reports, runs, measurements, stored logs, jobs on this machine, requests, spending, former
names, and what deliveries said. Logs in a bucket or folder of the repository's own stay, and so do comments
on GitHub. An uninstalled repository is forgotten by itself after RETENTION days.

examples:
  maxview forget acme/secret           what there is
  maxview forget acme/secret --yes     remove it
  maxview forget 123456789 --yes       by GitHub's number, whatever its name is now
"""


class KeptThings(Struct, frozen=True, kw_only=True):
    """What there is of a repository: rows by table, and its runs. `active` while the App works on it."""

    target: ForgottenName
    rows: dict[str, int]
    runs: tuple[RunTrace, ...]
    active: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The repository, and the consent."""
    parser.epilog = EPILOG
    parser.add_argument(
        "repository", metavar="OWNER/REPOSITORY", help="its name, a former one, or its number"
    )
    parser.add_argument("--yes", action="store_true", help="remove it; without this it is only listed")


def main(args: argparse.Namespace) -> int:
    """List, and remove. Raises `UserError` if nothing is known of the repository."""
    with open_database(ServerStore.of(os.environ)) as (store, database):
        kept = asyncio.run(database.read(_find, args.repository))
        if kept is None:
            raise UserError(f"nothing is known of {args.repository}")
        _show(Screen(), kept)
        elsewhere = [run for run in kept.runs if run.open and run.place is not None]
        if elsewhere:
            names = " ".join(run.id for run in elsewhere)
            raise UserError(
                f"{counted(len(elsewhere), 'run')} may still go on on a cluster. "
                f"End it first: maxview runs cancel {names}"
            )
        if not args.yes:
            print("Nothing was removed: --yes removes all of it, for good.")
            return 0
        files = _remove(store, database, kept.target)
    print(f"{kept.target.full_name}: removed, with {counted(files, 'file')} of stored logs.")
    return 0


def _find(connection: Connection, named: str) -> KeptThings | None:
    target = forgetting.find_forgettable(connection, named)
    if target is None:
        return None
    row = repositories.find_repository(connection, target.full_name)
    return KeptThings(
        target=target,
        rows=forgetting.count_rows(connection, target),
        runs=forgetting.traces(connection, target),
        active=row is not None and row.active,
    )


def _show(screen: Screen, kept: KeptThings) -> None:
    target = kept.target
    number = f" (GitHub's number {target.id})" if target.id is not None else ""
    former = sorted(target.names - {target.full_name.lower()})
    screen.paragraph(f"{target.full_name}{number}" + (f", before: {', '.join(former)}" if former else ""))
    rows = [(name.replace("_", " "), str(number)) for name, number in sorted(kept.rows.items())]
    screen.table(("what", "rows"), "lr", rows)
    screen.paragraph("Also the stored logs of its runs, and what GitHub's deliveries said of it.", DIM)
    if kept.active:
        screen.paragraph(
            "The App is installed on it: uninstall it, or it is known anew within the hour.", WARN
        )


def _remove(store: ServerStore, database: Database, target: ForgottenName) -> int:
    address = os.environ.get("ARTIFACTS_URL", "").strip() or f"file:{store.data_dir / 'artifacts'}"
    removal = RepositoryRemoval(
        database=database,
        artifacts=open_own_store(address),
        jobs=LocalCluster(store.data_dir / "cluster"),
        now=time.time,
    )
    return asyncio.run(removal.forget(target))
