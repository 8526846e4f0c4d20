"""One case of a report in full: verdict and sentences, figures, failures, time ledger, runs, charts.

Shared by the pages of pull requests and comparisons. Pure; the overview row uses the words of the comment's
table.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bot.domain.run import RunRecord
from bot.logs.facts import Failure
from bot.report.assess import (
    STATES,
    Severity,
    change_bound_percent,
    has_extra_news,
    loss_words,
    next_step,
    novelty_words,
    outcome_words,
    row_words,
    unsuccessful_outcome,
)
from bot.report.cells import DetailLevel, case_label, rerun_command, row_cells
from bot.report.explain import ExplanationSection, caveat_view, explanation_sections, log_place_words
from bot.report.folds import chip_hours_words
from bot.report.model import Baseline, CaseReport, Report, RowState
from bot.report.text.pieces import StyledText, joined, plain_text, styled
from bot.report.wording import (
    NO_VALUE,
    counted,
    ledger_lines,
    noise_history_words,
    percent_words,
    phase_seconds,
    signed_percent,
    significant,
    unsigned_percent,
)
from bot.verdict.comparability import side_outcome
from bot.verdict.judgement import (
    CaveatWeight,
    Comparison,
    Direction,
    ExplainedRun,
    MeasuredRun,
    MetricRow,
    TimingDecision,
    TimingMeasure,
    TimingVerdict,
)
from bot.verdict.metrics import METRICS_BY_KEY
from bot.web.auth.access import Access
from bot.web.charts.plots import Plot, TimeBar, phase_fills, plots, time_bar
from bot.web.log_viewer.window import window_start
from bot.web.moments import Moment, moment

FULL_DETAIL = DetailLevel(
    links=False,
    rows=100_000,
    quotes=100_000,
    columns=100_000,
    named=100_000,
    ledgers=0,
    name=200,
    error=2_000,
)
"""A page has room for everything; the browser folds what is long, nothing is cut."""


def case_title(case: str, variant: str) -> str:
    """`04_int8 · linen`; without a variant the case alone."""
    return f"{case} · {variant}" if variant else case


class RowLine(Struct, frozen=True, kw_only=True):
    """One row of the overview table."""

    anchor: str
    name: str
    symbol: str
    word: str
    tone: str
    accepted: str
    steady: tuple[StyledText, ...]
    loss: tuple[StyledText, ...]
    checkpoint: str
    memory: tuple[StyledText, ...]


def row_tone(row: CaseReport) -> str:
    """The CSS class of a row's colour; its words say the same."""
    state = STATES[row.state]
    if has_extra_news(row) and state.severity < Severity.RED:
        return "unfair"
    if state.severity is Severity.QUIET:
        return "good" if state.is_done and not state.needs_person and state.rank < 20 else "quiet"
    return state.severity.name.lower()


def row_line(report: Report, row: CaseReport, anchor: str) -> RowLine:
    """One row of the overview table, in the words of the comment's table."""
    cells = row_cells(report, row, public_url="", detail=FULL_DETAIL)
    words = row_words(row, report.base_branch)
    return RowLine(
        anchor=anchor,
        name=case_label(report, row.key),
        symbol=words.symbol,
        word=plain_text(cells.verdict).removeprefix(words.symbol).strip() or words.word,
        tone=row_tone(row),
        accepted=plain_text(joined(" · ", cells.remarks)),
        steady=styled(cells.steady),
        loss=styled(cells.loss),
        checkpoint=plain_text(cells.checkpoint),
        memory=styled(cells.memory),
    )


STEADY = "steady_step_seconds"

DIRECTION_WORDS = {Direction.WORSE: "worse", Direction.BETTER: "better", Direction.DIFFERENT: "differs"}


class FigureLine(Struct, frozen=True, kw_only=True):
    """One metric on both sides; `word` is its verdict, `moved` whether it changed significantly."""

    title: str
    how: str
    base: str
    head: str
    diff: str
    word: str
    moved: bool
    judged: bool
    band: str = ""


class CaveatLine(Struct, frozen=True, kw_only=True):
    """A difference besides the code: what, its value on both sides, its effect, whether it decided."""

    what: str
    base: str
    head: str
    text: str
    decides: bool


