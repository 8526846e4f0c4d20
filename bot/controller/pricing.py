"""What a plan costs and what it need not: the wishes beside the bills of the runs there are.

In:  the wishes, what is known of every run, the report so far. Out: a `Plan` for people. Pure.
"""

from collections.abc import Mapping, Sequence

from bot.controller.planning import OVER, Subject, Wishes
from bot.report.model import CaseReport
from bot.report.plan import Plan, PlannedRuns, Waiting
from bot.runs.plan import is_of
from bot.runs.price import Price, total
from bot.runs.records import RunRecord, RunState
from bot.storage.prices import Bill
from bot.storage.runs import Planned

Bills = Mapping[str, Bill]


def price_plan(subject: Subject, wishes: Wishes, rows: Sequence[CaseReport], bills: Bills) -> Plan:
    """Say what is to start or under way, what it costs, what waits, and what is reused."""
    ahead = [one for one in wishes.planned if not _is_over(one.record.id, bills)]
    priced = [subject.prices.get(_key(one)) for one in ahead]
    hours = [saved for row in rows for saved in _reused(row, subject, wishes, bills)]
    known = [saved for saved in hours if saved is not None]
    return Plan(
        runs=_by_case(ahead, subject),
        price=total(price for price in priced if price is not None),
        unpriced=sum(price is None for price in priced),
        reused=len(hours),
        saved_chip_hours=sum(known) if known else None,
        waiting=_waiting(ahead, bills),
    )


def _by_case(ahead: Sequence[Planned], subject: Subject) -> tuple[PlannedRuns, ...]:
    grouped: dict[tuple[str, str], list[Planned]] = {}
    for one in ahead:
        grouped.setdefault((one.record.case, one.record.variant), []).append(one)
    return tuple(_planned_runs(names, runs, subject) for names, runs in grouped.items())


def _planned_runs(names: tuple[str, str], runs: Sequence[Planned], subject: Subject) -> PlannedRuns:
    price = subject.prices.get("/".join(names))
    of_head = sum(is_of(one.record, subject.head) for one in runs)
    return PlannedRuns(
        case=names[0],
        variant=names[1],
        base=len(runs) - of_head,
        head=of_head,
        price=total([price] * len(runs)) if price else None,
    )


def _waiting(ahead: Sequence[Planned], bills: Bills) -> tuple[Waiting, ...]:
    """The reasons for which runs wait, each with the cases it holds up."""
    reasons: dict[str, list[str]] = {}
    for one in ahead:
        bill = bills.get(one.record.id)
        if bill is not None and bill.state == RunState.PLANNED and bill.waiting:
            reasons.setdefault(bill.waiting, []).append(_key(one))
    return tuple(Waiting(keys=tuple(dict.fromkeys(keys)), why=why) for why, keys in reasons.items())


def _reused(row: CaseReport, subject: Subject, wishes: Wishes, bills: Bills) -> list[float | None]:
    """The chip-hours of the runs of both sides that this head needs and did not have to pay for.

    Runs beyond the number that a side needs saved nothing: nobody would have started them.
    """
    target = wishes.targets.get(f"{row.case}/{row.variant}", 0)
    sides = ((row.base_runs, subject.base), (row.head_runs, subject.head))
    free = []
    for runs, commit in sides:
        free += [run for run in runs[:target] if not _paid(run, subject, commit.sha, bills)]
    price = subject.prices.get(f"{row.case}/{row.variant}")
    return [_took(run, bills, price) for run in free]


def _paid(run: RunRecord, subject: Subject, sha: str, bills: Bills) -> bool:
    """Whether the pull request had the run started, for the very commit that it is used for now."""
    bill = bills.get(run.id)
    return bill is not None and bill.number == subject.pull.number and run.sha == sha


def _took(run: RunRecord, bills: Bills, price: Price | None) -> float | None:
    bill = bills.get(run.id)
    if bill is not None and bill.took is not None:
        return bill.took
    return price.usual if price else None


def _is_over(run: str, bills: Bills) -> bool:
    """Whether a run has come to its end; one that was cancelled starts anew."""
    return run in bills and RunState(bills[run].state) in OVER - {RunState.CANCELLED}


def _key(one: Planned) -> str:
    return f"{one.record.case}/{one.record.variant}"
