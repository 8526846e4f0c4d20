"""Where main itself moved: one line for every case whose step time changed its level.

In:  the series of main's runs. Out: `MainLine`s, the newest change of each case first; their documents. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.figures import change, counted
from bot.report.history_document import shift_document
from bot.storage.histories import Series
from bot.verdict.history import Shift, shifts
from bot.web.ground.access import Visit
from bot.web.ground.moments import Moment, moment


@dataclass(frozen=True, slots=True, kw_only=True)
class MainLine:
    """`04_int8 +2.1 %` at a commit; `between` links the commits that may have done it."""

    name: str
    change: str
    slower: bool
    commit: str
    commit_link: str | None
    between: str | None
    after: str
    started: Moment | None


def main_lines(series: Sequence[Series], visit: Visit) -> tuple[MainLine, ...]:
    """The newest shift of every case and variant that moved, the most recent first."""
    moved = [(one, found[-1]) for one in series if (found := shifts(one.runs))]
    moved.sort(key=lambda pair: -(pair[1].started or 0.0))
    return tuple(_line(one, shift, visit) for one, shift in moved)


def main_document(series: Sequence[Series]) -> list[dict[str, object]]:
    """Every case with all of its shifts, oldest first."""
    return [
        {
            "case": one.case,
            "variant": one.variant,
            "conditions": one.conditions,
            "runs": len(one.runs),
            "shifts": [shift_document(shift) for shift in shifts(one.runs)],
        }
        for one in series
    ]


def _line(series: Series, shift: Shift, visit: Visit) -> MainLine:
    name = f"{series.case} · {series.variant}" if series.variant else series.case
    links = visit.links
    known = shift.before is not None and shift.at is not None and shift.before != shift.at
    return MainLine(
        name=visit.text(name),
        change=change(shift.change),
        slower=shift.change > 0,
        commit=shift.at[:7] if shift.at else "a commit that is not recorded",
        commit_link=links.commit_on_github(visit.repository, shift.at) if shift.at else None,
        between=links.comparison_on_github(visit.repository, shift.before or "", shift.at or "")
        if known
        else None,
        after=f"{counted(shift.runs_after, 'run')} after",
        started=moment(shift.started),
    )
