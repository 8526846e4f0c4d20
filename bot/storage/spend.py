"""What launches cost, in chip-hours: reserved before the launch, settled after the run.

Every admission is one transaction, and only one of them runs at a time, in whatever process: on SQLite
because writers queue up, on PostgreSQL by a lock that the transaction holds to its end.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, case, func, select, text, true

from bot.domain.case_key import CaseKey
from bot.domain.price import HoldReason
from bot.domain.run import RunState
from bot.logs.facts import OutcomeState
from bot.planning.budget import (
    BudgetHold,
    BudgetLimits,
    BudgetUse,
    OperatorLimit,
    budget_hold,
    day_start,
    operator_hold,
)
from bot.planning.price import RunCost
from bot.runs.run_status import TERMINAL_STATES
from bot.storage.sql import upsert
from bot.storage.tables import MEASUREMENT, PULL_REQUEST, RUN, SPEND, WANT

ADMISSION_LOCK = 7_404_119_230_441
"""The number of the lock; nobody else uses it."""

MAX_WOKEN = 4
"""Runs that ask again when a slot is free: one will start; the first may be held for another reason."""


class AdmissionRequest(Struct, frozen=True, kw_only=True):
    """An attempt of a run that wants to start at a place (empty: this machine); `shown` names it for people.
    `most` is what the attempt can take at most, in chip-hours; None if only the usual cost is known."""

    run: str
    attempt: int
    place: str
    shown: str = ""
    most: float | None = None


def admit(
    connection: Connection,
    request: AdmissionRequest,
    limits: BudgetLimits,
    *,
    now: float,
    operator: Sequence[OperatorLimit] = (),
) -> BudgetHold | None:
    """Reserve what the attempt may cost, if its repository's limits and the operator's allow; otherwise save
    with the run why it waits.

    An attempt with a reservation is admitted again and costs nothing more.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADMISSION_LOCK})
    row = (
        connection.execute(select(SPEND).where(_is_attempt(request.run, request.attempt))).mappings().first()
    )
    if row is not None and row["ended"] is None:
        return None
    run = connection.execute(select(RUN).where(RUN.c.id == request.run)).mappings().one()
    used, price = _used(connection, run, request.place, now), _max_chip_hours(run, request)
    shared = [(one.chip_hours_per_day, _day_chip_hours_of(connection, one, now)) for one in operator]
    held = operator_hold(shared, price, now=now) or budget_hold(
        limits, used, price, now=now, place=request.place or request.shown
    )
    _save_waiting_reason(connection, run, held.reason if held else None, now)
    if held is None:
        _reserve(connection, run, request, earlier=_spent_before(row), now=now)
    return held


def is_reserved(connection: Connection, run: str, attempt: int) -> bool:
    """Whether an attempt is admitted and not settled; only the holder of the run's row changes that."""
    here = select(SPEND.c.run).where(_is_attempt(run, attempt), SPEND.c.ended.is_(None))
    return connection.execute(here).first() is not None


def settle(
    connection: Connection, run: str, attempt: int, *, chip_hours: float | None, now: float
) -> float | None:
    """Replace the attempt's reservation by its real cost, and make others ask again.

    If `chip_hours` is None nobody knows the cost, and the reservation counts as spent. Returns what was
    written; None if the attempt was never admitted.
    """
    here = _is_attempt(run, attempt)
    row = connection.execute(select(SPEND).where(here)).mappings().first()
    if row is None:
        return None
    spent = row["reserved_chip_hours"] if chip_hours is None else chip_hours
    if row["ended"] is None:
        connection.execute(SPEND.update().where(here).values(spent_chip_hours=spent, ended=now))
        _wake_waiting(connection, row["place"], now)
    return float(spent)


def pull_chip_hours(connection: Connection, repository: str, number: int) -> float:
    """The chip-hours of a pull request: spent, and reserved for its running attempts."""
    return _sum_chip_hours(connection, and_(SPEND.c.repository == repository, SPEND.c.number == number))


def pull_chip_hours_of_ended(connection: Connection, repository: str, number: int) -> float | None:
    """The chip-hours that the ended runs of a pull request took; None if none has ended."""
    took = func.sum(SPEND.c.spent_chip_hours + SPEND.c.earlier_chip_hours)
    here = (SPEND.c.repository == repository, SPEND.c.number == number, SPEND.c.ended.is_not(None))
    total = connection.execute(select(took).where(*here)).scalar_one()
    return None if total is None else float(total)


def day_chip_hours(connection: Connection, repository: str, now: float) -> float:
    """The chip-hours of a repository today (UTC): spent and reserved."""
    return _sum_chip_hours(connection, and_(SPEND.c.repository == repository, SPEND.c.made >= day_start(now)))


def _day_chip_hours_of(connection: Connection, limit: OperatorLimit, now: float) -> float:
    theirs = SPEND.c.repository.in_(limit.repositories)
    return _sum_chip_hours(connection, and_(theirs, SPEND.c.made >= day_start(now)))


def _is_attempt(run: str, attempt: int) -> ColumnElement[bool]:
    return and_(SPEND.c.run == run, SPEND.c.attempt == attempt)


def _used(connection: Connection, run: RowMapping, place: str, now: float) -> BudgetUse:
    today = and_(SPEND.c.repository == run["repository"], SPEND.c.made >= day_start(now))
    person, number = run["charged_to"], _paying_pull(run)
    return BudgetUse(
        runs=_count_admitted(connection, place),
        day=day_chip_hours(connection, run["repository"], now),
        person=_sum_chip_hours(connection, and_(today, SPEND.c.by == person)) if person else 0.0,
        pull=0.0 if number is None else pull_chip_hours(connection, run["repository"], number),
    )


