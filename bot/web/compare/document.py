"""The JSON of a comparison of two names.

In:  a `Pairing` with its rows. Out: a dictionary of JSON values; changes are percent of head against base.
"""

from collections.abc import Sequence

from bot.report.comparison_document import comparison_document, summary_document
from bot.report.model import CaseReport
from bot.report.report_document import run_record_document
from bot.report.run_document import SCHEMA
from bot.web.cases.pairing import End, Matched, Pairing
from bot.web.compare.view import spelt


def compare_document(pairing: Pairing, rows: Sequence[CaseReport], chosen: int | None) -> dict[str, object]:
    """Every row with its verdict; the chosen one's whole comparison besides."""
    return {
        "schema": SCHEMA,
        "repository": pairing.repository,
        "base": _end(pairing.base),
        "head": _end(pairing.head),
        "across": pairing.across.value,
        "rows": [_row(row, matched) for row, matched in zip(rows, pairing.rows, strict=True)],
        "chosen": _chosen(rows[chosen], pairing.rows[chosen]) if chosen is not None else None,
    }


def _end(end: End) -> dict[str, object]:
    return {
        "name": end.ref.text,
        "spelt": spelt(end),
        "kind": end.ref.kind.value,
        "branch": end.ref.branch,
        "sha": end.ref.sha,
        "number": end.ref.number,
        "variant": end.variant,
    }


def _row(row: CaseReport, matched: Matched) -> dict[str, object]:
    return {
        "case": row.case,
        "base_variant": matched.variants[0],
        "head_variant": matched.variants[1],
        "state": row.state.value,
        "comparison": summary_document(row.comparison) if row.comparison else None,
        "base_runs": [run_record_document(run) for run in row.base_runs],
        "head_runs": [run_record_document(run) for run in row.head_runs],
    }


def _chosen(row: CaseReport, matched: Matched) -> dict[str, object]:
    return {
        "case": row.case,
        "base_variant": matched.variants[0],
        "head_variant": matched.variants[1],
        "comparison": comparison_document(row.comparison) if row.comparison else None,
    }
