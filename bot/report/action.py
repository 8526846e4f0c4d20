"""What to do about it: the second line of the comment.

In:  a `Report`.
Out: Markdown: who has to act on what, then which commits were compared and why this baseline, then what is
     still awaited.
"""

from collections import Counter
from dataclasses import replace

from bot.report.cells import caveat_words, label
from bot.report.ending import is_closed
from bot.report.figures import age, counted, day, listed, size
from bot.report.headline import is_green
from bot.report.judged import another_failure, loss_changed, loss_words, sometimes_on_base, weighty
from bot.report.life_words import span_words
from bot.report.model import Baseline, CaseReport, Report, RowState
from bot.report.progress import left_of
from bot.report.quoting import LONGEST_ERROR, quoted, said
from bot.report.row_words import remarkable, row_words, some_failed
from bot.report.states import GREEN, PENDING, STATES, Tier
from bot.report.trouble import UNREAD

NAMED = 3  # cases named in the line; the table has the rest


def action_line(report: Report) -> str:
    """The whole second line."""
    parts = [_what_to_do(report), " · ".join(part for part in (compared(report), _awaited(report)) if part)]
    return " ".join(part for part in parts if part)


def compared(report: Report) -> str:
    """`cdc765a` vs main `574ad3f` (merge base, 6 runs, newest 14 h old)."""
    head = f"`{report.head_sha[:7]}`"
    counts = Counter(_place(row.baseline) for row in report.rows if row.baseline)
    if not counts:
        return head
    place, rows = counts.most_common(1)[0]
    sha = f" `{place.sha[:7]}`" if place.sha else ""
    others = (
        f", other baselines for {counted(sum(counts.values()) - rows, 'case')}" if len(counts) > 1 else ""
    )
    return f"{head} vs {said(report.base_branch)}{sha} ({_about(report, place)}{others})"


def _place(baseline: Baseline) -> Baseline:
    """The baseline without the age of its runs, by which the cases of one commit differ."""
    return replace(baseline, newest_started=None)


def _about(report: Report, place: Baseline) -> str:
    here = [row for row in report.rows if row.baseline and _place(row.baseline) == place]
    numbers = {len(row.base_runs) for row in here} - {0}
    runs = ""
    if numbers:
        least, most = min(numbers), max(numbers)
        runs = counted(most, "run") if least == most else f"{least} to {most} runs a case"
    started = [row.baseline.newest_started for row in here if row.baseline and row.baseline.newest_started]
    newest = replace(place, newest_started=max(started, default=None))
    return ", ".join(part for part in (said(place.why, 160), runs, _newest(report, newest)) if part)


def _newest(report: Report, baseline: Baseline) -> str:
    """How much older the newest baseline run is than the head's: a figure that does not change by waiting."""
    if baseline.newest_started is None:
        return ""
    started = [run.started for row in report.rows for run in row.head_runs if run.started is not None]
    older = age(max(started) - baseline.newest_started) if started else None
    return f"newest {older} older" if older else f"newest of {day(baseline.newest_started)}"


def _what_to_do(report: Report) -> str:
    if report.problem:
        return _problem(report.problem)
    urgent = [row for row in _open(report) if STATES[row.state].tier is Tier.RED or remarkable(row)]
    if urgent:
        return f"**Act on {len(urgent)}:** {_clauses(report, urgent)}."
    if unfair := _in_tier(report, Tier.UNFAIR):
        return f"**Look at {len(unfair)}:** {_clauses(report, unfair)}."
    return _nothing_urgent(report)


def _problem(problem: str) -> str:
    """The problem as a sentence with its end; what passes by itself is nobody's to put right."""
    text = said(problem, LONGEST_ERROR)
    end = "" if text.endswith((".", "?", "!", "…")) else "."
    return f"{text}{end}" if problem.startswith(UNREAD) else f"**To put right:** {text}{end}"


def _nothing_urgent(report: Report) -> str:
    """What the worst of the states without a bad verdict asks for."""
    if is_green(report):
        return "No action needed."
    accepted = len(report.rows) - len(_open(report))
    if accepted and all(row.state in GREEN for row in _open(report)):
        return f"No action needed: {counted(accepted, 'verdict')} acknowledged."
    worst = max((row.state for row in _open(report)), key=lambda state: STATES[state].rank, default=None)
    rows = [row for row in _open(report) if row.state is worst]
    match worst:
        case RowState.WAITING_FOR_APPROVAL:
            says = _approval(report, rows)
        case RowState.CANCELLED:
            says = f"{_names(report, rows)}: {_cancelled(rows)}"
        case RowState.INCONCLUSIVE:
            says = f"**Not proved either way:** {_clauses(report, rows)}."
        case RowState.NO_RUN:
            says = _no_runs(report, rows)
        case RowState.NO_BASELINE:
            base = said(report.base_branch)
            says = f"{_names(report, rows)}: measured and kept; a verdict follows when {base} has a run too."
        case RowState.LOST:
            says = f"The cluster lost {_names(report, rows)}, not this change. `/benchmark rerun failed`"
        case RowState.QUEUED | RowState.RUNNING | RowState.RETRYING:
            says = "Nothing wrong so far, nothing to do yet."
        case _:
            says = _nothing(report)
    return says


