"""Every case in every variant at one name, and what became of each since main.

In:  the measured runs of both, by case and variant. Out: `ParityView`, its document, its table. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median

from bot.logs.facts import RunLog
from bot.report.figures import change, significant
from bot.report.model import Transition
from bot.verdict.judgement import MeasuredRun
from bot.verdict.outcome import Fate, side
from bot.web.ground.access import Visit

Key = tuple[str, str]
Sides = Mapping[Key, Sequence[MeasuredRun]]

PASSES, FAILS, MIXED, UNKNOWN = "passes", "fails", "passes and fails", "not known"
SYMBOLS = {PASSES: "✅", FAILS: "❌", MIXED: "🟡", UNKNOWN: "⚪"}

WORDS = {
    Transition.STILL_PASSES: "",
    Transition.PASSES_NOW: "fail → pass",
    Transition.FAILS_NOW: "pass → fail",
    Transition.FAILS_THE_SAME: "fails the same",
    Transition.FAILS_OTHERWISE: "fails otherwise",
    Transition.MIXED: "some runs fail",
    Transition.UNKNOWN: "",
}
NEWS = (Transition.FAILS_NOW, Transition.FAILS_OTHERWISE, Transition.PASSES_NOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One case in one variant: how it stands, what became of it since main, and how fast it is."""

    standing: str
    base: str
    transition: Transition
    error: str
    seconds: float | None
    change: float | None
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Cases by variants. `cells` has one for each variant, in their order, for each case."""

    variants: tuple[str, ...]
    cells: Mapping[str, tuple[Cell, ...]]
    against_main: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One cell in words."""

    symbol: str
    word: str
    tone: str
    news: str
    figure: str
    link: str | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One case."""

    name: str
    link: str | None
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityView:
    """The page."""

    tallies: tuple[str, ...]
    variants: tuple[str, ...]
    rows: tuple[RowView, ...]
    against_main: bool


def matrix(head: Sides, main: Sides | None, *, order: Sequence[str]) -> Matrix:
    """The cells; `main` is None where the name is main itself. `order` is the variants' usual one."""
    found = dict.fromkeys(variant for _, variant in sorted(head))
    variants = [one for one in order if one in found] + [one for one in found if one not in order]
    cases = dict.fromkeys(case for case, _ in sorted(head))
    return Matrix(
        variants=tuple(variants),
        cells={case: _row(case, variants, head, main or {}) for case in cases},
        against_main=main is not None,
    )


def _row(case: str, variants: Sequence[str], head: Sides, main: Sides) -> tuple[Cell, ...]:
    first = _seconds(head.get((case, variants[0]), ()))
    return tuple(
        _cell(head.get((case, variant), ()), main.get((case, variant), ()), first if place else None)
        for place, variant in enumerate(variants)
    )


def _cell(head: Sequence[MeasuredRun], main: Sequence[MeasuredRun], first: float | None) -> Cell:
    seconds = _seconds(head)
    standing, base = _standing(head), _standing(main)
    failed = _failed(head)
    return Cell(
        standing=standing,
        base=base,
        transition=_transition(base, standing, failed, _failed(main)),
        error=failed.outcome.failure.error if failed and failed.outcome.failure else "",
        seconds=seconds,
        change=log(seconds / first) if seconds and first else None,
        runs=len(head),
    )


def _standing(runs: Sequence[MeasuredRun]) -> str:
    its = side("", runs)
    if its.fate not in {Fate.PASSED, Fate.FAILED}:
        return UNKNOWN
    if its.flaky:
        return MIXED
    return PASSES if its.fate is Fate.PASSED else FAILS


def _failed(runs: Sequence[MeasuredRun]) -> RunLog | None:
    return next((run.log for run in runs if run.log.outcome.failure is not None), None)


def _transition(base: str, head: str, failed: RunLog | None, before: RunLog | None) -> Transition:
    if UNKNOWN in {base, head}:
        return Transition.UNKNOWN
    if head == MIXED or (base == MIXED and head == PASSES):
        return Transition.MIXED
    if head == PASSES:
        return Transition.STILL_PASSES if base == PASSES else Transition.PASSES_NOW
    if base == PASSES:
        return Transition.FAILS_NOW
    return Transition.FAILS_THE_SAME if _print(failed) == _print(before) else Transition.FAILS_OTHERWISE


def _print(log: RunLog | None) -> str:
    return log.outcome.failure.fingerprint if log and log.outcome.failure else ""


def _seconds(runs: Sequence[MeasuredRun]) -> float | None:
    known = [seconds for run in runs if (seconds := run.measurements.steady.seconds)]
    return median(known) if known else None


def parity_view(found: Matrix, visit: Visit, ref: str) -> ParityView:
    """The page's words."""
    return ParityView(
        tallies=tuple(_tally(found, place, visit) for place in range(len(found.variants))),
        variants=tuple(visit.text(variant) or "no variant" for variant in found.variants),
        rows=tuple(_row_view(found, case, visit, ref) for case in found.cells),
        against_main=found.against_main,
    )


def _tally(found: Matrix, place: int, visit: Visit) -> str:
    cells = [cells[place] for cells in found.cells.values()]
    known = [cell for cell in cells if cell.standing != UNKNOWN]
    passing = sum(cell.standing == PASSES for cell in known)
    name = visit.text(found.variants[place]) or "no variant"
    both = [cell for cell in known if cell.base != UNKNOWN]
    before = sum(cell.base == PASSES for cell in both)
    now = sum(cell.standing == PASSES for cell in both)
    since = f" ({before} → {now} of the {len(both)} that main has too)" if found.against_main and both else ""
    return f"{name}: {passing} of {len(known)} pass{since}"


def _row_view(found: Matrix, case: str, visit: Visit, ref: str) -> RowView:
    pair = None
    if len(found.variants) > 1:
        ends = [f"{ref}:{variant}" for variant in found.variants[:2]]
        pair = visit.links.compare(visit.repository, ends[0], ends[1], case)
    return RowView(
        name=visit.text(case),
        link=pair,
        cells=tuple(
            _cell_view(cell, visit.links.history(visit.repository, case, variant), visit)
            for cell, variant in zip(found.cells[case], found.variants, strict=True)
        ),
    )


def _cell_view(cell: Cell, link: str, visit: Visit) -> CellView:
    figure = "" if cell.seconds is None else f"{significant(cell.seconds)} s"
    return CellView(
        symbol=SYMBOLS[cell.standing] if cell.runs else "",
        word=cell.standing if cell.runs else "no run",
        tone={PASSES: "good", FAILS: "red", MIXED: "unsettled"}.get(cell.standing, "quiet"),
        news=WORDS[cell.transition],
        figure=figure + (f" ({change(cell.change)})" if cell.change is not None else ""),
        link=link if cell.runs else None,
        error=visit.text(cell.error),
    )
