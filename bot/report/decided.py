"""What of a report is decided: the part whose change is worth telling at once.

In:  a `Report`. Out: a digest that stays the same while only progress is made.
"""

import hashlib

from bot.report.model import Report, RowState
from bot.report.states import STATES
from bot.runs.budget import waits_for_a_budget

_TOLD_AT_ONCE = frozenset({RowState.CANCELLED, RowState.WAITING_FOR_APPROVAL})
"""Somebody just asked for the one, and somebody has to act on the other."""


def decided(report: Report) -> str:
    """A digest of the names, the problem, what hinders us, the commands, the rows that nothing more is
    awaited for, and the budgets that hold runs."""
    rows = [row for row in report.rows if STATES[row.state].done or row.state in _TOLD_AT_ONCE]
    settled = [(row.case, row.variant, str(row.state), row.acknowledged) for row in rows]
    said = (
        report.repository,
        report.head_sha,
        report.problem,
        report.trouble,
        report.approval,
        [(command.text, command.at, command.result) for command in report.commands],
        len(report.rows),
        settled,
        _used_up(report),
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()


def _used_up(report: Report) -> list[str]:
    """The names of the budgets; how much of each is used changes with every run."""
    waiting = report.plan.waiting if report.plan else ()
    return sorted({one.why.partition(":")[0] for one in waiting if waits_for_a_budget(one.why)})
