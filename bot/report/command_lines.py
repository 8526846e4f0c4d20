"""What was asked last and what came of it, as the comment says it.

In:  a `Report`. Out: Markdown; the earlier commands in a part that is folded.
"""

import re

from bot.report.detail import Detail
from bot.report.figures import counted, day
from bot.report.folds import Fold
from bot.report.model import LastCommand, Report
from bot.report.quoting import LONGEST_ERROR, quoted, said
from bot.report.redact import redacted

# Did you mean “/benchmark rerun 03_dropout”?   574ad3f may run, as it is
_COPIED = re.compile(r"“(/benchmark[^”]*)”|\b([0-9a-f]{7,64})\b")

TOGETHER_SECONDS = 600.0
"""Who commands within this time of the newest command still waits to read what came of their own."""

MOST_IN_SIGHT = 5
"""More would push the verdict out of sight on a telephone."""


def command_lines(report: Report) -> str:
    """The newest command in one line; those of one comment, and of several people, each in its own."""
    newest = recent(report)
    if len(newest) < 2:
        return "".join(f"{_mark(one)}Last command: {_line(one)}" for one in newest)
    return "\n".join(["Last commands:", "", *(f"* {_mark(one)}{_line(one)}" for one in newest)])


def earlier_fold(report: Report, detail: Detail) -> Fold | None:
    """The other commands."""
    shown_above = recent(report)
    earlier = tuple(one for one in report.commands if one not in shown_above)
    if not earlier:
        return None
    shown = earlier[-max(detail.quotes, 1) :]
    lines = [f"* {_mark(one)}{_line(one)}" for one in reversed(shown)]
    lines += [f"* {len(earlier) - len(shown)} more on the page"] if len(earlier) > len(shown) else []
    return Fold(summary=counted(len(earlier), "earlier command"), lines=tuple(lines))


def recent(report: Report) -> tuple[LastCommand, ...]:
    """The commands in sight, oldest first: each person's newest, and what they wrote together with it."""
    newest = {one.by: one.at for one in report.commands}
    since = max(newest.values(), default=0.0) - TOGETHER_SECONDS
    return tuple(one for one in report.commands if one.at == newest[one.by] and one.at >= since)[
        -MOST_IN_SIGHT:
    ]


def _mark(command: LastCommand) -> str:
    return "⛔ " if command.refused else ""


def _line(command: LastCommand) -> str:
    return (
        f"{quoted(command.text, 120)} by {said(command.by, 60)}, {day(command.at)}: {_result(command.result)}"
    )


def _result(result: str) -> str:
    """The sentence, with the commands that it proposes and its commits as code: in running text a commit is
    broken by an invisible sign, and could not be copied."""
    # As a whole, before it is taken apart: a part of a secret is one that no rule knows.
    result = redacted(result)
    shown, at = [], 0
    for found in _COPIED.finditer(result):
        shown += [_between(result[at : found.start()]), quoted(found[1] or found[2], LONGEST_ERROR)]
        at = found.end()
    return "".join([*shown, _between(result[at:])])


def _between(part: str) -> str:
    """Running text in the middle of a sentence."""
    if not part.strip():
        return " " * bool(part)
    before, after = " " * part.startswith(" "), " " * part.endswith(" ")
    return f"{before}{said(part, LONGEST_ERROR)}{after}"
