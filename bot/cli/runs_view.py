"""Launched runs as an operator reads them on a terminal, and as JSON.

In:  `LaunchedRun`s, the time. Out: a table, the whole of one run, or plain values.
"""

from collections.abc import Sequence
from typing import Any

from bot.cli.screen import BAD, DIM, GOOD, ODD, PLAIN, Screen
from bot.report.figures import NONE, age, day
from bot.report.life_words import life_words
from bot.runs.clusters.port import Place
from bot.runs.records import RunState
from bot.runs.standing import PastAttempt
from bot.storage.operators import LaunchedRun

SYMBOLS = {
    RunState.PLANNED: ("🕓", PLAIN),
    RunState.LAUNCHED: ("🕓", PLAIN),
    RunState.QUEUED: ("🕓", PLAIN),
    RunState.RUNNING: ("⏳", PLAIN),
    RunState.ENDED: ("✅", GOOD),
    RunState.LOST: ("❌", BAD),
    RunState.CANCELLED: ("🚫", DIM),
}
HERE = "this machine"
SHOWN_CHARACTERS = 8  # of an id: enough to tell some thousands of runs apart, and short enough to type


def show_list(screen: Screen, runs: Sequence[LaunchedRun], now: float) -> None:
    """A line for each run, those planned last first."""
    rows = [
        (
            run.record.id[:SHOWN_CHARACTERS],
            f"{run.record.case} · {run.record.variant}",
            place_words(run.job.place),
            _since(run, now),
            ": ".join(part for part in (run.record.state.value, _about(run, now)) if part),
        )
        for run in runs
    ]
    screen.table(("run", "case", "where", "for", "state"), "lllrl", rows)


def show_one(screen: Screen, run: LaunchedRun, now: float) -> None:
    """Everything that is known of one run."""
    symbol, style = SYMBOLS[run.record.state]
    screen.headline(symbol, f"{run.record.state.value} · {run.record.case} · {run.record.variant}", style)
    if about := _about(run, now):
        screen.paragraph(about, ODD)
    if run.standing.note:
        screen.paragraph(f"the cluster says: {run.standing.note}", DIM)
    if run.error:
        screen.paragraph(f"its last step failed and is tried again: {run.error}", BAD)
    screen.facts([fact for fact in _facts(run, now) if fact[1]])
    if run.standing.past:
        screen.gap()
        screen.table(
            ("attempt", "job", "began", "given up", "why", "its log"),
            "llllll",
            [_past(one) for one in run.standing.past],
        )


def document(run: LaunchedRun, now: float) -> dict[str, Any]:
    """The run for programs; times in Unix seconds."""
    standing = run.standing
    return {
        "schema": 1,
        "run": run.record.id,
        "repository": run.record.repository,
        "case": run.record.case,
        "variant": run.record.variant,
        "commit": run.record.sha,
        "state": run.record.state.value,
        "about": life_words(standing, now),
        "place": run.job.place.name if run.job.place else None,
        "job": standing.name,
        "attempt": standing.attempt,
        "planned": run.planned,
        "since": standing.since or None,
        "began": standing.began,
        "last_step": standing.last_step,
        "expected_steps": standing.expected_steps,
        "queue_place": standing.queue_place,
        "log": run.record.log_uri,
        "wanted_by": [number for _, number in run.wanted_by],
        "wanted_by_branches": list(run.branches),
        "asked": run.wish.value if run.wish else None,
        "error": run.error,
        "past": [
            {
                "attempt": one.number,
                "job": one.name,
                "began": one.began,
                "ended": one.ended,
                "why": one.why,
                "note": one.note,
                "log": one.kept,
            }
            for one in standing.past
        ],
    }


def place_words(place: Place | None) -> str:
    """The cluster's own name, or this machine."""
    return place.cluster if place else HERE


def _about(run: LaunchedRun, now: float) -> str:
    asked = {"cancel": "to be cancelled", "run": "run again by an operator"}
    wish = asked[run.wish.value] if run.wish and not run.over else ""
    return "; ".join(part for part in (wish, life_words(run.standing, now)) if part)


def _since(run: LaunchedRun, now: float) -> str:
    return age(max(0.0, now - (run.standing.since or run.planned))) or NONE


def _facts(run: LaunchedRun, now: float) -> list[tuple[str, str]]:
    standing = run.standing
    where = run.job.place.name if run.job.place else HERE
    return [
        ("run", run.record.id),
        ("repository", run.record.repository),
        ("commit", run.record.sha or ""),
        ("wanted by", ", ".join(_wanters(run)) or "no pull request"),
        ("where", where),
        ("job", standing.name),
        ("command", run.job.command),
        ("attempt", str(standing.attempt)),
        ("planned", day(run.planned)),
        ("began", day(standing.began) if standing.began else ""),
        ("last heard", _ago(standing.heard, now)),
        ("exit code", "" if standing.exit_code is None else str(standing.exit_code)),
        ("log", run.record.log_uri or ""),
    ]


def _wanters(run: LaunchedRun) -> list[str]:
    return [f"#{number}" for _, number in run.wanted_by] + [f"the branch {name}" for name in run.branches]


def _ago(moment: float | None, now: float) -> str:
    past = age(max(0.0, now - moment)) if moment is not None else None
    return f"{past} ago" if past else ""


def _past(one: PastAttempt) -> tuple[str, ...]:
    began = day(one.began) if one.began else NONE
    why = f"{one.why}: {one.note}" if one.note else one.why
    return (str(one.number), one.name, began, day(one.ended), why, one.kept or NONE)