def caveat_lines(comparison: Comparison) -> tuple[CaveatLine, ...]:
    """Every difference, deciding ones first."""
    order = [CaveatWeight.NOT_COMPARABLE, CaveatWeight.NOT_LIKE_FOR_LIKE, CaveatWeight.NOTED]
    ranked = sorted(comparison.caveats, key=lambda caveat: order.index(caveat.weight))
    return tuple(
        CaveatLine(
            what=view.what,
            base=view.base,
            head=view.head,
            text=view.text,
            decides=caveat.weight is not CaveatWeight.NOTED,
        )
        for caveat in ranked
        for view in (caveat_view(caveat, comparison.reason),)
    )


def figure_line(row: MetricRow, timing: TimingDecision) -> FigureLine:
    """One metric in words; `timing` is the decision on the steady step time."""
    metric = METRICS_BY_KEY.get(row.key)
    digits, unit = (metric.digits, metric.unit) if metric else (3, "")
    row = _as_judged(row, timing) if row.key == STEADY else row
    shown = _two_digits if _rounds_to_zero(row, digits) else _fixed_digits
    title = metric.title if metric else row.key.replace("_", " ")
    return FigureLine(
        title=f"{title}, {unit}" if unit else title,
        how=metric.how if metric else "",
        base=shown(row.base, digits),
        head=shown(row.head, digits),
        diff=shown(row.diff, digits, sign="+"),
        word=_verdict_word(row, timing),
        moved=row.judged and row.direction in DIRECTION_WORDS,
        judged=row.judged,
        band=_band_words(timing) if row.key == STEADY else "",
    )


def _as_judged(row: MetricRow, timing: TimingDecision) -> MetricRow:
    """The row with the step times that were compared, as in the overview.

    They are means over a side's runs; the base's includes main's runs if they are pooled with it.
    """
    base, head = timing.base_seconds, timing.head_seconds
    if base is None or head is None or row.diff is None:
        return row
    return replace(row, base=base, head=head, diff=head - base)


def _rounds_to_zero(row: MetricRow, digits: int) -> bool:
    """Whether a value other than 0 would be shown as 0."""
    numbers = [value for value in (row.base, row.head) if isinstance(value, float | int)]
    return any(value and not round(value, digits) for value in numbers)


def _two_digits(value: float | str | None, digits: int, *, sign: str = "") -> str:
    """A value that is too small for its metric's digits, with its first two digits."""
    if not isinstance(value, float | int) or not value:
        return _fixed_digits(value, digits)
    return ("+" if sign and value > 0 else "") + significant(value, 2)


def _verdict_word(row: MetricRow, timing: TimingDecision) -> str:
    if row.judged:
        return DIRECTION_WORDS.get(row.direction, "same")
    if row.key != STEADY or timing.change is None:
        return "information"
    undecided = {TimingVerdict.CONFIRMING, TimingVerdict.INCONCLUSIVE}
    decided_here = timing.verdict in undecided and timing.measure is TimingMeasure.STEADY
    return timing.verdict.value if decided_here else "not judged"


def figure_lines(comparison: Comparison) -> tuple[FigureLine, ...]:
    """Every metric: the steady step time, then the other judged ones, then the rest."""
    ordered = sorted(comparison.rows, key=lambda row: (row.key != STEADY, not row.judged))
    return tuple(figure_line(row, comparison.timing) for row in ordered)


def _band_words(timing: TimingDecision) -> str:
    """`+6.1 %, counts from ±1.6 %` for the steady step time."""
    if timing.change is None:
        return ""
    from_on = f", counts from ±{unsigned_percent(timing.threshold)}" if timing.threshold is not None else ""
    return signed_percent(timing.change) + from_on


def _fixed_digits(value: float | str | None, digits: int, *, sign: str = "") -> str:
    if value is None or isinstance(value, str):
        return value or NO_VALUE
    return f"{value:{sign}.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def case_sentences(row: CaseReport, branch: str = "main") -> tuple[str, ...]:
    """Sentences on step time, the bound of its change, its noise, the loss curve and the runs."""
    comparison = row.comparison
    if comparison is None:
        return ()
    noise = noise_history_words(row, branch)
    note = row.note if comparison.reason else ""
    found = [_timing_sentence(row, comparison), _bound_sentence(row), noise, _loss_sentence(comparison), note]
    return tuple(sentence for sentence in found if sentence)


