"""The one comment on a pull request.

Its order: verdict, what to do, the rows that need a person, errors, then everything else folded. It has at
most `LONGEST_BODY` characters. The same report gives the same text, whenever it is rendered.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bot.logs.facts import Failure
from bot.report.assess import (
    GREEN_STATES,
    PENDING_STATES,
    STATES,
    Severity,
    deciding_caveats,
    fails_differently,
    flaky_on_base,
    has_extra_news,
    headline,
    is_cancelled_by_close,
    is_green,
    loss_changed,
    loss_words,
    next_step,
    novelty_words,
    outcome_words,
    partial_failure_words,
    row_words,
    unsuccessful_outcome,
)
from bot.report.cells import DetailLevel, case_label, caveat_words, rerun_command
from bot.report.escape import LONGEST_ERROR, safe_code, safe_html, safe_text
from bot.report.folds import (
    CommentFold,
    budget_wait_lines,
    cells_of_rows,
    chip_hours_words,
    coverage_fold,
    environment_fold,
    ledger_fold,
    method_fold,
    open_rows,
    open_table,
    overflow_fold,
    parity_fold,
    plan_fold,
    quiet_folds,
    raw_metrics_fold,
    rows_by_note,
)
from bot.report.links import absolute, json_path, log_path, page_path
from bot.report.model import Baseline, CaseReport, Report, ReportedCommand, RowState
from bot.report.redact import redacted
from bot.report.wording import (
    RUNS_UNREADABLE,
    age_words,
    counted,
    listed,
    moment_words,
    time_span_words,
    unsigned_percent,
)
from bot.runs.eta import NO_TIME, DurationRange
from bot.verdict.judgement import CaveatKind, Comparison

_UNSAFE_IN_MARKER = re.compile(r"[^A-Za-z0-9._/-]")

PULL_MARKER = "<!-- maxview:pull "
"""How the comment begins, whatever the repository was called when it was written."""


def pull_marker(repository: str, number: int) -> str:
    """`<!-- maxview:pull OWNER/REPO#N v1 -->`: the first line of the comment on that pull request."""
    return f"{PULL_MARKER}{_UNSAFE_IN_MARKER.sub('', repository)}#{number} v1 -->"


def head_marker(sha: str) -> str:
    """`<!-- maxview:head SHA -->`: which commit the comment speaks of."""
    return f"<!-- maxview:head {_UNSAFE_IN_MARKER.sub('', sha)} -->"


LONGEST_BODY = 60_000  # characters; GitHub refuses 65,536, and the rest is room for its own counting

DETAIL_LEVELS = (
    DetailLevel(links=True, rows=400, quotes=60, columns=400, named=400, ledgers=5, name=80, error=300),
    DetailLevel(links=True, rows=400, quotes=30, columns=60, named=400, ledgers=3, name=80, error=240),
    DetailLevel(links=False, rows=400, quotes=20, columns=20, named=400, ledgers=2, name=60, error=200),
    DetailLevel(links=False, rows=200, quotes=15, columns=0, named=400, ledgers=0, name=48, error=160),
    DetailLevel(links=False, rows=100, quotes=10, columns=0, named=200, ledgers=0, name=48, error=120),
    DetailLevel(links=False, rows=25, quotes=5, columns=0, named=25, ledgers=0, name=40, error=100),
)

COMMENT_TEMPLATE = "comment.md.j2"

LONGEST_PREVIEW = 1000  # several problems of a configuration, each with its line

Render = Callable[[str, Mapping[str, object]], str]


def comment_body(report: Report, *, public_url: str, render: Render) -> str:
    """The whole comment, as detailed as fits."""
    body = ""
    for detail in DETAIL_LEVELS:
        body = render(COMMENT_TEMPLATE, comment_values(report, detail, public_url=public_url))
        if len(body) <= LONGEST_BODY:
            return body
    return body[:LONGEST_BODY]


def comment_values(report: Report, detail: DetailLevel, *, public_url: str) -> dict[str, object]:
    """What the template is filled with; every value is safe Markdown, or HTML where it stands in a tag."""
    rows = open_rows(report)
    shown = rows[: detail.rows]
    page = absolute(public_url, page_path(report))
    quotes = [row_quote(report, row, public_url=public_url, detail=detail) for row in shown]
    said_quotes = [text for text in quotes if text]
    return {
        "marks": (pull_marker(report.repository, report.number), head_marker(report.head_sha)),
        "headline": headline(report),
        "action": action_line(report),
        "notes": note_lines(report, shown),
        "table": open_table(cells_of_rows(report, shown, detail, public_url)) if shown else None,
        "quotes": said_quotes[: detail.quotes],
        "more_quotes": max(len(said_quotes) - detail.quotes, 0),
        "folds": [
            *overflow_fold(report, rows[detail.rows :], detail),
            *_comment_folds(report, detail, public_url),
        ],
        "page": page,
        "command": command_lines(report),
        "footer": footer_line(report, public_url=public_url),
    }


def note_lines(report: Report, shown: Sequence[CaseReport] = ()) -> list[str]:
    """What must be known of the runs themselves before the verdict is believed, once for all its cases; not
    of rows in the open table that say it themselves, having no figures."""
    told = {id(row) for row in shown if row.comparison is None}
    lines = [f"⚠️ {_full_sentence(report.preview, LONGEST_PREVIEW)}"] if report.preview else []
    lines += [f"⚠️ {_capitalized(report.trouble)}"] if report.trouble else []
    lines += budget_wait_lines(report)
    untold = {
        note: [row for row in rows if id(row) not in told] for note, rows in rows_by_note(report).items()
    }
    for note, rows in [(note, rows) for note, rows in untold.items() if rows][:3]:
        names = listed([safe_code(row.case, 40) for row in rows], 3)
        whose = "" if len(rows) == len(report.rows) else f" ({names})"
        lines.append(f"⚠️ {_capitalized(note)}{whose}." if whose else f"⚠️ {_full_sentence(note)}")
    return lines


def _full_sentence(clause: str, limit: int = LONGEST_ERROR) -> str:
    """The clause as a sentence with its end, unless it has one: a question keeps its own."""
    shown = _capitalized(clause, limit)
    return shown if shown.endswith((".", "?", "…")) else f"{shown}."


def _capitalized(clause: str, limit: int = LONGEST_ERROR) -> str:
    # Redacted first: a secret that begins with a capital is one that no rule knows.
    shown = redacted(clause)
    return safe_text(shown[:1].upper() + shown[1:], limit)


def _comment_folds(report: Report, detail: DetailLevel, public_url: str) -> list[CommentFold]:
    if not report.rows and not report.skipped:
        return [_commands_fold(report)]
    parts = [
        *quiet_folds(report, detail, public_url=public_url),
        parity_fold(report, detail),
        plan_fold(report, detail),
        coverage_fold(report, detail, public_url=public_url),
        ledger_fold(report, detail),
        environment_fold(report, detail),
        method_fold(report),
        raw_metrics_fold(report, detail),
        earlier_commands_fold(report, detail),
        _commands_fold(report),
    ]
    return [part for part in parts if part is not None]


def _commands_fold(report: Report) -> CommentFold:
    cases = tuple(dict.fromkeys(row.case for row in report.rows))
    asked = any(command.text.lower().split()[1:2] == ["help"] for command in recent_commands(report))
    text = help_text(cases=cases, variants=report.variants, launches=report.launches, labels=report.labels)
    return CommentFold(summary="Commands", lines=(text,), opened=asked)


MOST_CASES_NAMED = 3  # cases named in the line; the table has the rest


def action_line(report: Report) -> str:
    """The whole second line."""
    parts = [
        _what_to_do(report),
        " · ".join(part for part in (compared_commits(report), _awaited_words(report)) if part),
    ]
    return " ".join(part for part in parts if part)


def compared_commits(report: Report) -> str:
    """`cdc765a` vs main `574ad3f` (merge base, 6 runs, newest 14 h old)."""
    head = f"`{report.head_sha[:7]}`"
    counts = Counter(_without_age(row.baseline) for row in report.rows if row.baseline)
    if not counts:
        return head
    place, rows = counts.most_common(1)[0]
    sha = f" `{place.sha[:7]}`" if place.sha else ""
    others = (
        f", other baselines for {counted(sum(counts.values()) - rows, 'case')}" if len(counts) > 1 else ""
    )
    return f"{head} vs {safe_text(report.base_branch)}{sha} ({_baseline_words(report, place)}{others})"


def _without_age(baseline: Baseline) -> Baseline:
    """The baseline without the age of its runs, by which the cases of one commit differ."""
    return replace(baseline, newest_started=None)


def _baseline_words(report: Report, place: Baseline) -> str:
    here = [row for row in report.rows if row.baseline and _without_age(row.baseline) == place]
    numbers = {len(row.base_runs) for row in here} - {0}
    runs = ""
    if numbers:
        least, most = min(numbers), max(numbers)
        runs = counted(most, "run") if least == most else f"{least} to {most} runs a case"
    started = [row.baseline.newest_started for row in here if row.baseline and row.baseline.newest_started]
    newest = replace(place, newest_started=max(started, default=None))
    return ", ".join(
        part for part in (safe_text(place.why, 160), runs, _baseline_age(report, newest)) if part
    )


def _baseline_age(report: Report, baseline: Baseline) -> str:
    """How much older the newest baseline run is than the head's: a figure that does not change by waiting."""
    if baseline.newest_started is None:
        return ""
    started = [run.started for row in report.rows for run in row.head_runs if run.started is not None]
    older = age_words(max(started) - baseline.newest_started) if started else None
    return f"newest {older} older" if older else f"newest of {moment_words(baseline.newest_started)}"


