"""Two variants of one commit, case by case: Linen and NNX.

In:  the sides of every case. Out: `ParityRow`s, for the first two variants of the configuration. Pure.
"""

from collections.abc import Mapping, Sequence

from bot.report.material import Request, Sides
from bot.report.model import ParityRow
from bot.verdict.compare import compare
from bot.verdict.judgement import MeasuredRun


def parity(sides: Sequence[Sides], request: Request) -> tuple[ParityRow, ...]:
    """The first two variants of the configuration, case by case, on the head commit."""
    if not request.compares_variants or len(request.variants) < 2:
        return ()
    first, second, *_ = request.variants
    by_key = {one.runs.key: one for one in sides}
    cases = dict.fromkeys(one.runs.case for one in sides)
    rows = [_row(case, first, second, by_key, request) for case in cases]
    return tuple(row for row in rows if row is not None)


def _row(
    case: str, first: str, second: str, by_key: Mapping[str, Sides], request: Request
) -> ParityRow | None:
    one, two = by_key.get(f"{case}/{first}"), by_key.get(f"{case}/{second}")
    if one is None or two is None or not (one.head or two.head):
        return None
    comparison = None
    if one.head and two.head:
        comparison = compare(one.head, two.head, margins=request.margins)
    return ParityRow(
        case=case,
        first_variant=first,
        second_variant=second,
        first_passes=_passes(one.head),
        second_passes=_passes(two.head),
        base_second_passes=_passes(two.base),
        comparison=comparison,
    )


def _passes(runs: Sequence[MeasuredRun]) -> bool | None:
    """Whether every run succeeded; None where there is none."""
    return all(run.log.outcome.state == "succeeded" for run in runs) if runs else None