def _timing_sentence(row: CaseReport, comparison: Comparison) -> str:
    timing = comparison.timing
    if timing.change is None:
        is_reason_above = not timing.reason or timing.reason == comparison.reason
        return "" if is_reason_above else f"Step time: {timing.reason}."
    heads, bases = counted(timing.n[1], "run"), counted(timing.n[0], "run")
    main = f" and {timing.main_runs} of the base branch before it" if timing.main_runs else ""
    sentence = f"Step time {signed_percent(timing.change)}, {heads} against {bases}{main}."
    if timing.threshold is not None:
        sentence += f" It counts as changed from ±{unsigned_percent(timing.threshold)} on."
    if timing.mde is not None:
        sentence += f" A change of {unsigned_percent(timing.mde)} would be seen in 4 of 5 such comparisons."
    if timing.look > 1:
        sentence += f" This is look {timing.look} at these data; the threshold is adjusted for it."
    if timing.more_runs and row.state is RowState.INCONCLUSIVE:
        sentence += f" {counted(timing.more_runs, 'more run')} a side would settle it."
    is_reason_above = not timing.reason or timing.reason == comparison.reason
    sentence = sentence if is_reason_above else f"{sentence} {timing.reason}."
    if row.under_way.any:
        number = row.under_way.base + row.under_way.head
        sentence += f" {counted(number, 'run')} of them {'have' if number > 1 else 'has'} not ended yet."
    return sentence


def _bound_sentence(row: CaseReport) -> str:
    bound = change_bound_percent(row.comparison)
    if bound is None or row.state is not RowState.SAME:
        return ""
    return f"With 95 % confidence the change is at most {percent_words(bound)}."


def _loss_sentence(comparison: Comparison) -> str:
    loss = comparison.loss
    words = loss_words(comparison)
    if words is None:
        return loss.reason and f"Loss curve: {loss.reason}."
    sentence = f"Loss curve {words}, {counted(loss.compared_steps, 'step')} compared"
    sentence += f" on {loss.digits}" if loss.digits else ""
    if loss.max_relative:
        sentence += f"; largest difference {significant(loss.max_relative * 100)} %"
        sentence += f" at step {loss.worst_step}" if loss.worst_step is not None else ""
    if loss.first_difference_step is not None:
        sentence += f"; first difference at step {loss.first_difference_step}"
    return sentence + "."


CHIP_HOURS = METRICS_BY_KEY["chip_hours"]


class RunLine(Struct, frozen=True, kw_only=True):
    """One run with its links and price."""

    id: str
    commit: str
    commit_link: str | None
    started: Moment | None
    state: str
    page: str
    log: str | None
    chip_hours: str = NO_VALUE


class LogReference(Struct, frozen=True, kw_only=True):
    """A link to a place in a log."""

    words: str
    link: str


def run_lines(
    records: Sequence[RunRecord], access: Access, measured: Sequence[MeasuredRun] = ()
) -> tuple[RunLine, ...]:
    """The runs in order; with prices if every one of them was measured."""
    whole = len(measured) == len(records)
    prices = [_chip_hours(run) for run in measured] if whole else [NO_VALUE] * len(records)
    return tuple(
        RunLine(
            id=record.id,
            commit=record.sha[:7] if record.sha else "not recorded",
            commit_link=access.links.commit_on_github(record.repository, record.sha),
            started=moment(record.started),
            state=record.state.value,
            page=access.links.run(record.id),
            log=access.links.log(record.id) if record.log_uri else None,
            chip_hours=price,
        )
        for record, price in zip(records, prices, strict=True)
    )


