"""The folded part on how a verdict is reached, with the thresholds that were really used.

In:  a `Report`, or the one decision of a comparison.
Out: plain sentences; every number is read from the decisions or from the constants of `bot.verdict`.
"""

from collections import Counter

from bot.report.figures import counted, percent, size
from bot.report.folds import Fold
from bot.report.model import Report
from bot.report.past import past_line
from bot.report.quoting import said
from bot.report.struck import struck_words
from bot.verdict.judgement import Spread, Timing
from bot.verdict.noise import ENOUGH_FREEDOM, GPU_SD, HISTORY, TPU_SD
from bot.verdict.threshold import ALPHA, ALPHA_WITH_HISTORY, LATER_LOOKS

STEADY = """\
Steady s/step is the median interval between the completions of clean steps: compilation, ramp-up, \
checkpoint saves, evals and the last line are left out. Step time, tokens/s and TFLOP/s are one measurement \
with one verdict."""
THRESHOLD = """\
±x % is the threshold: a change counts from there, and never below {practical}. `n v m` are the runs of \
head and base. *Same* means that a change of {equivalence} is ruled out; between the two it is \
*inconclusive*."""
LEVEL = """\
At most {alpha} of the reports on harmless changes flag any case: that level is shared by {cases}."""
STRICTER = """\
Where the history of the base branch tells a case's noise, that case is held to {alpha} of the reports."""
BESIDE = """\
`+k` counts runs of the base branch that stand beside the baseline's own, which agree with them: the change \
is against them all."""
DEFAULTS = f"{percent(TPU_SD * 100)} on TPU, {percent(GPU_SD * 100)} on GPU"
NOISE = {
    Spread.MEASURED: f"measured, on these runs and up to {HISTORY} others of the base branch",
    Spread.DEVICE_DEFAULT: f"the device's default ({DEFAULTS}), because the repeats give fewer than "
    f"{ENOUGH_FREEDOM} degrees of freedom",
    Spread.UNKNOWN: "unknown on this device, and none is assumed",
}
LOOKS = """\
This is look {look} at the same data, threshold adjusted: later looks share {later}, so running again until \
it is green or red does not work."""
POWER = "A change of {effect} would be seen in 4 of 5 such comparisons."


def method_fold(report: Report) -> Fold:
    """How measured, what ± and n mean, what noise was assumed, how often the data was looked at."""
    comparisons = [row.comparison for row in report.rows if row.comparison]
    timings = [one.timing for one in comparisons if one.timing.change is not None]
    lines = method_lines(
        timings, practical_percent=report.practical_percent, equivalence_percent=report.equivalence_percent
    )
    past = past_line(report, said(report.base_branch, 40))
    lines += [past] if past else []
    struck = struck_words(run for one in comparisons for run in (*one.base, *one.head))
    lines += [struck] if struck else []
    return Fold(summary="How this was measured", lines=tuple(f"* {line}" for line in lines))


def method_lines(
    timings: list[Timing], *, practical_percent: float = 1.0, equivalence_percent: float = 5.0
) -> list[str]:
    """The method in sentences of Markdown, for the decisions at hand."""
    margins = THRESHOLD.format(practical=percent(practical_percent), equivalence=percent(equivalence_percent))
    cases = counted(max((one.comparable_cases for one in timings), default=1), "comparable case")
    level = LEVEL.format(alpha=percent(ALPHA * 100), cases=cases)
    told = [*_history(timings), *_noise(timings), *_looks(timings), *_power(timings)]
    return [STEADY, margins, level, *told]


def _history(timings: list[Timing]) -> list[str]:
    """What the history of the base branch changes, where any case has one."""
    stricter = [STRICTER.format(alpha=percent(100 * ALPHA_WITH_HISTORY))]
    lines = stricter if any(one.history for one in timings) else []
    return [*lines, *([BESIDE] if any(one.main_runs for one in timings) else [])]


def _noise(timings: list[Timing]) -> list[str]:
    number = Counter(one.spread for one in timings)
    if len(number) == 1:
        return [f"The noise from run to run is {NOISE[timings[0].spread]}."]
    parts = [f"{NOISE[spread]}: {counted(count, 'case')}" for spread, count in number.items()]
    return [f"The noise from run to run is {'; '.join(parts)}."] if parts else []


def _looks(timings: list[Timing]) -> list[str]:
    most = max((one.look for one in timings), default=1)
    if most <= 1:
        return []
    again = any(one.history and one.look > 1 for one in timings)
    later = f"{percent(LATER_LOOKS * 100)} of the level"
    return [LOOKS.format(look=most, later=later + (", with a history as much again" if again else ""))]


def _power(timings: list[Timing]) -> list[str]:
    effects = sorted(one.mde for one in timings if one.mde is not None)
    if not effects:
        return []
    least, most = size(effects[0]), size(effects[-1])
    return [POWER.format(effect=least if least == most else f"{least} to {most}")]
