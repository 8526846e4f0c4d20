"""The one comment on a pull request.

Its order: verdict, what to do, the rows that need a person, errors, then everything else folded. It has at
most `MAX_BODY_LENGTH` characters. The same report gives the same text, whenever it is rendered.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.logs.facts import Failure
from bot.redaction.redact import redact
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
    is_green,
    loss_changed,
    loss_words,
    next_step,
    novelty_words,
    outcome_words,
    partial_failure,
    row_words,
    unsuccessful_outcome,
)
from bot.report.cells import DetailLevel, case_label, case_name, caveat_words, rerun_command
from bot.report.folds import (
    CommentFold,
    CommentTable,
    budget_wait_lines,
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
from bot.report.model import Baseline, CaseReport, ProblemKind, Report, ReportedCommand, RowState
from bot.report.text.escape import one_line
from bot.report.text.pieces import (
    MAX_ERROR_LENGTH,
    Foreign,
    Line,
    bold,
    code,
    foreign,
    joined,
    line,
    link,
    listed_lines,
    markdown,
    plain_text,
    summary_html,
)
from bot.report.wording import (
    age_words,
    confirming_words,
    counted,
    moment_words,
    runs_per_case,
    slower_words,
    time_span_words,
)
from bot.runs.eta import NO_TIME, DurationRange
from bot.verdict.judgement import CaveatKind, Comparison, TimingMeasure

_UNSAFE_IN_MARKER = re.compile(r"[^A-Za-z0-9._/-]")

PULL_MARKER = "<!-- maxview:pull "
"""How every comment of ours begins; the repository may have been renamed since."""


def pull_marker(repository: str, number: int) -> str:
    """`<!-- maxview:pull OWNER/REPO#N v1 -->`: the first line of the comment on that pull request."""
    return f"{PULL_MARKER}{_UNSAFE_IN_MARKER.sub('', repository)}#{number} v1 -->"


def head_marker(sha: str) -> str:
    """`<!-- maxview:head SHA -->`: the commit that the comment is about."""
    return f"<!-- maxview:head {_UNSAFE_IN_MARKER.sub('', sha)} -->"


MAX_BODY_LENGTH = 60_000  # characters; GitHub refuses 65,536, and the rest is room for its own counting

DETAIL_LEVELS = (
    DetailLevel(links=True, rows=400, quotes=60, columns=400, named=400, ledgers=5, name=80, error=300),
    DetailLevel(links=True, rows=400, quotes=30, columns=60, named=400, ledgers=3, name=80, error=240),
    DetailLevel(links=False, rows=400, quotes=20, columns=20, named=400, ledgers=2, name=60, error=200),
    DetailLevel(links=False, rows=200, quotes=15, columns=0, named=400, ledgers=0, name=48, error=160),
    DetailLevel(links=False, rows=100, quotes=10, columns=0, named=200, ledgers=0, name=48, error=120),
    DetailLevel(links=False, rows=25, quotes=5, columns=0, named=25, ledgers=0, name=40, error=100),
)

COMMENT_TEMPLATE = "comment.md.j2"

MAX_PREVIEW_LENGTH = 1000  # several problems of a configuration, each with its line

Render = Callable[[str, Mapping[str, object]], str]


def comment_body(report: Report, *, public_url: str, render: Render) -> str:
    """The whole comment, as detailed as fits."""
    body = ""
    for detail in DETAIL_LEVELS:
        body = render(COMMENT_TEMPLATE, comment_values(report, detail, public_url=public_url))
        if len(body) <= MAX_BODY_LENGTH:
            return body
    return body[:MAX_BODY_LENGTH]


class TableMarkdown(Struct, frozen=True, kw_only=True):
    """A table as the template takes it."""

    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]


class FoldMarkdown(Struct, frozen=True, kw_only=True):
    """A folded part as the template takes it: `summary` is HTML, the rest Markdown."""

    summary: str
    table: TableMarkdown | None = None
    names: str = ""
    lines: tuple[str, ...] = ()
    opened: bool = False


def comment_values(report: Report, detail: DetailLevel, *, public_url: str) -> dict[str, object]:
    """The values of the template: safe Markdown, or safe HTML where a value is inside a tag."""
    rows = open_rows(report)
    shown = rows[: detail.rows]
    found = (_row_quote(report, row, public_url=public_url, detail=detail) for row in shown)
    quotes = [markdown(quote) for quote in found if quote]
    table = open_table(report, shown, detail, public_url=public_url)
    folds = [
        *overflow_fold(report, rows[detail.rows :], detail),
        *_comment_folds(report, detail, public_url),
    ]
    return {
        "markers": (pull_marker(report.repository, report.number), head_marker(report.head_sha)),
        "headline": headline(report),
        "action": markdown(action_line(report)),
        "notes": [markdown(note) for note in _note_lines(report, shown)],
        "table": _table_markdown(table) if table else None,
        "quotes": quotes[: detail.quotes],
        "more_quotes": max(len(quotes) - detail.quotes, 0),
        "folds": [*(_fold_markdown(fold) for fold in folds), _commands_fold(report)],
        "page": absolute(public_url, page_path(report)),
        "command": _recent_commands_markdown(report),
        "footer": markdown(footer_line(report, public_url=public_url)),
    }


def _table_markdown(table: CommentTable) -> TableMarkdown:
    return TableMarkdown(
        columns=tuple(map(markdown, table.columns)),
        align=table.align,
        rows=tuple(tuple(map(markdown, row)) for row in table.rows),
    )


def _fold_markdown(fold: CommentFold) -> FoldMarkdown:
    return FoldMarkdown(
        summary=summary_html(fold.summary),
        table=_table_markdown(fold.table) if fold.table else None,
        names=markdown(fold.names),
        lines=(*map(markdown, fold.sentences), *(f"* {markdown(item)}" for item in fold.items)),
        opened=fold.opened,
    )


def _note_lines(report: Report, shown: Sequence[CaseReport] = ()) -> list[Line]:
    """Notes on the runs that a reader needs before the verdict, each once for all its cases.

    Rows of the open table without figures show their note themselves.
    """
    shown_with_note = {id(row) for row in shown if row.comparison is None}
    lines = [line("⚠️ ", _full_sentence(report.preview, MAX_PREVIEW_LENGTH))] if report.preview else []
    lines += [line("⚠️ ", _capitalized(report.trouble))] if report.trouble else []
    lines += (
        [line("⚠️ ", _own_words(report.refusal[:1].upper() + report.refusal[1:]))] if report.refusal else []
    )
    lines += budget_wait_lines(report)
    remaining = {
        note: [row for row in rows if id(row) not in shown_with_note]
        for note, rows in rows_by_note(report).items()
    }
    for note, rows in [(note, rows) for note, rows in remaining.items() if rows][:3]:
        if len(rows) == len(report.rows):
            lines.append(line("⚠️ ", _full_sentence(note)))
        else:
            names = listed_lines([code(row.case, 40) for row in rows], 3)
            lines.append(line("⚠️ ", _capitalized(note), " (", names, ")."))
    return lines


def _full_sentence(clause: str, limit: int = MAX_ERROR_LENGTH) -> Line:
    """The clause as a sentence that ends with a full stop, a question mark or an ellipsis."""
    shown = _capitalized(clause, limit)
    return line(shown, "" if plain_text(shown).endswith((".", "?", "…")) else ".")


def _capitalized(clause: str, limit: int = MAX_ERROR_LENGTH) -> Line:
    # Redacted before the first letter changes: the rules know secrets only as they are written.
    shown = redact(clause)
    return foreign(shown[:1].upper() + shown[1:], limit)


def _comment_folds(report: Report, detail: DetailLevel, public_url: str) -> list[CommentFold]:
    if not report.rows and not report.skipped:
        return []
    parts = [
        *quiet_folds(report, detail, public_url=public_url),
        parity_fold(report, detail),
        plan_fold(report, detail),
        coverage_fold(report, detail, public_url=public_url),
        ledger_fold(report, detail),
        environment_fold(report, detail),
        method_fold(report),
        raw_metrics_fold(report, detail),
        _earlier_commands_fold(report, detail),
    ]
    return [part for part in parts if part is not None]


def _commands_fold(report: Report) -> FoldMarkdown:
    cases = tuple(dict.fromkeys(row.case for row in report.rows))
    asked = any(command.asks_for_help for command in _recent_commands(report))
    text = help_text(cases=cases, variants=report.variants, launches=report.launches, labels=report.labels)
    return FoldMarkdown(summary="Commands", lines=(text,), opened=asked)


MAX_CASES_NAMED = 3  # cases named in the line; the table has the rest


def action_line(report: Report) -> Line:
    """The whole second line."""
    facts = [part for part in (_compared_commits(report), _awaited_words(report)) if part]
    return line(_what_to_do(report), " ", joined(" · ", facts))


def _compared_commits(report: Report) -> Line:
    """`cdc765a` vs main `574ad3f` (merge base, 6 runs, newest 14 h old)."""
    head = code(report.head_sha[:7])
    counts = Counter(_without_age(row.baseline) for row in report.rows if row.baseline)
    if not counts:
        return head
    baseline, rows = counts.most_common(1)[0]
    sha = line(" ", code(baseline.sha[:7])) if baseline.sha else ()
    others = (
        f", other baselines for {counted(sum(counts.values()) - rows, 'case')}" if len(counts) > 1 else ""
    )
    return line(
        head, " vs ", foreign(report.base_branch), sha, " (", _baseline_words(report, baseline), f"{others})"
    )


def _without_age(baseline: Baseline) -> Baseline:
    """The baseline without the age of its runs, which differs from case to case."""
    return replace(baseline, newest_started=None)


def _baseline_words(report: Report, baseline: Baseline) -> Line:
    compared = [row for row in report.rows if row.baseline and _without_age(row.baseline) == baseline]
    numbers = {len(row.base_runs) for row in compared} - {0}
    runs = runs_per_case(numbers) if numbers else ""
    started = [
        row.baseline.newest_started for row in compared if row.baseline and row.baseline.newest_started
    ]
    age = _baseline_age(report, max(started)) if started else ""
    parts = (foreign(baseline.why, 160), line(runs), line(age))
    return joined(", ", [part for part in parts if part])


def _baseline_age(report: Report, newest: float) -> str:
    """How much older the newest baseline run is than the head's newest; this does not change with time."""
    started = [run.started for row in report.rows for run in row.head_runs if run.started is not None]
    older = age_words(max(started) - newest) if started else None
    return f"newest {older} older" if older else f"newest of {moment_words(newest)}"


