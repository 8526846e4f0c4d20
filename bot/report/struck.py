"""What is said, where there is no room for more, of the values that were struck out as implausible.

In:  measured runs. Out: plain sentences with counts and reasons; empty where every value is believed.
"""

from collections import Counter
from collections.abc import Iterable

from bot.report.figures import counted
from bot.verdict.implausible import TITLES, Why
from bot.verdict.judgement import MeasuredRun

PAGE_SPEEDS = frozenset({"avg_step_seconds", "last_tflops_per_device", "last_tokens_per_device"})
"""Figures that the old page makes of every printed line: shown as that page computes them, and marked."""


def struck_words(runs: Iterable[MeasuredRun]) -> str:
    """`2 implausible values are struck out of every figure: TFLOP/s above the device's peak (2).`"""
    counts = _counts(runs)
    if not counts:
        return ""
    values = counted(sum(counts.values()), "implausible value")
    verb = "is" if sum(counts.values()) == 1 else "are"
    return f"{values} {verb} struck out of every figure but the page's own: {_listed(counts)}."


def spoiled_words(runs: Iterable[MeasuredRun]) -> str:
    """`The lines behind it hold 2 implausible values: TFLOP/s above the device's peak (2).`"""
    counts = _counts(runs)
    if not counts:
        return ""
    return f"The step lines hold {counted(sum(counts.values()), 'implausible value')}: {_listed(counts)}."


def _counts(runs: Iterable[MeasuredRun]) -> Counter[Why]:
    return Counter(one.why for run in runs for one in run.measurements.implausible)


def _listed(counts: Counter[Why]) -> str:
    return "; ".join(f"{TITLES[why]} ({counts[why]})" for why in Why if counts[why])
