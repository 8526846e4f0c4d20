"""The check of one head commit: conclusion, title, summary, annotations, buttons.

It says what the comment says. `CONCLUSIONS` alone decides what a merge queue makes of it.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from bot.domain.check import (
    MAX_SUMMARY_LENGTH,
    Annotation,
    AnnotationLevel,
    ButtonAction,
    CheckAction,
    Conclusion,
    RenderedCheck,
)
from bot.logs.facts import Failure
from bot.redaction.redact import redact
from bot.report.assess import (
    GREEN_STATES,
    STATES,
    Severity,
    fails_differently,
    has_extra_news,
    head_failure,
    headline,
    is_green,
    is_settled,
)
from bot.report.cells import case_label
from bot.report.model import CaseReport, Report, RowState
from bot.report.text.escape import one_line, shortened

MAX_TITLE_LENGTH = 200


class CheckOutcome(StrEnum):
    """What a report amounts to, for readers who see only the symbol beside a commit."""

    GREEN = "green"
    ACKNOWLEDGED = "acknowledged"
    REGRESSION = "regression"
    NOT_JUDGED = "not judged"
    UNDECIDED = "undecided"
    NOTHING = "nothing measured"
    PROBLEM = "problem"
    AWAITED = "awaited"


class CheckConclusion(Struct, frozen=True, kw_only=True):
    """The conclusion: the usual one, and the one where the repository wants a regression to fail."""

    usual: Conclusion
    gated: Conclusion


def _either_way(conclusion: Conclusion) -> CheckConclusion:
    return CheckConclusion(usual=conclusion, gated=conclusion)


CONCLUSIONS: Mapping[CheckOutcome, CheckConclusion] = {
    CheckOutcome.GREEN: _either_way(Conclusion.SUCCESS),
    CheckOutcome.ACKNOWLEDGED: _either_way(Conclusion.SUCCESS),
    # Some repositories merge only where every check is `success` or `skipped`, so failing is opt-in.
    CheckOutcome.REGRESSION: CheckConclusion(usual=Conclusion.SKIPPED, gated=Conclusion.FAILURE),
    # Missing data is never green, and not the change's fault.
    CheckOutcome.NOT_JUDGED: _either_way(Conclusion.SKIPPED),
    CheckOutcome.UNDECIDED: _either_way(Conclusion.SKIPPED),
    CheckOutcome.NOTHING: _either_way(Conclusion.SKIPPED),
    CheckOutcome.PROBLEM: _either_way(Conclusion.SKIPPED),
    # A check that must be concluded before the verdict is known.
    CheckOutcome.AWAITED: _either_way(Conclusion.SKIPPED),
}

_RERUN_BUTTON = CheckAction(
    label="Re-run", description="Measure every case again", identifier=ButtonAction.RERUN
)

_RERUN_FAILED_BUTTON = CheckAction(
    label="Re-run failed", description="Measure again what failed", identifier=ButtonAction.RERUN_FAILED
)

_ACKNOWLEDGE_BUTTON = CheckAction(
    label="Acknowledge",
    description="Accept what is worse on this commit",
    identifier=ButtonAction.ACKNOWLEDGE,
)

_FAILING_STATES = frozenset({RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH, RowState.LOST})


def check_outcome(report: Report) -> CheckOutcome:
    """What a report amounts to. A case that got worse outranks a problem."""
    rows = report.rows
    if not is_settled(report) or (rows and all(row.state is RowState.NO_RUN for row in rows)):
        return CheckOutcome.AWAITED
    if any(_is_regression(row) for row in rows):
        return CheckOutcome.REGRESSION
    if report.problem:
        return CheckOutcome.PROBLEM
    if not rows:
        return CheckOutcome.NOTHING
    if is_green(report):
        return CheckOutcome.GREEN
    return _outcome_without_red([row for row in rows if row.state not in GREEN_STATES or has_extra_news(row)])


def _outcome_without_red(rows: Sequence[CaseReport]) -> CheckOutcome:
    """Where no row is red and some are not green."""
    rest = [row for row in rows if row.acknowledged is None]
    if all(row.state is RowState.FAILS_ON_BOTH and not has_extra_news(row) for row in rest):
        return CheckOutcome.ACKNOWLEDGED if len(rest) < len(rows) else CheckOutcome.NOT_JUDGED
    unfair = any(STATES[row.state].severity is Severity.UNFAIR or has_extra_news(row) for row in rest)
    return CheckOutcome.NOT_JUDGED if unfair else CheckOutcome.UNDECIDED


def _is_regression(row: CaseReport) -> bool:
    """Whether a row is slower, diverged or a new failure, and not acknowledged."""
    return STATES[row.state].severity is Severity.RED and row.acknowledged is None


def conclude(outcome: CheckOutcome, *, fail_on_regression: bool) -> Conclusion:
    """The conclusion of the check, as the repository wants it."""
    ending = CONCLUSIONS[outcome]
    return ending.gated if fail_on_regression else ending.usual


def check_text(
    report: Report,
    *,
    conclusion: Conclusion | None,
    body: str,
    changed_paths: Sequence[str],
    url: str,
) -> RenderedCheck:
    """The check; `body` is the comment's, so that the two cannot disagree, and `url` the page."""
    return RenderedCheck(
        conclusion=conclusion,
        title=shortened(_check_title(report), MAX_TITLE_LENGTH),
        summary=shortened(_without_markers(body), MAX_SUMMARY_LENGTH),
        url=url,
        annotations=annotations(report, changed_paths) if conclusion else (),
        actions=check_actions(report) if conclusion else (),
    )