def _what_to_do(report: Report) -> Line:
    if report.problem:
        return _problem_words(report.problem, report.problem_kind)
    waiting = _unacknowledged(report)
    urgent = [row for row in waiting if STATES[row.state].severity is Severity.RED or has_extra_news(row)]
    if urgent:
        return line(bold(f"Act on {len(urgent)}:"), " ", _clauses(report, urgent), ".")
    unfair = [row for row in waiting if STATES[row.state].severity is Severity.UNFAIR]
    if unfair:
        return line(bold(f"Look at {len(unfair)}:"), " ", _clauses(report, unfair), ".")
    return _nothing_urgent(report)


def _problem_words(problem: str, kind: ProblemKind) -> Line:
    """The problem as a sentence with its end."""
    text = _own_words(problem) if kind is ProblemKind.REFUSED else foreign(problem, MAX_ERROR_LENGTH)
    sentence = line(text, "" if plain_text(text).endswith((".", "?", "!", "…")) else ".")
    return sentence if kind is ProblemKind.PASSES else line(bold("To put right:"), " ", sentence)


def _own_words(refusal: str) -> Line:
    """What is refused stands in the repository's own configuration: whoever reads this may read it there."""
    return (Foreign(one_line(refusal, MAX_ERROR_LENGTH)),)


