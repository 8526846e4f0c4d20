"""The runs of a case as lines of a table, and the places in their logs that a verdict rests on.

In:  the records of runs, what was measured of them, and the visit they are shown in.
Out: `RunLine`s, `Reference`s. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.explanation_view import place_words
from bot.report.figures import NONE
from bot.report.plan_fold import hours
from bot.runs.records import RunRecord
from bot.verdict.explanation import ExplainedRun, Place
from bot.verdict.judgement import MeasuredRun
from bot.verdict.metrics import BY_KEY
from bot.web.ground.access import Visit
from bot.web.ground.moments import Moment, moment
from bot.web.log.marks import log_start

CHIP_HOURS = BY_KEY["chip_hours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run with its links and its price."""

    id: str
    commit: str
    commit_link: str | None
    started: Moment | None
    state: str
    page: str
    log: str | None
    chip_hours: str = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A place in a log, in words, with its link."""

    words: str
    link: str


def run_lines(
    records: Sequence[RunRecord], visit: Visit, measured: Sequence[MeasuredRun] = ()
) -> tuple[RunLine, ...]:
    """The runs in their order; their price where every one of them was measured."""
    whole = len(measured) == len(records)
    prices = [_chip_hours(run) for run in measured] if whole else [NONE] * len(records)
    return tuple(
        RunLine(
            id=record.id,
            commit=record.sha[:7] if record.sha else "not recorded",
            commit_link=visit.links.commit_on_github(record.repository, record.sha) if record.sha else None,
            started=moment(record.started),
            state=record.state.value,
            page=visit.links.run(record.id),
            log=visit.links.log(record.id) if record.log_uri else None,
            chip_hours=price,
        )
        for record, price in zip(records, prices, strict=True)
    )


def references(
    side: str, explained: Sequence[ExplainedRun], records: Sequence[RunRecord], visit: Visit
) -> tuple[Reference, ...]:
    """The places of a side's logs; none where it is not known which log is whose."""
    if len(explained) != len(records):
        return ()
    several = len(records) > 1
    return tuple(
        Reference(
            words=f"{side}{f' run {number}' if several else ''}: {place_words(place)}",
            link=visit.links.log(record.id, start=log_start(place.offset), anchor=_anchor(place)),
        )
        for number, (one, record) in enumerate(zip(explained, records, strict=True), start=1)
        if record.log_uri
        for place in one.places
    )


def _anchor(place: Place) -> str:
    return "" if place.step is None else f"step-{place.step}"


def _chip_hours(run: MeasuredRun) -> str:
    known = run.measurements.chip_hours
    if known is None:
        return NONE
    return f"{known:.{CHIP_HOURS.digits}f}" if known >= 1 else hours(known)
