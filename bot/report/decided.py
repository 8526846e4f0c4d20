"""What of a report is decided: the part whose change is worth telling at once.

In:  a `Report`. Out: a digest that stays the same while only progress is made.
"""

import hashlib

from bot.report.model import Report
from bot.report.states import STATES


def decided(report: Report) -> str:
    """A digest of the head, the problem, the last command, and the rows that nothing more is awaited for."""
    settled = [(row.case, row.variant, str(row.state)) for row in report.rows if STATES[row.state].done]
    command = report.last_command
    said = (
        report.head_sha,
        report.problem,
        command and (command.text, command.at),
        len(report.rows),
        settled,
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()
