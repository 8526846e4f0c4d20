"""Two variants of one commit, case by case: Linen and NNX, and the same on the baseline.

In:  the sides of every case. Out: `ParityRow`s for the first two variants, and a `Tally` of them. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.material import Request, Sides
from bot.report.model import ParityRow, Transition
from bot.verdict.compare import compare, is_comparable
from bot.verdict.judgement import MeasuredRun
from bot.verdict.outcome import Fate, side
from bot.verdict.provenance import Across


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many of `cases` pass in both variants on the head and on the baseline, and in how many of them a
    run to tell it is missing. `base` is None where the baseline tells of no case."""

    cases: int
    head: int
    head_unknown: int
    base: int | None
    base_unknown: int


@dataclass(frozen=True, slots=True)
class _Pair:
    """One case in both variants."""

    one: Sides
    two: Sides


def parity(sides: Sequence[Sides], request: Request) -> tuple[ParityRow, ...]:
    """The first two variants of the configuration, case by case; empty before the head has any run."""
    if not request.compares_variants or len(request.variants) < 2:
        return ()
    first, second, *_ = request.variants
    by_key = {one.runs.key: one for one in sides}
    pairs = [
        _Pair(by_key[f"{case}/{first}"], by_key[f"{case}/{second}"])
        for case in dict.fromkeys(one.runs.case for one in sides)
        if f"{case}/{first}" in by_key and f"{case}/{second}" in by_key
    ]
    if not any(pair.one.head or pair.two.head for pair in pairs):
        return ()
    comparable = sum(_comparable(pair) for pair in pairs)
    return tuple(_row(pair, request, max(comparable, 1)) for pair in pairs)


def tally(rows: Sequence[ParityRow]) -> Tally:
    """Count the cases that pass in both variants; one that is not known to pass does not count."""
    head = [(row.first_passes, row.second_passes) for row in rows]
    base = [(row.base_first_passes, row.base_second_passes) for row in rows]
    known = any(None not in passes for passes in base)
    return Tally(
        cases=len(rows),
        head=sum(all(passes) for passes in head),
        head_unknown=sum(None in passes for passes in head),
        base=sum(all(passes) for passes in base) if known else None,
        base_unknown=sum(None in passes for passes in base),
    )


def _comparable(pair: _Pair) -> bool:
    return bool(pair.one.head and pair.two.head) and is_comparable(pair.one.head, pair.two.head)


def _row(pair: _Pair, request: Request, comparable: int) -> ParityRow:
    one, two = pair.one, pair.two
    comparison = None
    if one.head and two.head:
        comparison = compare(
            one.head,
            two.head,
            history=[run.seconds for run in one.runs.history],
            comparable_cases=comparable,
            margins=request.margins,
            base_commit=request.pull.head_sha if one.runs.head.commit_recorded else None,
            head_commit=request.pull.head_sha if two.runs.head.commit_recorded else None,
            across=Across.VARIANTS,
        )
    return ParityRow(
        case=one.runs.case,
        first_variant=one.runs.variant,
        second_variant=two.runs.variant,
        first_passes=_passes(one.head),
        second_passes=_passes(two.head),
        base_first_passes=_passes(one.base),
        base_second_passes=_passes(two.base),
        first_transition=_transition(one),
        second_transition=_transition(two),
        comparison=comparison,
    )


def _passes(runs: Sequence[MeasuredRun]) -> bool | None:
    """Whether every run passed; None where none could, or the cluster failed them."""
    its = side("", runs)
    if its.fate not in {Fate.PASSED, Fate.FAILED}:
        return None
    return its.fate is Fate.PASSED and not its.flaky


def _transition(sides: Sides) -> Transition:
    match _passes(sides.base), _passes(sides.head):
        case (True, True):
            return Transition.STILL_PASSES
        case (False, True):
            return Transition.PASSES_NOW
        case (True, False):
            return Transition.FAILS_NOW
        case (False, False):
            base, head = _prints(sides.base), _prints(sides.head)
            return Transition.FAILS_THE_SAME if base & head or base == head else Transition.FAILS_OTHERWISE
        case _:
            return Transition.UNKNOWN


def _prints(runs: Sequence[MeasuredRun]) -> set[str]:
    """The fingerprints of the failures of these runs."""
    failures = [run.log.outcome.failure for run in runs]
    return {failure.fingerprint for failure in failures if failure is not None and failure.fingerprint}
