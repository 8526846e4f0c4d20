"""The folded part on parity: how the second variant does beside the first, and what changed since the base.

In:  a `Report`. Out: a `Fold`; None where variants are not compared.
"""

from collections import Counter

from bot.report.detail import Detail
from bot.report.figures import NONE, change, listed, pair
from bot.report.folds import Fold, Table
from bot.report.model import ParityRow, Report, Transition
from bot.report.parity import tally
from bot.report.quoting import said, tagged
from bot.verdict.judgement import TimingVerdict

_PASSED = {None: NONE, True: "pass", False: "**fail**"}
_WORDS = {
    Transition.STILL_PASSES: "still passes",
    Transition.PASSES_NOW: "fail → pass",
    Transition.FAILS_NOW: "**pass → fail**",
    Transition.FAILS_THE_SAME: "fails the same",
    Transition.FAILS_OTHERWISE: "**fails otherwise**",
    Transition.MIXED: "passes and fails",
    Transition.UNKNOWN: NONE,
}
_RANK = (
    Transition.FAILS_NOW,
    Transition.FAILS_OTHERWISE,
    Transition.PASSES_NOW,
    Transition.MIXED,
    Transition.FAILS_THE_SAME,
    Transition.UNKNOWN,
    Transition.STILL_PASSES,
)
"""Which change of a case is read first."""

NEWS = _RANK[:3]


def parity_fold(report: Report, detail: Detail) -> Fold | None:
    """How the second variant does beside the first on this commit, and what became of it since the base."""
    if not report.parity:
        return None
    first, second = report.parity[0].first_variant, report.parity[0].second_variant
    rows = sorted(
        report.parity, key=lambda row: (_rank(row), row.second_passes is row.first_passes, row.case)
    )
    full, rest = rows[: detail.columns], rows[detail.columns :]
    cells = tuple(_cells(row, detail) for row in full)
    since = f"since {said(report.base_branch, 40)}"
    columns = ("Case", said(first, 40), said(second, 40), f"{said(second, 40)} {since}", "Steady s/step")
    return Fold(
        summary=f"{tagged(first, 40)} → {tagged(second, 40)} {_summary(report)}",
        table=Table(columns=columns, align="lcccl", rows=cells) if cells else None,
        names=listed([f"{said(row.case, detail.name)} {_brief(row)}" for row in rest], detail.named),
    )


def _summary(report: Report) -> str:
    """`parity 11/14 → 12/14: 1 fail → pass`; figures only of the cases that are known."""
    counted = tally(report.parity)
    if not counted.known:
        return "parity: no case is known in both variants yet"
    head = _of(counted.head, counted.known, counted.head_mixed)
    base = "" if counted.base is None else f"{_of(counted.base, counted.known, counted.base_mixed)} → "
    part = "" if counted.known == counted.cases else f" ({counted.known} of {counted.cases} cases known)"
    moves = Counter(row.second_transition for row in report.parity)
    news = [f"{moves[one]} {_WORDS[one].strip('*')}" for one in NEWS if moves[one]]
    return f"parity {base}{head}{part}" + (f": {', '.join(news)}" if news else "")


def _of(passing: int, known: int, mixed: int) -> str:
    return f"{passing}/{known}" + (f" and {mixed} mixed" if mixed else "")


def _rank(row: ParityRow) -> int:
    return min(_RANK.index(row.first_transition), _RANK.index(row.second_transition))


def _cells(row: ParityRow, detail: Detail) -> tuple[str, ...]:
    return (
        said(row.case, detail.name),
        _first(row),
        _passed(passes=row.second_passes, mixed=row.second_mixed),
        _WORDS[row.second_transition],
        _figures(row),
    )


def _first(row: ParityRow) -> str:
    """How the first variant does, with what became of it where that is news."""
    if row.first_transition in NEWS:
        return _WORDS[row.first_transition]
    return _passed(passes=row.first_passes, mixed=row.first_mixed)


def _passed(*, passes: bool | None, mixed: bool) -> str:
    return "mixed" if mixed else _PASSED[passes]


def _figures(row: ParityRow) -> str:
    """Step times of both variants on the head; judged, since two variants are two programs."""
    timing = row.comparison.timing if row.comparison else None
    if timing is None or timing.change is None:
        return NONE
    judged = timing.verdict in {TimingVerdict.SLOWER, TimingVerdict.FASTER}
    ratio = f"**{change(timing.change)}**" if judged else change(timing.change)
    return f"{pair(timing.base_seconds, timing.head_seconds)} {ratio}"


def _brief(row: ParityRow) -> str:
    first = _passed(passes=row.first_passes, mixed=row.first_mixed)
    return f"{first} → {_passed(passes=row.second_passes, mixed=row.second_mixed)}"