def _what_to_do(report: Report) -> str:
    if report.problem:
        return _problem_words(report.problem)
    urgent = [
        row
        for row in _unacknowledged(report)
        if STATES[row.state].tier is Severity.RED or has_extra_news(row)
    ]
    if urgent:
        return f"**Act on {len(urgent)}:** {_clauses(report, urgent)}."
    if unfair := _of_severity(report, Severity.UNFAIR):
        return f"**Look at {len(unfair)}:** {_clauses(report, unfair)}."
    return _nothing_urgent(report)


def _problem_words(problem: str) -> str:
    """The problem as a sentence with its end; what passes by itself is nobody's to put right."""
    text = safe_text(problem, LONGEST_ERROR)
    end = "" if text.endswith((".", "?", "!", "…")) else "."
    return f"{text}{end}" if problem.startswith(RUNS_UNREADABLE) else f"**To put right:** {text}{end}"


def _nothing_urgent(report: Report) -> str:
    """What the worst of the states without a bad verdict asks for."""
    if is_green(report):
        return "No action needed."
    accepted = len(report.rows) - len(_unacknowledged(report))
    if accepted and all(row.state in GREEN_STATES for row in _unacknowledged(report)):
        return f"No action needed: {counted(accepted, 'verdict')} acknowledged."
    worst = max(
        (row.state for row in _unacknowledged(report)), key=lambda state: STATES[state].rank, default=None
    )
    rows = [row for row in _unacknowledged(report) if row.state is worst]
    match worst:
        case RowState.WAITING_FOR_APPROVAL:
            says = _approval_words(report, rows)
        case RowState.CANCELLED:
            says = f"{_labels(report, rows)}: {_cancelled_words(rows)}"
        case RowState.INCONCLUSIVE:
            says = f"**Not proved either way:** {_clauses(report, rows)}."
        case RowState.NO_RUN:
            says = _no_runs_words(report, rows)
        case RowState.NO_BASELINE:
            base = safe_text(report.base_branch)
            says = f"{_labels(report, rows)}: measured and kept; a verdict follows when {base} has a run too."
        case RowState.LOST:
            says = f"The cluster lost {_labels(report, rows)}, not this change. `/benchmark rerun failed`"
        case RowState.QUEUED | RowState.RUNNING | RowState.RETRYING:
            says = "Nothing wrong so far, nothing to do yet."
        case _:
            says = _no_rows_action(report)
    return says


