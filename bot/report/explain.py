"""One comparison in full words: view, sentences, explanation, arithmetic and method.

All of it is plain text in reading order; nothing is escaped but in `comparison_markdown`. A terminal prints
it, HTML escapes it by its template.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from bot.logs.facts import OutcomeState
from bot.report.assess import (
    CAVEAT_TITLES,
    STATES,
    WARNING,
    change_bound_percent,
    loss_words,
    memory_regressions,
    next_step,
    outcome_words,
    unsuccessful_outcome,
)
from bot.report.model import RowState
from bot.report.text.escape import one_line
from bot.report.text.pieces import Emphasis, Line, code, foreign, line, markdown
from bot.report.wording import (
    NO_VALUE,
    counted,
    implausible_words,
    ledger_lines,
    loop_phase_words,
    percent_ceiling,
    percent_words,
    signed_percent,
    significant,
    unsigned_percent,
    wanted_runs_words,
)
from bot.verdict.baseline import DISPUTE_ALPHA
from bot.verdict.judgement import (
    DROP_REASON_TITLES,
    BaselineSource,
    Caveat,
    Comparison,
    Direction,
    ExactFigure,
    ExplainedHistory,
    ExplainedRun,
    LogPosition,
    LossDecision,
    LossVerdict,
    MeasuredRun,
    MetricRow,
    NoiseSource,
    StepSpans,
    TimingArithmetic,
    TimingDecision,
    TimingMeasure,
    TimingVerdict,
    Verdict,
)
from bot.verdict.metrics import METRICS_BY_KEY, Metric
from bot.verdict.noise import GLITCH_ALPHA, GPU_SD, MAX_HISTORY, MIN_DEGREES_OF_FREEDOM, MIN_HISTORY, TPU_SD
from bot.verdict.thresholds import (
    CONFIRMED_RUNS,
    LOOP_SHARE,
    POWER_Z,
    REPORT_ALPHA,
    REPORT_ALPHA_WITH_HISTORY,
    SCREEN_ALPHA,
    DecisionStage,
    as_percent,
)

RED_VERDICTS = frozenset({Verdict.SLOWER, Verdict.DIVERGED, Verdict.NEW_FAILURE})

GREEN_VERDICTS = frozenset({Verdict.SAME, Verdict.FASTER, Verdict.FIXED})

SHORT_UNITS = frozenset({"%", "GB", "MB", "billion"})


class CaveatView(Struct, frozen=True, kw_only=True):
    """One difference: what, how on both sides, and what follows."""

    what: str
    base: str
    head: str
    text: str
    weight: str


class MetricView(Struct, frozen=True, kw_only=True):
    """One row of figures. `tone` is good, bad or empty; informational figures have none."""

    title: str
    base: str
    head: str
    difference: str
    remark: str
    tone: str


class SideFailureView(Struct, frozen=True, kw_only=True):
    """How one side failed, the first cause, and the next step."""

    side: str
    ended: str
    error: str
    where: str
    next_step: str
    excerpt: str


class ExplanationSection(Struct, frozen=True, kw_only=True):
    """One question and its answer."""

    title: str
    lines: tuple[str, ...]


class ComparisonView(Struct, frozen=True, kw_only=True):
    """Everything, in reading order. `tone` is good, bad or odd."""

    symbol: str
    tone: str
    headline: str
    reason: str
    timing: str
    loss: str
    base: str
    head: str
    failures: tuple[SideFailureView, ...]
    caveats: tuple[CaveatView, ...]
    rows: tuple[MetricView, ...]
    ledger: tuple[tuple[str, str, str, str], ...]
    method: tuple[Line, ...]
    why: tuple[ExplanationSection, ...] = ()


def comparison_view(comparison: Comparison) -> ComparisonView:
    """`comparison` in plain words."""
    both = comparison.base and comparison.head
    failures = tuple(_failure_views(comparison))
    reason = one_line(comparison.reason, 600)
    timing = comparison.timing
    return ComparisonView(
        symbol=WARNING
        if _hides_memory_regression(comparison)
        else STATES[RowState(comparison.verdict)].symbol,
        tone=_tone(comparison),
        headline=_comparison_headline(comparison),
        reason="" if any(failure.error and failure.error in reason for failure in failures) else reason,
        timing=_timing_words(_timing_to_show(comparison)) + _bound_words(comparison),
        loss=_loss_sentence(comparison.loss, loss_words(comparison)),
        base=_side_words(comparison.base, comparison.head),
        head=_side_words(comparison.head, comparison.base),
        failures=failures,
        caveats=tuple(caveat_view(caveat, comparison.reason) for caveat in comparison.caveats),
        rows=tuple(_metric_view(row, timing) for row in comparison.rows if None not in {row.base, row.head}),
        ledger=tuple(ledger_lines(comparison.base[0], comparison.head[0])) if both else (),
        method=_method_to_show(comparison),
        why=explanation_sections(comparison),
    )


def _timing_to_show(comparison: Comparison) -> TimingDecision:
    """The timing without a repeated reason, and without `more_runs` where more runs would settle nothing."""
    timing = comparison.timing
    return replace(
        timing,
        reason="" if timing.reason == comparison.reason else timing.reason,
        more_runs=timing.more_runs if comparison.verdict is Verdict.INCONCLUSIVE else None,
    )


def _tone(comparison: Comparison) -> str:
    if comparison.verdict in RED_VERDICTS:
        return "bad"
    return (
        "good" if comparison.verdict in GREEN_VERDICTS and not _hides_memory_regression(comparison) else "odd"
    )


def _method_to_show(comparison: Comparison) -> tuple[Line, ...]:
    """How it was measured, where anything was, and which values are excluded as implausible."""
    if comparison.timing.change is None:
        return ()
    implausible = implausible_words((*comparison.base, *comparison.head))
    return (*method_lines([comparison.timing]), *([line(implausible)] if implausible else []))


def caveat_view(caveat: Caveat, reason: str = "") -> CaveatView:
    """A caveat under the title of its field; its text where it adds anything."""
    what = CAVEAT_TITLES.get(caveat.field, caveat.field.replace("_", " "))
    base, head = (NO_VALUE if side is None else side for side in (caveat.base, caveat.head))
    more = caveat.text.removeprefix(f"{what}: {base} on base, {head} on head").lstrip("; ")
    return CaveatView(
        what=what,
        base=base,
        head=head,
        text="" if more and more in reason else one_line(more, 400),
        weight=caveat.weight.value,
    )


def _metric_view(row: MetricRow, timing: TimingDecision) -> MetricView:
    """A row with its title, decimals and unit."""
    metric = METRICS_BY_KEY.get(row.key)
    remark, tone = _metric_remark(row, timing)
    return MetricView(
        title=_metric_title(metric) if metric else row.key,
        base=_metric_figure(row.key, row.base),
        head=_metric_figure(row.key, row.head),
        difference=_metric_figure(row.key, row.diff, sign="+"),
        remark=remark,
        tone=tone,
    )


def _metric_figure(key: str, value: float | str | None, sign: str = "") -> str:
    """One side of a metric with the decimals of its row in the table of metrics."""
    if value is None or isinstance(value, str):
        return value or NO_VALUE
    digits = METRICS_BY_KEY[key].digits if key in METRICS_BY_KEY else 4
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:{sign}.{digits}f}"


def _metric_title(metric: Metric) -> str:
    """The metric's title, with its unit where the title does not hold it."""
    seconds = metric.unit == "s" and "s/step" not in metric.title
    return f"{metric.title}, {metric.unit}" if seconds or metric.unit in SHORT_UNITS else metric.title


