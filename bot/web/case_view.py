"""One case of a report in full: verdict and why, every figure, the failure, the time, the runs.

In:  a `CaseReport` of a `Report`, and the visit it is shown in.
Out: `CaseView`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.logs.facts import Failure
from bot.logs.ledger import Phase
from bot.report.cells import label, rerun
from bot.report.explanation_view import Section, explanation_sections
from bot.report.figures import NONE, counted
from bot.report.information import ledger_lines, phases
from bot.report.judged import bad_end, ended
from bot.report.kinship import news_words
from bot.report.model import Baseline, CaseReport, Report
from bot.report.row_words import remarkable, row_words
from bot.report.states import STATES
from bot.runs.records import RunRecord
from bot.verdict.judgement import Comparison, Direction, MeasuredRun, Row
from bot.verdict.metrics import BY_KEY
from bot.verdict.outcome import side
from bot.web.access import Visit
from bot.web.case_words import caveat_text, sentences
from bot.web.charts import Bar, bar, fills
from bot.web.inline import Piece, inline, plain
from bot.web.links import commit_on_github
from bot.web.log_marks import log_start
from bot.web.plots import Plot, plots
from bot.web.run_lines import Reference, RunLine, references, run_lines

MOVED = {Direction.WORSE: "worse", Direction.BETTER: "better", Direction.DIFFERENT: "differs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """One metric on both sides; `moved` is a word where a judged one moved, and empty elsewhere."""

    title: str
    how: str
    base: str
    head: str
    diff: str
    moved: str
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """How one side failed."""

    side: str
    how: str
    error: str
    where: str
    kind: str
    excerpt: str
    log: str | None
    news: tuple[Piece, ...] = ()
    pulls: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """The time ledger of both sides: two bars to one scale, and the figures."""

    bars: tuple[Bar, ...]
    lines: tuple[tuple[str, str, str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """A case; `person` says that somebody should look at it, so it stands open."""

    anchor: str
    name: str
    symbol: str
    word: str
    person: bool
    reason: str
    sentences: tuple[str, ...]
    rerun: str
    baseline: str
    baseline_link: str | None
    caveats: tuple[str, ...]
    figures: tuple[FigureLine, ...]
    troubles: tuple[Trouble, ...]
    time: Time | None
    base_runs: tuple[RunLine, ...]
    head_runs: tuple[RunLine, ...]
    stale_runs: tuple[RunLine, ...]
    why: tuple[Section, ...] = ()
    references: tuple[Reference, ...] = ()
    plots: tuple[Plot, ...] = ()


def case_view(
    report: Report,
    row: CaseReport,
    visit: Visit,
    *,
    anchor: str,
    measured: Mapping[str, MeasuredRun] | None = None,
) -> CaseView:
    """Everything about one row; `measured` holds runs with their step lines, by id."""
    comparison = row.comparison
    baseline = row.baseline
    words = row_words(row, report.base_branch)
    return CaseView(
        anchor=anchor,
        name=label(report, row.case, row.variant),
        symbol=words.symbol,
        word=words.word,
        person=STATES[row.state].person or remarkable(row),
        reason=(comparison.reason if comparison else "") or row.note,
        sentences=sentences(row, report.base_branch),
        rerun=plain(rerun(report, row)),
        baseline=_baseline(baseline) if baseline else "",
        baseline_link=_commit_link(report.repository, baseline.sha if baseline else None),
        caveats=tuple(caveat_text(caveat) for caveat in comparison.caveats) if comparison else (),
        figures=tuple(_figure(one) for one in comparison.rows) if comparison else (),
        troubles=_troubles(report, row, visit),
        time=_time(comparison) if comparison else None,
        base_runs=run_lines(row.base_runs, visit, comparison.base if comparison else ()),
        head_runs=run_lines(row.head_runs, visit, comparison.head if comparison else ()),
        stale_runs=run_lines(row.stale_runs, visit),
        why=explanation_sections(comparison) if comparison else (),
        references=_references(row, visit),
        plots=plots(_drawn(report, row, measured or {})),
    )


def _baseline(baseline: Baseline) -> str:
    behind = f", {counted(baseline.distance, 'commit')} behind the merge base" if baseline.distance else ""
    return f"{baseline.sha[:7] if baseline.sha else 'commit not recorded'}, {baseline.why}{behind}"


def _commit_link(repository: str, sha: str | None) -> str | None:
    return commit_on_github(repository, sha) if sha else None


def _drawn(report: Report, row: CaseReport, measured: Mapping[str, MeasuredRun]) -> dict[str, MeasuredRun]:
    """The run that stands for each side in the loss verdict, by the side's name."""
    if row.comparison is None:
        return {}
    chosen: dict[str, MeasuredRun] = {}
    for name, records in ((report.base_branch, row.base_runs), ("this change", row.head_runs)):
        usable = side(name, [measured[run.id] for run in records if run.id in measured]).usable
        chosen |= {name: usable[0]} if usable else {}
    return chosen