def _nothing_urgent(report: Report) -> Line:
    """What to do where no verdict is bad: the worst state decides."""
    if is_green(report):
        return line("No action needed.")
    waiting = _unacknowledged(report)
    accepted = len(report.rows) - len(waiting)
    if accepted and all(row.state in GREEN_STATES for row in waiting):
        return line(f"No action needed: {counted(accepted, 'verdict')} acknowledged.")
    worst = max((row.state for row in waiting), key=lambda state: STATES[state].rank, default=None)
    return _asked_by_state(report, worst, [row for row in waiting if row.state is worst])


def _asked_by_state(report: Report, state: RowState | None, rows: list[CaseReport]) -> Line:
    names = _labels(report, rows)
    match state:
        case RowState.WAITING_FOR_APPROVAL:
            asked = _approval_words(report, names)
        case RowState.CANCELLED if all(row.closed for row in rows):
            asked = line(names, ": not measured to the end, since the pull request was closed.")
        case RowState.CANCELLED:
            asked = line(names, ": cancelled on this commit; ", code("/benchmark run"), " measures again.")
        case RowState.INCONCLUSIVE:
            asked = line(bold("Not proved either way:"), " ", _clauses(report, rows), ".")
        case RowState.CONFIRMING:
            asked = line(
                bold("To be confirmed:"), " ", _clauses(report, rows), ".", _confirming_way(report, rows)
            )
        case RowState.NO_RUN:
            asked = _no_runs_words(report, names)
        case RowState.NO_BASELINE:
            base = foreign(report.base_branch)
            asked = line(names, ": measured and kept; a verdict follows when ", base, " has a run too.")
        case RowState.LOST:
            asked = line("The cluster lost ", names, ", not this change. ", code("/benchmark rerun failed"))
        case RowState.QUEUED | RowState.RUNNING | RowState.RETRYING:
            asked = line("Nothing wrong so far, nothing to do yet.")
        case _:
            asked = _no_rows_action(report)
    return asked