def _metric_remark(row: MetricRow, timing: TimingDecision) -> tuple[str, str]:
    """The remark on a row and its tone; only judged rows have them."""
    if not row.judged:
        return "", ""
    if row.key == "steady_step_seconds":
        tone = {TimingVerdict.SLOWER: "bad", TimingVerdict.FASTER: "good"}.get(timing.verdict, "")
        words = "not judged" if timing.verdict is TimingVerdict.WITHHELD else timing.verdict.value
        if timing.verdict is TimingVerdict.INCONCLUSIVE and timing.measure is TimingMeasure.LOOP:
            words = "not judged"
        change = signed_percent(timing.change)
        return (words if change == NO_VALUE else f"{change} {words}"), tone
    if row.base is None or row.head is None:
        return "", ""
    tone = {Direction.WORSE: "bad", Direction.BETTER: "good"}.get(row.direction, "")
    return row.direction.value, tone


def _failure_views(comparison: Comparison) -> list[SideFailureView]:
    """Both sides' bad ends, the head's first."""
    sides = (("head", comparison.head), ("base", comparison.base))
    ends = [(side, end) for side, runs in sides if (end := unsuccessful_outcome(runs)) is not None]
    return [
        SideFailureView(
            side=side,
            ended=outcome_words(end),
            error=end.failure.error if end.failure else "",
            where=(end.failure.where or "") if end.failure else "",
            next_step=next_step(end.failure.kind) if end.failure else "",
            excerpt=end.failure.excerpt if end.failure else "",
        )
        for side, end in ends
        if end.state is not OutcomeState.SUCCEEDED
    ]


