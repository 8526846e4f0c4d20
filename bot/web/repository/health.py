"""How main stands: each case's newest run, its age, its last good run, and where its level moved.

In:  the newest runs of every case and variant, and what time it is. Out: `HealthLine`s, those with trouble
first; their documents. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.numbers import iso_time, number
from bot.storage.timelines import NEWEST, Point, Strip
from bot.web.ground.access import Visit
from bot.web.ground.moments import Moment, ago, moment
from bot.web.history.index import Spark, newest_words, spark, trend
from bot.web.history.view import is_failed

OLD_SECONDS = 3 * 86_400.0
"""Past this a baseline is called old: a daily run may well miss a weekend, not more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLine:
    """One case and variant on main. `trouble` is what a person should know, empty where all is well."""

    name: str
    link: str
    outcome: str
    failed: bool
    page: str
    commit: str
    began: Moment | None
    age: str
    newest: str
    trend: str
    spark: Spark
    trouble: str


def health_lines(known: Sequence[Strip], branch: str, visit: Visit, now: float) -> tuple[HealthLine, ...]:
    """Every case, those with trouble first, then by name."""
    lines = [_line(strip, branch, visit, now) for strip in known]
    return tuple(sorted(lines, key=lambda line: (not line.trouble, not line.failed, line.name)))


def health_document(known: Sequence[Strip]) -> list[dict[str, object]]:
    """Every case with its newest and its last good run."""
    return [
        {
            "case": strip.case,
            "variant": strip.variant,
            "newest": _run(strip.points[-1]),
            "last_good": _run(good) if (good := last_good(strip.points)) else None,
            "looked_at": len(strip.points),
        }
        for strip in known
    ]


def last_good(points: Sequence[Point]) -> Point | None:
    """The newest run that ended well."""
    return next((point for point in reversed(points) if not is_failed(point)), None)


def trouble(strip: Strip, branch: str, now: float) -> str:
    """`main has had no good run of 04_int8 for 9 days`; empty where its newest good run is recent."""
    good = last_good(strip.points)
    name = f"{strip.case} · {strip.variant}" if strip.variant else strip.case
    if good is None:
        some = "" if len(strip.points) < NEWEST else " newest"
        return f"{branch} has had no good run of {name} in its {len(strip.points)}{some} runs"
    if good.started is None or now - good.started < OLD_SECONDS:
        return ""
    return f"{branch} has had no good run of {name} for {_days(now - good.started)}"


def _days(passed: float) -> str:
    return f"{passed / 86_400:.0f} days"


def _line(strip: Strip, branch: str, visit: Visit, now: float) -> HealthLine:
    newest = strip.points[-1]
    name = f"{strip.case} · {strip.variant}" if strip.variant else strip.case
    return HealthLine(
        name=visit.text(name),
        link=visit.links.history(visit.repository, strip.case, strip.variant),
        outcome=(newest.outcome or "ended").replace("_", " "),
        failed=is_failed(newest),
        page=visit.links.run(newest.run),
        commit=newest.sha[:7] if newest.sha else "not recorded",
        began=moment(newest.started),
        age=ago(newest.started, now),
        newest=newest_words(strip.points),
        trend=trend(strip.points),
        spark=spark(strip.points),
        trouble=visit.text(trouble(strip, branch, now)),
    )


def _run(point: Point) -> dict[str, object]:
    return {
        "run": point.run,
        "sha": point.sha,
        "started": iso_time(point.started),
        "outcome": point.outcome,
        "value": number(point.value),
    }
