"""Every run of a case on a branch over time, with one metric of each.

In:  a repository, a branch, a case and variant. Out: `Point`s, oldest first; what was
acknowledged of the case.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from bot.runs.records import Origin, RunState, keeps_pace
from bot.storage import summaries
from bot.storage.tables import ACKNOWLEDGEMENT, MEASUREMENT, RUN

MOST_POINTS = 20_000
"""Newest runs of a case that are read: two years of one an hour."""

NEWEST = 60
"""Runs of a strip: two months of one a day, and enough to tell a change of level from noise."""

STEADY = "steady_step_seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run. `value` is None where the run has no such figure; `outcome` is how its log ended. `found` says
    that we did not start it, `keeps_pace` that it may stand beside runs of other days."""

    run: str
    sha: str | None
    started: float | None
    outcome: str | None
    conditions: str
    value: float | None
    found: bool
    keeps_pace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A verdict on a case that somebody took note of, and why."""

    number: int
    verdict: str
    head_sha: str
    by: str
    reason: str
    made: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The newest runs of a case and variant, oldest first, with their steady step times."""

    case: str
    variant: str
    points: tuple[Point, ...]


def strips(connection: Connection, repository: str, branch: str, *, most: int = NEWEST) -> tuple[Strip, ...]:
    """The newest measured runs of every case and variant on a branch (by its slug), by name."""
    found = (
        Strip(
            case=key[0],
            variant=key[1],
            points=points(connection, repository, branch, key, most=most),
        )
        for key in summaries.keys(connection, repository, branch)
    )
    return tuple(strip for strip in found if strip.points)


def points(
    connection: Connection,
    repository: str,
    branch: str,
    key: tuple[str, str],
    metric: str = STEADY,
    *,
    most: int = MOST_POINTS,
) -> tuple[Point, ...]:
    """The newest measured runs of a case and variant on a branch (by its slug), oldest first."""
    names = [RUN.c.id, RUN.c.sha, RUN.c.started, RUN.c.origin, RUN.c.place]
    kept = [MEASUREMENT.c.outcome, MEASUREMENT.c.conditions]
    figure = MEASUREMENT.c.steady_seconds if metric == STEADY else MEASUREMENT.c.summary
    rows = connection.execute(
        select(*names, *kept, figure.label("figure"))
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.repository == repository, RUN.c.branch == branch)
        .where(RUN.c.case == key[0], RUN.c.variant == key[1], RUN.c.state == RunState.ENDED)
        .order_by(RUN.c.started.desc().nulls_last(), RUN.c.id)
        .limit(most)
    ).all()
    return tuple(
        Point(
            run=run,
            sha=sha,
            started=started,
            outcome=outcome,
            conditions=conditions,
            value=stored if metric == STEADY else _figure(stored, metric),
            found=origin == Origin.FOUND,
            keeps_pace=keeps_pace(origin, place),
        )
        for run, sha, started, origin, place, outcome, conditions, stored in reversed(rows)
    )


def acknowledged(connection: Connection, repository: str, key: tuple[str, str]) -> tuple[Acknowledged, ...]:
    """What was acknowledged of a case and variant, oldest first."""
    table = ACKNOWLEDGEMENT.c
    rows = connection.execute(
        select(*(table[name] for name in Acknowledged.__dataclass_fields__))
        .where(table.repository == repository, table.case == key[0], table.variant == key[1])
        .order_by(table.made)
    )
    return tuple(Acknowledged(**row) for row in rows.mappings())


def _figure(stored: bytes | None, metric: str) -> float | None:
    known = summaries.read(stored)
    return known.figures.get(metric) if known else None