QUIET_VERDICTS = frozenset(
    {Verdict.SAME, Verdict.FASTER, Verdict.FIXED, Verdict.CONFIRMING, Verdict.INCONCLUSIVE}
)


def _comparison_headline(comparison: Comparison) -> str:
    """`slower: +6.1 % (±1.6 %, 3 v 6 runs)`."""
    words = STATES[RowState(comparison.verdict)].word
    if _hides_memory_regression(comparison):
        words = f"{'same time' if comparison.verdict is Verdict.SAME else words}, more memory"
    timing = comparison.timing
    match comparison.verdict:
        case Verdict.SLOWER | Verdict.FASTER | Verdict.CONFIRMING | Verdict.INCONCLUSIVE if (
            timing.change is not None
        ):
            return f"{words}: {_change_with_threshold(timing)}{_loop_change(timing)}"
        case Verdict.SAME if (bound := change_bound_percent(comparison)) is not None:
            loss = loss_words(comparison) or "not compared"
            return f"{words}: no change > {percent_ceiling(bound)} in step time, loss {loss}"
        case Verdict.DIVERGED:
            return f"{words}: the loss {loss_words(comparison) or 'became NaN or infinite'}"
        case _:
            return words


def _loop_change(timing: TimingDecision) -> str:
    """`, loop +12 % in stalls` where the loop time decided."""
    if timing.measure is not TimingMeasure.LOOP or timing.loop is None:
        return ""
    return f", loop {signed_percent(timing.loop.change)} in {loop_phase_words(timing)}"


def _hides_memory_regression(comparison: Comparison) -> bool:
    """Whether more memory is used although the verdict is quiet."""
    return comparison.verdict in QUIET_VERDICTS and bool(memory_regressions(comparison))


def _timing_words(timing: TimingDecision) -> str:
    """The timing decision in one sentence."""
    if timing.change is None or timing.base_seconds is None or timing.head_seconds is None:
        return f"not judged: {one_line(timing.reason, 300)}" if timing.reason else "not judged"
    figures = (
        f"{timing.base_seconds:.5f} → {timing.head_seconds:.5f} s/step, {_change_with_threshold(timing)}"
    )
    withheld = ", not judged" if timing.verdict is TimingVerdict.WITHHELD else ""
    power = f"; {unsigned_percent(timing.mde)} would be seen 4 times in 5" if timing.mde is not None else ""
    more = f"; {counted(timing.more_runs, 'more run')} a side would settle it" if timing.more_runs else ""
    asked = wanted_runs_words(timing.confirm_runs)
    return figures + _loop_change(timing) + withheld + power + more + (f"; {asked}" if asked else "")


