"""What the page of a comparison shows: every case with its verdict, and one of them in full.

In:  a `Pairing` with its rows, and the visit it is shown in.
Out: `CompareView`. Pure; words and figures are those of a report, so page and comment cannot disagree.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.report.figures import counted
from bot.report.headline import headline
from bot.report.links import case_anchor
from bot.report.model import CaseReport, Report, RowState
from bot.report.row_words import row_words
from bot.storage.refs import Kept, Kind
from bot.verdict.judgement import MeasuredRun
from bot.verdict.provenance import Across
from bot.web.cases.overview import RowLine, row_line
from bot.web.cases.pairing import End, Pairing
from bot.web.cases.troubles import Names
from bot.web.cases.view import CaseView, case_view
from bot.web.ground.access import Visit
from bot.web.ground.public import for_page

ACROSS_VARIANTS = {
    RowState.NEW_FAILURE: "fails in {head}, passes in {base}",
    RowState.FIXED: "passes in {head}, fails in {base}",
    RowState.FAILS_ON_BOTH: "fails in both",
}
"""Two variants of one commit are not before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndView:
    """One end: its name, what of it is compared, and where it is on GitHub."""

    name: str
    what: str
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLink:
    """A row of the overview and its own page."""

    line: RowLine
    link: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareView:
    """The page; `case` is the one shown in full, `place` its number among all, `before` and `after` its
    neighbours."""

    headline: str
    base: EndView
    head: EndView
    rows: tuple[CaseLink, ...]
    swapped: str
    overview: str
    case: CaseView | None = None
    place: int = 0
    before: CaseLink | None = None
    after: CaseLink | None = None


def compare_view(
    pairing: Pairing,
    rows: Sequence[CaseReport],
    visit: Visit,
    *,
    chosen: int | None = None,
    measured: Mapping[str, MeasuredRun] | None = None,
) -> CompareView:
    """The page's words; `rows` stand beside the pairing's, and the chosen one has its whole comparison."""
    report = as_report(pairing, rows)
    order = reading_order(rows)
    lines = [
        CaseLink(
            line=_line(report, rows[place], pairing, visit),
            link=row_link(pairing, place, visit),
            chosen=place == chosen,
        )
        for place in order
    ]
    view = CompareView(
        headline=visit.text(_headline(report, pairing, [row.line for row in lines])),
        base=_end(pairing.base, [row.base for row in pairing.rows], visit),
        head=_end(pairing.head, [row.head for row in pairing.rows], visit),
        rows=tuple(lines),
        swapped=visit.links.compare(pairing.repository, spelt(pairing.head), spelt(pairing.base)),
        overview=visit.links.compare(pairing.repository, spelt(pairing.base), spelt(pairing.head)),
    )
    return (
        view if chosen is None else _with_case(view, pairing, rows, visit, chosen=chosen, measured=measured)
    )


def _with_case(
    view: CompareView,
    pairing: Pairing,
    rows: Sequence[CaseReport],
    visit: Visit,
    *,
    chosen: int,
    measured: Mapping[str, MeasuredRun] | None,
) -> CompareView:
    """The page of one of its cases."""
    one = for_page(as_report(pairing, [rows[chosen]]), visit)
    case = case_view(
        one, one.rows[0], visit, anchor="case", measured=measured, names=end_names(pairing, visit)
    )
    words = _variant_words(pairing, rows[chosen].state)
    lines = dict(zip(reading_order(rows), view.rows, strict=True))
    before, after = _beside(chosen, [lines[place] for place in range(len(rows))])
    return replace(
        view,
        base=_end(pairing.base, [pairing.rows[chosen].base], visit),
        head=_end(pairing.head, [pairing.rows[chosen].head], visit),
        case=replace(case, word=words or case.word),
        place=chosen + 1,
        before=before,
        after=after,
    )


def _headline(report: Report, pairing: Pairing, lines: Sequence[RowLine]) -> str:
    """The report's own; of two variants the words of the rows, which are not before and after."""
    if pairing.across is not Across.VARIANTS:
        return headline(report).replace("MaxView: ", "")
    numbers = Counter(line.word for line in lines)
    return f"{lines[0].symbol} {' · '.join(f'{number} {word}' for word, number in numbers.items())}"