def _confirming_way(report: Report, rows: list[CaseReport]) -> Line:
    """How the runs that confirm a change come about; what is under way needs nobody."""
    idle = [row for row in rows if not row.under_way.any]
    if not idle and {row.key for row in rows} & _held_keys(report):
        return line(" They start by themselves as soon as the budget allows it.")
    if not idle:
        return line(" They start by themselves: nothing to do yet.")
    if len(idle) < len(rows) or not report.launches:
        return ()
    return line(" ", code(_start_command(idle)), " starts what is missing.")


def _held_keys(report: Report) -> set[CaseKey]:
    """The cases whose runs a budget holds."""
    return {key for one in (report.plan.waiting if report.plan else ()) if one.budget for key in one.keys}


def _start_command(idle: list[CaseReport]) -> str:
    """`/benchmark rerun` where the cluster lost what was started: those runs are not started again."""
    verb = "rerun" if any(row.lost_runs for row in idle) else "run"
    return f"/benchmark {verb} {idle[0].case}" if len(idle) == 1 else f"/benchmark {verb}"


def _wanted_runs_quote(report: Report, row: CaseReport, comparison: Comparison) -> Line:
    """The runs that confirm a change by name, where nobody starts them by themselves."""
    if row.under_way.any or report.launches:
        return ()
    wanted = comparison.timing.confirm_runs
    base_sha = row.baseline.sha if row.baseline and row.baseline.sha else report.merge_base
    sides = (
        (wanted.head, report.head_branch, report.head_sha),
        (wanted.base, report.base_branch, base_sha),
    )
    named = [
        line(
            f"{counted(number, 'run')} of ",
            code(row.case, 60),
            " on ",
            code(row.variant, 40),
            " at ",
            code(sha[:7]) if sha else line("its commit"),
            " (",
            foreign(branch, 60),
            ")",
        )
        for number, branch, sha in sides
        if number
    ]
    if not named:
        return ()
    apart = "each submitted on its own" if wanted.base + wanted.head > 1 else "submitted on its own"
    return line("asked for: ", joined(" and ", named), f", {apart}; picked up when their logs appear")


