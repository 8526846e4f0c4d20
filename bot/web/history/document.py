"""The JSON of histories.

In:  a `Timeline`, or the newest runs of every case. Out: dictionaries of JSON values.
"""

from collections.abc import Sequence

from bot.report.numbers import iso_time, number, percent_of_log
from bot.report.run_document import SCHEMA
from bot.storage.timelines import Point, Strip
from bot.verdict.metrics import BY_KEY
from bot.web.history.levels import Level, Move, levels, moves
from bot.web.history.view import Timeline


def history_document(repository: str, line: Timeline) -> dict[str, object]:
    """Every point, level and change, oldest first."""
    moved = moves(line.points, line.acknowledged)
    metric = BY_KEY[line.metric]
    return {
        "schema": SCHEMA,
        "repository": repository,
        "branch": line.branch,
        "case": line.case,
        "variant": line.variant,
        "metric": {"key": metric.key, "title": metric.title, "unit": metric.unit, "how": metric.how},
        "points": [_point(point) for point in line.points],
        "levels": [_level(level, line.points) for level in levels(line.points, moved)],
        "changes": [_move(move) for move in moved],
    }


def index_document(repository: str, branch: str, known: Sequence[Strip]) -> dict[str, object]:
    """Every case and variant with its newest runs."""
    return {
        "schema": SCHEMA,
        "repository": repository,
        "branch": branch,
        "cases": [
            {
                "case": strip.case,
                "variant": strip.variant,
                "points": [_point(point) for point in strip.points],
            }
            for strip in known
        ],
    }


def _point(point: Point) -> dict[str, object]:
    return {
        "run": point.run,
        "sha": point.sha,
        "started": iso_time(point.started),
        "outcome": point.outcome,
        "origin": "found" if point.found else "launched",
        "conditions": point.conditions,
        "value": number(point.value),
    }


def _level(level: Level, points: Sequence[Point]) -> dict[str, object]:
    return {
        "first_run": points[level.first].run,
        "last_run": points[level.last].run,
        "median": number(level.middle),
        "half_band": number(level.half),
    }


def _move(move: Move) -> dict[str, object]:
    shift, known = move.shift, move.known
    return {
        "change_percent": percent_of_log(shift.change),
        "before": shift.before,
        "at": shift.at,
        "runs_before": shift.runs_before,
        "runs_after": shift.runs_after,
        "started": iso_time(shift.started),
        "conditions": list(move.conditions) if move.conditions else None,
        "acknowledged": None
        if known is None
        else {
            "number": known.number,
            "by": known.by,
            "reason": known.reason,
            "made": iso_time(known.made),
            "certain": move.certain,
        },
    }
