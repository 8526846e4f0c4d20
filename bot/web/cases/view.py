"""One case of a report in full: verdict and why, every figure, the failure, the time, the runs.

In:  a `CaseReport` of a `Report`, and the visit it is shown in.
Out: `CaseView`. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.logs.ledger import Phase
from bot.report.cells import label, rerun
from bot.report.explanation_view import Section, explanation_sections
from bot.report.figures import counted
from bot.report.information import ledger_lines, phases
from bot.report.model import Baseline, CaseReport, Report
from bot.report.row_words import remarkable, row_words
from bot.report.states import STATES
from bot.verdict.judgement import Comparison, MeasuredRun
from bot.verdict.outcome import side
from bot.web.cases.figures import Difference, FigureLine, differences, figure_lines
from bot.web.cases.runs import Reference, RunLine, references, run_lines
from bot.web.cases.troubles import Names, Trouble, troubles
from bot.web.cases.words import sentences
from bot.web.figures.charts import Bar, bar, fills
from bot.web.figures.drawing import Plot
from bot.web.figures.plots import plots
from bot.web.ground.access import Visit
from bot.web.ground.inline import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """The time ledger of both sides: two bars to one scale, and the figures."""

    bars: tuple[Bar, ...]
    lines: tuple[tuple[str, str, str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """A case; `person` says that somebody should look at it, so it stands open."""

    names: Names
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
    caveats: tuple[Difference, ...]
    figures: tuple[FigureLine, ...]
    troubles: tuple[Trouble, ...]
    time: Time | None
    base_runs: tuple[RunLine, ...]
    head_runs: tuple[RunLine, ...]
    stale_runs: tuple[RunLine, ...]
    why: tuple[Section, ...] = ()
    references: tuple[Reference, ...] = ()
    plots: tuple[Plot, ...] = ()
    side_by_side: str | None = None


def case_view(
    report: Report,
    row: CaseReport,
    visit: Visit,
    *,
    anchor: str,
    measured: Mapping[str, MeasuredRun] | None = None,
    names: Names | None = None,
) -> CaseView:
    """Everything about one row; `measured` holds runs with their step lines, by id; the sides are called the
    base branch and this change, unless they have other `names`."""
    comparison = row.comparison
    baseline = row.baseline
    words = row_words(row, report.base_branch)
    called = names or Names(base=report.base_branch, head="this change")
    ended = troubles(report, row, visit, names)
    return CaseView(
        names=called,
        anchor=anchor,
        name=label(report, row.case, row.variant),
        symbol=words.symbol,
        word=words.word,
        person=STATES[row.state].person or remarkable(row),
        reason=_reason(row, ended),
        sentences=sentences(row, report.base_branch),
        rerun=plain(rerun(report, row)),
        baseline=_baseline(baseline) if baseline else "",
        baseline_link=_commit_link(visit, report.repository, baseline.sha if baseline else None),
        caveats=differences(comparison) if comparison else (),
        figures=figure_lines(comparison) if comparison else (),
        troubles=ended,
        time=_time(comparison, called) if comparison else None,
        base_runs=run_lines(row.base_runs, visit, comparison.base if comparison else ()),
        head_runs=run_lines(row.head_runs, visit, comparison.head if comparison else ()),
        stale_runs=run_lines(row.stale_runs, visit),
        why=explanation_sections(comparison) if comparison else (),
        references=_references(row, visit),
        plots=plots(_drawn(row, measured or {}, called)),
        side_by_side=_side_by_side(report, row, visit),
    )


def _side_by_side(report: Report, row: CaseReport, visit: Visit) -> str | None:
    """The newest logs of both sides, next to each other; None where one side has none."""
    ends = [next((run.id for run in runs if run.log_uri), None) for runs in (row.base_runs, row.head_runs)]
    if ends[0] is None or ends[1] is None:
        return None
    return visit.links.compare_logs(report.repository, ends[0], ends[1])


def _reason(row: CaseReport, ended: Sequence[Trouble]) -> str:
    """Why the verdict is what it is; nothing where it only names an error that stands below it."""
    reason = (row.comparison.reason if row.comparison else "") or row.note
    return "" if any(trouble.error and trouble.error in reason for trouble in ended) else reason


def _baseline(baseline: Baseline) -> str:
    behind = f", {counted(baseline.distance, 'commit')} behind the merge base" if baseline.distance else ""
    return f"{baseline.sha[:7] if baseline.sha else 'commit not recorded'}, {baseline.why}{behind}"


def _commit_link(visit: Visit, repository: str, sha: str | None) -> str | None:
    return visit.links.commit_on_github(repository, sha) if sha else None


def _drawn(row: CaseReport, measured: Mapping[str, MeasuredRun], names: Names) -> dict[str, MeasuredRun]:
    """The run that stands for each side in the loss verdict, by the side's name."""
    if row.comparison is None:
        return {}
    chosen: dict[str, MeasuredRun] = {}
    sides = (
        (names.base, row.base_runs, row.comparison.base),
        (names.head, row.head_runs, row.comparison.head),
    )
    for name, records, compared in sides:
        known = [measured[run.id] for run in records if run.id in measured] if records else compared
        usable = side(name, known).usable
        chosen |= {name: usable[0]} if usable else {}
    return chosen


def _time(comparison: Comparison, names: Names) -> Time | None:
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
            ledger(side),
            longest=longest,
            fill=fill,
        )
        for name, side in ((names.base, first), (names.head, second))
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