def _no_rows_action(report: Report) -> Line:
    """What to do where no row needs anything."""
    if report.rows or not (report.launches and report.skipped):
        return line("Nothing to do.")
    cases = counted(len(report.skipped), "case")
    price = code("/benchmark plan")
    return line(code("/benchmark run"), f" measures {cases}; ", price, " says at what price.")


def _approval_words(report: Report, names: Line) -> Line:
    """The command that ends the wait. It names the whole commit, so that nothing else is approved."""
    command = report.approval or f"/benchmark approve {report.head_sha}"
    return line(
        names,
        ": the code comes from a fork and has not run. Somebody with write permission who has read this "
        "commit starts it with ",
        code(command, 200),
        ".",
    )


def _unacknowledged(report: Report) -> list[CaseReport]:
    """The rows whose verdict is not acknowledged."""
    return [row for row in report.rows if row.acknowledged is None]


def _no_runs_words(report: Report, names: Line) -> Line:
    missing = line("No run of ", names, " was found. ")
    if report.launches:
        return line(missing, code("/benchmark run"), " starts what is missing.")
    branch = code(report.head_branch)
    return line(missing, "Start it on branch ", branch, "; it is picked up when its log appears.")


def _clauses(report: Report, rows: list[CaseReport]) -> Line:
    ordered = sorted(rows, key=lambda row: -row_words(row, report.base_branch).rank)
    clauses = [_clause(report, row) for row in ordered[:MAX_CASES_NAMED]]
    more = len(rows) - len(clauses)
    return line(joined("; ", clauses), f"; and {more} more" if more else "")


def _clause(report: Report, row: CaseReport) -> Line:
    name = code(case_label(report, row.key), 60)
    comparison = row.comparison
    match row.state:
        case RowState.SLOWER | RowState.CONFIRMING if comparison and not (
            row.state is RowState.CONFIRMING and has_extra_news(row)
        ):
            words = slower_words if row.state is RowState.SLOWER else confirming_words
            return line(name, " ", words(comparison.timing))
        case RowState.NEW_FAILURE:
            case = code(row.case, 60)
            return line(case, " fails", line(" on ", foreign(row.variant, 40)) if name != case else ())
        case RowState.DIVERGED:
            return line("the loss of ", name, f" {loss_words(comparison) or 'diverged'}")
        case RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return line(name, f" is {STATES[row.state].word}", _caveat_reason(row))
        case RowState.INCONCLUSIVE if not has_extra_news(row):
            return line(name, _runs_needed(row))
        case _:
            return line(name, " ", _extra_news_words(report, row))


def _extra_news_words(report: Report, row: CaseReport) -> Line:
    """The news of a row that its state does not show."""
    if fails_differently(row):
        return line("fails otherwise than on ", foreign(report.base_branch, 40))
    if failed := partial_failure(row):
        return line(f"has {failed} that failed")
    if flaky_on_base(row):
        return line("fails as some runs of ", foreign(report.base_branch, 40), " do")
    return line("has a changed loss curve" if loss_changed(row.comparison) else "uses more memory")


def _caveat_reason(row: CaseReport) -> Line:
    caveats = deciding_caveats(row.comparison)
    return line(" (", caveat_words(caveats[0], 40), ")") if caveats else ()


def _runs_needed(row: CaseReport) -> str:
    timing = row.comparison.timing if row.comparison else None
    if timing and timing.more_runs:
        return f" needs {counted(timing.more_runs, 'more run')} a side"
    return " is inconclusive"


def _labels(report: Report, rows: list[CaseReport]) -> Line:
    names = [code(case_label(report, row.key), 60) for row in rows]
    return listed_lines(names, MAX_CASES_NAMED)