def _no_rows_action(report: Report) -> str:
    """What there is to do where no case has a row that asks for anything."""
    if report.rows or not (report.launches and report.skipped):
        return "Nothing to do."
    cases = counted(len(report.skipped), "case")
    return f"`/benchmark run` measures {cases}; `/benchmark plan` says at what price."


def _cancelled_words(rows: list[CaseReport]) -> str:
    if all(map(is_cancelled_by_close, rows)):
        return "not measured to the end, since the pull request was closed."
    return "cancelled on this commit; `/benchmark run` measures again."


def _approval_words(report: Report, rows: list[CaseReport]) -> str:
    """What ends the wait, to be copied: the whole commit, so that nothing else is approved."""
    command = report.approval or f"/benchmark approve {report.head_sha}"
    return (
        f"{_labels(report, rows)}: the code comes from a fork and has not run. Somebody with write "
        f"permission who has read this commit starts it with `{command}`."
    )


def _unacknowledged(report: Report) -> list[CaseReport]:
    """The rows whose verdict nobody accepted."""
    return [row for row in report.rows if row.acknowledged is None]


def _no_runs_words(report: Report, missing: list[CaseReport]) -> str:
    whose = f"No run of {_labels(report, missing)} was found."
    if report.launches:
        return f"{whose} `/benchmark run` starts what is missing."
    return (
        f"{whose} Start it on branch {safe_code(report.head_branch)}; it is picked up when its log appears."
    )