def _bound_words(comparison: Comparison) -> str:
    """The change that *same* rules out, behind the threshold from which a change counts."""
    bound = change_bound_percent(comparison)
    if bound is None or comparison.verdict is not Verdict.SAME:
        return ""
    return f"; a change > {percent_ceiling(bound)} is ruled out"


def _loss_sentence(loss: LossDecision, words: str | None) -> str:
    """The loss decision in one sentence."""
    if words is None:
        return f"not compared: {loss.reason}" if loss.reason else "not compared"
    parts = [words, f"in {counted(loss.compared_steps, 'step')}" if loss.compared_steps else ""]
    if loss.first_difference_step is not None:
        parts.append(f"(first difference at step {loss.first_difference_step}")
        parts[-1] += f", at most {loss.max_relative * 100:.2g} %)" if loss.max_relative is not None else ")"
    elif loss.digits:
        parts.append(f"({loss.digits})")
    return " ".join(part for part in parts if part)


def _side_words(runs: Sequence[MeasuredRun], others: Sequence[MeasuredRun]) -> str:
    """The runs of a side by source, numbered where both sides have the same source."""
    shared = {run.log.source for run in others}
    names = [
        f"{run.log.source}#{run.log.run}" if run.log.run > 1 or run.log.source in shared else run.log.source
        for run in runs
    ]
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    return ", ".join(names) or "no run"


def _change_with_threshold(timing: TimingDecision) -> str:
    band = f"±{unsigned_percent(timing.threshold)}, " if timing.threshold is not None else ""
    beside = f", and {counted(timing.main_runs, 'run')} of main beside base's" if timing.main_runs else ""
    return f"{signed_percent(timing.change)} ({band}{timing.n[1]} v {timing.n[0]} runs{beside})"


MAX_SPANS = 12
"""Ranges of steps named in a line; the JSON has all."""


def explanation_sections(comparison: Comparison) -> tuple[ExplanationSection, ...]:
    """Everything that the verdict rests on; empty where the comparison has no explanation."""
    why = comparison.explanation
    if why is None:
        return ()
    sides = (("base", why.base), ("head", why.head))
    runs = [
        _run_section(name, place, one, len(side)) for name, side in sides for place, one in enumerate(side)
    ]
    return (
        *runs,
        ExplanationSection(title="history of main", lines=(history_words(why.history),)),
        ExplanationSection(title="decision on step time", lines=_decision_lines(comparison)),
        ExplanationSection(title="decision on the loss", lines=_loss_lines(comparison)),
        *(
            [ExplanationSection(title="exact figures", lines=tuple(map(_exact_figure_words, why.exact)))]
            if why.exact
            else []
        ),
    )


def step_spans_words(steps: StepSpans) -> str:
    """`3, 6–8`."""
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in steps[:MAX_SPANS]]
    more = f" and {counted(len(steps) - MAX_SPANS, 'more stretch', 'more stretches')}"
    return ", ".join(shown) + (more if len(steps) > MAX_SPANS else "")


def log_place_words(place: LogPosition) -> str:
    """`first kept step 3 at byte 3 000`."""
    step = "" if place.step is None else f" {place.step}"
    return f"{place.what}{step} at byte {place.offset}"


def history_words(history: ExplainedHistory) -> str:
    """Which of main's runs the noise was measured from, and why others were left out."""
    if not history.given:
        return "no runs of main were given"
    if not history.used:
        needed = f"{MIN_HISTORY} since the last change of level are needed"
        return f"none of {counted(history.given, 'main run')} used: {needed}"
    parts = [f"{history.used} of {counted(history.given, 'main run')} used"]
    if history.before_change:
        parts.append(f"{history.before_change} before the last change of level")
    if history.older:
        parts.append(f"{history.older} older than the newest {MAX_HISTORY}")
    if history.glitches:
        seconds = ", ".join(f"{significant(one, 4)} s" for one in history.glitches)
        parts.append(f"dropped as a glitch, Grubbs' test at {100 * GLITCH_ALPHA:g} %: {seconds}")
    return "; ".join(parts)