def _awaited_words(report: Report) -> Line:
    """`⏳ 2 left, 7–11 min`; the time only where it is known of all of them."""
    running = PENDING_STATES - {RowState.WAITING_FOR_APPROVAL}
    rows = [row for row in report.rows if row.state in running or row.under_way.any]
    words = time_span_words(_time_left(rows))
    return line(f"⏳ {len(rows)} left{f', {words}' if words else ''}") if rows else ()


def _time_left(rows: Sequence[CaseReport]) -> DurationRange | None:
    """How long until the last of these rows has ended; None where one of them is not known."""
    together = NO_TIME
    for row in rows:
        if row.progress is None or row.progress.left is None:
            return None
        together = together.parallel(row.progress.left)
    return together


MAX_CAVEATS_QUOTED = 6


def _row_quote(report: Report, row: CaseReport, *, public_url: str, detail: DetailLevel) -> Line:
    """The blockquote of `row`; empty where its table row is enough."""
    text = _quote_text(report, row, detail)
    if not text:
        return ()
    name = case_name(report, row.key, detail.name)
    log = _log_link(row, public_url) if detail.links else ()
    parts = [part for part in (text, log, rerun_command(report, row)) if part]
    symbol = row_words(row, report.base_branch).symbol
    return line(f"> {symbol} ", bold(name), " ", joined(" · ", parts))


def _log_link(row: CaseReport, public_url: str) -> Line:
    """A link to the log of the head's run that failed, else to its newest; empty where there is none."""
    runs = [run for run in row.head_runs if run.log_uri]
    ends = [run.log.outcome for run in row.comparison.head] if row.comparison else []
    if (
        row.comparison
        and len(ends) == len(row.head_runs)
        and (end := unsuccessful_outcome(row.comparison.head))
    ):
        failed = row.head_runs[next(number for number, one in enumerate(ends) if one is end)]
        runs = [failed] if failed.log_uri else runs
    return line(link(absolute(public_url, log_path(runs[-1].id)), "full log")) if runs else ()


def _quote_text(report: Report, row: CaseReport, detail: DetailLevel) -> Line:
    """The reason of the row's state, then doubts about which code ran."""
    comparison = row.comparison
    if comparison is None:
        return ()
    origin = [
        foreign(one.text, detail.error) for one in comparison.caveats if one.kind is CaveatKind.PROVENANCE
    ]
    asked = _wanted_runs_quote(report, row, comparison) if row.state is RowState.CONFIRMING else ()
    parts = [_state_quote(report, row, comparison, detail), asked, *origin]
    return joined(" · ", [part for part in parts if part])


def _state_quote(report: Report, row: CaseReport, comparison: Comparison, detail: DetailLevel) -> Line:
    if failed := partial_failure(row):
        return line(f"{failed} failed: ", _failure_quote(report, row, comparison, detail))
    if _quotes_failure(row, comparison):
        return _failure_quote(report, row, comparison, detail)
    match row.state:
        case RowState.DIVERGED | RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return _reason_quote(comparison, detail)
        case RowState.INCONCLUSIVE if comparison.timing.change is None or comparison.timing.threshold is None:
            return _reason_quote(comparison, detail)
        case RowState.INCONCLUSIVE if comparison.timing.measure is TimingMeasure.LOOP:
            return _reason_quote(comparison, detail)
        case _:
            return ()


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


def _failure_quote(report: Report, row: CaseReport, comparison: Comparison, detail: DetailLevel) -> Line:
    end = unsuccessful_outcome(comparison.head)
    if end is None:
        return foreign(comparison.reason, detail.error)
    failure = end.failure
    parts = [_error_words(failure, detail) if failure and failure.error else line(outcome_words(end))]
    if row.failure is not None:
        parts.append(novelty_words(row, report.base_branch))
    elif comparison.base and not unsuccessful_outcome(comparison.base):
        parts.append(line("succeeds on ", foreign(report.base_branch, 40)))
    if failure:
        parts.append(line(next_step(failure.kind).removesuffix(".")))
    return joined(" · ", [part for part in parts if part])


