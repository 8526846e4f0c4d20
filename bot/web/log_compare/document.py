"""Two logs side by side as a JSON document.

In:  the sections of a comparison, already as their reader may see them. Out: dictionaries. Pure.
"""

from collections.abc import Sequence

from bot.runs.records import RunRecord
from bot.web.log_compare.comparison import Comparison, Difference, PairView
from bot.web.log_compare.pairs import Row, SideLine

SCHEMA = 1


def compared_document(records: Sequence[RunRecord], found: Comparison) -> dict[str, object]:
    """One page of two logs: the settings that differ, on the first of them, and its sections."""
    base, head = (_run(record) for record in records)
    return {
        "schema": SCHEMA,
        "base": base,
        "head": head,
        "settings": [_setting(one) for one in found.settings],
        "first": found.first,
        "count": found.count,
        "sections": [_section(one) for one in found.sections],
    }


def _run(record: RunRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "case": record.case,
        "variant": record.variant,
        "branch": record.branch,
        "sha": record.sha,
    }


def _setting(one: Difference) -> dict[str, object]:
    return {"name": one.name, "base": one.base, "head": one.head}


def _section(one: PairView) -> dict[str, object]:
    return {
        "name": one.words,
        "only_in": one.alone,
        "apart": one.apart,
        "figures": one.figures,
        "same": one.same,
        "cut": one.more,
        "rows": [_row(row) for row in one.rows],
    }


def _row(row: Row) -> dict[str, object]:
    return {"kind": row.kind.value, "base": _side(row.base), "head": _side(row.head), "lines_same": row.same}


def _side(line: SideLine | None) -> dict[str, object] | None:
    if line is None:
        return None
    return {"number": line.number, "seconds": line.seconds, "text": line.text}
