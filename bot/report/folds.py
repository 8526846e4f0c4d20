"""The comment's tables: the open one, and the folded parts that most readers need not open.

Each fold has a summary, which gives its result, and a table (at most 6 columns) or text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from bot.domain.price import Price, PriceBasis
from bot.domain.run import RunRecord
from bot.report.assess import (
    STATES,
    carried_runs,
    change_bound_percent,
    has_extra_news,
    parity_tally,
    row_words,
    state_word,
)
from bot.report.cells import (
    DetailLevel,
    carried_words,
    case_cell,
    case_label,
    case_name,
    change_words,
    field_name,
    loss_cell,
    memory_cell,
    metric_side,
    row_cells,
    steady_cell,
)
from bot.report.explain import method_lines
from bot.report.links import absolute, log_path
from bot.report.model import (
    CaseReport,
    ParityRow,
    ParityTransition,
    Plan,
    PossibleRuns,
    Report,
    RowState,
    WaitingCases,
)
from bot.report.text.pieces import (
    MAX_ERROR_LENGTH,
    Line,
    Part,
    bold,
    code,
    foreign,
    joined,
    line,
    link,
    listed_lines,
    plain_text,
)
from bot.report.wording import (
    NO_VALUE,
    counted,
    days_words,
    implausible_lines_words,
    implausible_words,
    ledger_lines,
    noise_history_age,
    percent_ceiling,
    phase_seconds,
    runs_per_case,
    signed_percent,
    significant,
    significant_pair,
)
from bot.verdict.judgement import Caveat, CaveatKind, Comparison, MetricRow, Verdict

MAX_UNKNOWN_IN_TABLE = 5  # so many rows of a state without figures are shown in the open table


class CommentTable(Struct, frozen=True, kw_only=True):
    """A table. `align` has one letter per column: l, r or c."""

    columns: tuple[Line, ...]
    align: str
    rows: tuple[tuple[Line, ...], ...]


class CommentFold(Struct, frozen=True, kw_only=True):
    """One folded part: its summary, then a table, names, sentences and a list, in this order."""

    summary: Line
    table: CommentTable | None = None
    names: Line = ()
    sentences: tuple[Line, ...] = ()
    items: tuple[Line, ...] = ()
    opened: bool = False


def _table(align: str, titles: Sequence[Part], rows: Iterable[tuple[Line, ...]]) -> CommentTable | None:
    """A table with these rows; None where there are none."""
    rows = tuple(rows)
    return CommentTable(columns=tuple(map(line, titles)), align=align, rows=rows) if rows else None


OPEN_COLUMNS = ("Case", "Verdict", "Steady s/step (±band, n)", "Loss curve", "Checkpoint wait", "Memory")

QUIET_COLUMNS = ("Case", "Verdict", "Steady s/step (±band, n)", "No change >", "Loss curve", "Memory")

TIMED_STATES = frozenset({RowState.SAME, RowState.FASTER, RowState.SLOWER})

_UNKNOWN_STATES = frozenset(
    {RowState.NO_RUN, RowState.NO_BASELINE, RowState.WAITING_FOR_APPROVAL, RowState.CANCELLED}
)


def open_rows(report: Report) -> list[CaseReport]:
    """The rows that need a person, worst first. Many rows in a state without figures are folded instead."""
    crowded = {
        state
        for state in _UNKNOWN_STATES
        if sum(row.state is state for row in report.rows) > MAX_UNKNOWN_IN_TABLE
    }
    rows = [row for row in report.rows if STATES[row.state].needs_person or has_extra_news(row)]
    rows = [row for row in rows if row.state not in crowded]
    return sorted(rows, key=lambda row: -row_words(row, report.base_branch).rank)


def overflow_fold(report: Report, rows: Sequence[CaseReport], detail: DetailLevel) -> list[CommentFold]:
    """The rows that need a person but do not fit into the open table, by name and state."""
    if not rows:
        return []
    names = [
        line(f"{row_words(row, report.base_branch).symbol} ", _name_with_change(report, row, detail))
        for row in rows
    ]
    summary = line(f"{counted(len(rows), 'more case')} that need a person")
    return [CommentFold(summary=summary, names=listed_lines(names, detail.named))]


def quiet_folds(report: Report, detail: DetailLevel, *, public_url: str) -> list[CommentFold]:
    """One part per state of the rows outside the open table, worst state first."""
    shown = {id(row) for row in open_rows(report)}
    states = sorted({row.state for row in report.rows}, key=lambda state: -STATES[state].rank)
    folds = []
    for state in states:
        rows = [row for row in report.rows if row.state is state and id(row) not in shown]
        if rows:
            folds.append(_quiet_fold(report, state, rows, detail, public_url))
    return folds


def open_table(
    report: Report, rows: Sequence[CaseReport], detail: DetailLevel, *, public_url: str
) -> CommentTable | None:
    """The table of the rows that need a person; None where there are none."""
    shown = (row_cells(report, row, public_url=public_url, detail=detail) for row in rows)
    cells = (
        (
            one.case,
            joined("<br>", (one.verdict, *one.remarks)),
            one.steady,
            one.loss,
            one.checkpoint,
            one.memory,
        )
        for one in shown
    )
    return _table("llllll", OPEN_COLUMNS, cells)


def _quiet_fold(
    report: Report, state: RowState, rows: list[CaseReport], detail: DetailLevel, public_url: str
) -> CommentFold:
    full, rest = rows[: detail.columns], rows[detail.columns :]
    cells = (_quiet_cells(report, row, detail, public_url) for row in full)
    names = [_name_with_change(report, row, detail) for row in rest]
    return CommentFold(
        summary=line(f"{STATES[state].symbol} {_quiet_summary(report, state, rows)}"),
        table=_table("llllll", QUIET_COLUMNS, cells),
        names=listed_lines(names, detail.named),
    )


def _quiet_cells(report: Report, row: CaseReport, detail: DetailLevel, public_url: str) -> tuple[Line, ...]:
    bound = change_bound_percent(row.comparison)
    return (
        case_cell(report, row, public_url=public_url, detail=detail),
        line(state_word(row.state, report.base_branch)),
        steady_cell(row, detail),
        line(percent_ceiling(bound) if bound is not None and row.state is RowState.SAME else NO_VALUE),
        loss_cell(row.comparison),
        memory_cell(row.comparison),
    )


def _name_with_change(report: Report, row: CaseReport, detail: DetailLevel) -> Line:
    name = case_name(report, row.key, detail.name)
    timing = row.comparison.timing if row.comparison else None
    if timing is None or timing.change is None or row.state not in TIMED_STATES:
        return name
    return line(name, f" {signed_percent(timing.change)}")


def _quiet_summary(report: Report, state: RowState, rows: list[CaseReport]) -> str:
    cases = counted(len(rows), "case")
    if state is not RowState.SAME:
        return f"{cases}: {state_word(state, report.base_branch)}"
    bounds = [bound for row in rows if (bound := change_bound_percent(row.comparison)) is not None]
    if len(bounds) < len(rows):
        return f"{cases} same"
    return f"{cases} same (no change > {percent_ceiling(max(bounds))})"


LINKED_RUNS = 3  # logs linked per side; the page has all of them

_NOT_RUN_STATES = (RowState.CARRIED, RowState.NO_RUN)


def coverage_fold(report: Report, detail: DetailLevel, *, public_url: str) -> CommentFold:
    """The cases that were run, carried or skipped, the logs of both sides, the runs of older commits."""
    full = report.rows[: detail.columns]
    cells = (_coverage_cells(report, row, detail, public_url) for row in full)
    titles = ("Case", "Head runs", "Base runs", "Baseline", "Older commits' runs")
    return CommentFold(
        summary=line(_coverage_summary(report)),
        table=_table("lllll", titles, cells),
        items=(
            *_coverage_notes(report, detail),
            *_carried_notes(report, detail),
            *_skipped_notes(report, detail),
        ),
    )


def rows_by_note(report: Report) -> dict[str, list[CaseReport]]:
    """The notes on the runs, each with the rows it concerns."""
    rows: dict[str, list[CaseReport]] = {}
    for row in report.rows:
        if row.note:
            rows.setdefault(row.note, []).append(row)
    return rows


def _coverage_summary(report: Report) -> str:
    number = Counter(row.state for row in report.rows)
    run = sum(bool(row.head_runs) and row.state not in _NOT_RUN_STATES for row in report.rows)
    parts = [f"{run} of {counted(len(report.rows), 'case')} run"]
    parts += [f"{number[state]} {STATES[state].word}" for state in _NOT_RUN_STATES if number[state]]
    carried = sum(bool(carried_runs(report, row)) for row in report.rows)
    parts += [f"{carried} carried over"] if carried else []
    parts += [f"{len(report.skipped)} skipped"] if report.skipped else []
    stale = sum(len(row.stale_runs) for row in report.rows)
    parts += [f"{counted(stale, 'run')} of older commits not used"] if stale else []
    return "Coverage: " + " · ".join(parts)


def _coverage_cells(
    report: Report, row: CaseReport, detail: DetailLevel, public_url: str
) -> tuple[Line, ...]:
    return (
        case_name(report, row.key, detail.name),
        _runs_cell(row.head_runs, detail, public_url),
        _runs_cell(row.base_runs, detail, public_url),
        _baseline_cell(row),
        _stale_cell(row.stale_runs),
    )


def _runs_cell(runs: tuple[RunRecord, ...], detail: DetailLevel, public_url: str) -> Line:
    """The number of runs, with the newest logs linked."""
    if not runs:
        return line("none")
    logs = [run for run in runs if run.log_uri][-LINKED_RUNS:] if detail.links else []
    links = [line(link(absolute(public_url, log_path(run.id)), str(n))) for n, run in enumerate(logs, 1)]
    return line(str(len(runs)), ": log " if links else "", joined(" ", links))


def _baseline_cell(row: CaseReport) -> Line:
    if row.baseline is None:
        return line(NO_VALUE)
    sha = line(code(row.baseline.sha[:7]), " ") if row.baseline.sha else ()
    return line(sha, foreign(row.baseline.why, 80))


def _stale_cell(runs: tuple[RunRecord, ...]) -> Line:
    if not runs:
        return line(NO_VALUE)
    commits = dict.fromkeys(code(run.sha[:7]) if run.sha else line("commit not recorded") for run in runs)
    return line(f"{len(runs)}: ", listed_lines(list(commits), 3))


def _coverage_notes(report: Report, detail: DetailLevel) -> list[Line]:
    most = max(detail.quotes, 1)
    grouped = list(rows_by_note(report).items())
    notes = [
        line(_coverage_cases(report, rows, detail), ": ", foreign(note, MAX_ERROR_LENGTH))
        for note, rows in grouped[:most]
    ]
    return notes + ([line(f"{len(grouped) - most} more notes on the page")] if len(grouped) > most else [])


def _coverage_cases(report: Report, rows: list[CaseReport], detail: DetailLevel) -> Line:
    if len(rows) == len(report.rows) and len(rows) > 1:
        return line(f"all {len(rows)} cases")
    limit = min(detail.name, 40)
    return listed_lines([case_name(report, row.key, limit) for row in rows], 4)


def _carried_notes(report: Report, detail: DetailLevel) -> list[Line]:
    """Results of another commit with the same files, each with its commit and date."""
    grouped: dict[Line, list[CaseReport]] = {}
    for row in report.rows:
        if words := carried_words(report, row):
            grouped.setdefault(words, []).append(row)
    shown = list(grouped.items())[: max(detail.quotes, 1)]
    return [
        line(_coverage_cases(report, rows, detail), ": ", words, ", whose files are the same")
        for words, rows in shown
    ]


def _skipped_notes(report: Report, detail: DetailLevel) -> list[Line]:
    reasons: dict[str, list[Line]] = {}
    for one in report.skipped:
        name = case_name(report, one.key, detail.name)
        reasons.setdefault(one.why, []).append(name)
    grouped = list(reasons.items())[: max(detail.quotes, 1)]
    return [
        line("skipped, ", foreign(why, 160), ": ", listed_lines(names, min(detail.named, 100)))
        for why, names in grouped
    ]


_PASS_WORDS = {None: line(NO_VALUE), True: line("pass"), False: line(bold("fail"))}

_TRANSITION_WORDS = {
    ParityTransition.STILL_PASSES: line("still passes"),
    ParityTransition.PASSES_NOW: line("fail → pass"),
    ParityTransition.FAILS_NOW: line(bold("pass → fail")),
    ParityTransition.FAILS_THE_SAME: line("fails the same"),
    ParityTransition.FAILS_OTHERWISE: line(bold("fails otherwise")),
    ParityTransition.MIXED: line("passes and fails"),
    ParityTransition.UNKNOWN: line(NO_VALUE),
}

_TRANSITION_ORDER = (
    ParityTransition.FAILS_NOW,
    ParityTransition.FAILS_OTHERWISE,
    ParityTransition.PASSES_NOW,
    ParityTransition.MIXED,
    ParityTransition.FAILS_THE_SAME,
    ParityTransition.UNKNOWN,
    ParityTransition.STILL_PASSES,
)
"""Which change of a case is read first."""

NEWS_TRANSITIONS = _TRANSITION_ORDER[:3]


def parity_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """How both variants do on this commit, and what changed since the base."""
    if not report.parity:
        return None
    first, second = report.parity[0].first_variant, report.parity[0].second_variant
    rows = sorted(
        report.parity,
        key=lambda row: (
            min(map(_TRANSITION_ORDER.index, (row.first_transition, row.second_transition))),
            row.second_passes is row.first_passes,
            row.case,
        ),
    )
    full, rest = rows[: detail.columns], rows[detail.columns :]
    cells = (_parity_cells(row, detail) for row in full)
    one, other = foreign(first, 40), foreign(second, 40)
    since = line(other, " since ", foreign(report.base_branch, 40))
    names = [line(foreign(row.case, detail.name), " ", _parity_brief(row)) for row in rest]
    return CommentFold(
        summary=line(one, " → ", other, f" {_parity_summary(report)}"),
        table=_table("lcccl", ("Case", one, other, since, "Steady s/step"), cells),
        names=listed_lines(names, detail.named),
    )


def _parity_summary(report: Report) -> str:
    """`parity 11/14 → 12/14: 1 fail → pass`; figures only of the cases that are known."""
    tally = parity_tally(report.parity)
    if not tally.known:
        return "parity: no case is known in both variants yet"
    head = _pass_count(tally.head, tally.known, tally.head_mixed)
    base = "" if tally.base is None else f"{_pass_count(tally.base, tally.known, tally.base_mixed)} → "
    part = "" if tally.known == tally.cases else f" ({tally.known} of {tally.cases} cases known)"
    moves = Counter(row.second_transition for row in report.parity)
    news = [f"{moves[one]} {plain_text(_TRANSITION_WORDS[one])}" for one in NEWS_TRANSITIONS if moves[one]]
    return f"parity {base}{head}{part}" + (f": {', '.join(news)}" if news else "")


def _pass_count(passing: int, known: int, mixed: int) -> str:
    return f"{passing}/{known}" + (f" and {mixed} mixed" if mixed else "")


def _parity_cells(row: ParityRow, detail: DetailLevel) -> tuple[Line, ...]:
    return (
        foreign(row.case, detail.name),
        _first_variant_cell(row),
        _pass_word(passes=row.second_passes, mixed=row.second_mixed),
        _TRANSITION_WORDS[row.second_transition],
        _parity_timing(row),
    )


def _first_variant_cell(row: ParityRow) -> Line:
    """How the first variant does; its change since the base where that is news."""
    if row.first_transition in NEWS_TRANSITIONS:
        return _TRANSITION_WORDS[row.first_transition]
    return _pass_word(passes=row.first_passes, mixed=row.first_mixed)


def _pass_word(*, passes: bool | None, mixed: bool) -> Line:
    return line("mixed") if mixed else _PASS_WORDS[passes]


def _parity_timing(row: ParityRow) -> Line:
    """Step times of both variants on the head."""
    timing = row.comparison.timing if row.comparison else None
    if timing is None or timing.change is None:
        return line(NO_VALUE)
    return line(f"{significant_pair(timing.base_seconds, timing.head_seconds)} ", change_words(timing))


def _parity_brief(row: ParityRow) -> Line:
    first = _pass_word(passes=row.first_passes, mixed=row.first_mixed)
    return line(first, " → ", _pass_word(passes=row.second_passes, mixed=row.second_mixed))


UNKNOWN_PRICE = "not known"

PRICE_NOTE = (
    "The price of a run is the median of what its case took on the base branch, on as many chips, with the "
    "least and the most; where no such run is known, the chips times the time limit."
)


def plan_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """The runs to come; opened where the newest command asked for the plan."""
    plan = report.plan
    if plan is None or not (plan.runs or plan.asked):
        return None
    full = plan.runs[: detail.columns]
    cells = (
        (
            case_name(report, one.key, detail.name),
            line(str(one.base)),
            line(str(one.head)),
            line(price_words(one.price)),
        )
        for one in full
    )
    rest = [case_name(report, one.key, detail.name) for one in plan.runs[len(full) :]]
    return CommentFold(
        summary=line(f"Plan: {_plan_summary(plan)}"),
        table=_table("lrrl", ("Case", "Base runs", "Head runs", "Chip-hours"), cells),
        items=tuple(_plan_items(report, plan, detail)),
        names=listed_lines(rest, detail.named),
        opened=plan.asked,
    )


def budget_wait_lines(report: Report) -> list[Line]:
    """Runs that a budget holds: a person may have to act."""
    plan = report.plan
    waiting = [one for one in plan.waiting if one.budget] if plan else []
    return [
        line(
            f"⏸ {counted(len(one.keys), 'case')} {_wait_verb(one)}: ", foreign(one.why, MAX_ERROR_LENGTH), "."
        )
        for one in waiting
    ]


def chip_hours_words(value: float) -> str:
    """Chip-hours: `6.4`, `0.012`."""
    return f"{value:,.1f}".replace(",", " ") if round(value, 2) >= 1 else significant(value, 2)


def price_words(price: Price | None) -> str:
    """`about 6.4 (6.1 to 7.0)`, `at most 24.0`, `not known`."""
    if price is None:
        return UNKNOWN_PRICE
    if price.basis is PriceBasis.LIMIT:
        return f"at most {chip_hours_words(price.most)}"
    spread = price.most - price.least > 0.005 * price.most
    return f"about {chip_hours_words(price.usual)}" + (
        f" ({chip_hours_words(price.least)} to {chip_hours_words(price.most)})" if spread else ""
    )


def _plan_summary(plan: Plan) -> str:
    count = sum(one.base + one.head for one in plan.runs)
    runs = counted(count, "run")
    parts = [f"would start {runs}" if plan.proposed else f"{runs} to come" if count else "no runs to start"]
    parts[0] += f", {_total_price(plan)}" if count else ""
    if plan.reused:
        saved = plan.saved_chip_hours
        words = f", {chip_hours_words(saved)} chip-hours saved" if saved else ""
        parts.append(f"{counted(plan.reused, 'run')} reused{words}")
    held = {key for one in plan.waiting if one.budget for key in one.keys}
    parts += [f"{counted(len(held), 'case')} held by a budget"] if held else []
    return " · ".join(parts)


def _total_price(plan: Plan) -> str:
    if plan.price is None:
        return f"price {UNKNOWN_PRICE}"
    more = f" and {counted(plan.unpriced, 'run')} of unknown price" if plan.unpriced else ""
    return f"{price_words(plan.price)} chip-hours{more}"


def _plan_items(report: Report, plan: Plan, detail: DetailLevel) -> list[Line]:
    items = [_how_to_start(report)] if plan.proposed else []
    for one in plan.waiting:
        names = [case_name(report, key, min(detail.name, 40)) for key in one.keys]
        why = foreign(one.why, MAX_ERROR_LENGTH)
        items.append(line(listed_lines(names, 4), f" {_wait_verb(one)}: ", why))
    if plan.confirming is not None:
        items.append(_confirming_price(plan.confirming))
    if any(one.price is not None for one in plan.runs):
        items.append(line(PRICE_NOTE))
    return items


def _confirming_price(possible: PossibleRuns) -> Line:
    """What confirming may add to the price, at most."""
    if possible.price is None:
        price = f"price {UNKNOWN_PRICE}"
    else:
        more = f" and {counted(possible.unpriced, 'run')} of unknown price" if possible.unpriced else ""
        price = f"at most {chip_hours_words(possible.price.most)} chip-hours{more}"
    cases = counted(possible.cases, "case")
    every = f" for {cases}, should all of them change" if possible.cases > 1 else ""
    return line(
        f"A change that is seen is confirmed by further runs: up to {counted(possible.runs, 'more run')}"
        f"{every}, {price}."
    )


def _how_to_start(report: Report) -> Line:
    if report.approval:
        return line("Nothing of a fork is started before its head is approved.")
    return line("Nobody asked for these runs yet: ", code("/benchmark run"), " starts them.")


def _wait_verb(one: WaitingCases) -> str:
    return "waits" if len(one.keys) == 1 else "wait"


RAW_METRICS = (
    ("Avg s/step", "avg_step_seconds"),
    ("TFLOP/s", "last_tflops_per_device"),
    ("Tok/s", "last_tokens_per_device"),
    ("Final loss", "final_loss"),
    ("Memory %", "memory_percent"),
)

_NO_LEDGER_VERDICTS = frozenset(
    {Verdict.NOT_COMPARABLE, Verdict.NEW_FAILURE, Verdict.FAILS_ON_BOTH, Verdict.FIXED}
)

RAW_METRICS_NOTE = (
    "Avg s/step is the mean of the printed seconds over all steps but the first, stalls included; "
    "TFLOP/s, Tok/s and loss are those of the last step."
)

LEDGER_NOTE = "The first run of each side; the phases add up to the run's wall time, what is left is shown."


def ledger_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """Both sides phase by phase, the cases that need a person first."""
    first = open_rows(report)
    placed = {id(row) for row in first}
    rows = [
        row for row in (*first, *(row for row in report.rows if id(row) not in placed)) if _has_ledger(row)
    ]
    shown = rows[: detail.ledgers]
    cells = [
        phase
        for row in shown
        if row.comparison
        for phase in _ledger_cells(report, row, row.comparison, detail)
    ]
    table = _table("llrrr", ("Case", "Phase", "Base", "Head", "Difference"), cells)
    if table is None:
        return None
    more = f" {counted(len(rows) - len(shown), 'more case')} on the page." if len(rows) > len(shown) else ""
    return CommentFold(
        summary=line("Where the time went"), table=table, sentences=(line(LEDGER_NOTE + more),)
    )


def raw_metrics_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """The figures of the log's last lines: information, never coloured."""
    rows = [row for row in report.rows if row.comparison and row.comparison.rows][: detail.columns]
    compared = [row.comparison for row in rows if row.comparison]
    cells = (
        (case_name(report, row.key, detail.name), *_raw_metric_cells(comparison))
        for row, comparison in zip(rows, compared, strict=True)
    )
    table = _table("lrrrrr", ("Case", *(title for title, _ in RAW_METRICS)), cells)
    if table is None:
        return None
    # These figures include the values that all others exclude.
    implausible = implausible_lines_words(run for one in compared for run in (*one.base, *one.head))
    notes = (RAW_METRICS_NOTE, implausible) if implausible else (RAW_METRICS_NOTE,)
    return CommentFold(
        summary=line("The page's own figures (information, not judged)"),
        table=table,
        sentences=tuple(map(line, notes)),
    )