def _clauses(report: Report, rows: list[CaseReport]) -> str:
    ordered = sorted(rows, key=lambda row: -row_words(row, report.base_branch).rank)
    clauses = [_clause(report, row) for row in ordered[:MOST_CASES_NAMED]]
    more = len(rows) - len(clauses)
    return "; ".join(clauses) + (f"; and {more} more" if more else "")


def _clause(report: Report, row: CaseReport) -> str:
    name = safe_code(case_label(report, row.case, row.variant), 60)
    comparison = row.comparison
    match row.state:
        case RowState.SLOWER if comparison:
            return f"{name} is {unsigned_percent(comparison.timing.change)} slower"
        case RowState.NEW_FAILURE:
            return f"{safe_code(row.case, 60)} fails" + (
                f" on {safe_text(row.variant, 40)}" if name != safe_code(row.case, 60) else ""
            )
        case RowState.DIVERGED:
            return f"the loss of {name} {loss_words(comparison) or 'diverged'}"
        case RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return f"{name} is {STATES[row.state].word}{_caveat_reason(row)}"
        case RowState.INCONCLUSIVE if not has_extra_news(row):
            return f"{name}{_runs_needed(row)}"
        case _:
            return f"{name} {_extra_news_words(report, row)}"


def _extra_news_words(report: Report, row: CaseReport) -> str:
    """What a row tells beside its state."""
    if fails_differently(row):
        return f"fails otherwise than on {safe_text(report.base_branch, 40)}"
    if failed := partial_failure_words(row):
        return f"has {failed.replace(' failed', ' that failed')}"
    if flaky_on_base(row):
        return f"fails as some runs of {safe_text(report.base_branch, 40)} do"
    return "has a changed loss curve" if loss_changed(row.comparison) else "uses more memory"


def _caveat_reason(row: CaseReport) -> str:
    caveats = deciding_caveats(row.comparison)
    return f" ({caveat_words(caveats[0], 40)})" if caveats else ""


def _runs_needed(row: CaseReport) -> str:
    timing = row.comparison.timing if row.comparison else None
    if timing and timing.more_runs:
        return f" needs {counted(timing.more_runs, 'more run')} a side"
    return " is inconclusive"


def _labels(report: Report, rows: list[CaseReport]) -> str:
    return listed(
        [safe_code(case_label(report, row.case, row.variant), 60) for row in rows], MOST_CASES_NAMED
    )


def _of_severity(report: Report, tier: Severity) -> list[CaseReport]:
    return [row for row in _unacknowledged(report) if STATES[row.state].tier is tier]


def _awaited_words(report: Report) -> str:
    """`⏳ 2 left, 7–11 min`; the time only where it is known of all of them."""
    running = PENDING_STATES - {RowState.WAITING_FOR_APPROVAL}
    rows = [row for row in report.rows if row.state in running]
    words = time_span_words(_time_left(rows))
    return f"⏳ {len(rows)} left{f', {words}' if words else ''}" if rows else ""