def log_references(
    side: str, explained: Sequence[ExplainedRun], records: Sequence[RunRecord], access: Access
) -> tuple[LogReference, ...]:
    """Links to the places in a side's logs; empty if it is unknown which log belongs to which run."""
    if len(explained) != len(records):
        return ()
    several = len(records) > 1
    return tuple(
        LogReference(
            words=f"{side}{f' run {number}' if several else ''}: {log_place_words(place)}",
            link=access.links.log(
                record.id,
                start=window_start(place.offset),
                anchor="" if place.step is None else f"step-{place.step}",
            ),
        )
        for number, (one, record) in enumerate(zip(explained, records, strict=True), start=1)
        if record.log_uri
        for place in one.places
    )


def _chip_hours(run: MeasuredRun) -> str:
    hours = run.measurements.chip_hours
    if hours is None:
        return NO_VALUE
    return f"{hours:.{CHIP_HOURS.digits}f}" if hours >= 1 else chip_hours_words(hours)


class SideNames(Struct, frozen=True, kw_only=True):
    """The names of the two sides."""

    base: str
    head: str


class FailedSide(Struct, frozen=True, kw_only=True):
    """How one side failed."""

    side: str
    how: str
    error: str
    where: str
    kind: str
    next_step: str
    excerpt: str
    log: str | None
    news: tuple[StyledText, ...] = ()
    pulls: tuple[tuple[int, str], ...] = ()


def failed_sides(
    report: Report, row: CaseReport, access: Access, names: SideNames | None
) -> tuple[FailedSide, ...]:
    """The failures of both sides, the head's first, with where else that one is known."""
    if row.comparison is None:
        return ()
    head = names.head if names else f"This change ({report.head_sha[:7]})"
    sides = (
        (head, row.comparison.head, row.head_runs),
        (names.base if names else report.base_branch, row.comparison.base, row.base_runs),
    )
    found = [one for side in sides if (one := _failed_side(*side, access)) is not None]
    if not found or row.failure is None:
        return tuple(found)
    numbers = (*row.failure.pulls, *row.failure.pulls_elsewhere)
    others = tuple((number, access.links.pull(report.repository, number)) for number in numbers)
    news = styled(novelty_words(row, report.base_branch))
    return (replace(found[0], news=news, pulls=others), *found[1:])


def _failed_side(
    side: str, runs: tuple[MeasuredRun, ...], records: tuple[RunRecord, ...], access: Access
) -> FailedSide | None:
    end = unsuccessful_outcome(runs)
    if end is None:
        return None
    failure = end.failure or Failure(kind="", error="")
    at = next((place for place, run in enumerate(runs) if run.log.outcome is end), 0)
    record = records[at] if len(records) == len(runs) else None
    log = None
    if record is not None and record.log_uri:
        log = access.links.log(record.id, start=window_start(failure.offset), anchor="error")
    return FailedSide(
        side=side,
        how=outcome_words(end),
        error=failure.error,
        where=failure.where or "",
        kind=failure.kind,
        next_step=next_step(failure.kind),
        excerpt=failure.excerpt,
        log=log,
    )


class LedgerView(Struct, frozen=True, kw_only=True):
    """The time ledger of both sides: two bars to one scale, and the numbers."""

    bars: tuple[TimeBar, ...]
    lines: tuple[tuple[str, str, str, str, str], ...]


class CaseView(Struct, frozen=True, kw_only=True):
    """One case in full; it starts open if it `needs_person` at it."""

    names: SideNames
    anchor: str
    name: str
    symbol: str
    word: str
    needs_person: bool
    reason: str
    sentences: tuple[str, ...]
    rerun: str
    baseline: str
    baseline_link: str | None
    caveats: tuple[CaveatLine, ...]
    figures: tuple[FigureLine, ...]
    failures: tuple[FailedSide, ...]
    time: LedgerView | None
    base_runs: tuple[RunLine, ...]
    head_runs: tuple[RunLine, ...]
    stale_runs: tuple[RunLine, ...]
    explanation: tuple[ExplanationSection, ...] = ()
    references: tuple[LogReference, ...] = ()
    plots: tuple[Plot, ...] = ()
    compare_logs_link: str | None = None


