"""The decision on step time as arithmetic that a reader can repeat.

In:  a `Comparison` with its `Explanation`. Out: lines of plain text with every number filled in.
"""

from typing import assert_never

from bot.report.escape import one_line
from bot.report.figures import counted
from bot.verdict.explanation import Arithmetic
from bot.verdict.footing import DISPUTE_ALPHA
from bot.verdict.judgement import Comparison, Spread
from bot.verdict.noise import ENOUGH_FREEDOM
from bot.verdict.standing import Standing
from bot.verdict.threshold import DWARFS, POWER_Z, percent

DIGITS_MATTER = 1e-4
"""Share of a step from which on the last printed digit is worth a word: below, no margin feels it."""


def small(value: float) -> str:
    """Three significant digits, with an exponent where zeros would hide them."""
    return f"{value:.3g}"


def decision_lines(comparison: Comparison) -> tuple[str, ...]:
    """Change, noise, variance, threshold, both inequalities, and what came of them."""
    timing = comparison.timing
    work = comparison.explanation.arithmetic if comparison.explanation else None
    if work is None:
        return (f"{timing.verdict.value}: {one_line(timing.reason or comparison.reason, 400)}",)
    lines = [
        *_footing(work),
        _change(work),
        _noise(work),
        *_variance(work),
        _level(work),
        *_threshold(work),
        *_tests(work),
    ]
    if timing.verdict.value == work.decision:
        return (*lines, f"so the step time is: {work.decision}")
    reason = f", {one_line(timing.reason, 300)}" if timing.reason else ""
    return (*lines, f"so the step time would be: {work.decision}; said: {timing.verdict.value}{reason}")


def _footing(work: Arithmetic) -> list[str]:
    """Whether main's runs stand beside base's; nothing where main has none to offer."""
    test = f"a prediction interval of {100 * (1 - DISPUTE_ALPHA):g} % from main's runs"
    match Standing(work.standing):
        case Standing.BASE:
            return []
        case Standing.MAIN:
            return [f"base's level: {counted(work.main, 'run')} of main up to base agree with it ({test})"]
        case Standing.DISPUTED:
            off = f"{percent(work.base_off):+.2f} %"
            return [f"base's level: its own runs alone, {off} from main's and outside {test}"]
        case never:
            assert_never(never)


def _change(work: Arithmetic) -> str:
    main = f", {work.main} of them main's," if work.main else ""
    runs = f"{counted(work.n[0], 'run')} of base{main} and {work.n[1]} of head"
    change = f"{work.change:+.3g} ({percent(work.change):+.2f} %)"
    return f"r = mean ln S(head) - mean ln S(base) = {change}, {runs}"


def _noise(work: Arithmetic) -> str:
    noise = f"s = {small(100 * work.sd)} % between runs"
    if work.spread == Spread.MEASURED:
        return f"{noise}, measured with nu = {counted(work.nu, 'degree')} of freedom"
    measured = counted(work.nu, "degree") + " of freedom"
    return f"{noise}, the device's default: nu = {measured} measured, {ENOUGH_FREEDOM} needed"


def _variance(work: Arithmetic) -> list[str]:
    v = f"v = s² (1/{work.n[0]} + 1/{work.n[1]}) = {small(work.between)}"
    w = f"w = sum of within-run SE² / n² = {small(work.within)}"
    if work.summed:
        return [v, w, f"SE = sqrt(v + w) = {small(work.se)}"]
    if work.within > DWARFS * work.between:
        return [v, w, f"SE = sqrt(w) = {small(work.se)}, as w > {DWARFS:g} v: these runs were noisier"]
    return [v, w, f"SE = sqrt(v) = {small(work.se)}, as a measured s holds w already (w <= {DWARFS:g} v)"]


def _level(work: Arithmetic) -> str:
    first = f", as the first look had {100 * work.first_level:g} %" if work.look > 1 else ""
    shared = f"shared by m = {counted(work.cases, 'comparable case')}"
    return f"look {work.look}: level {small(100 * work.level)} %{first}, {shared}"


def _threshold(work: Arithmetic) -> list[str]:
    name = f"t(p, {work.nu})" if work.spread == Spread.MEASURED else "z(p)"
    p = f"p = 1 - {small(work.level)} / {2 * work.cases}"
    digits = work.rounding > DIGITS_MATTER
    rounding = f", {small(work.rounding)}" if digits else ""
    filled = f"max({small(work.practical)}, {work.quantile:.3f} × {small(work.se)}{rounding})"
    band = f"{small(work.band)}: ±{percent(work.band):.2f} %"
    seen = f"{percent(work.mde):.2f} % is seen in 4 of 5 comparisons"
    terms = f"practical margin, {name} SE" + (", half of the last digits" if digits else "")
    return [
        f"T = max({terms}), {p}, = {filled} = {band}",
        f"MDE = T + {POWER_Z} SE = {small(work.mde)}: {seen}",
    ]


def _tests(work: Arithmetic) -> list[str]:
    r = abs(work.change)
    reach = max(work.z * work.se, work.rounding)
    limit = r + reach
    changed, same = r >= work.band, limit <= work.equivalence
    filled = f"{small(r)} + {small(reach)} = {small(limit)} <= {small(work.equivalence)}"
    return [
        f"changed if |r| >= T: {small(r)} >= {small(work.band)}: {_answer(holds=changed)}",
        f"else same if |r| + {work.z:.3f} SE <= equivalence margin: {filled}: {_answer(holds=same)}",
    ]


def _answer(*, holds: bool) -> str:
    return "yes" if holds else "no"