MOST_CAVEATS_QUOTED = 6


def row_quote(report: Report, row: CaseReport, *, public_url: str, detail: DetailLevel) -> str | None:
    """The quote of `row`; None where its table row says everything."""
    text = _quote_text(report, row, detail)
    if text is None:
        return None
    name = safe_text(case_label(report, row.case, row.variant), detail.name)
    links = (
        [log_link(row, public_url), rerun_command(report, row)]
        if detail.links
        else [rerun_command(report, row)]
    )
    return f"> {row_words(row, report.base_branch).symbol} **{name}** " + " · ".join(
        [text, *(link for link in links if link)]
    )


def log_link(row: CaseReport, public_url: str, words: str = "full log") -> str:
    """A link to the log of the head's run that failed, else to its newest; empty where there is none."""
    runs = [run for run in row.head_runs if run.log_uri]
    ends = [run.log.outcome for run in row.comparison.head] if row.comparison else []
    if (
        row.comparison
        and len(ends) == len(row.head_runs)
        and (end := unsuccessful_outcome(row.comparison.head))
    ):
        told = row.head_runs[next(place for place, one in enumerate(ends) if one is end)]
        runs = [told] if told.log_uri else runs
    return f"[{words}]({absolute(public_url, log_path(runs[-1].id))})" if runs else ""


def _quote_text(report: Report, row: CaseReport, detail: DetailLevel) -> str | None:
    """What is said of the row's state, then where its code may not be what it claims to be."""
    comparison = row.comparison
    if comparison is None:
        return None
    origin = [
        safe_text(one.text, detail.error) for one in comparison.caveats if one.kind is CaveatKind.PROVENANCE
    ]
    parts = [_state_quote(report, row, comparison, detail), *origin]
    return " · ".join(part for part in parts if part) or None


def _state_quote(report: Report, row: CaseReport, comparison: Comparison, detail: DetailLevel) -> str:
    if failed := partial_failure_words(row):
        return f"{failed}: {_failure_quote(report, row, comparison, detail)}"
    if _quotes_failure(row, comparison):
        return _failure_quote(report, row, comparison, detail)
    match row.state:
        case RowState.DIVERGED | RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return _reason_quote(comparison, detail)
        case RowState.INCONCLUSIVE if comparison.timing.change is None or comparison.timing.band is None:
            return _reason_quote(comparison, detail)
        case _:
            return ""


def _quotes_failure(row: CaseReport, comparison: Comparison) -> bool:
    match row.state:
        case RowState.NEW_FAILURE:
            return True
        case RowState.FAILS_ON_BOTH:
            return has_extra_news(row)
        case RowState.DIVERGED:
            return unsuccessful_outcome(comparison.head) is not None
        case _:
            return False


def _failure_quote(report: Report, row: CaseReport, comparison: Comparison, detail: DetailLevel) -> str:
    end = unsuccessful_outcome(comparison.head)
    if end is None:
        return safe_text(comparison.reason, detail.error)
    parts = [_error_words(end.failure, detail) if end.failure and end.failure.error else outcome_words(end)]
    if row.failure is not None:
        parts.append(novelty_words(row, report.base_branch))
    elif comparison.base and not unsuccessful_outcome(comparison.base):
        parts.append(f"succeeds on {safe_text(report.base_branch, 40)}")
    if end.failure:
        parts.append(next_step(end.failure.kind).removesuffix("."))
    return " · ".join(part for part in parts if part)


def _error_words(failure: Failure, detail: DetailLevel) -> str:
    where = f" at {safe_code(failure.where, 120)}" if failure.where else ""
    return f"{safe_code(failure.error, detail.error)}{where}"


def _reason_quote(comparison: Comparison, detail: DetailLevel) -> str:
    """The verdict's own sentence; the caveats that decided it where it has none."""
    if comparison.reason:
        return safe_text(comparison.reason, 2 * detail.error)
    return "; ".join(caveat_words(caveat) for caveat in deciding_caveats(comparison)[:MOST_CAVEATS_QUOTED])