def _nothing(report: Report) -> str:
    """What there is to do where no case has a row that asks for anything."""
    if report.rows or not (report.launches and report.skipped):
        return "Nothing to do."
    cases = counted(len(report.skipped), "case")
    return f"`/benchmark run` measures {cases}; `/benchmark plan` says at what price."


def _cancelled(rows: list[CaseReport]) -> str:
    if all(map(is_closed, rows)):
        return "not measured to the end, since the pull request was closed."
    return "cancelled on this commit; `/benchmark run` measures again."


def _approval(report: Report, rows: list[CaseReport]) -> str:
    """What ends the wait, to be copied: the whole commit, so that nothing else is approved."""
    command = report.approval or f"/benchmark approve {report.head_sha}"
    return (
        f"{_names(report, rows)}: the code comes from a fork and has not run. Somebody with write permission "
        f"who has read this commit starts it with `{command}`."
    )


def _open(report: Report) -> list[CaseReport]:
    """The rows whose verdict nobody accepted."""
    return [row for row in report.rows if row.acknowledged is None]


def _no_runs(report: Report, missing: list[CaseReport]) -> str:
    whose = f"No run of {_names(report, missing)} was found."
    if report.launches:
        return f"{whose} `/benchmark run` starts what is missing."
    return f"{whose} Start it on branch {quoted(report.head_branch)}; it is picked up when its log appears."


def _clauses(report: Report, rows: list[CaseReport]) -> str:
    ordered = sorted(rows, key=lambda row: -row_words(row, report.base_branch).rank)
    clauses = [_clause(report, row) for row in ordered[:NAMED]]
    more = len(rows) - len(clauses)
    return "; ".join(clauses) + (f"; and {more} more" if more else "")


def _clause(report: Report, row: CaseReport) -> str:
    name = quoted(label(report, row.case, row.variant), 60)
    comparison = row.comparison
    match row.state:
        case RowState.SLOWER if comparison:
            return f"{name} is {size(comparison.timing.change)} slower"
        case RowState.NEW_FAILURE:
            return f"{quoted(row.case, 60)} fails" + (
                f" on {said(row.variant, 40)}" if name != quoted(row.case, 60) else ""
            )
        case RowState.DIVERGED:
            return f"the loss of {name} {loss_words(comparison) or 'diverged'}"
        case RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return f"{name} is {STATES[row.state].word}{_because(row)}"
        case RowState.INCONCLUSIVE if not remarkable(row):
            return f"{name}{_needs(row)}"
        case _:
            return f"{name} {_news(report, row)}"


def _news(report: Report, row: CaseReport) -> str:
    """What a row tells beside its state."""
    if another_failure(row):
        return f"fails otherwise than on {said(report.base_branch, 40)}"
    if failed := some_failed(row):
        return f"has {failed.replace(' failed', ' that failed')}"
    if sometimes_on_base(row):
        return f"fails as some runs of {said(report.base_branch, 40)} do"
    return "has a changed loss curve" if loss_changed(row.comparison) else "uses more memory"


def _because(row: CaseReport) -> str:
    caveats = weighty(row.comparison)
    return f" ({caveat_words(caveats[0], 40)})" if caveats else ""


def _needs(row: CaseReport) -> str:
    timing = row.comparison.timing if row.comparison else None
    if timing and timing.more_runs:
        return f" needs {counted(timing.more_runs, 'more run')} a side"
    return " is inconclusive"


def _names(report: Report, rows: list[CaseReport]) -> str:
    return listed([quoted(label(report, row.case, row.variant), 60) for row in rows], NAMED)


def _in_tier(report: Report, tier: Tier) -> list[CaseReport]:
    return [row for row in _open(report) if STATES[row.state].tier is tier]


def _awaited(report: Report) -> str:
    """`⏳ 2 left, 7–11 min`; the time only where it is known of all of them."""
    running = PENDING - {RowState.WAITING_FOR_APPROVAL}
    rows = [row for row in report.rows if row.state in running]
    words = span_words(left_of(rows))
    return f"⏳ {len(rows)} left{f', {words}' if words else ''}" if rows else ""
