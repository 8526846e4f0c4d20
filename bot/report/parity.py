"""Two variants of one commit, case by case: Linen and NNX, and the same on the baseline.

In:  the sides of every case. Out: `ParityRow`s for the first two variants, and a `Tally` of them. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.report.kinship import failure_news
from bot.report.material import Request, Sides
from bot.report.model import FailureNews, Kinship, ParityRow, Transition
from bot.verdict.compare import compare, is_comparable
from bot.verdict.judgement import MeasuredRun
from bot.verdict.outcome import Fate, side
from bot.verdict.provenance import Across


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many of the `known` cases pass in both variants on the head and on the baseline.

    Both figures are of the same cases, so that one can be set against the other: those that both sides tell
    of; where the baseline tells of none of the head's (`base` is None), those that the head tells of.
    `cases` is all of them; `head_unknown` and `base_unknown` have no run to tell, in one variant at least;
    `head_mixed` and `base_mixed` are those of the known whose runs pass and fail.
    """

    cases: int
    known: int
    head: int
    head_unknown: int
    base: int | None
    base_unknown: int
    head_mixed: int = 0
    base_mixed: int = 0


class _Standing(StrEnum):
    """How the runs of one side stand together."""

    PASSES = "passes"
    FAILS = "fails"
    MIXED = "mixed"
    UNKNOWN = "unknown"


_PASSES = {_Standing.PASSES: True, _Standing.FAILS: False}


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
    """Count the cases that pass in both variants; one that is not known, or mixed, does not pass."""
    head = [row for row in rows if _told(row, base=False)]
    both = [row for row in head if _told(row, base=True)]
    known = both or head
    return Tally(
        cases=len(rows),
        known=len(known),
        head=sum(bool(row.first_passes and row.second_passes) for row in known),
        head_unknown=len(rows) - len(head),
        base=sum(bool(row.base_first_passes and row.base_second_passes) for row in both) if both else None,
        base_unknown=sum(not _told(row, base=True) for row in rows),
        head_mixed=sum(row.first_mixed or row.second_mixed for row in known),
        base_mixed=sum(row.base_first_mixed or row.base_second_mixed for row in both),
    )


def _told(row: ParityRow, *, base: bool) -> bool:
    """Whether a side has runs that tell, in both variants."""
    if base:
        sides = (row.base_first_passes, row.base_first_mixed), (row.base_second_passes, row.base_second_mixed)
    else:
        sides = (row.first_passes, row.first_mixed), (row.second_passes, row.second_mixed)
    return all(passes is not None or mixed for passes, mixed in sides)


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
        first_passes=_PASSES.get(_standing(one.head)),
        second_passes=_PASSES.get(_standing(two.head)),
        base_first_passes=_PASSES.get(_standing(one.base)),
        base_second_passes=_PASSES.get(_standing(two.base)),
        first_transition=_transition(one, request),
        second_transition=_transition(two, request),
        comparison=comparison,
        first_mixed=_standing(one.head) is _Standing.MIXED,
        second_mixed=_standing(two.head) is _Standing.MIXED,
        base_first_mixed=_standing(one.base) is _Standing.MIXED,
        base_second_mixed=_standing(two.base) is _Standing.MIXED,
    )


def _standing(runs: Sequence[MeasuredRun]) -> _Standing:
    """How a side's runs stand; unknown where none could pass, or the cluster failed them."""
    its = side("", runs)
    if its.fate not in {Fate.PASSED, Fate.FAILED}:
        return _Standing.UNKNOWN
    if its.flaky:
        return _Standing.MIXED
    return _Standing.PASSES if its.fate is Fate.PASSED else _Standing.FAILS


def _transition(sides: Sides, request: Request) -> Transition:
    """What became of the case; of a failure it says what the case's row says, by the same function."""
    match _standing(sides.base), _standing(sides.head):
        case (_Standing.UNKNOWN, _) | (_, _Standing.UNKNOWN):
            return Transition.UNKNOWN
        case (_, _Standing.MIXED) | (_Standing.MIXED, _Standing.PASSES):
            return Transition.MIXED
        case (base, _Standing.PASSES):
            return Transition.STILL_PASSES if base is _Standing.PASSES else Transition.PASSES_NOW
        case (base, _):
            return _failing(base, failure_news(sides, request))


def _failing(base: _Standing, news: FailureNews | None) -> Transition:
    """A case that fails on the head; a failure of which the log says nothing is told by the fates alone."""
    match news.kinship if news else None:
        case Kinship.SAME_ON_BASE:
            return Transition.FAILS_THE_SAME
        case Kinship.OTHER_ON_BASE:
            return Transition.FAILS_OTHERWISE
        case _:
            return Transition.FAILS_THE_SAME if base is _Standing.FAILS else Transition.FAILS_NOW