def _check_title(report: Report) -> str:
    """The headline without our name, which GitHub shows beside it."""
    return headline(report).replace("MaxView: ", "", 1)


def check_actions(report: Report) -> tuple[CheckAction, ...]:
    """The buttons that would do something. GitHub shows at most three, and only on a finished check.

    A watched branch has no conversation in which a button could be answered.
    """
    if report.is_branch:
        return ()
    failing = any(row.state in _FAILING_STATES for row in report.rows)
    worse = any(_is_regression(row) for row in report.rows)
    offered = [_RERUN_BUTTON] if report.rows else []
    offered += [_RERUN_FAILED_BUTTON] if failing else []
    offered += [_ACKNOWLEDGE_BUTTON] if worse else []
    return tuple(offered)


def _without_markers(body: str) -> str:
    """The comment without its hidden markers."""
    lines = body.splitlines(keepends=True)
    while lines and (not lines[0].strip() or lines[0].startswith("<!-- maxview:")):
        lines.pop(0)
    return "".join(lines)


MAX_ANNOTATION_LENGTH = 1_000

MAX_ANNOTATION_TITLE_LENGTH = 200  # GitHub allows 255

INSTALLED_FOLDERS = ("site-packages/", "dist-packages/")
"""Folders of installed packages: below them a path lacks its folder of the repository."""

_LINE_NUMBER = re.compile(r"[0-9]{1,7}")


def annotations(report: Report, changed_paths: Sequence[str]) -> tuple[Annotation, ...]:
    """One annotation for each line and error, with the names of all cases that fail there."""
    found: dict[tuple[str, int, str], list[CaseReport]] = {}
    for row in report.rows:
        failure = _annotated_failure(row)
        at = _changed_line(failure, changed_paths) if failure else None
        if failure and at:
            found.setdefault((*at, failure.error), []).append(row)
    return tuple(_annotation(report, path, line, error, rows) for (path, line, error), rows in found.items())


def _annotated_failure(row: CaseReport) -> Failure | None:
    """The head's failure, unless the base has the same."""
    new = row.state in {RowState.NEW_FAILURE, RowState.DIVERGED}
    return head_failure(row) if new or fails_differently(row) else None


def _annotation(report: Report, path: str, line: int, error: str, rows: Sequence[CaseReport]) -> Annotation:
    names = ", ".join(case_label(report, row.key) for row in rows)
    new = any(row.state is RowState.NEW_FAILURE for row in rows)
    return Annotation(
        path=path,
        line=line,
        level=AnnotationLevel.FAILURE if new else AnnotationLevel.WARNING,
        title=one_line(redact(f"{names}: fails here"), MAX_ANNOTATION_TITLE_LENGTH),
        message=one_line(redact(error), MAX_ANNOTATION_LENGTH) or "the run ended here",
    )


def _changed_line(failure: Failure, changed_paths: Sequence[str]) -> tuple[str, int] | None:
    """The changed path and the line; None where the file is not changed or is ambiguous."""
    name, _, line = (failure.where or "").rpartition(":")
    if not name or not _LINE_NUMBER.fullmatch(line) or int(line) < 1:
        return None
    frames = _traceback_files(failure.excerpt, name, line)
    matching = {path for path in changed_paths if any(_is_same_file(frame, path) for frame in frames)}
    return (matching.pop(), int(line)) if len(matching) == 1 else None


def _traceback_files(excerpt: str, name: str, line: str) -> list[str]:
    """The paths of that file and line in the traceback; the name alone where there is none."""
    form = re.compile(rf'File "([^"\n]{{0,400}}{re.escape(name)})", line {line}\b')
    whole = [frame for frame in form.findall(excerpt) if frame.endswith("/" + name) or frame == name]
    return whole or [name]


def _is_same_file(frame: str, path: str) -> bool:
    """Whether a path on the machine that ran is this path of the repository."""
    if "/" not in frame:
        return path.rpartition("/")[2] == frame
    for folder in INSTALLED_FOLDERS:
        _, installed, below = frame.rpartition(folder)
        if installed:
            return f"/{path}".endswith(f"/{below}")
    return f"/{frame}".endswith(f"/{path}")
