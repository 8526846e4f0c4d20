"""The runs of each case on a branch over time, with one metric of each."""

from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct
from sqlalchemy import Connection, select

from bot.domain.run import RunOrigin, RunRecord, RunState, comparable_across_days
from bot.planning.baseline import HISTORY_RUNS, newest_history
from bot.storage import loss_curves, runs
from bot.storage.runs import COMPARABLE_SQL, RunFigures, newest_rows
from bot.storage.tables import ACKNOWLEDGEMENT, MEASUREMENT, RUN
from bot.verdict.noise import PastRun

MAX_POINTS = 20_000
"""Newest runs of a case that are read: two years of one an hour."""

SPARKLINE_POINTS = 60
"""Runs of a sparkline: two months of one a day, and enough to distinguish a change of level from noise."""

STEP_TIME = "steady_step_seconds"


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """One run. `value` is None if the run lacks the metric; `outcome` is how its log ended. `found` says that
    we did not start it, `keeps_pace` that it is comparable with runs of other days."""

    run: str
    sha: str | None
    started: float | None
    outcome: str | None
    conditions: str
    value: float | None
    found: bool
    keeps_pace: bool


class AcknowledgedVerdict(Struct, frozen=True, kw_only=True):
    """A verdict on a case that somebody acknowledged, and why."""

    number: int
    verdict: str
    head_sha: str
    by: str
    reason: str
    made: float


class CaseHistory(Struct, frozen=True, kw_only=True):
    """The newest runs of a case and variant, oldest first, with their steady step times."""

    case: str
    variant: str
    points: tuple[HistoryPoint, ...]


def case_histories(
    connection: Connection, repository: str, branch: str, *, most: int = SPARKLINE_POINTS
) -> tuple[CaseHistory, ...]:
    """The newest measured runs of every case and variant on a branch (by its slug), by name."""
    found = (
        CaseHistory(
            case=key[0],
            variant=key[1],
            points=history_points(connection, repository, branch, key, most=most),
        )
        for key in runs.case_keys(connection, repository, branch)
    )
    return tuple(strip for strip in found if strip.points)


def history_points(
    connection: Connection,
    repository: str,
    branch: str,
    key: tuple[str, str],
    metric: str = STEP_TIME,
    *,
    most: int = MAX_POINTS,
) -> tuple[HistoryPoint, ...]:
    """The newest measured runs of a case and variant on a branch (by its slug), oldest first."""
    names = [RUN.c.id, RUN.c.sha, RUN.c.started, RUN.c.origin, RUN.c.place]
    kept = [MEASUREMENT.c.outcome, MEASUREMENT.c.conditions]
    figure = MEASUREMENT.c.steady_seconds if metric == STEP_TIME else MEASUREMENT.c.summary
    rows = connection.execute(
        select(*names, *kept, figure.label("figure"))
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.repository == repository, RUN.c.branch == branch)
        .where(RUN.c.case == key[0], RUN.c.variant == key[1], RUN.c.state == RunState.ENDED)
        .order_by(RUN.c.started.desc().nulls_last(), RUN.c.id)
        .limit(most)
    ).all()
    return tuple(
        HistoryPoint(
            run=run,
            sha=sha,
            started=started,
            outcome=outcome,
            conditions=conditions,
            value=stored if metric == STEP_TIME else _metric_value(stored, metric),
            found=origin == RunOrigin.FOUND,
            keeps_pace=comparable_across_days(origin, place),
        )
        for run, sha, started, origin, place, outcome, conditions, stored in reversed(rows)
    )


def acknowledged_verdicts(
    connection: Connection, repository: str, key: tuple[str, str]
) -> tuple[AcknowledgedVerdict, ...]:
    """The acknowledged verdicts of a case and variant, oldest first."""
    table = ACKNOWLEDGEMENT.c
    rows = connection.execute(
        select(*(table[name] for name in AcknowledgedVerdict.__struct_fields__))
        .where(table.repository == repository, table.case == key[0], table.variant == key[1])
        .order_by(table.made)
    )
    return tuple(AcknowledgedVerdict(**row) for row in rows.mappings())