# Did you mean “/benchmark rerun 03_dropout”?   574ad3f may run, as it is
_COPYABLE = re.compile(r"“(/benchmark[^”]*)”|\b([0-9a-f]{7,64})\b")

TOGETHER_SECONDS = 600.0
"""Who commands within this time of the newest command still waits to read what came of their own."""

MOST_COMMANDS_SHOWN = 5
"""More would push the verdict out of sight on a telephone."""


def command_lines(report: Report) -> str:
    """The newest command in one line; those of one comment, and of several people, each in its own."""
    newest = recent_commands(report)
    if len(newest) < 2:
        return "".join(f"{_refused_symbol(one)}Last command: {_command_line(one)}" for one in newest)
    return "\n".join(
        ["Last commands:", "", *(f"* {_refused_symbol(one)}{_command_line(one)}" for one in newest)]
    )


def earlier_commands_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """The other commands."""
    shown_above = recent_commands(report)
    earlier = tuple(one for one in report.commands if one not in shown_above)
    if not earlier:
        return None
    shown = earlier[-max(detail.quotes, 1) :]
    lines = [f"* {_refused_symbol(one)}{_command_line(one)}" for one in reversed(shown)]
    lines += [f"* {len(earlier) - len(shown)} more on the page"] if len(earlier) > len(shown) else []
    return CommentFold(summary=counted(len(earlier), "earlier command"), lines=tuple(lines))


def recent_commands(report: Report) -> tuple[ReportedCommand, ...]:
    """The commands in sight, oldest first: each person's newest, and what they wrote together with it."""
    newest = {one.by: one.at for one in report.commands}
    since = max(newest.values(), default=0.0) - TOGETHER_SECONDS
    return tuple(one for one in report.commands if one.at == newest[one.by] and one.at >= since)[
        -MOST_COMMANDS_SHOWN:
    ]


def _refused_symbol(command: ReportedCommand) -> str:
    return "⛔ " if command.refused else ""


def _command_line(command: ReportedCommand) -> str:
    who, when = safe_text(command.by, 60), moment_words(command.at)
    return f"{safe_code(command.text, 120)} by {who}, {when}: {_command_result(command.result)}"


def _command_result(result: str) -> str:
    """The sentence, with the commands that it proposes and its commits as code: in running text a commit is
    broken by an invisible sign, and could not be copied."""
    # As a whole, before it is taken apart: a part of a secret is one that no rule knows.
    result = redacted(result)
    shown, at = [], 0
    for found in _COPYABLE.finditer(result):
        shown += [_result_part(result[at : found.start()]), safe_code(found[1] or found[2], LONGEST_ERROR)]
        at = found.end()
    return "".join([*shown, _result_part(result[at:])])


def _result_part(part: str) -> str:
    """Running text in the middle of a sentence."""
    if not part.strip():
        return " " * bool(part)
    before, after = " " * part.startswith(" "), " " * part.endswith(" ")
    return f"{before}{safe_text(part, LONGEST_ERROR)}{after}"


MOST_NAMES_LISTED = 12  # cases listed in sight; more would hide the commands

LONGEST_FOLDED_NAMES = 4000  # characters of names, escaped: the comment has an end


def help_text(
    *, cases: Sequence[str], variants: Sequence[str], launches: bool, labels: Sequence[str] = ()
) -> str:
    """Every command on its line, then what may stand for CASE and VARIANT, the labels, and who may."""
    offered = _launch_commands(cases, variants) if launches else _read_commands(cases)
    lines = [f"* {command}: {what}" for command, what in (*offered, *_COMMON_COMMANDS)]
    return "\n".join(
        [*lines, "", *_help_names(cases, variants, labels if launches else ()), _WHO_MAY_COMMAND]
    )


_COMMON_COMMANDS = (
    ("`/benchmark status`", "bring this comment up to date"),
    ('`/benchmark ack CASE reason="…"`', "accept a verdict, and say why: it stays, and asks for nothing"),
    ("`/benchmark help`", "this list"),
)

_WHO_MAY_COMMAND = (
    "One command per line, in a new comment, by somebody with write permission. "
    "Globs such as `03_*` work; without CASE a command means all of them."
)