def _has_ledger(row: CaseReport) -> bool:
    """Whether there is a time ledger and the sides are comparable."""
    comparison = row.comparison
    if comparison is None or comparison.verdict in _NO_LEDGER_VERDICTS:
        return False
    return any(phase_seconds(run) for run in (*comparison.head, *comparison.base))


def _ledger_cells(
    report: Report, row: CaseReport, comparison: Comparison, detail: DetailLevel
) -> list[tuple[Line, ...]]:
    base = comparison.base[0] if comparison.base else None
    head = comparison.head[0] if comparison.head else None
    name = case_name(report, row.key, detail.name)
    return [
        (name if number == 0 else (), foreign(phase), *(line(seconds) for seconds in rest))
        for number, (phase, *rest) in enumerate(ledger_lines(base, head))
    ]


def _raw_metric_cells(comparison: Comparison) -> Iterator[Line]:
    figures = {one.key: one for one in comparison.rows}
    return (_raw_metric_cell(figures.get(key)) for _, key in RAW_METRICS)


def _raw_metric_cell(row: MetricRow | None) -> Line:
    if row is None or (row.base is None and row.head is None):
        return line(NO_VALUE)
    base, head = metric_side(row.key, row.base), metric_side(row.key, row.head)
    return head if base == head else line(base, " → ", head)