def _figure(row: Row) -> FigureLine:
    metric = BY_KEY.get(row.key)
    digits, unit = (metric.digits, metric.unit) if metric else (3, "")
    title = metric.title if metric else row.key.replace("_", " ")
    return FigureLine(
        title=f"{title}, {unit}" if unit else title,
        how=metric.how if metric else "",
        base=_shown(row.base, digits),
        head=_shown(row.head, digits),
        diff=_shown(row.diff, digits, sign="+"),
        moved=MOVED.get(row.direction, "") if row.judged else "",
        judged=row.judged,
    )


def _shown(value: float | str | None, digits: int, *, sign: str = "") -> str:
    if value is None or isinstance(value, str):
        return value or NONE
    return f"{value:{sign}.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def _troubles(report: Report, row: CaseReport, visit: Visit) -> tuple[Trouble, ...]:
    if row.comparison is None:
        return ()
    sides = (
        (f"This change ({report.head_sha[:7]})", row.comparison.head, row.head_runs),
        (f"{report.base_branch}", row.comparison.base, row.base_runs),
    )
    found = [one for side in sides if (one := _trouble(*side, visit)) is not None]
    if not found or row.failure is None:
        return tuple(found)
    others = tuple((number, visit.links.pull(report.repository, number)) for number in row.failure.pulls)
    news = inline(news_words(row, report.base_branch))
    return (replace(found[0], news=news, pulls=others), *found[1:])


def _trouble(
    side: str, runs: tuple[MeasuredRun, ...], records: tuple[RunRecord, ...], visit: Visit
) -> Trouble | None:
    end = bad_end(runs)
    if end is None:
        return None
    failure = end.failure or Failure(kind="", error="")
    at = next((place for place, run in enumerate(runs) if run.log.outcome is end), 0)
    record = records[at] if len(records) == len(runs) else None
    log = None
    if record is not None and record.log_uri:
        log = visit.links.log(record.id, start=log_start(failure.offset), anchor="error")
    return Trouble(
        side=side,
        how=ended(end),
        error=failure.error,
        where=failure.where or "",
        kind=failure.kind,
        excerpt=failure.excerpt,
        log=log,
    )


def _time(comparison: Comparison) -> Time | None:
    base = comparison.base[0] if comparison.base else None
    head = comparison.head[0] if comparison.head else None
    first, second = phases(base), phases(head)
    if not first and not second:
        return None
    fill = fills(list(dict.fromkeys((*first, *second))))
    longest = max(sum(max(seconds, 0.0) for seconds in side.values()) for side in (first, second))
    bars = tuple(
        bar(
            name,
            [Phase(name=phase, seconds=seconds) for phase, seconds in side.items()],
            longest=longest,
            fill=fill,
        )
        for name, side in (("Base", first), ("Head", second))
        if side
    )
    lines = tuple((fill.get(line[0], ""), *line) for line in ledger_lines(base, head))
    return Time(bars=bars, lines=lines)


def ledger(spent: Mapping[str, float]) -> list[Phase]:
    """Seconds by phase as phases."""
    return [Phase(name=name, seconds=seconds) for name, seconds in spent.items()]


def _references(row: CaseReport, visit: Visit) -> tuple[Reference, ...]:
    why = row.comparison.explanation if row.comparison else None
    if why is None:
        return ()
    base = references("base", why.base, row.base_runs, visit)
    return (*base, *references("head", why.head, row.head_runs, visit))
