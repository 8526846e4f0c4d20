"""The folded part on what was measured: the runs of both sides, what was carried or skipped, and why.

In:  a `Report`. Out: one `Fold` that is always there; what was not measured is named, never left out.
"""

from collections import Counter

from bot.report.carried import carried_runs, carried_words
from bot.report.cells import label
from bot.report.detail import Detail
from bot.report.figures import NONE, counted, listed
from bot.report.folds import Fold, Table
from bot.report.links import absolute, log_path
from bot.report.model import CaseReport, Report, RowState
from bot.report.quoting import LONGEST_ERROR, said
from bot.report.states import STATES
from bot.runs.records import RunRecord

LINKED_RUNS = 3  # logs linked per side; the page has all of them
_NOT_RUN = (RowState.CARRIED, RowState.NO_RUN)


def coverage_fold(report: Report, detail: Detail, *, public_url: str) -> Fold:
    """Cases run, carried, skipped; logs of both sides; runs of older commits, which are never this head's."""
    full = report.rows[: detail.columns]
    rows = tuple(_cells(report, row, detail, public_url) for row in full)
    columns = ("Case", "Head runs", "Base runs", "Baseline", "Older commits' runs")
    return Fold(
        summary=_summary(report),
        table=Table(columns=columns, align="lllll", rows=rows) if rows else None,
        lines=(*_notes(report, detail), *_carried(report, detail), *_skipped(report, detail)),
    )


def notes(report: Report) -> dict[str, list[CaseReport]]:
    """What must be known of the runs themselves, each with the rows it concerns."""
    rows: dict[str, list[CaseReport]] = {}
    for row in report.rows:
        if row.note:
            rows.setdefault(row.note, []).append(row)
    return rows


def _summary(report: Report) -> str:
    number = Counter(row.state for row in report.rows)
    run = sum(bool(row.head_runs) and row.state not in _NOT_RUN for row in report.rows)
    parts = [f"{run} of {counted(len(report.rows), 'case')} run"]
    parts += [f"{number[state]} {STATES[state].word}" for state in _NOT_RUN if number[state]]
    carried = sum(bool(carried_runs(report, row)) for row in report.rows)
    parts += [f"{carried} carried over"] if carried else []
    parts += [f"{len(report.skipped)} skipped"] if report.skipped else []
    stale = sum(len(row.stale_runs) for row in report.rows)
    parts += [f"{counted(stale, 'run')} of older commits not used"] if stale else []
    return "Coverage: " + " · ".join(parts)


def _cells(report: Report, row: CaseReport, detail: Detail, public_url: str) -> tuple[str, ...]:
    return (
        said(label(report, row.case, row.variant), detail.name),
        _runs(row.head_runs, detail, public_url),
        _runs(row.base_runs, detail, public_url),
        _baseline(row),
        _stale(row.stale_runs),
    )


def _runs(runs: tuple[RunRecord, ...], detail: Detail, public_url: str) -> str:
    """The number of runs, with the newest logs linked."""
    if not runs:
        return "none"
    logs = [run for run in runs if run.log_uri][-LINKED_RUNS:] if detail.links else []
    links = [f"[{place}]({absolute(public_url, log_path(run.id))})" for place, run in enumerate(logs, 1)]
    return f"{len(runs)}: log {' '.join(links)}" if links else str(len(runs))


def _baseline(row: CaseReport) -> str:
    if row.baseline is None:
        return NONE
    sha = f"`{row.baseline.sha[:7]}` " if row.baseline.sha else ""
    return f"{sha}{said(row.baseline.why, 80)}"


def _stale(runs: tuple[RunRecord, ...]) -> str:
    if not runs:
        return NONE
    commits = dict.fromkeys(f"`{run.sha[:7]}`" if run.sha else "commit not recorded" for run in runs)
    return f"{len(runs)}: {listed(list(commits), 3)}"


def _notes(report: Report, detail: Detail) -> list[str]:
    most = max(detail.quotes, 1)
    grouped = list(notes(report).items())
    lines = [
        f"* {_whose(report, rows, detail)}: {said(note, LONGEST_ERROR)}" for note, rows in grouped[:most]
    ]
    return lines + ([f"* {len(grouped) - most} more notes on the page"] if len(grouped) > most else [])


def _whose(report: Report, rows: list[CaseReport], detail: Detail) -> str:
    if len(rows) == len(report.rows) and len(rows) > 1:
        return f"all {len(rows)} cases"
    return listed([said(label(report, row.case, row.variant), min(detail.name, 40)) for row in rows], 4)


def _carried(report: Report, detail: Detail) -> list[str]:
    """Results of another commit with the same files, each with its commit and age."""
    grouped: dict[str, list[CaseReport]] = {}
    for row in report.rows:
        if words := carried_words(report, row):
            grouped.setdefault(words, []).append(row)
    shown = list(grouped.items())[: max(detail.quotes, 1)]
    return [f"* {_whose(report, rows, detail)}: {words}, whose files are the same" for words, rows in shown]


def _skipped(report: Report, detail: Detail) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for one in report.skipped:
        name = said(label(report, one.case, one.variant), detail.name)
        reasons.setdefault(one.why, []).append(name)
    grouped = list(reasons.items())[: max(detail.quotes, 1)]
    return [f"* skipped, {said(why, 160)}: {listed(names, min(detail.named, 100))}" for why, names in grouped]
