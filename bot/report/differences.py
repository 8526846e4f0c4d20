"""The folded part on what differs beside the code: one side's environment from the other's.

In:  a `Report`. Out: `Fold`s; None where there is nothing to say.
"""

from bot.report.cells import field_name, label
from bot.report.detail import Detail
from bot.report.figures import NONE, counted, listed
from bot.report.folds import Fold, Table
from bot.report.model import Report
from bot.report.quoting import said
from bot.verdict.judgement import Caveat, CaveatKind

SILENT = "not stated"
FEWEST = 12  # differences shown at every level: they are shared by the cases, so there are never many


def environment_fold(report: Report, detail: Detail) -> Fold | None:
    """What differs between the sides beside the code, and every other caveat, with the cases it concerns."""
    cases: dict[tuple[str, str, str, str, bool], list[str]] = {}
    for row in report.rows:
        for caveat in row.comparison.caveats if row.comparison else ():
            cases.setdefault(_key(caveat), []).append(label(report, row.case, row.variant))
    if not cases:
        return None
    most = max(detail.columns, FEWEST)
    rows = [
        (field_name(field), said(base, 60) or NONE, said(head, 120) or NONE, _whose(names, report, detail))
        for (_, field, base, head, _), names in list(cases.items())[:most]
    ]
    return Fold(
        summary=_environment_words(list(cases)),
        table=Table(columns=("What", "Base", "Head", "Cases"), align="llll", rows=tuple(rows)),
        lines=(f"{len(cases) - most} more on the page.",) if len(cases) > most else (),
    )


def _key(caveat: Caveat) -> tuple[str, str, str, str, bool]:
    """Its kind, its field, both sides in words, and whether both are stated."""
    sides = caveat.base, caveat.head
    if any(sides) or caveat.kind is CaveatKind.ENVIRONMENT:
        base, head = (side or SILENT for side in sides)
        return caveat.kind.value, caveat.field, base, head, all(sides)
    return caveat.kind.value, caveat.field, "", caveat.text, True


def _environment_words(keys: list[tuple[str, str, str, str, bool]]) -> str:
    """What is not stated is no difference that was seen, and is counted by itself."""
    count = sum(kind == CaveatKind.ENVIRONMENT and stated for kind, *_, stated in keys)
    silent = sum(kind == CaveatKind.ENVIRONMENT and not stated for kind, *_, stated in keys)
    others = len(keys) - count - silent
    words = counted(count, "difference") if count else "no difference"
    parts = [words, f"{silent} not stated" if silent else ""]
    parts.append(counted(others, "other caveat") if others else "")
    return f"Environment: {' · '.join(part for part in parts if part)}"


def _whose(names: list[str], report: Report, detail: Detail) -> str:
    """The cases a difference concerns: all of them in a word where it concerns all."""
    if len(names) == len(report.rows) and len(names) > 1:
        return f"all {len(names)}"
    return listed([said(name, min(detail.name, 40)) for name in names], 4)