def _exact_figure_words(one: ExactFigure) -> str:
    """`Memory: 1.31 → 1.44 %, 9.9 % apart; counts from 0.5 % on: worse`."""
    metric = METRICS_BY_KEY[one.key]
    base, head = (f"{side:.{metric.digits}f}" for side in (one.base, one.head))
    apart = "" if one.percent is None else f", {one.percent:.2g} % apart"
    least = [f"{one.least:g} {metric.unit}"] if one.least else []
    least += [f"{one.least_percent:g} %"] if one.least_percent else []
    counts = f"counts from {' and '.join(least)} on" if least else "any difference counts"
    return f"{metric.title}: {base} → {head} {metric.unit}{apart}; {counts}: {one.direction}"


def _run_section(side: str, place: int, one: ExplainedRun, of: int) -> ExplanationSection:
    name = f"{side} run {place + 1} of {of}" if of > 1 else f"{side} run"
    selector = f"#{one.run}" if one.run > 1 else ""
    return ExplanationSection(title=f"{name}: {one.source}{selector}", lines=tuple(_run_lines(one)))


def _run_lines(one: ExplainedRun) -> Sequence[str]:
    lines = [_steady_line(one)]
    if one.kept:
        lines.append(f"kept: steps {step_spans_words(one.kept)}{_bounds_words(one)}")
    if one.dropped:
        parts = [
            f"{step_spans_words(group.steps)} ({DROP_REASON_TITLES[group.reason]})" for group in one.dropped
        ]
        lines.append(f"dropped: steps {'; '.join(parts)}")
    if one.places:
        lines.append(f"in the log: {'; '.join(map(log_place_words, one.places))}")
    return lines


def _steady_line(one: ExplainedRun) -> str:
    if one.seconds is None:
        return f"S: none, {one.problem or 'nothing was measured'}"
    error = "" if one.se is None else f", SE {100 * one.se:.2f} %"
    median = f"the median of {one.kept_count} of {counted(one.considered, 'interval')}"
    unused = "" if one.used else "; not in the comparison, as the run did not pass"
    return f"S = {one.seconds:.5f} s{error}: {median}, on the {one.clock or 'unknown'} clock{unused}"


def _bounds_words(one: ExplainedRun) -> str:
    if one.bounds is None:
        return ""
    return f", from {significant(one.bounds[0])} to {significant(one.bounds[1])} s"


def _loss_lines(comparison: Comparison) -> tuple[str, ...]:
    loss = comparison.loss
    lines = [_loss_sentence(loss, loss_words(comparison))]
    if loss.verdict is LossVerdict.NOT_COMPARABLE:
        return tuple(lines)
    return (*lines, *_tolerance_lines(loss), *([loss.reason] if loss.reason else []))


def _tolerance_lines(loss: LossDecision) -> list[str]:
    if not loss.max_relative or loss.worst_step is None:
        return []
    worst = f"largest difference {_three_digits(100 * loss.max_relative)} % at step {loss.worst_step}"
    allowed = loss.allowed_relative
    lines = [worst if allowed is None else f"{worst}, where {_three_digits(100 * allowed)} % is tolerated"]
    if loss.shift is not None:
        mean = f"mean difference of the last {loss.shift_steps} steps {100 * loss.shift:+.3g} %"
        width = loss.shift_allowed
        lines.append(
            mean
            if width is None
            else f"{mean}, where equal runs differ by up to {_three_digits(100 * width)} %"
        )
    return lines


DIGITS_MATTER = 1e-4
"""Share of a step from which on the last printed digit is mentioned; below, it changes no threshold."""


def _three_digits(value: float) -> str:
    """Three significant digits, with an exponent where zeros would hide them."""
    return f"{value:.3g}"


