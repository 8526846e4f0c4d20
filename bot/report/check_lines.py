"""Failures as remarks on the lines where they happened.

In:  a `Report`, and the paths that the pull request changes.
Out: `Annotation`s, only in files of the change: elsewhere GitHub shows them to nobody.

A traceback names a file as it lies on the machine that ran (`/deps/src/maxtext/x.py`) or only by its last
part; the repository knows it as `src/maxtext/x.py`.
"""

import re
from collections.abc import Sequence

from bot.intake.check import Annotation, Level
from bot.logs.facts import Failure
from bot.report.cells import label
from bot.report.escape import one_line
from bot.report.judged import another_failure, head_failure
from bot.report.model import CaseReport, Report, RowState
from bot.report.redact import redacted

LONGEST_MESSAGE = 1_000
LONGEST_TITLE = 200  # GitHub allows 255
INSTALLED = ("site-packages/", "dist-packages/")
"""Below these a package lies without the folder it has in its repository."""

_LINE = re.compile(r"[0-9]{1,7}")


def annotations(report: Report, changed_paths: Sequence[str]) -> tuple[Annotation, ...]:
    """One remark for each place and error, which names all the cases that end there."""
    found: dict[tuple[str, int, str], list[CaseReport]] = {}
    for row in report.rows:
        failure = _worth_a_remark(row)
        place = _place(failure, changed_paths) if failure else None
        if failure and place:
            found.setdefault((*place, failure.error), []).append(row)
    return tuple(_annotation(report, path, line, error, rows) for (path, line, error), rows in found.items())


def _worth_a_remark(row: CaseReport) -> Failure | None:
    """The head's failure, where it is not simply the base's."""
    new = row.state in {RowState.NEW_FAILURE, RowState.DIVERGED}
    return head_failure(row) if new or another_failure(row) else None


def _annotation(report: Report, path: str, line: int, error: str, rows: Sequence[CaseReport]) -> Annotation:
    names = ", ".join(label(report, row.case, row.variant) for row in rows)
    new = any(row.state is RowState.NEW_FAILURE for row in rows)
    return Annotation(
        path=path,
        line=line,
        level=Level.FAILURE if new else Level.WARNING,
        title=one_line(redacted(f"{names}: fails here"), LONGEST_TITLE),
        message=one_line(redacted(error), LONGEST_MESSAGE) or "the run ended here",
    )


def _place(failure: Failure, changed_paths: Sequence[str]) -> tuple[str, int] | None:
    """The changed path and the line; None where it lies elsewhere, or could be one of several files."""
    name, _, line = (failure.where or "").rpartition(":")
    if not name or not _LINE.fullmatch(line) or int(line) < 1:
        return None
    frames = _frames(failure.excerpt, name, line)
    matching = {path for path in changed_paths if any(_is_same_file(frame, path) for frame in frames)}
    return (matching.pop(), int(line)) if len(matching) == 1 else None


def _frames(excerpt: str, name: str, line: str) -> list[str]:
    """Where the traceback says that file and line lie; the name alone where it says no more."""
    form = re.compile(rf'File "([^"\n]{{0,400}}{re.escape(name)})", line {line}\b')
    whole = [frame for frame in form.findall(excerpt) if frame.endswith("/" + name) or frame == name]
    return whole or [name]


def _is_same_file(frame: str, path: str) -> bool:
    """Whether a file of a machine is one of the repository."""
    if "/" not in frame:
        return path.rpartition("/")[2] == frame
    for folder in INSTALLED:
        _, installed, below = frame.rpartition(folder)
        if installed:
            return f"/{path}".endswith(f"/{below}")
    return f"/{frame}".endswith(f"/{path}")
