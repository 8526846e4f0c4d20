"""Cases that are not measured because nobody asked for them: named with the reason, and no rows without runs.

In:  the asks in force, the pull request, the suite, the paths it touches; a report.
Out: why each case is left out; the report without their empty rows. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bot.config import Suite
from bot.intake.pull import Pull
from bot.report.model import CaseReport, Report, RowState, Skipped
from bot.runs.asks import Ask

NOT_BY_ITSELF = "pull requests start no runs by themselves here, and nobody asked"
DRAFT = "this pull request is a draft, and nobody asked"
ELSEWHERE = "the change touches none of triggers.paths, and nobody asked"
NOT_ITS_PATHS = "the change touches none of its paths, and nobody asked"
UNASKED = "nobody asked"


def left_out(
    asks: Iterable[Ask], pull: Pull, suite: Suite, changed_paths: Sequence[str]
) -> Mapping[str, str]:
    """By `case/variant`, why it is not measured; what is asked for is not in it."""
    asked = {key for ask in asks for key in ask.keys}
    keys = ((case, f"{case}/{one}") for case in suite.case_names for one in suite.variant_names)
    return {key: _why(case, pull, suite, changed_paths) for case, key in keys if key not in asked}


def without(report: Report, reasons: Mapping[str, str]) -> Report:
    """The report with what is left out among the skipped; what has runs, or a state of its own, keeps its
    row."""
    empty = [row for row in report.rows if row.state is RowState.NO_RUN and _key(row) in reasons]
    if not empty:
        return report
    skipped = (Skipped(case=row.case, variant=row.variant, why=reasons[_key(row)]) for row in empty)
    rows = tuple(row for row in report.rows if row not in empty)
    cases = {row.case for row in rows}
    return replace(
        report,
        rows=rows,
        skipped=(*report.skipped, *skipped),
        parity=tuple(row for row in report.parity if row.case in cases),
    )


def _why(case: str, pull: Pull, suite: Suite, changed_paths: Sequence[str]) -> str:
    triggers = suite.triggers
    if not (triggers.pull_request or pull.is_branch):
        return NOT_BY_ITSELF
    if pull.draft and not triggers.drafts:
        return DRAFT
    if not triggers.touched_by(changed_paths):
        return ELSEWHERE
    return UNASKED if suite.cases[case].touched_by(changed_paths) else NOT_ITS_PATHS


def _key(row: CaseReport) -> str:
    return f"{row.case}/{row.variant}"