def _decision_lines(comparison: Comparison) -> tuple[str, ...]:
    """Change, noise, variance, threshold, both inequalities, and the decision."""
    timing = comparison.timing
    work = comparison.explanation.arithmetic if comparison.explanation else None
    if work is None:
        return (f"{timing.verdict.value}: {one_line(timing.reason or comparison.reason, 400)}",)
    lines = [
        *_pooling_lines(work),
        _change_line(work),
        _noise_line(work),
        *_variance_lines(work),
        _level_line(work),
        *_threshold_lines(work),
        *_test_lines(work),
    ]
    if timing.verdict.value == work.decision:
        return (*lines, f"so the step time is: {work.decision}")
    reason = f", {one_line(timing.reason, 300)}" if timing.reason else ""
    return (*lines, f"so the step time would be: {work.decision}; said: {timing.verdict.value}{reason}")


def _pooling_lines(work: TimingArithmetic) -> list[str]:
    """Whether main's runs are pooled with base's; empty where main has none."""
    test = f"a prediction interval of {100 * (1 - DISPUTE_ALPHA):g} % from main's runs"
    match BaselineSource(work.standing):
        case BaselineSource.BASE:
            return []
        case BaselineSource.MAIN:
            return [f"base's level: {counted(work.main, 'run')} of main up to base agree with it ({test})"]
        case BaselineSource.DISPUTED:
            off = f"{as_percent(work.base_off):+.2f} %"
            return [f"base's level: its own runs alone, {off} from main's and outside {test}"]
        case never:
            assert_never(never)


def _change_line(work: TimingArithmetic) -> str:
    main = f", {work.main} of them main's," if work.main else ""
    runs = f"{counted(work.n[0], 'run')} of base{main} and {work.n[1]} of head"
    change = f"{work.change:+.3g} ({as_percent(work.change):+.2f} %)"
    return f"r = mean ln S(head) - mean ln S(base) = {change}, {runs}"


def _noise_line(work: TimingArithmetic) -> str:
    noise = f"s = {_three_digits(100 * work.sd)} % between runs"
    if work.spread == NoiseSource.MEASURED:
        return f"{noise}, measured with nu = {counted(work.nu, 'degree')} of freedom{_prior_words(work)}"
    measured = counted(work.nu, "degree") + " of freedom"
    return f"{noise}, the device's default: nu = {measured} measured, {MIN_DEGREES_OF_FREEDOM} needed"


def _prior_words(work: TimingArithmetic) -> str:
    """What the other cases of the device lend to the noise of this one."""
    if work.prior_sd is None or work.own_sd is None:
        return ""
    own = f"{_three_digits(100 * work.own_sd)} % with {work.own_nu} of the case's own"
    lent = f"{_three_digits(100 * work.prior_sd)} % with {work.prior_nu:.0f} of the device's other cases"
    return f" ({own}, {lent})"


def _variance_lines(work: TimingArithmetic) -> list[str]:
    v = f"v = s² (1/{work.n[0]} + 1/{work.n[1]}) = {_three_digits(work.between)}"
    measured = work.spread == NoiseSource.MEASURED
    what = "what one side is unsteadier than the other, / n" if measured else "sum of within-run SE² / n²"
    w = f"w = {what} = {_three_digits(work.within)}"
    return [v, w, f"SE = sqrt(v + w) = {_three_digits(work.se)}"]


def _level_line(work: TimingArithmetic) -> str:
    first = f", as the first look had {100 * work.first_level:g} %" if work.look > 1 else ""
    shared = f"shared by m = {counted(work.cases, 'comparable case')}"
    return f"look {work.look}: level {_three_digits(100 * work.level)} %{first}, {shared}"


