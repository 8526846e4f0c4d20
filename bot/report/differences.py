"""The folded parts on what differs: one variant from the other, one side's environment from the other's.

In:  a `Report`. Out: `Fold`s; None where there is nothing to say.
"""

from bot.report.cells import field_name, label
from bot.report.detail import Detail
from bot.report.figures import NONE, change, counted, listed, pair
from bot.report.folds import Fold, Table
from bot.report.model import ParityRow, Report
from bot.report.quoting import said, tagged
from bot.verdict.judgement import CaveatKind

FEWEST = 12  # differences shown at every level: they are shared by the cases, so there are never many
_PASSED = {None: NONE, True: "pass", False: "**fail**"}


def parity_fold(report: Report, detail: Detail) -> Fold | None:
    """How the second variant does beside the first on this commit, and did on the base branch."""
    if not report.parity:
        return None
    first, second = report.parity[0].first_variant, report.parity[0].second_variant
    both = sum(row.first_passes is True and row.second_passes is True for row in report.parity)
    rows = sorted(report.parity, key=lambda row: (row.second_passes is row.first_passes, row.case))
    full, rest = rows[: detail.columns], rows[detail.columns :]
    cells = tuple(_parity_cells(row, detail) for row in full)
    names = [f"{said(row.case, detail.name)} {_parity_words(row)}" for row in rest]
    return Fold(
        summary=f"{tagged(first, 40)} → {tagged(second, 40)} parity: "
        f"{both} of {counted(len(rows), 'case')} pass in both",
        table=Table(columns=_parity_columns(report, first, second), align="lcccl", rows=cells)
        if cells
        else None,
        names=listed(names, detail.named),
    )


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


def _parity_columns(report: Report, first: str, second: str) -> tuple[str, ...]:
    on_base = f"{said(second, 40)} on {said(report.base_branch, 40)}"
    return ("Case", said(first, 40), said(second, 40), on_base, "Steady s/step")


def _parity_cells(row: ParityRow, detail: Detail) -> tuple[str, ...]:
    timing = row.comparison.timing if row.comparison else None
    figures = NONE
    if timing is not None and timing.change is not None:
        figures = f"{pair(timing.base_seconds, timing.head_seconds)} {change(timing.change)}"
    passed = (_PASSED[one] for one in (row.first_passes, row.second_passes, row.base_second_passes))
    return (said(row.case, detail.name), *passed, figures)


def _parity_words(row: ParityRow) -> str:
    return f"{_PASSED[row.first_passes]} → {_PASSED[row.second_passes]}"


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
