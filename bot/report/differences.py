"""The folded part on what differs beside the code: one side's environment from the other's.

In:  a `Report`. Out: `Fold`s; None where there is nothing to say.
"""

from bot.report.cells import field_name, label
from bot.report.detail import Detail
from bot.report.figures import NONE, counted, listed
from bot.report.folds import Fold, Table
from bot.report.model import Report
from bot.report.quoting import said
from bot.verdict.judgement import CaveatKind

FEWEST = 12  # differences shown at every level: they are shared by the cases, so there are never many


def environment_fold(report: Report, detail: Detail) -> Fold | None:
    """What differs between the sides beside the code, and every other caveat, with the cases it concerns."""
    cases: dict[tuple[str, str, str, str], list[str]] = {}
    for row in report.rows:
        for caveat in row.comparison.caveats if row.comparison else ():
            key = (caveat.kind.value, caveat.field, caveat.base or "", caveat.head or caveat.text)
            cases.setdefault(key, []).append(label(report, row.case, row.variant))
    if not cases:
        return None
    most = max(detail.columns, FEWEST)
    rows = [
        (field_name(field), said(base, 60) or NONE, said(head, 120) or NONE, _whose(names, report, detail))
        for (_, field, base, head), names in list(cases.items())[:most]
    ]
    return Fold(
        summary=_environment_words([kind for kind, *_ in cases]),
        table=Table(columns=("What", "Base", "Head", "Cases"), align="llll", rows=tuple(rows)),
        lines=(f"{len(cases) - most} more on the page.",) if len(cases) > most else (),
    )


def _environment_words(kinds: list[str]) -> str:
    count = kinds.count(CaveatKind.ENVIRONMENT)
    words = counted(count, "difference") if count else "no difference"
    others = len(kinds) - count
    return f"Environment: {words}" + (f" · {counted(others, 'other caveat')}" if others else "")


def _whose(names: list[str], report: Report, detail: Detail) -> str:
    """The cases a difference concerns: all of them in a word where it concerns all."""
    if len(names) == len(report.rows) and len(names) > 1:
        return f"all {len(names)}"
    return listed([said(name, min(detail.name, 40)) for name in names], 4)
