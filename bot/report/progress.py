"""How far a row's runs are, in Markdown, and how long all of them will still take.

In:  rows and their `Progress`. Out: Markdown; `Span`s.
"""

from collections.abc import Sequence

from bot.report.material import CaseRuns
from bot.report.model import CaseReport, Progress
from bot.report.quoting import said
from bot.runs.eta import NOTHING, Span

LONGEST_WORDS = 120


def progress_words(progress: Progress, state: str) -> str:
    """`2 of 6 runs, step 6 of 10`; the word of the state where no more is known."""
    words = said(progress.words, LONGEST_WORDS) if progress.words else ""
    if not words and progress.step is not None and progress.steps:
        words = f"step {progress.step} of {progress.steps}"
    runs = f"{progress.runs_done} of {progress.runs_wanted} runs" if progress.runs_wanted > 1 else ""
    if not words:
        return runs or state
    told = words if progress.step is not None else f"{'retrying' if progress.retrying else state}, {words}"
    return f"{told} ({runs})" if runs else told


def of_launched(runs: CaseRuns) -> str:
    """Why a run was lost, or what its cluster says of one that waits: plain text, not yet escaped."""
    if runs.progress is None:
        return ""
    waits = bool(runs.unfinished) and runs.progress.step is None
    parts = [runs.progress.words if runs.lost and not runs.unfinished else ""]
    parts += [
        f"the cluster says: {runs.progress.note}" if runs.progress.note and (waits or runs.lost) else ""
    ]
    return "; ".join(part for part in parts if part)


def left_of(rows: Sequence[CaseReport]) -> Span | None:
    """How long until the last of these rows has ended; None where one of them is not known."""
    together = NOTHING
    for row in rows:
        if row.progress is None or row.progress.left is None:
            return None
        together = together.beside(row.progress.left)
    return together