def _threshold_lines(work: TimingArithmetic) -> list[str]:
    name = f"t(p, {work.nu})" if work.spread == NoiseSource.MEASURED else "z(p)"
    screening = work.stage == DecisionStage.SCREEN
    p = f"p = 1 - {_three_digits(work.level * (1 - LOOP_SHARE))} / {2 * work.cases}"
    if screening:
        p = f"p = 1 - {SCREEN_ALPHA:g} / 2, or of the strict threshold where that is nearer"
    digits = work.rounding > DIGITS_MATTER
    rounding = f", {_three_digits(work.rounding)}" if digits else ""
    filled = f"max({_three_digits(work.practical)}, {work.quantile:.3f} × {_three_digits(work.se)}{rounding})"
    band = f"{_three_digits(work.band)}: ±{as_percent(work.band):.2f} %"
    seen = f"{as_percent(work.mde):.2f} % is seen in 4 of 5 comparisons"
    terms = f"practical margin, {name} SE" + (", half of the last digits" if digits else "")
    strict = [] if not screening or work.strict is None else [_strict_line(work.strict)]
    return [
        f"T = max({terms}), {p}, = {filled} = {band}",
        *strict,
        f"MDE = T + {POWER_Z} SE = {_three_digits(work.mde)}: {seen}",
    ]


def _strict_line(strict: float) -> str:
    return f"these runs pass the screen at T; with no more of them a flag needs ±{as_percent(strict):.2f} %"


def _test_lines(work: TimingArithmetic) -> list[str]:
    r = abs(work.change)
    reach = max(work.z * work.se, work.rounding)
    limit = r + reach
    changed, same = r >= work.band, limit <= work.equivalence
    what = "seen, to be confirmed," if work.stage == DecisionStage.SCREEN else "changed"
    reached = f"{_three_digits(r)} + {_three_digits(reach)} = {_three_digits(limit)}"
    filled = f"{reached} <= {_three_digits(work.equivalence)}"
    return [
        f"{what} if |r| >= T: {_three_digits(r)} >= {_three_digits(work.band)}: {_yes_or_no(holds=changed)}",
        f"else same if |r| + {work.z:.3f} SE <= equivalence margin: {filled}: {_yes_or_no(holds=same)}",
    ]


def _yes_or_no(*, holds: bool) -> str:
    return "yes" if holds else "no"


STEADY_METHOD = (
    "Steady s/step is the median interval between the completions of clean steps: compilation, ramp-up, "
    "checkpoint saves, evals and the last line are left out. Step time, tokens/s and TFLOP/s are one "
    "measurement with one verdict."
)

DEFAULT_NOISE = f"{percent_words(TPU_SD * 100)} on TPU, {percent_words(GPU_SD * 100)} on GPU"

NOISE_SOURCES = {
    NoiseSource.MEASURED: f"measured, on these runs and up to {MAX_HISTORY} others of the base branch",
    NoiseSource.DEVICE_DEFAULT: f"the device's default ({DEFAULT_NOISE}), because the repeats give "
    f"fewer than {MIN_DEGREES_OF_FREEDOM} degrees of freedom",
    NoiseSource.UNKNOWN: "unknown on this device, and none is assumed",
}


def method_lines(
    timings: list[TimingDecision], *, practical_percent: float = 1.0, equivalence_percent: float = 5.0
) -> list[Line]:
    """The method in sentences, for the decisions at hand."""
    practical, equivalence = percent_words(practical_percent), percent_words(equivalence_percent)
    threshold = line(
        f"±x % is the threshold: a change counts from there, and never below {practical}. ",
        code("n v m"),
        " are the runs of head and base. ",
        Emphasis("Same"),
        f" means that a change of {equivalence} is ruled out; between the two it is ",
        Emphasis("inconclusive"),
        ".",
    )
    cases = counted(max((one.comparable_cases for one in timings), default=1), "comparable case")
    level = (
        f"At most {percent_words(REPORT_ALPHA * 100)} of the reports on harmless changes flag any case: "
        f"that level is shared by {cases}."
    )
    return [
        line(STEADY_METHOD),
        threshold,
        line(level),
        *_stage_method(timings),
        *_loop_method(timings),
        *_history_method(timings),
        *_noise_method(timings),
        *_looks_method(timings),
        *_power_method(timings),
    ]