def _paying_pull(run: RowMapping) -> int | None:
    """The pull request that pays; None for runs of main, which only count for the repository."""
    return run["charged_number"] or None


def _count_admitted(connection: Connection, place: str) -> int:
    """Admitted attempts at a place whose run goes on; a run that is over holds no slot, settled or not."""
    rows = connection.execute(
        select(func.count())
        .select_from(SPEND.outerjoin(RUN, RUN.c.id == SPEND.c.run))
        .where(SPEND.c.place == place, SPEND.c.ended.is_(None))
        .where(RUN.c.state.is_(None) | RUN.c.state.not_in(TERMINAL_STATES))
    )
    return rows.scalar_one()


def _sum_chip_hours(connection: Connection, where: ColumnElement[bool]) -> float:
    now_or_then = case((SPEND.c.ended.is_(None), SPEND.c.reserved_chip_hours), else_=SPEND.c.spent_chip_hours)
    total = func.sum(now_or_then + SPEND.c.earlier_chip_hours)
    return float(connection.execute(select(func.coalesce(total, 0.0)).where(where)).scalar_one())


def _spent_before(row: RowMapping | None) -> float:
    """What a run of the same name took before it was cancelled and requested again."""
    return 0.0 if row is None else float(row["earlier_chip_hours"] + (row["spent_chip_hours"] or 0.0))


def _max_chip_hours(run: RowMapping, request: AdmissionRequest) -> float | None:
    price: float | None = run["price"]
    return price if request.most is None else request.most


def _reserve(
    connection: Connection, run: RowMapping, request: AdmissionRequest, *, earlier: float, now: float
) -> None:
    values = {
        "repository": run["repository"],
        "number": _paying_pull(run),
        "by": run["charged_to"] or "",
        "place": request.place,
        "made": now,
        "reserved_chip_hours": _max_chip_hours(run, request) or 0.0,
        "spent_chip_hours": None,
        "earlier_chip_hours": earlier,
        "ended": None,
    }
    upsert(connection, SPEND, {"run": request.run, "attempt": request.attempt}, values)


def _save_waiting_reason(
    connection: Connection, run: RowMapping, reason: HoldReason | None, now: float
) -> None:
    """Save why the run waits. Where a budget is or was the reason, the pull requests that want it are due."""
    before = HoldReason.parse(run["waiting"]) if run["waiting"] else None
    if before == reason:
        return
    waiting = str(reason) if reason else None
    connection.execute(RUN.update().where(RUN.c.id == run["id"]).values(waiting=waiting))
    if not any(one.is_budget for one in (reason, before) if one):
        return
    wanted = select(WANT.c.number).where(WANT.c.run == run["id"], WANT.c.repository == run["repository"])
    connection.execute(
        PULL_REQUEST.update()
        .where(PULL_REQUEST.c.repository == run["repository"], PULL_REQUEST.c.number.in_(wanted))
        .where(PULL_REQUEST.c.open)
        .values(wanted=PULL_REQUEST.c.wanted + 1, due=now)
    )


def _wake_waiting(connection: Connection, place: str, now: float) -> None:
    """Make the runs that have waited longest at this place ask again, in the order planned."""
    longest = (
        select(RUN.c.id)
        .where(RUN.c.state == RunState.PLANNED, RUN.c.waiting.is_not(None), RUN.c.due > now)
        .where(func.coalesce(RUN.c.place, "") == place)
        .order_by(RUN.c.seen, RUN.c.id)
        .limit(MAX_WOKEN)
    )
    ids = [row.id for row in connection.execute(longest)]
    connection.execute(RUN.update().where(RUN.c.id.in_(ids)).values(due=RUN.c.seen))


def branch_costs(
    connection: Connection, repository: str, branch: str, *, devices: int | None
) -> dict[CaseKey, list[float]]:
    """The chip-hours of the runs that succeeded on a branch (by its slug), by key, newest first.

    Only runs on so many devices count; with None every run counts.
    """
    rows = connection.execute(
        select(RUN.c.case, RUN.c.variant, MEASUREMENT.c.chip_hours)
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.repository == repository, RUN.c.branch == branch)
        .where(MEASUREMENT.c.outcome == OutcomeState.SUCCEEDED, MEASUREMENT.c.chip_hours.is_not(None))
        .where(true() if devices is None else MEASUREMENT.c.devices == devices)
        .order_by(RUN.c.started.desc(), RUN.c.id)
    )
    hours: dict[CaseKey, list[float]] = {}
    for row in rows:
        hours.setdefault(CaseKey(row.case, row.variant), []).append(row.chip_hours)
    return hours


def run_costs(connection: Connection, ids: Collection[str]) -> dict[str, RunCost]:
    """The costs of these runs, by id, without unknown runs."""
    columns = (RUN.c.state, RUN.c.charged_number.label("number"), RUN.c.price, RUN.c.waiting)
    rows = connection.execute(
        select(RUN.c.id, *columns, MEASUREMENT.c.chip_hours.label("took"))
        .outerjoin(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.id.in_(sorted(ids)))
    )
    return {row.pop("id"): RunCost(**row) for row in map(dict, rows.mappings())}
