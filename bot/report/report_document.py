"""The JSON object of a report, as `/api/v1/…/pull/N` gives it.

In:  a `Report`.
Out: a dictionary of JSON values with everything the comment says and what it rests on; links are paths below
     the public address. Texts are redacted as in the comment, since whoever reads the one may read the other.
"""

from collections.abc import Mapping, Sequence

from bot.report.carried import carried_runs
from bot.report.comparison_document import comparison_document
from bot.report.failure_document import failure_document
from bot.report.headline import headline, is_green, is_settled, severity
from bot.report.history_document import past_document
from bot.report.links import case_path, json_path, log_path, page_path
from bot.report.model import Acknowledgement, Baseline, CaseReport, LastCommand, ParityRow, Report
from bot.report.numbers import iso_time, number
from bot.report.parity import tally
from bot.report.plan_document import plan_document
from bot.report.redact import redacted
from bot.report.run_document import SCHEMA
from bot.runs.records import RunRecord


def report_document(report: Report) -> dict[str, object]:
    """Everything said about one head commit."""
    document: dict[str, object] = {
        "schema": SCHEMA,
        "repository": report.repository,
        "number": None if report.is_branch else report.number,
        "title": report.title,
        "headline": headline(report),
        "severity": severity(report),
        "green": is_green(report),
        "settled": is_settled(report),
        "head": {"sha": report.head_sha, "branch": report.head_branch},
        "base": {"branch": report.base_branch, "merge_base": report.merge_base},
        "made_at": iso_time(report.made_at),
        "problem": report.problem,
        "rows": [_row(report, row) for row in report.rows],
        "parity": [_parity(row) for row in report.parity],
        "parity_tally": _tally(report.parity),
        "skipped": [{"case": one.case, "variant": one.variant, "why": one.why} for one in report.skipped],
        "last_command": _command(report.last_command),
        "commands": [_command(one) for one in report.commands],
        "approval": report.approval or None,
        "variants": list(report.variants),
        "launches": report.launches,
        "chip_hours": {
            "used": number(report.chip_hours_used, 3),
            "saved": number(report.chip_hours_saved, 3),
        },
        "plan": plan_document(report.plan),
        "margins": {
            "practical_percent": report.practical_percent,
            "equivalence_percent": report.equivalence_percent,
        },
        "links": {"page": page_path(report), "json": json_path(report)},
    }
    return {name: _public(value) for name, value in document.items()}


def _row(report: Report, row: CaseReport) -> dict[str, object]:
    progress = row.progress
    return {
        "case": row.case,
        "variant": row.variant,
        "state": row.state.value,
        "note": row.note,
        "baseline": _baseline(row.baseline),
        "history": past_document(row.past),
        "base_runs": [run_record_document(run) for run in row.base_runs],
        "head_runs": [run_record_document(run) for run in row.head_runs],
        "stale_runs": [run_record_document(run) for run in row.stale_runs],
        "progress": None
        if progress is None
        else {
            "step": progress.step,
            "steps": progress.steps,
            "runs_done": progress.runs_done,
            "runs_wanted": progress.runs_wanted,
            "about": progress.words,
            "left_seconds": [progress.left.low, progress.left.high] if progress.left else None,
        },
        "failure": failure_document(row.failure),
        "acknowledged": _acknowledged(row.acknowledged),
        "carried": [run.id for run in carried_runs(report, row)],
        "comparison": comparison_document(row.comparison) if row.comparison else None,
        "links": {"page": case_path(report, row.case, row.variant)},
    }


def _baseline(baseline: Baseline | None) -> dict[str, object] | None:
    if baseline is None:
        return None
    return {
        "sha": baseline.sha,
        "why": baseline.why,
        "distance": baseline.distance,
        "newest_started": iso_time(baseline.newest_started),
    }


def run_record_document(run: RunRecord) -> dict[str, object]:
    """One run of a side, with the path of its log."""
    return {
        "id": run.id,
        "sha": run.sha,
        "started": iso_time(run.started),
        "state": run.state.value,
        "origin": run.origin.value,
        "attempt": run.attempt,
        "log": log_path(run.id) if run.log_uri else None,
    }


def _parity(row: ParityRow) -> dict[str, object]:
    return {
        "case": row.case,
        "first_variant": row.first_variant,
        "second_variant": row.second_variant,
        "first_passes": row.first_passes,
        "second_passes": row.second_passes,
        "base_first_passes": row.base_first_passes,
        "base_second_passes": row.base_second_passes,
        "first_mixed": row.first_mixed,
        "second_mixed": row.second_mixed,
        "base_first_mixed": row.base_first_mixed,
        "base_second_mixed": row.base_second_mixed,
        "first_transition": row.first_transition.value,
        "second_transition": row.second_transition.value,
        "comparison": comparison_document(row.comparison) if row.comparison else None,
    }


def _tally(rows: Sequence[ParityRow]) -> dict[str, object] | None:
    if not rows:
        return None
    counted = tally(rows)
    return {
        "cases": counted.cases,
        "known": counted.known,
        "head": counted.head,
        "head_unknown": counted.head_unknown,
        "head_mixed": counted.head_mixed,
        "base": counted.base,
        "base_unknown": counted.base_unknown,
        "base_mixed": counted.base_mixed,
    }


def _acknowledged(one: Acknowledgement | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {"by": one.by, "reason": one.reason, "at": iso_time(one.made), "head": one.head_sha}


def _command(command: LastCommand | None) -> dict[str, object] | None:
    if command is None:
        return None
    return {
        "text": command.text,
        "by": command.by,
        "at": iso_time(command.at),
        "result": command.result,
        "refused": command.refused,
    }


def _public(value: object) -> object:
    """`value` with every text in it redacted; keys are ours."""
    match value:
        case str():
            return redacted(value)
        case Mapping():
            return {name: _public(one) for name, one in value.items()}
        case list():
            return [_public(one) for one in value]
        case _:
            return value