def _stage_method(timings: list[TimingDecision]) -> list[Line]:
    """What confirming means, where any case is at it."""
    if not any(one.confirms for one in timings):
        return []
    return [
        line(
            Emphasis("Confirming"),
            f" means that a change was seen, as in 1 of {1 / SCREEN_ALPHA:.0f} harmless cases too: "
            f"{CONFIRMED_RUNS} runs of head, each on a submission of its own, decide.",
        )
    ]


def _loop_method(timings: list[TimingDecision]) -> list[Line]:
    """What the loop time is, where it decided any case."""
    if not any(one.measure is TimingMeasure.LOOP for one in timings):
        return []
    return [
        line(
            "The loop time is the mean from line to line, stalls, checkpoints and evals included; the stall "
            "after the first save is left out."
        )
    ]


def _history_method(timings: list[TimingDecision]) -> list[Line]:
    """What the history of the base branch changes, where any case has one."""
    lines: list[Line] = []
    if any(one.history for one in timings):
        alpha = percent_words(100 * REPORT_ALPHA_WITH_HISTORY)
        lines.append(
            line(
                "Where the history of the base branch tells a case's noise, that case is held to "
                f"{alpha} of the reports."
            )
        )
    if any(one.main_runs for one in timings):
        lines.append(
            line(
                code("+k"),
                " counts runs of the base branch that stand beside the baseline's own, which agree with "
                "them: the change is against them all.",
            )
        )
    return lines


def _noise_method(timings: list[TimingDecision]) -> list[Line]:
    number = Counter(one.noise_source for one in timings)
    if len(number) == 1:
        return [line(f"The noise from run to run is {NOISE_SOURCES[timings[0].noise_source]}.")]
    parts = [f"{NOISE_SOURCES[spread]}: {counted(count, 'case')}" for spread, count in number.items()]
    return [line(f"The noise from run to run is {'; '.join(parts)}.")] if parts else []


def _looks_method(timings: list[TimingDecision]) -> list[Line]:
    most = max((one.look for one in timings), default=1)
    if most <= 1:
        return []
    return [
        line(
            f"This is look {most} at the same data, threshold adjusted: each look has its own share of the "
            "level, so running again until it is green or red does not work."
        )
    ]


def _power_method(timings: list[TimingDecision]) -> list[Line]:
    effects = sorted(one.mde for one in timings if one.mde is not None)
    if not effects:
        return []
    least, most = unsigned_percent(effects[0]), unsigned_percent(effects[-1])
    effect = least if least == most else f"{least} to {most}"
    return [line(f"A change of {effect} would be seen in 4 of 5 such comparisons.")]


COMPARISON_TEMPLATE = "compare.md.j2"

MAX_TEXT_LENGTH = 600  # characters of one text: a reason may name every difference


def comparison_markdown(comparison: Comparison, *, render: Callable[[str, Mapping[str, object]], str]) -> str:
    """Verdict, reason, caveats, figures, and the rest folded."""
    return render(COMPARISON_TEMPLATE, _markdown_values(comparison_view(comparison)))


def _markdown_values(view: ComparisonView) -> dict[str, object]:
    """`view` with every text redacted and escaped."""
    texts = to_builtins(replace(view, method=()))
    escaped = {name: _escape_all(value) for name, value in texts.items()}
    method = tuple(markdown(one) for one in view.method)
    return {**escaped, "method": method, "symbol": view.symbol, "tone": view.tone}


def _escape_all(value: object) -> object:
    match value:
        case str():
            return markdown(foreign(value, MAX_TEXT_LENGTH))
        case Mapping():
            return {name: _escape_all(one) for name, one in value.items()}
        case tuple() | list():
            return [_escape_all(one) for one in value]
        case _:
            return value