def _metric_value(stored: bytes | None, metric: str) -> float | None:
    known = runs.read_summary(stored)
    return known.figures.get(metric) if known else None


class ComparableSeries(Struct, frozen=True, kw_only=True):
    """A case and variant on main under the conditions of its newest run; `runs` oldest first."""

    case: str
    variant: str
    conditions: str
    runs: tuple[PastRun, ...]


def comparable_main_runs(
    of_base: Sequence[RunRecord], figures: Mapping[str, RunFigures], *, like: Sequence[RunRecord]
) -> tuple[PastRun, ...]:
    """The newest runs on main that are comparable across days and have a step time, under the conditions of
    the newest of `like`: the same devices, mesh and versions. Oldest first; none if nothing of `like` was
    measured."""
    under = next((figures[run.id].conditions for run in like if run.id in figures), None)
    known = {run.id: figures[run.id] for run in of_base if run.id in figures and run.comparable_across_days}
    alike = [run for run in of_base if run.id in known and known[run.id].conditions == under]
    timed = [run for run in alike if known[run.id].steady_seconds]
    return tuple(
        _past_run(run.id, run.sha, run.started, (seconds, known[run.id].loop_seconds))
        for run in newest_history(timed)
        if (seconds := known[run.id].steady_seconds)
    )


def _past_run(
    run: str, sha: str | None, started: float | None, seconds: tuple[float, float | None]
) -> PastRun:
    """A run of main with its steady step time and loop time; runs of one start were submitted together."""
    steady, loop = seconds
    together = None if started is None else f"start {started:.0f}"
    return PastRun(seconds=steady, loop=loop, sha=sha, started=started, run=run, submission=together)


class HistoryQuery(Struct, frozen=True, kw_only=True):
    """Which runs a history holds: a case and variant under these conditions, started no later than `until`
    (Unix seconds; None: any)."""

    key: tuple[str, str]
    under: str
    until: float | None


def query_histories(
    connection: Connection, repository: str, branch: str, wanted: Sequence[HistoryQuery]
) -> list[tuple[PastRun, ...]]:
    """For each query the newest matching runs on a branch (by its slug) that are comparable across days and
    have a step time, oldest first: they measure the noise of a comparison."""
    known: list[list[PastRun]] = [[] for _ in wanted]
    # Runs without a time count as the oldest. In one query with the others the database would pass every run
    # since an old commit, instead of starting there.
    for moment in ("run.started <= :until{n}", "run.started IS NULL"):
        places = [place for place, past in enumerate(known) if len(past) < HISTORY_RUNS]
        rows = newest_rows(
            connection,
            ("run.id", "run.sha", "run.started", "measurement.steady_seconds", "measurement.loop_seconds"),
            [wanted[place].key for place in places],
            most=HISTORY_RUNS,
            given={"repository": repository, "branch": branch},
            where=f"AND {COMPARABLE_SQL} AND measurement.conditions = :under{{n}} "
            f"AND measurement.steady_seconds > 0 AND {moment}",
            own=[
                {"under": one.under, "until": inf if one.until is None else one.until}
                for one in (wanted[place] for place in places)
            ],
        )
        for at, (_, run, sha, started, seconds, loop) in rows:
            known[places[at]].append(_past_run(run, sha, started, (seconds, loop)))
    return loss_curves.with_losses(connection, [tuple(reversed(past[:HISTORY_RUNS])) for past in known])


def comparable_series(strip: CaseHistory) -> ComparableSeries | None:
    """The runs that are comparable across days, under the conditions of the newest; None without any."""
    steady = [point for point in strip.points if point.keeps_pace]
    if not steady:
        return None
    alike = [point for point in steady if point.conditions == steady[-1].conditions and point.value]
    return ComparableSeries(
        case=strip.case,
        variant=strip.variant,
        conditions=steady[-1].conditions,
        runs=tuple(
            _past_run(point.run, point.sha, point.started, (point.value, None))
            for point in alike[-HISTORY_RUNS:]
            if point.value
        ),
    )


def all_series(strips: Sequence[CaseHistory]) -> tuple[ComparableSeries, ...]:
    """The series of every strip that has one."""
    return tuple(one for one in map(comparable_series, strips) if one is not None)