def _launch_commands(cases: Sequence[str], variants: Sequence[str]) -> tuple[tuple[str, str], ...]:
    example = safe_code(f"/benchmark rerun {cases[0] if cases else 'CASE'}")
    variant = " [VARIANT]" if len(variants) > 1 else ""
    return (
        (f"`/benchmark` or `/benchmark run [CASE…]{variant} [--fresh]`", "start what is missing"),
        (f"{example}, `/benchmark rerun failed`, `/benchmark rerun all`", "measure again, both sides"),
        ("`/benchmark cancel [CASE…]`", "stop what runs; a push or `/benchmark run` asks anew"),
        ("`/benchmark plan`", "what would run, and its price in chip-hours"),
        ("`/benchmark baseline [REF]`", "measure a commit of the base branch to compare with"),
        ("`/benchmark approve SHA`", "let this very commit of a fork run, after reading it"),
    )


def _read_commands(cases: Sequence[str]) -> tuple[tuple[str, str], ...]:
    example = safe_code(f"/benchmark rerun {cases[0] if cases else 'CASE'}")
    return ((f"`/benchmark`, `/benchmark run` or {example}", "look for new runs and read them"),)


def _help_names(cases: Sequence[str], variants: Sequence[str], labels: Sequence[str]) -> list[str]:
    lines = [_folded_cases(cases)] if len(cases) > MOST_NAMES_LISTED else []
    lines += [f"Cases: {_help_list(cases)}."] if 0 < len(cases) <= MOST_NAMES_LISTED else []
    lines += [f"Variants: {_help_list(variants)}."] if len(variants) > 1 else []
    lines += [f"Labels that start runs while they are set: {_help_list(labels)}."] if labels else []
    return lines


def _help_list(names: Sequence[str]) -> str:
    shown = [safe_code(name, 60) for name in names[:MOST_NAMES_LISTED]]
    return ", ".join(shown) + (
        f" and {len(names) - MOST_NAMES_LISTED} more" if len(names) > MOST_NAMES_LISTED else ""
    )


def _folded_cases(cases: Sequence[str]) -> str:
    """Many names, out of sight until somebody looks for one."""
    names, shown = "", 0
    for case in cases:
        longer = f"{names} · {safe_html(case, 60)}" if names else safe_html(case, 60)
        if len(longer) > LONGEST_FOLDED_NAMES:
            break
        names, shown = longer, shown + 1
    more = f" and {len(cases) - shown} more" if shown < len(cases) else ""
    return f"<details><summary>{counted(len(cases), 'case')}</summary>{names}{more}</details>\n"


def footer_line(report: Report, *, public_url: str) -> str:
    """Parts joined by dots; commits in full, which GitHub turns into links."""
    parts = [
        f"head {report.head_sha}",
        _footer_base(report),
        *chip_hours_spent(report),
        f"[page]({absolute(public_url, page_path(report))})",
        f"[JSON]({absolute(public_url, json_path(report))})",
        "`/benchmark help`",
    ]
    return " · ".join(part for part in parts if part)


def _footer_base(report: Report) -> str:
    counts = Counter(row.baseline for row in report.rows if row.baseline)
    if not counts:
        return f"merge base {report.merge_base}, no runs of it" if report.merge_base else ""
    baseline, _ = counts.most_common(1)[0]
    sha = baseline.sha or "a commit that is not recorded"
    behind = f", {counted(baseline.distance, 'commit')} behind the merge base" if baseline.distance else ""
    return f"base {sha} because it is {safe_text(baseline.why, 160)}{behind}"


def chip_hours_spent(report: Report) -> list[str]:
    """`6.4 chip-hours used`, `0.012 chip-hours saved by reuse`, as far as they are known."""
    known = ((report.chip_hours_used, "used"), (report.chip_hours_saved, "saved by reuse"))
    return [f"{chip_hours_words(value)} chip-hours {what}" for value, what in known if value is not None]


def _time_left(rows: Sequence[CaseReport]) -> DurationRange | None:
    """How long until the last of these rows has ended; None where one of them is not known."""
    together = NO_TIME
    for row in rows:
        if row.progress is None or row.progress.left is None:
            return None
        together = together.beside(row.progress.left)
    return together
