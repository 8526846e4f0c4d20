"""The runs of each case on main over time, each under one set of conditions.

In:  runs and their figures. Out: `PastRun`s, `Series`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from bot.runs.baseline import HISTORY, history
from bot.runs.pattern import slug
from bot.runs.records import Origin, RunRecord, RunState
from bot.storage import runs
from bot.storage.runs import Figures
from bot.storage.tables import MEASUREMENT, RUN
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
    """The newest runs on main with a steady step time that were measured as the newest of `like` was: on the
    same devices and mesh, with the same versions. Oldest first; none where nothing of `like` was measured."""
    under = next((figures[run.id].conditions for run in like if run.id in figures), None)
    known = {run.id: figures[run.id] for run in of_base if run.id in figures}
    alike = [run for run in of_base if run.id in known and known[run.id].conditions == under]
    timed = [run for run in alike if known[run.id].steady_seconds]
    return tuple(
        PastRun(seconds=seconds, sha=run.sha, started=run.started)
        for run in history(timed)
        if (seconds := known[run.id].steady_seconds)
    )


def newest_like(
    connection: Connection,
    repository: str,
    branch: str,
    *,
    key: tuple[str, str],
    under: str,
    until: float | None,
) -> tuple[PastRun, ...]:
    """The newest found runs of a case and variant on a branch (its slug) up to a moment (Unix seconds), with
    a steady step time measured under these conditions, oldest first: what tells the noise of a comparison."""
    before = () if until is None else (RUN.c.started <= until,)
    rows = connection.execute(
        select(RUN.c.sha, RUN.c.started, MEASUREMENT.c.steady_seconds)
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.repository == repository, RUN.c.branch == branch)
        .where(RUN.c.case == key[0], RUN.c.variant == key[1])
        .where(RUN.c.state == RunState.ENDED, RUN.c.origin == Origin.FOUND, *before)
        .where(MEASUREMENT.c.conditions == under, MEASUREMENT.c.steady_seconds > 0)
        .order_by(RUN.c.started.desc().nulls_last(), RUN.c.id)
        .limit(HISTORY)
    )
    return tuple(
        reversed([PastRun(seconds=row.steady_seconds, sha=row.sha, started=row.started) for row in rows])
    )


def of_main(connection: Connection, repository: str, branch: str) -> tuple[Series, ...]:
    """The series of every case and variant that ran on a branch, by name. Runs that we started are left out:
    they were run in turns with a pull request's own, on a machine whose speed drifts."""
    figures = runs.figures_of_branch(connection, repository, slug(branch))
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for run in runs.of_branch(connection, repository, slug(branch)):
        if run.origin is Origin.FOUND and run.state is RunState.ENDED and run.id in figures:
            groups.setdefault((run.case, run.variant), []).append(run)
    return tuple(
        Series(
            case=case,
            variant=variant,
            conditions=figures[newest_first[0].id].conditions,
            runs=main_runs(newest_first, figures, like=newest_first),
        )
        for (case, variant), newest_first in sorted(groups.items())
    )
