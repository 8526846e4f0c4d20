"""Our own rule as a rule among the others.

In:  runs of base and head, main's steady seconds. Out: `Call`.
Promises: `whole` and `clock` ask the product itself.
"""

from collections.abc import Sequence

from bot.verdict.compare import compare
from bot.verdict.decide import decide
from bot.verdict.judgement import MeasuredRun, Steady, Timing, TimingVerdict, Verdict
from bot.verdict.peaks import Family
from tests.verdictbench.kinds import GPU, TPU, Kind
from tests.verdictbench.rivals import Call

CASES_OF_A_REPORT = 25
"""Cases of the reports that are counted; ours shares its level among them, as in the product."""

MAIN_RUNS = 20
"""Main runs that ours is given, the base run the newest of them: those of the targets."""

MANY_MAIN_RUNS = 30
"""As many as rivals are given, with base: what ours is held against them with."""


def family(kind: Kind) -> Family:
    """Return the device family of a kind, as the product reads it from a log."""
    return {TPU: Family.TPU, GPU: Family.GPU}.get(kind.device, Family.CPU)


def whole(base: MeasuredRun, head: MeasuredRun, past: Sequence[float]) -> Call:
    """The product's verdict on the case: gate, loss, clock and all."""
    found = compare([base], [head], history=past, comparable_cases=CASES_OF_A_REPORT)
    match found.verdict:
        case Verdict.SLOWER:
            return Call.SLOWER
        case Verdict.FASTER:
            return Call.FASTER
        case Verdict.SAME:
            return Call.SAME
        case _:
            return Call.INCONCLUSIVE


def clock(
    base: Sequence[Steady], head: Sequence[Steady], past: Sequence[float], kind: Kind, *, look: int = 1
) -> Call:
    """The product's timing decision alone."""
    return _call(
        decide(base, head, family=family(kind), history=past, comparable_cases=CASES_OF_A_REPORT, look=look)
    )


def _call(timing: Timing) -> Call:
    match timing.verdict:
        case TimingVerdict.SLOWER:
            return Call.SLOWER
        case TimingVerdict.FASTER:
            return Call.FASTER
        case TimingVerdict.SAME:
            return Call.SAME
        case _:
            return Call.INCONCLUSIVE