NOT_STATED = "not stated"

MIN_DIFFERENCES_SHOWN = 12  # differences shown at every level of detail: cases share them, so they are few


def environment_fold(report: Report, detail: DetailLevel) -> CommentFold | None:
    """The differences between the sides besides the code, and all other caveats, with their cases."""
    cases: dict[tuple[str, str, str, str, bool], list[str]] = {}
    for row in report.rows:
        for caveat in row.comparison.caveats if row.comparison else ():
            cases.setdefault(_caveat_key(caveat), []).append(case_label(report, row.key))
    if not cases:
        return None
    most = max(detail.columns, MIN_DIFFERENCES_SHOWN)
    rows = [
        (
            field_name(field),
            foreign(base, 60) or line(NO_VALUE),
            foreign(head, 120) or line(NO_VALUE),
            _caveat_cases(names, report, detail),
        )
        for (_, field, base, head, _), names in list(cases.items())[:most]
    ]
    return CommentFold(
        summary=line(_environment_summary(list(cases))),
        table=_table("llll", ("What", "Base", "Head", "Cases"), rows),
        sentences=(line(f"{len(cases) - most} more on the page."),) if len(cases) > most else (),
    )


def _caveat_key(caveat: Caveat) -> tuple[str, str, str, str, bool]:
    """Its kind, its field, both sides in words, and whether both are stated."""
    sides = caveat.base, caveat.head
    if any(sides) or caveat.kind is CaveatKind.ENVIRONMENT:
        base, head = (side or NOT_STATED for side in sides)
        return caveat.kind.value, caveat.field, base, head, all(sides)
    return caveat.kind.value, caveat.field, "", caveat.text, True


