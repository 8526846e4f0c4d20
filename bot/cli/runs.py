"""`maxview runs [list | show | log | cancel | retry]`: launched runs, from a terminal.

Reads the database of `maxview serve`, found by the same settings; no GitHub settings are needed. `cancel`
and `retry` leave a request, which the server carries out. Safe while servers work.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from bot.artifacts.sources import open_source
from bot.cli.arguments import one_line_errors
from bot.cli.server_store import ServerStore, open_database
from bot.cli.terminal import BAD, DIM, GOOD, PLAIN, WARN, Screen
from bot.clusters.interface import ClusterPlace
from bot.clusters.local.cluster import LocalCluster
from bot.domain.run import RunState
from bot.errors import UserError
from bot.report.wording import NO_VALUE, age_words, counted, moment_words, run_status_words
from bot.runs.run_status import TERMINAL_STATES, PastAttempt
from bot.storage import launched_runs
from bot.storage.database import Database
from bot.storage.launched_runs import LaunchedRun

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

MIN_ID_CHARACTERS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """An action, and the runs that it applies to."""
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
        one_line_errors(kind)
    parser.set_defaults(all=False, repository=None, limit=50, json=False)


def main(args: argparse.Namespace) -> int:
    """Run the action. Raises `UserError` for a run that is unknown or that the action does not apply to."""
    with open_database(ServerStore.of(os.environ)) as (store, database):
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


def _list(database: Database, args: argparse.Namespace) -> None:
    states = [state for state in RunState if args.all or state not in TERMINAL_STATES]
    # A reading transaction blocks nobody.
    found = asyncio.run(
        database.read(
            launched_runs.newest_launched, repository=args.repository, states=states, limit=max(1, args.limit)
        )
    )
    if args.json:
        _print_documents(found)
    elif found:
        show_launched_runs(Screen(), found, time.time())
    else:
        screen = Screen()
        screen.paragraph(
            "No launched run." if args.all else "No run waits or runs. --all shows the others.", DIM
        )


def _show(database: Database, args: argparse.Namespace) -> None:
    found = [_find_run(database, name) for name in args.runs]
    if args.json:
        _print_documents(found)
        return
    screen = Screen()
    for position, run in enumerate(found):
        if position:
            screen.gap()
        show_launched_run(screen, run, time.time())


def _print_documents(found: Sequence[LaunchedRun]) -> None:
    for run in found:
        print(json.dumps(launched_run_document(run, time.time()), ensure_ascii=False, allow_nan=False))


def _log(store: ServerStore, database: Database, args: argparse.Namespace) -> None:
    run = _find_run(database, args.run)
    with _open_log(store, run, args.attempt) as pieces:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _open_log(
    store: ServerStore, run: LaunchedRun, attempt: int | None
) -> AbstractContextManager[Iterator[bytes]]:
    """The stored log, or the one that is being written on this machine."""
    if attempt is not None and attempt != run.status.attempt:
        kept = next((one.kept_log for one in run.status.past if one.number == attempt), None)
        if kept is None:
            raise UserError(f"run {run.record.id}: no log of attempt {attempt} is kept")
        return open_source(kept)
    if run.over and run.record.log_uri:
        return open_source(run.record.log_uri)
    if run.job.place is None:
        return LocalCluster(store.data_dir / "cluster").open_log(run.status.name)
    where = place_name(run.job.place)
    raise UserError(
        f"run {run.record.id} has no kept log yet; while it is on {where}: "
        f"kubectl logs -l jobset.sigs.k8s.io/jobset-name={run.status.name} --prefix"
    )


def _cancel(database: Database, names: list[str]) -> None:
    for run in [_find_run(database, name) for name in names]:
        if not database.write_now(launched_runs.cancel_run, run.record.id, now=time.time()):
            raise UserError(
                f"run {run.record.id} is {_current_state(database, run)} already: there is nothing to cancel"
            )
        print(f"{run.record.id} {run.record.case} · {run.record.variant}: will be cancelled")


def _retry(database: Database, names: list[str]) -> None:
    for run in [_find_run(database, name) for name in names]:
        if not database.write_now(launched_runs.retry_run, run.record.id, now=time.time()):
            raise UserError(
                f"run {run.record.id} is {_current_state(database, run)}: only what is over can run again"
            )
        print(f"{run.record.id} {run.record.case} · {run.record.variant}: will run again")


def _current_state(database: Database, run: LaunchedRun) -> str:
    return _find_run(database, run.record.id).record.state.value


def _find_run(database: Database, name: str) -> LaunchedRun:
    """The run with this id, or with the only id that begins with it."""
    if len(name) < MIN_ID_CHARACTERS:
        raise UserError(f"{name!r} is too short for a run's id: give {MIN_ID_CHARACTERS} characters or more")
    found = asyncio.run(database.read(launched_runs.launched_by_prefix, name))
    if not found:
        raise UserError(f"no launched run's id begins with {name!r}; maxview runs list --all shows them")
    if len(found) > 1:
        raise UserError(f"{counted(len(found), 'run')} or more begin with {name!r}: give more characters")
    return found[0]


SYMBOLS = {
    RunState.PLANNED: ("🕓", PLAIN),
    RunState.LAUNCHED: ("🕓", PLAIN),
    RunState.QUEUED: ("🕓", PLAIN),
    RunState.RUNNING: ("⏳", PLAIN),
    RunState.ENDED: ("✅", GOOD),
    RunState.LOST: ("❌", BAD),
    RunState.CANCELLED: ("🚫", DIM),
}

LOCAL_PLACE = "this machine"

SHOWN_ID_CHARACTERS = 8  # enough to distinguish thousands of runs, and short enough to type


def show_launched_runs(screen: Screen, runs: Sequence[LaunchedRun], now: float) -> None:
    """A line for each run, the newest first."""
    rows = [
        (
            run.record.id[:SHOWN_ID_CHARACTERS],
            f"{run.record.case} · {run.record.variant}",
            place_name(run.job.place),
            _since(run, now),
            ": ".join(part for part in (run.record.state.value, _state_note(run, now)) if part),
        )
        for run in runs
    ]
    screen.table(("run", "case", "where", "for", "state"), "lllrl", rows)


def show_launched_run(screen: Screen, run: LaunchedRun, now: float) -> None:
    """Everything known about one run."""
    symbol, style = SYMBOLS[run.record.state]
    screen.headline(symbol, f"{run.record.state.value} · {run.record.case} · {run.record.variant}", style)
    if note := _state_note(run, now):
        screen.paragraph(note, WARN)
    if run.status.note:
        screen.paragraph(f"the cluster says: {run.status.note}", DIM)
    if run.error:
        screen.paragraph(f"its last step failed and is tried again: {run.error}", BAD)
    screen.facts([fact for fact in _facts(run, now) if fact[1]])
    if run.status.past:
        screen.gap()
        screen.table(
            ("attempt", "job", "began", "given up", "why", "its log"),
            "llllll",
            [_past_attempt_row(one) for one in run.status.past],
        )


def launched_run_document(run: LaunchedRun, now: float) -> dict[str, Any]:
    """The JSON object of a run; times in Unix seconds."""
    status = run.status
    return {
        "schema": 1,
        "run": run.record.id,
        "repository": run.record.repository,
        "case": run.record.case,
        "variant": run.record.variant,
        "commit": run.record.sha,
        "state": run.record.state.value,
        "about": run_status_words(status, now),
        "place": run.job.place.name if run.job.place else None,
        "job": status.name,
        "attempt": status.attempt,
        "planned": run.planned_at,
        "since": status.since or None,
        "began": status.began,
        "last_step": status.last_step,
        "expected_steps": status.expected_steps,
        "queue_place": status.queue_position,
        "log": run.record.log_uri,
        "wanted_by": [number for _, number in run.wanted_by],
        "wanted_by_branches": list(run.branches),
        "asked": run.action.value if run.action else None,
        "error": run.error,
        "past": [
            {
                "attempt": one.number,
                "job": one.name,
                "began": one.began,
                "ended": one.ended,
                "why": one.why,
                "note": one.note,
                "log": one.kept_log,
            }
            for one in status.past
        ],
    }


def place_name(place: ClusterPlace | None) -> str:
    """The name of the cluster, or this machine."""
    return place.cluster if place else LOCAL_PLACE


def _state_note(run: LaunchedRun, now: float) -> str:
    asked = {"cancel": "to be cancelled", "run": "run again by an operator"}
    action = asked[run.action.value] if run.action and not run.over else ""
    return "; ".join(part for part in (action, run_status_words(run.status, now)) if part)


def _since(run: LaunchedRun, now: float) -> str:
    return age_words(max(0.0, now - (run.status.since or run.planned_at))) or NO_VALUE


def _facts(run: LaunchedRun, now: float) -> list[tuple[str, str]]:
    status = run.status
    where = run.job.place.name if run.job.place else LOCAL_PLACE
    return [
        ("run", run.record.id),
        ("repository", run.record.repository),
        ("commit", run.record.sha or ""),
        ("wanted by", ", ".join(_requesters(run)) or "no pull request"),
        ("where", where),
        ("job", status.name),
        ("command", run.job.command),
        ("attempt", str(status.attempt)),
        ("planned", moment_words(run.planned_at)),
        ("began", moment_words(status.began) if status.began else ""),
        ("last heard", _ago(status.last_output, now)),
        ("exit code", "" if status.exit_code is None else str(status.exit_code)),
        ("log", run.record.log_uri or ""),
    ]


def _requesters(run: LaunchedRun) -> list[str]:
    return [f"#{number}" for _, number in run.wanted_by] + [f"the branch {name}" for name in run.branches]


def _ago(moment: float | None, now: float) -> str:
    past = age_words(max(0.0, now - moment)) if moment is not None else None
    return f"{past} ago" if past else ""


def _past_attempt_row(one: PastAttempt) -> tuple[str, ...]:
    began = moment_words(one.began) if one.began else NO_VALUE
    why = f"{one.why}: {one.note}" if one.note else one.why
    return (str(one.number), one.name, began, moment_words(one.ended), why, one.kept_log or NO_VALUE)