def _error_words(failure: Failure, detail: DetailLevel) -> Line:
    where = line(" at ", code(failure.where, 120)) if failure.where else ()
    return line(code(failure.error, detail.error), where)


def _reason_quote(comparison: Comparison, detail: DetailLevel) -> Line:
    """The reason of the verdict, or the caveats that decided it."""
    if comparison.reason:
        return foreign(comparison.reason, 2 * detail.error)
    return joined("; ", map(caveat_words, deciding_caveats(comparison)[:MAX_CAVEATS_QUOTED]))


# Did you mean “/benchmark rerun 03_dropout”?   574ad3f may run, as it is
_COPYABLE = re.compile(r"“(/benchmark[^”]*)”|\b([0-9a-f]{7,64})\b")

TOGETHER_SECONDS = 600.0
"""Commands this close to the newest one are shown beside it: their authors still wait for the result."""

MAX_COMMANDS_SHOWN = 5
"""More would push the verdict off a phone's screen."""


def _recent_commands_markdown(report: Report) -> str:
    """The newest command in one line, or a list where several are recent."""
    newest = _recent_commands(report)
    if len(newest) < 2:
        return "".join(markdown(_command_line(one, "Last command: ")) for one in newest)
    return "\n".join(["Last commands:", "", *(f"* {markdown(_command_line(one))}" for one in newest)])


def _earlier_commands_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """The other commands."""
    shown_above = _recent_commands(report)
    earlier = tuple(one for one in report.commands if one not in shown_above)
    if not earlier:
        return None
    shown = earlier[-max(detail.quotes, 1) :]
    items = [_command_line(one) for one in reversed(shown)]
    items += [line(f"{len(earlier) - len(shown)} more on the page")] if len(earlier) > len(shown) else []
    return CommentFold(summary=line(counted(len(earlier), "earlier command")), items=tuple(items))


def _recent_commands(report: Report) -> tuple[ReportedCommand, ...]:
    """The commands shown, oldest first: each person's newest, and those of the same moment."""
    newest = {one.by: one.at for one in report.commands}
    since = max(newest.values(), default=0.0) - TOGETHER_SECONDS
    return tuple(one for one in report.commands if one.at == newest[one.by] and one.at >= since)[
        -MAX_COMMANDS_SHOWN:
    ]


def _command_line(command: ReportedCommand, introduction: str = "") -> Line:
    """The command, who gave it, when, and its result."""
    return line(
        "⛔ " if command.refused else "",
        introduction,
        code(command.text, 120),
        " by ",
        foreign(command.by, 60),
        f", {moment_words(command.at)}: ",
        _command_result(command.result),
    )


def _command_result(result: str) -> Line:
    """The sentence, with commands and commits as code.

    In running text a zero-width sign breaks a commit, and it could not be copied.
    """
    # Redacted as a whole, before it is split: the rules do not know parts of secrets.
    result = redact(result)
    parts: list[Line] = []
    at = 0
    for found in _COPYABLE.finditer(result):
        parts += [_result_part(result[at : found.start()]), code(found[1] or found[2], MAX_ERROR_LENGTH)]
        at = found.end()
    return line(*parts, _result_part(result[at:]))


def _result_part(part: str) -> Line:
    """Running text in the middle of a sentence."""
    if not part.strip():
        return line(" " * bool(part))
    before, after = " " * part.startswith(" "), " " * part.endswith(" ")
    return line(before, foreign(part, MAX_ERROR_LENGTH), after)


MAX_NAMES_LISTED = 12  # cases listed openly; more would hide the commands

MAX_FOLDED_NAMES_LENGTH = 4000  # characters of escaped names: the comment's size is limited