def case_view(
    report: Report,
    row: CaseReport,
    access: Access,
    *,
    anchor: str,
    measured: Mapping[str, MeasuredRun] | None = None,
    names: SideNames | None = None,
) -> CaseView:
    """Everything about one case.

    `measured` holds runs with step lines by id. The sides are called the base branch and this change unless
    `names` says otherwise.
    """
    comparison = row.comparison
    baseline = row.baseline
    words = row_words(row, report.base_branch)
    sides = names or SideNames(base=report.base_branch, head="this change")
    failures = failed_sides(report, row, access, names)
    return CaseView(
        names=sides,
        anchor=anchor,
        name=case_label(report, row.key),
        symbol=words.symbol,
        word=words.word,
        needs_person=STATES[row.state].needs_person or has_extra_news(row),
        reason=_reason(row, failures),
        sentences=case_sentences(row, report.base_branch),
        rerun=plain_text(rerun_command(report, row)),
        baseline=_baseline_words(baseline) if baseline else "",
        baseline_link=access.links.commit_on_github(report.repository, baseline.sha if baseline else None),
        caveats=caveat_lines(comparison) if comparison else (),
        figures=figure_lines(comparison) if comparison else (),
        failures=failures,
        time=_ledger_view(comparison, sides) if comparison else None,
        base_runs=run_lines(row.base_runs, access, comparison.base if comparison else ()),
        head_runs=run_lines(row.head_runs, access, comparison.head if comparison else ()),
        stale_runs=run_lines(row.stale_runs, access),
        explanation=explanation_sections(comparison) if comparison else (),
        references=_case_references(row, access),
        plots=plots(_runs_to_draw(row, measured or {}, sides)),
        compare_logs_link=_compare_logs_link(report, row, access),
    )


def _compare_logs_link(report: Report, row: CaseReport, access: Access) -> str | None:
    """The link that compares the newest logs of both sides; None if one side has none."""
    ends = [next((run.id for run in runs if run.log_uri), None) for runs in (row.base_runs, row.head_runs)]
    if ends[0] is None or ends[1] is None:
        return None
    return access.links.compare_logs(report.repository, ends[0], ends[1])


def _reason(row: CaseReport, failures: Sequence[FailedSide]) -> str:
    """The reason of the verdict; empty if it only names an error shown below."""
    reason = (row.comparison.reason if row.comparison else "") or row.note
    return "" if any(failed.error and failed.error in reason for failed in failures) else reason


def _baseline_words(baseline: Baseline) -> str:
    behind = f", {counted(baseline.distance, 'commit')} behind the merge base" if baseline.distance else ""
    return f"{baseline.sha[:7] if baseline.sha else 'commit not recorded'}, {baseline.why}{behind}"


def _runs_to_draw(
    row: CaseReport, measured: Mapping[str, MeasuredRun], names: SideNames
) -> dict[str, MeasuredRun]:
    """The run of each side that the loss verdict used, by the side's name."""
    if row.comparison is None:
        return {}
    chosen: dict[str, MeasuredRun] = {}
    sides = (
        (names.base, row.base_runs, row.comparison.base),
        (names.head, row.head_runs, row.comparison.head),
    )
    for name, records, compared in sides:
        known = [measured[run.id] for run in records if run.id in measured] if records else compared
        usable = side_outcome(name, known).usable
        chosen |= {name: usable[0]} if usable else {}
    return chosen


def _ledger_view(comparison: Comparison, names: SideNames) -> LedgerView | None:
    base = comparison.base[0] if comparison.base else None
    head = comparison.head[0] if comparison.head else None
    first, second = phase_seconds(base), phase_seconds(head)
    if not first and not second:
        return None
    fills = phase_fills(list(dict.fromkeys((*first, *second))))
    longest = max(sum(max(seconds, 0.0) for seconds in side.values()) for side in (first, second))
    bars = tuple(
        time_bar(name, side, longest=longest, fills=fills)
        for name, side in ((names.base, first), (names.head, second))
        if side
    )
    lines = tuple((fills.get(line[0], ""), *line) for line in ledger_lines(base, head))
    return LedgerView(bars=bars, lines=lines)


def _case_references(row: CaseReport, access: Access) -> tuple[LogReference, ...]:
    why = row.comparison.explanation if row.comparison else None
    if why is None:
        return ()
    base = log_references("base", why.base, row.base_runs, access)
    return (*base, *log_references("head", why.head, row.head_runs, access))
