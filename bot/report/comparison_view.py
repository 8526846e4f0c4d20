"""One comparison in plain words: what `maxview compare` says in text, Markdown and HTML, and the case page.

In:  a `Comparison`.
Out: `ComparisonView`: plain text in the order in which it is read. Nothing is escaped here: text is for a
     terminal, HTML escapes by its template, Markdown by `comparison_markdown`.
"""

from dataclasses import dataclass, replace

from bot.logs.facts import State
from bot.report.comparison_words import (
    bound_words,
    headline_words,
    hides_memory,
    loss_sentence,
    side_words,
    timing_words,
)
from bot.report.escape import one_line
from bot.report.explanation_view import Section, explanation_sections
from bot.report.figures import NONE, change
from bot.report.information import ledger_lines
from bot.report.judged import bad_end, ended, loss_words, next_step
from bot.report.method import method_lines
from bot.report.model import RowState
from bot.report.states import STATES, WARNING
from bot.report.struck import struck_words
from bot.verdict.fields import FIELDS
from bot.verdict.judgement import (
    Caveat,
    Comparison,
    Direction,
    Row,
    Timing,
    TimingVerdict,
    Verdict,
)
from bot.verdict.metric import Metric
from bot.verdict.metrics import BY_KEY

RED = frozenset({Verdict.SLOWER, Verdict.DIVERGED, Verdict.NEW_FAILURE})
GREEN = frozenset({Verdict.SAME, Verdict.FASTER, Verdict.FIXED})
SHORT_UNITS = frozenset({"%", "GB", "MB", "billion"})
TITLES = {field.name: field.title for field in FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaveatView:
    """One difference: what, how on both sides, and what follows."""

    what: str
    base: str
    head: str
    text: str
    weight: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricView:
    """One row of figures. `tone` is good, bad or empty; informational figures have none."""

    title: str
    base: str
    head: str
    difference: str
    remark: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView:
    """How one side failed, the first cause, and the next step."""

    side: str
    ended: str
    error: str
    where: str
    next_step: str
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Everything, in reading order. `tone` is good, bad or odd."""

    symbol: str
    tone: str
    headline: str
    reason: str
    timing: str
    loss: str
    base: str
    head: str
    failures: tuple[FailureView, ...]
    caveats: tuple[CaveatView, ...]
    rows: tuple[MetricView, ...]
    ledger: tuple[tuple[str, str, str, str], ...]
    method: tuple[str, ...]
    why: tuple[Section, ...] = ()


def comparison_view(comparison: Comparison) -> ComparisonView:
    """`comparison` in plain words."""
    both = comparison.base and comparison.head
    failures = tuple(_failures(comparison))
    reason = one_line(comparison.reason, 600)
    timing = comparison.timing
    return ComparisonView(
        symbol=WARNING if hides_memory(comparison) else STATES[RowState(comparison.verdict)].symbol,
        tone=_tone(comparison),
        headline=headline_words(comparison),
        reason="" if any(failure.error and failure.error in reason for failure in failures) else reason,
        timing=timing_words(_as_far_as_it_counts(comparison)) + bound_words(comparison),
        loss=loss_sentence(comparison.loss, loss_words(comparison)),
        base=side_words(comparison.base, comparison.head),
        head=side_words(comparison.head, comparison.base),
        failures=failures,
        caveats=tuple(caveat_view(caveat, comparison.reason) for caveat in comparison.caveats),
        rows=tuple(metric_view(row, timing) for row in comparison.rows if None not in {row.base, row.head}),
        ledger=tuple(ledger_lines(comparison.base[0], comparison.head[0])) if both else (),
        method=_method(comparison),
        why=explanation_sections(comparison),
    )


def _as_far_as_it_counts(comparison: Comparison) -> Timing:
    """The timing without what is said already, and without more runs where they would settle nothing."""
    timing = comparison.timing
    return replace(
        timing,
        reason="" if timing.reason == comparison.reason else timing.reason,
        more_runs=timing.more_runs if comparison.verdict is Verdict.INCONCLUSIVE else None,
    )


def _tone(comparison: Comparison) -> str:
    if comparison.verdict in RED:
        return "bad"
    return "good" if comparison.verdict in GREEN and not hides_memory(comparison) else "odd"


def _method(comparison: Comparison) -> tuple[str, ...]:
    """How it was measured, where anything was, and what was struck out."""
    if comparison.timing.change is None:
        return ()
    struck = struck_words((*comparison.base, *comparison.head))
    return (*method_lines([comparison.timing]), *([struck] if struck else []))


def caveat_view(caveat: Caveat, reason: str = "") -> CaveatView:
    """A caveat by the title of its field; its text only as far as it says more than the rest does."""
    what = TITLES.get(caveat.field, caveat.field.replace("_", " "))
    base, head = (NONE if side is None else side for side in (caveat.base, caveat.head))
    more = caveat.text.removeprefix(f"{what}: {base} on base, {head} on head").lstrip("; ")
    return CaveatView(
        what=what,
        base=base,
        head=head,
        text="" if more and more in reason else one_line(more, 400),
        weight=caveat.weight.value,
    )


def metric_view(row: Row, timing: Timing) -> MetricView:
    """A row with its title, decimals and unit."""
    metric = BY_KEY.get(row.key)
    remark, tone = _remark(row, timing)
    return MetricView(
        title=_title(metric) if metric else row.key,
        base=figure(row.key, row.base),
        head=figure(row.key, row.head),
        difference=figure(row.key, row.diff, sign="+"),
        remark=remark,
        tone=tone,
    )


def figure(key: str, value: float | str | None, sign: str = "") -> str:
    """One side of a metric with the decimals of its row in the table of metrics."""
    if value is None or isinstance(value, str):
        return value or NONE
    digits = BY_KEY[key].digits if key in BY_KEY else 4
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:{sign}.{digits}f}"


def _title(metric: Metric) -> str:
    """The metric's title, with its unit where the title does not hold it."""
    seconds = metric.unit == "s" and "s/step" not in metric.title
    return f"{metric.title}, {metric.unit}" if seconds or metric.unit in SHORT_UNITS else metric.title


def _remark(row: Row, timing: Timing) -> tuple[str, str]:
    """What is said of a row, and its tone: only judged rows have one."""
    if not row.judged:
        return "", ""
    if row.key == "steady_step_seconds":
        tone = {TimingVerdict.SLOWER: "bad", TimingVerdict.FASTER: "good"}.get(timing.verdict, "")
        return (
            f"{change(timing.change)} {timing.verdict.value.replace('withheld', 'not judged')}".removeprefix(
                f"{NONE} "
            ),
            tone,
        )
    if row.base is None or row.head is None:
        return "", ""
    tone = {Direction.WORSE: "bad", Direction.BETTER: "good"}.get(row.direction, "")
    return row.direction.value, tone


def _failures(comparison: Comparison) -> list[FailureView]:
    """Both sides' bad ends, the head's first."""
    sides = (("head", comparison.head), ("base", comparison.base))
    ends = [(side, end) for side, runs in sides if (end := bad_end(runs)) is not None]
    return [
        FailureView(
            side=side,
            ended=ended(end),
            error=end.failure.error if end.failure else "",
            where=(end.failure.where or "") if end.failure else "",
            next_step=next_step(end.failure.kind) if end.failure else "",
            excerpt=end.failure.excerpt if end.failure else "",
        )
        for side, end in ends
        if end.state is not State.SUCCEEDED
    ]