def _beside(chosen: int, by_name: Sequence[CaseLink]) -> tuple[CaseLink | None, CaseLink | None]:
    """The neighbours of a case in the order of names, which does not change with the verdicts."""
    before = by_name[chosen - 1] if chosen else None
    return before, by_name[chosen + 1] if chosen + 1 < len(by_name) else None


def as_report(pairing: Pairing, rows: Sequence[CaseReport]) -> Report:
    """The rows as a report, which has the words for them."""
    return Report(
        repository=pairing.repository,
        number=pairing.head.ref.number or 0,
        title="",
        head_sha=pairing.head.ref.sha or "",
        head_branch=spelt(pairing.head),
        base_branch=spelt(pairing.base),
        merge_base=None,
        made_at=0.0,
        rows=tuple(rows),
        variants=pairing.habits.variants if pairing.across is Across.COMMITS else (),
        practical_percent=pairing.habits.practical_percent,
        equivalence_percent=pairing.habits.equivalence_percent,
    )


def reading_order(rows: Sequence[CaseReport]) -> list[int]:
    """The places of the rows, those that need a person first."""
    return sorted(
        range(len(rows)),
        key=lambda place: (-row_words(rows[place], "").rank, rows[place].case, rows[place].variant),
    )


def spelt(end: End) -> str:
    """The end as an address spells it; a full commit by twelve digits."""
    name = end.ref.sha[:12] if end.ref.kind is Kind.COMMIT and end.ref.sha else end.ref.text
    return f"{name}:{end.variant}" if end.variant else name


def end_names(pairing: Pairing, visit: Visit) -> Names:
    """What the sides of a case are called: the variants, where those are all that differs."""
    if pairing.across is Across.VARIANTS:
        return Names(base=visit.text(pairing.base.variant or ""), head=visit.text(pairing.head.variant or ""))
    return Names(base=visit.text(spelt(pairing.base)), head=visit.text(spelt(pairing.head)))


def row_link(pairing: Pairing, place: int, visit: Visit) -> str:
    """The page of one row."""
    row = pairing.rows[place]
    variant = row.variants[1] if row.variants[0] == row.variants[1] else None
    return visit.links.compare(
        pairing.repository, spelt(pairing.base), spelt(pairing.head), row.case, variant
    )


def _line(report: Report, row: CaseReport, pairing: Pairing, visit: Visit) -> RowLine:
    line = row_line(report, row, case_anchor(row.case, row.variant))
    words = _variant_words(pairing, row.state)
    return replace(line, name=visit.text(line.name), word=words or line.word)


def _variant_words(pairing: Pairing, state: RowState) -> str:
    if pairing.across is not Across.VARIANTS or state not in ACROSS_VARIANTS:
        return ""
    return ACROSS_VARIANTS[state].format(base=pairing.base.variant, head=pairing.head.variant)


def _end(end: End, runs: Sequence[Sequence[Kept]], visit: Visit) -> EndView:
    ref, known = end.ref, counted(sum(map(len, runs)), "run")
    commits = {kept.record.sha for some in runs for kept in some}
    links = visit.links
    link: str | None = None
    match ref.kind:
        case Kind.BRANCH if len(commits) == 1 and (sha := commits.pop()):
            what, link = f"{known} of {sha[:7]}", links.commit_on_github(visit.repository, sha)
        case Kind.BRANCH:
            what = f"{known}, of each case's newest commit"
        case Kind.PULL:
            what, link = (
                f"{known} of its head commit",
                links.pull_on_github(visit.repository, ref.number or 0),
            )
        case _:
            what, link = known, links.commit_on_github(visit.repository, ref.sha or "")
    name = f"{spelt(end)} ({ref.sha[:7]})" if ref.kind is Kind.PULL and ref.sha else spelt(end)
    return EndView(name=visit.text(name), what=what, link=link)