def _environment_summary(keys: list[tuple[str, str, str, str, bool]]) -> str:
    """`Environment: 2 differences · 1 not stated`; a side that states nothing is no difference."""
    count = sum(kind == CaveatKind.ENVIRONMENT and stated for kind, *_, stated in keys)
    silent = sum(kind == CaveatKind.ENVIRONMENT and not stated for kind, *_, stated in keys)
    others = len(keys) - count - silent
    words = counted(count, "difference") if count else "no difference"
    parts = [words, f"{silent} not stated" if silent else ""]
    parts.append(counted(others, "other caveat") if others else "")
    return f"Environment: {' · '.join(part for part in parts if part)}"


def _caveat_cases(names: list[str], report: Report, detail: DetailLevel) -> Line:
    """`all 14`, or the cases that a difference concerns."""
    if len(names) == len(report.rows) and len(names) > 1:
        return line(f"all {len(names)}")
    return listed_lines([foreign(name, min(detail.name, 40)) for name in names], 4)


def method_fold(report: Report) -> CommentFold:
    """How the step time was measured and judged, with the thresholds that were used."""
    comparisons = [row.comparison for row in report.rows if row.comparison]
    timings = [one.timing for one in comparisons if one.timing.change is not None]
    items = method_lines(
        timings, practical_percent=report.practical_percent, equivalence_percent=report.equivalence_percent
    )
    past = _noise_history_line(report)
    implausible = implausible_words(run for one in comparisons for run in (*one.base, *one.head))
    items += [*([past] if past else []), *([line(implausible)] if implausible else [])]
    return CommentFold(summary=line("How this was measured"), items=tuple(items))


def _noise_history_line(report: Report) -> Line:
    """Which runs of the base branch the noise was measured from, over all cases; empty where from none."""
    rows = [row for row in report.rows if row.noise_history and row.noise_history.runs]
    if not rows:
        return ()
    runs = runs_per_case([row.noise_history.runs for row in rows if row.noise_history])
    oldest = max((older for row in rows if (older := noise_history_age(row)) is not None), default=None)
    when = f", the oldest {days_words(oldest)} before the head's" if oldest is not None else ""
    cut = sum(row.noise_history.follows is not None for row in rows if row.noise_history)
    after = f"; in {counted(cut, 'case')} only those since the last change of its level" if cut else ""
    branch = foreign(report.base_branch, 40)
    return line(f"Noise from {runs} on ", branch, f" on the same devices, mesh and versions{when}{after}.")
