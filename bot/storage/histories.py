"""The runs of each case on main over time, each under one set of conditions.

In:  runs and their figures. Out: `PastRun`s, `Series`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from sqlalchemy import Connection

from bot.runs.baseline import HISTORY, history
from bot.runs.pattern import slug
from bot.runs.records import RunRecord
from bot.storage import timelines
from bot.storage.newest import newest_rows
from bot.storage.pace import KEEPS_PACE_TEXT
from bot.storage.runs import Figures
from bot.storage.timelines import Strip
from bot.verdict.history import PastRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A case and variant on main under the conditions of its newest run; `runs` oldest first."""

    case: str
    variant: str
    conditions: str
    runs: tuple[PastRun, ...]


def main_runs(
    of_base: Sequence[RunRecord], figures: Mapping[str, Figures], *, like: Sequence[RunRecord]
) -> tuple[PastRun, ...]:
    """The newest runs on main that keep their pace and have a steady step time, measured as the newest of
    `like` was: on the same devices and mesh, with the same versions. Oldest first; none where nothing of
    `like` was measured."""
    under = next((figures[run.id].conditions for run in like if run.id in figures), None)
    known = {run.id: figures[run.id] for run in of_base if run.id in figures and run.keeps_pace}
    alike = [run for run in of_base if run.id in known and known[run.id].conditions == under]
    timed = [run for run in alike if known[run.id].steady_seconds]
    return tuple(
        PastRun(seconds=seconds, sha=run.sha, started=run.started)
        for run in history(timed)
        if (seconds := known[run.id].steady_seconds)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """What a history is to be like: a case and variant, measured under these conditions, begun up to a moment
    (Unix seconds; None: any)."""

    key: tuple[str, str]
    under: str
    until: float | None


def newest_like(
    connection: Connection, repository: str, branch: str, wanted: Sequence[Like]
) -> list[tuple[PastRun, ...]]:
    """The newest runs on a branch (by its slug) that keep their pace, have a steady step time and are like
    each of these, oldest first: what tells the noise of a comparison."""
    known: list[list[PastRun]] = [[] for _ in wanted]
    # Those of an unknown moment count as the oldest. Asked for with the others they would have the database
    # pass every run since an old commit, rather than begin there.
    for moment in ("run.started <= :until{n}", "run.started IS NULL"):
        places = [place for place, past in enumerate(known) if len(past) < HISTORY]
        rows = newest_rows(
            connection,
            ("run.sha", "run.started", "measurement.steady_seconds"),
            [wanted[place].key for place in places],
            most=HISTORY,
            given={"repository": repository, "branch": branch},
            where=f"AND {KEEPS_PACE_TEXT} AND measurement.conditions = :under{{n}} "
            f"AND measurement.steady_seconds > 0 AND {moment}",
            own=[_asked(wanted[place]) for place in places],
        )
        for at, (_, sha, started, seconds) in rows:
            known[places[at]].append(PastRun(seconds=seconds, sha=sha, started=started))
    return [tuple(reversed(past[:HISTORY])) for past in known]


def _asked(one: Like) -> dict[str, object]:
    return {"under": one.under, "until": inf if one.until is None else one.until}


def series(strip: Strip) -> Series | None:
    """The runs that keep their pace, under the conditions of the newest; None where there is none."""
    steady = [point for point in strip.points if point.keeps_pace]
    if not steady:
        return None
    alike = [point for point in steady if point.conditions == steady[-1].conditions and point.value]
    return Series(
        case=strip.case,
        variant=strip.variant,
        conditions=steady[-1].conditions,
        runs=tuple(
            PastRun(seconds=point.value, sha=point.sha, started=point.started)
            for point in alike[-HISTORY:]
            if point.value
        ),
    )


def of_main(connection: Connection, repository: str, branch: str) -> tuple[Series, ...]:
    """The series of every case and variant that ran on a branch, by name."""
    return all_series(timelines.strips(connection, repository, slug(branch)))


def all_series(strips: Sequence[Strip]) -> tuple[Series, ...]:
    """The series of every strip that has one."""
    return tuple(one for one in map(series, strips) if one is not None)