def help_text(
    *, cases: Sequence[str], variants: Sequence[str], launches: bool, labels: Sequence[str] = ()
) -> str:
    """Every command on its line, then the cases, variants and labels, and who may give commands."""
    offered = _launch_commands(cases, variants) if launches else _read_commands(cases)
    lines = [f"* {command}: {what}" for command, what in (*offered, *_COMMON_COMMANDS)]
    return "\n".join(
        [*lines, "", *_help_names(cases, variants, labels if launches else ()), _WHO_MAY_COMMAND]
    )


_COMMON_COMMANDS = (
    ("`/benchmark status`", "bring this comment up to date"),
    ('`/benchmark ack CASE reason="…"`', "accept a verdict, and say why: it stays, and asks for nothing"),
    ("`/benchmark rotate-links`", "end every earlier link of this repository's comments (admins)"),
    ("`/benchmark help`", "this list"),
)

_WHO_MAY_COMMAND = (
    "One command per line, in a new comment, by somebody with write permission. "
    "Globs such as `03_*` work; without CASE a command means all of them."
)


def _launch_commands(cases: Sequence[str], variants: Sequence[str]) -> tuple[tuple[str, str], ...]:
    example = markdown(code(f"/benchmark rerun {cases[0] if cases else 'CASE'}"))
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
    example = markdown(code(f"/benchmark rerun {cases[0] if cases else 'CASE'}"))
    return ((f"`/benchmark`, `/benchmark run` or {example}", "look for new runs and read them"),)


def _help_names(cases: Sequence[str], variants: Sequence[str], labels: Sequence[str]) -> list[str]:
    lines = [_folded_cases(cases)] if len(cases) > MAX_NAMES_LISTED else []
    lines += [f"Cases: {_help_list(cases)}."] if 0 < len(cases) <= MAX_NAMES_LISTED else []
    lines += [f"Variants: {_help_list(variants)}."] if len(variants) > 1 else []
    lines += [f"Labels that start runs while they are set: {_help_list(labels)}."] if labels else []
    return lines


def _help_list(names: Sequence[str]) -> str:
    return markdown(listed_lines([code(name, 60) for name in names], MAX_NAMES_LISTED))


def _folded_cases(cases: Sequence[str]) -> str:
    """Many names, folded."""
    names, shown = "", 0
    for case in cases:
        name = summary_html(foreign(case, 60))
        longer = f"{names} · {name}" if names else name
        if len(longer) > MAX_FOLDED_NAMES_LENGTH:
            break
        names, shown = longer, shown + 1
    more = f" and {len(cases) - shown} more" if shown < len(cases) else ""
    return f"<details><summary>{counted(len(cases), 'case')}</summary>{names}{more}</details>\n"


def footer_line(report: Report, *, public_url: str) -> Line:
    """Parts joined by dots; commits in full, which GitHub turns into links."""
    parts = [
        line(f"head {report.head_sha}"),
        _footer_base(report),
        *(line(spent) for spent in chip_hours_spent(report)),
        line(link(absolute(public_url, page_path(report)), "page")),
        line(link(absolute(public_url, json_path(report)), "JSON")),
        code("/benchmark help"),
    ]
    return joined(" · ", [part for part in parts if part])


def _footer_base(report: Report) -> Line:
    counts = Counter(row.baseline for row in report.rows if row.baseline)
    if not counts:
        return line(f"merge base {report.merge_base}, no runs of it") if report.merge_base else ()
    baseline, _ = counts.most_common(1)[0]
    sha = baseline.sha or "a commit that is not recorded"
    behind = f", {counted(baseline.distance, 'commit')} behind the merge base" if baseline.distance else ""
    return line(f"base {sha} because it is ", foreign(baseline.why, 160), behind)


def chip_hours_spent(report: Report) -> list[str]:
    """`6.4 chip-hours used`, `0.012 chip-hours saved by reuse`, where they are known."""
    known = ((report.chip_hours_used, "used"), (report.chip_hours_saved, "saved by reuse"))
    return [f"{chip_hours_words(value)} chip-hours {what}" for value, what in known if value is not None]
