"""What the page of a history shows: the drawing, where the level moved, and the newest runs.

In:  a `Timeline`, and the visit it is shown in. Out: `HistoryView`. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.figures import NONE, change, counted, significant
from bot.storage.timelines import STEADY, Acknowledged, Point
from bot.verdict.metric import Metric
from bot.verdict.metrics import BY_KEY, METRICS
from bot.web.figures.drawing import Plot
from bot.web.ground.access import Visit
from bot.web.ground.moments import Moment, moment
from bot.web.history.levels import Level, Move, levels, moves
from bot.web.history.plot import history_plot

NEWEST = 100
"""Runs in the table; the CSV has all."""

NUMERIC = tuple(metric for metric in METRICS if metric.key != "jax")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A metric of a case and variant on a branch: its points, oldest first, and what was acknowledged."""

    branch: str
    case: str
    variant: str
    metric: str
    points: tuple[Point, ...]
    acknowledged: tuple[Acknowledged, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveLine:
    """One change: by how much, at which commits, under which circumstances, and who took note."""

    change: str
    word: str
    tone: str
    commit: str
    commit_link: str | None
    between: str | None
    started: Moment | None
    runs: str
    what: str
    note: str
    note_link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointLine:
    """One run."""

    run: str
    page: str
    commit: str
    commit_link: str | None
    started: Moment | None
    value: str
    apart: str
    outcome: str
    failed: bool
    keeps_pace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Something else that can be looked at."""

    name: str
    link: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """The page; `older` runs are not in the table."""

    name: str
    branch: str
    title: str
    how: str
    metrics: tuple[Choice, ...]
    plot: Plot | None
    moves: tuple[MoveLine, ...]
    points: tuple[PointLine, ...]
    older: int
    count: int
    failed: int


def history_view(line: Timeline, visit: Visit) -> HistoryView:
    """The page's words."""
    metric = BY_KEY[line.metric]
    moved = moves(line.points, line.acknowledged)
    drawn = levels(line.points, moved)
    name = f"{line.case} · {line.variant}" if line.variant else line.case
    title = (
        f"{metric.title}, {metric.unit}" if metric.unit and metric.unit not in metric.title else metric.title
    )
    unit = f" {metric.unit}" if metric.unit else ""
    return HistoryView(
        name=visit.text(name),
        branch=visit.text(line.branch),
        title=title,
        how=metric.how,
        metrics=_choices(line, visit),
        plot=history_plot(line.points, drawn, moved, title=title, unit=unit) if line.points else None,
        moves=tuple(_move(move, metric, visit) for move in reversed(moved)),
        points=tuple(_points(line.points, drawn, metric, visit)),
        older=max(len(line.points) - NEWEST, 0),
        count=len(line.points),
        failed=sum(is_failed(point) for point in line.points),
    )


def is_failed(point: Point) -> bool:
    """Whether the run did not end well; an old one is told by its missing figure."""
    return point.outcome != "succeeded" if point.outcome is not None else point.value is None


def _choices(line: Timeline, visit: Visit) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            name=metric.title,
            link=visit.links.history(
                visit.repository, line.case, line.variant, metric.key if metric.key != STEADY else None
            ),
            chosen=metric.key == line.metric,
        )
        for metric in NUMERIC
    )


def _move(move: Move, metric: Metric, visit: Visit) -> MoveLine:
    shift = move.shift
    between = shift.before is not None and shift.at is not None and shift.before != shift.at
    judged = metric.key == STEADY and move.conditions is None
    slower = shift.change > 0
    return MoveLine(
        change=change(shift.change),
        word=("slower" if slower else "faster") if metric.key == STEADY else ("more" if slower else "less"),
        tone=("red" if slower else "good") if judged else "quiet",
        commit=shift.at[:7] if shift.at else "a commit that is not recorded",
        commit_link=visit.links.commit_on_github(visit.repository, shift.at) if shift.at else None,
        between=visit.links.comparison_on_github(visit.repository, shift.before or "", shift.at or "")
        if between
        else None,
        started=moment(shift.started),
        runs=f"{counted(shift.runs_before, 'run')} before, {shift.runs_after} after",
        what=visit.text(_conditions(*move.conditions)) if move.conditions else "",
        note=visit.text(_note(move.known, certain=move.certain)) if move.known else "",
        note_link=visit.links.pull(visit.repository, move.known.number) if move.known else None,
    )


def _conditions(old: str, new: str) -> str:
    """What changed: `TPU v5 · 16 → TPU v6 · 32`, only the parts that differ."""
    pairs = list(zip(old.split(" · "), new.split(" · "), strict=False))
    return ", ".join(f"{one} → {two}" for one, two in pairs if one != two) or "other devices or versions"


def _note(known: Acknowledged, *, certain: bool) -> str:
    said = f"acknowledged by {known.by} in #{known.number}: {known.reason}"
    return said if certain else f"perhaps what was {said}"


def _points(points: Sequence[Point], drawn: Sequence[Level], metric: Metric, visit: Visit) -> list[PointLine]:
    lines = []
    for place in range(len(points) - 1, max(len(points) - NEWEST, 0) - 1, -1):
        point = points[place]
        level = next((one for one in reversed(drawn) if one.first <= place <= one.last), None)
        lines.append(
            PointLine(
                run=visit.text(point.run),
                page=visit.links.run(point.run),
                commit=point.sha[:7] if point.sha else "not recorded",
                commit_link=visit.links.commit_on_github(visit.repository, point.sha) if point.sha else None,
                started=moment(point.started),
                value=NONE if point.value is None else f"{point.value:.{metric.digits}f}",
                apart=_apart(point, level),
                outcome=(point.outcome or "ended").replace("_", " "),
                failed=is_failed(point),
                keeps_pace=point.keeps_pace,
            )
        )
    return lines


def _apart(point: Point, level: Level | None) -> str:
    if point.value is None or level is None or not level.middle:
        return NONE
    apart = (point.value / level.middle - 1) * 100
    return f"{'+' if apart > 0 else ''}{significant(apart, 2)} %"
