"""The values of `bot.verdict`: what was measured of a run, what a comparison says, and why it says so."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from bot.logs.facts import RunLog
from bot.logs.ledger import Phase


class ImplausibleReason(StrEnum):
    """Why a value is not used."""

    NOT_POSITIVE = "not_positive"
    ABOVE_PEAK = "above_peak"
    CONTRADICTS = "contradicts"
    CHECKPOINT_WAIT = "checkpoint_wait"
    BACKWARDS = "backwards"


IMPLAUSIBLE_TITLES: dict[ImplausibleReason, str] = {
    ImplausibleReason.NOT_POSITIVE: "a time or rate that is not above zero",
    ImplausibleReason.ABOVE_PEAK: "TFLOP/s above the device's peak",
    ImplausibleReason.CONTRADICTS: "tokens/s that contradict the seconds",
    ImplausibleReason.CHECKPOINT_WAIT: "a last line that holds the wait for the final checkpoint",
    ImplausibleReason.BACKWARDS: "a timestamp that is not later than the one before",
}

IMPLAUSIBLE_SHORT_TITLES: dict[ImplausibleReason, str] = {
    ImplausibleReason.NOT_POSITIVE: "not above zero",
    ImplausibleReason.ABOVE_PEAK: "above peak",
    ImplausibleReason.CONTRADICTS: "contradictory",
    ImplausibleReason.CHECKPOINT_WAIT: "checkpoint wait",
    ImplausibleReason.BACKWARDS: "clock back",
}
"""For a narrow column of a table."""


class ImplausibleValue(Struct, frozen=True, kw_only=True):
    """One value that no figure uses.

    `field` is a field of `Step`, `value` what the line prints there, in that field's unit; for `time` it is
    the seconds since the line before. `text` says with figures what is wrong.
    """

    step: int
    field: str
    value: float
    why: ImplausibleReason
    text: str


class BaselineSource(StrEnum):
    """The runs that head was compared with: base's alone, main's pooled with them, or base's alone because
    main's contradict them."""

    BASE = "base"
    MAIN = "main"
    DISPUTED = "disputed"


StepSpans = tuple[tuple[int, int], ...]


class DropReason(StrEnum):
    """Why the interval of a step is not in the steady step time."""

    EARLIER_ATTEMPT = "earlier_attempt"
    WARM_UP = "warm_up"
    RAMP_UP = "ramp_up"
    PROFILED = "profiled"
    LAST_LINE = "last_line"
    EVAL = "eval"
    IMPLAUSIBLE = "implausible"
    NO_INTERVAL = "no_interval"
    IMPOSSIBLE = "impossible"
    SHORT = "short"
    LONG = "long"
    TOO_FEW = "too_few"


DROP_REASON_TITLES: dict[DropReason, str] = {
    DropReason.EARLIER_ATTEMPT: "before the last restart",
    DropReason.WARM_UP: "warm-up: compilation and the filling of the double buffer",
    DropReason.RAMP_UP: "batch ramp-up",
    DropReason.PROFILED: "timed by the profiler",
    DropReason.LAST_LINE: "the last line, which waits for the final checkpoint",
    DropReason.EVAL: "spans an evaluation",
    DropReason.IMPLAUSIBLE: "implausible",
    DropReason.NO_INTERVAL: "no interval to the line before",
    DropReason.IMPOSSIBLE: "shorter than the device's peak allows",
    DropReason.SHORT: "a catch-up, shorter than 0.67 medians",
    DropReason.LONG: "a stall, longer than 1.5 medians",
    DropReason.TOO_FEW: "clean, but too few to stand for the run",
}


class DroppedSteps(Struct, frozen=True, kw_only=True):
    """The steps that were left out for one reason."""

    reason: DropReason
    steps: StepSpans


class LogPosition(Struct, frozen=True, kw_only=True):
    """A place in the log: the byte offset after decompression, and the step where it is a step line."""

    what: str
    offset: int
    step: int | None = None


class ExplainedRun(Struct, frozen=True, kw_only=True):
    """One run: its steady step time (seconds, relative standard error) and the steps behind it.

    `used`: the run is part of the comparison's mean. `bounds` are the shortest and longest kept interval in
    seconds. `problem` says why there is no steady step time.
    """

    source: str
    run: int
    used: bool
    seconds: float | None = None
    se: float | None = None
    clock: str | None = None
    bounds: tuple[float, float] | None = None
    kept: StepSpans = ()
    kept_count: int = 0
    considered: int = 0
    dropped: tuple[DroppedSteps, ...] = ()
    problem: str | None = None
    places: tuple[LogPosition, ...] = ()


class ExplainedHistory(Struct, frozen=True, kw_only=True):
    """Main's runs: how many were `given`, how many lie `before_change`, are older than the newest that count,
    or were dropped as `glitches` (seconds). `used` is 0 where the rest are too few."""

    given: int
    used: int = 0
    before_change: int = 0
    older: int = 0
    glitches: tuple[float, ...] = ()


class TimingArithmetic(Struct, frozen=True, kw_only=True):
    """The decision on step time with its numbers filled in; changes and errors on the log scale.

    `n` counts the runs of base and head; `main` of base's are main's runs. `standing` is base, main or
    disputed: main's runs contradict base, which is `base_off` from them. `between` and `within` are variances
    of the change. `se` is the root of their sum where `summed`, else of the one between runs unless the other
    is far larger. `level` is the chance of a false flag that this look may spend, `first_level` that of the
    first look; `quantile` is t or z at `1 - level / (2 cases)`, `z` that of the equivalence test, `rounding`
    the largest effect of the last printed digits. `stage` is screen, confirmed or, of older reports, decided;
    `strict` is what a confirmed change must reach. `prior_sd` and `prior_nu` are what the other cases of the
    device lend to the case's `own_sd` and `own_nu`. Reports stored before a number was added show its
    default.
    """

    change: float
    n: tuple[int, int]
    spread: str
    sd: float
    nu: int
    between: float
    within: float
    summed: bool
    se: float
    standing: str = "base"
    main: int = 0
    base_off: float = 0.0
    level: float
    first_level: float = 0.05
    look: int
    cases: int
    quantile: float
    z: float
    practical: float
    equivalence: float
    rounding: float = 0.0
    band: float
    mde: float
    decision: str
    stage: str = "decided"
    strict: float | None = None
    submissions: tuple[int, int] | None = None
    prior_sd: float | None = None
    prior_nu: float = 0.0
    own_sd: float | None = None
    own_nu: int = 0


class ExactFigure(Struct, frozen=True, kw_only=True):
    """An exact metric: it moved where it changed by at least `least` (in its unit) and `least_percent`."""

    key: str
    base: float
    head: float
    percent: float | None
    least: float
    least_percent: float
    direction: str


class Explanation(Struct, frozen=True, kw_only=True):
    """Everything that a comparison rests on; `arithmetic` is None where no decision was possible."""

    base: tuple[ExplainedRun, ...] = ()
    head: tuple[ExplainedRun, ...] = ()
    history: ExplainedHistory = ExplainedHistory(given=0)
    arithmetic: TimingArithmetic | None = None
    exact: tuple[ExactFigure, ...] = ()


class Verdict(StrEnum):
    """The verdict of a case, best news first."""

    SAME = "same"
    FASTER = "faster"
    FIXED = "fixed"
    INCONCLUSIVE = "inconclusive"
    CONFIRMING = "confirming"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    NOT_COMPARABLE = "not_comparable"
    FAILS_ON_BOTH = "fails_on_both"
    SLOWER = "slower"
    DIVERGED = "diverged"
    NEW_FAILURE = "new_failure"


class TimingVerdict(StrEnum):
    """The result of comparing step times. `CONFIRMING`: a change was seen, and further runs decide."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    CONFIRMING = "confirming"
    INCONCLUSIVE = "inconclusive"
    WITHHELD = "withheld"


class LossVerdict(StrEnum):
    """The result of comparing two loss curves."""

    IDENTICAL = "identical"
    WITHIN_TOLERANCE = "within_tolerance"
    DIFFERENT_START = "different_start"
    DRIFTED = "drifted"
    DIVERGED = "diverged"
    NOT_COMPARABLE = "not_comparable"


class CaveatKind(StrEnum):
    """The kind of a caveat about a comparison."""

    ENVIRONMENT = "environment"
    PROVENANCE = "provenance"
    PROCESS = "process"
    CLOCK = "clock"
    WORKLOAD = "workload"
    OUTCOME = "outcome"
    STEPS = "steps"


class CaveatWeight(StrEnum):
    """The effect of a caveat on the verdict."""

    NOTED = "noted"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    NOT_COMPARABLE = "not_comparable"


class StepClock(StrEnum):
    """The clock that a steady step time was read from."""

    COMPLETION = "completion"
    LOGGER = "logger"


class SecondsDialect(StrEnum):
    """What the printed `seconds` mean: time between dispatches, or between flushes (MaxText PR 4270)."""

    DISPATCH = "dispatch"
    FLUSH = "flush"


class NoiseSource(StrEnum):
    """Where the run-to-run noise of a timing decision comes from."""

    MEASURED = "measured"
    DEVICE_DEFAULT = "device_default"
    UNKNOWN = "unknown"


class LoopPhase(StrEnum):
    """What the time of the training loop goes to, beside compilation and the save after the first step."""

    STEADY = "steady steps"
    STALLS = "stalls"
    CHECKPOINT = "checkpoint"
    EVAL = "eval"
    INPUT = "input"


class PhaseTime(Struct, frozen=True, kw_only=True):
    """Seconds a step that a phase takes on average, and in how many of the steps it happened."""

    phase: LoopPhase
    seconds: float
    steps: int = 0


class LoopTime(Struct, frozen=True, kw_only=True):
    """The loop time of one run: elapsed seconds of its judged window per step, all gaps included.

    `se` is its relative standard error were the steps independent, `steps` the steps of the window, `bursts`
    how many stretches of it were far longer than a steady step. `phases` add up to `seconds`.
    `settling_seconds` were lost once, after the save of the first step, over `settling_steps` that no figure
    here holds; `settling_named` says that the log itself names that save.
    """

    seconds: float
    se: float
    steps: int
    bursts: int = 0
    phases: tuple[PhaseTime, ...] = ()
    settling_seconds: float = 0.0
    settling_steps: int = 0
    settling_named: bool = False


class SteadyStepTime(Struct, frozen=True, kw_only=True):
    """The steady step time of one run.

    `seconds` is the median of the kept intervals, `se` its relative within-run standard error by the normal
    law, `robust_se` the same from order statistics, which decisions use. `resolution` is the last digit that
    the intervals were printed with, as a share of `seconds`.
    `kept_steps` and `candidate_steps` name the steps whose intervals were used and considered.
    `seconds` is None where there is no steady state; `problem` then says why."""

    seconds: float | None = None
    se: float | None = None
    robust_se: float | None = None
    resolution: float = 0.0
    clock: StepClock | None = None
    kept_steps: tuple[int, ...] = ()
    candidate_steps: tuple[int, ...] = ()
    problem: str | None = None


class Measurements(Struct, frozen=True, kw_only=True):
    """Everything computed from one `RunLog`; units are in the names, unknown values are None."""

    steady: SteadyStepTime = SteadyStepTime()
    loop: LoopTime | None = None
    steady_tokens_per_device: float | None = None
    steady_tflops_per_device: float | None = None
    mfu_percent: float | None = None
    tflop_per_step: float | None = None
    tokens_per_step: float | None = None
    final_loss: float | None = None
    memory_percent: float | None = None
    memory_headroom_gb: float | None = None
    memory_growth_gb: float | None = None
    compile_seconds: float | None = None
    step0_seconds: float | None = None
    checkpoint_blocking_seconds: float | None = None
    final_checkpoint_wait_seconds: float | None = None
    avg_step_seconds: float | None = None
    last_tflops_per_device: float | None = None
    last_tokens_per_device: float | None = None
    wall_seconds: float | None = None
    chip_hours: float | None = None
    dialect: SecondsDialect | None = None
    ledger: tuple[Phase, ...] = ()
    implausible: tuple[ImplausibleValue, ...] = ()
    warnings: tuple[str, ...] = ()


class MeasuredRun(Struct, frozen=True, kw_only=True):
    """A run's log and what was measured from it.

    Runs of one `submission` were started together, on one slice, nodes or time, and are not independent.
    None: nobody knows; then the log's own words and times decide (`bot.verdict.submissions`). We `launched`
    it: a log that reads like another's is then still a run of its own.
    """

    log: RunLog
    measurements: Measurements
    submission: str | None = None
    launched: bool = False


class RunTiming(Struct, frozen=True, kw_only=True):
    """The times of one run that are judged. Runs of one `submission`, or of None, count as one."""

    steady: SteadyStepTime
    loop: LoopTime | None = None
    submission: str | None = None


class Caveat(Struct, frozen=True, kw_only=True):
    """One difference to know before using a figure: `field` differs, `base` and `head` are its values."""

    kind: CaveatKind
    field: str
    base: str | None = None
    head: str | None = None
    weight: CaveatWeight = CaveatWeight.NOTED
    text: str = ""


class RunsWanted(Struct, frozen=True, kw_only=True):
    """Further runs of each side, each on a submission of its own."""

    base: int = 0
    head: int = 0

    @property
    def any(self) -> bool:
        """Whether any run is wanted."""
        return bool(self.base or self.head)


class TimingMeasure(StrEnum):
    """The measure whose change decides: the steady step time, or the time of the whole loop."""

    STEADY = "steady"
    LOOP = "loop"


class PhaseChange(Struct, frozen=True, kw_only=True):
    """How a phase of the loop moved: `change` is its part in ln(head/base) of the loop time. In `steps` of
    the `window` steps of head's runs it happened."""

    phase: LoopPhase
    base_seconds: float
    head_seconds: float
    change: float
    steps: int = 0
    window: int = 0


class LoopDecision(Struct, frozen=True, kw_only=True):
    """The decision on the loop time, on the log scale; only worse is told.

    `verdict` is same where it is no worse than base's and main's own runs explain. `threshold` is what the
    change must reach, `bound` the largest change that these runs leave possible. `worst` is the phase that
    moved most to the worse, `history` counts main's runs that tell the noise of the loop time.
    """

    verdict: TimingVerdict
    change: float
    threshold: float | None = None
    se: float | None = None
    bound: float | None = None
    base_seconds: float
    head_seconds: float
    phases: tuple[PhaseChange, ...] = ()
    worst: LoopPhase | None = None
    history: int = 0
    reason: str = ""


class TimingDecision(Struct, frozen=True, kw_only=True):
    """The decision on the times of a run's steps, on the log scale.

    `change` is ln(head/base) of the steady step time, `mde` the change that 4 of 5 comparisons detect, `se`
    the standard error, `n` the runs of base and head, `submissions` how many of them are independent.
    `main_runs` of main's runs are pooled with base's in `base_seconds`, the level that head was compared
    with. `more_runs` is how many further runs a side would settle it, if any can. Where the verdict is
    confirming, `confirms` is the direction that was seen and `confirm_runs` what decides it. `measure` names
    what decided, `loop` is the decision on the loop time, `prior_freedom` the degrees of freedom that other
    cases lent. Some fields have other names in stored JSON, which older reports have.
    """

    verdict: TimingVerdict
    change: float | None = None
    threshold: float | None = field(default=None, name="band")
    mde: float | None = None
    se: float | None = None
    n: tuple[int, int] = (0, 0)
    base_seconds: float | None = None
    head_seconds: float | None = None
    noise_source: NoiseSource = field(default=NoiseSource.UNKNOWN, name="spread")
    degrees_of_freedom: int = 0
    history: int = 0
    baseline_source: BaselineSource = field(default=BaselineSource.BASE, name="standing")
    main_runs: int = 0
    look: int = 1
    comparable_cases: int = 1
    more_runs: int | None = None
    reason: str = ""
    submissions: tuple[int, int] = (0, 0)
    confirms: TimingVerdict | None = None
    confirm_runs: RunsWanted = RunsWanted()
    measure: TimingMeasure = TimingMeasure.STEADY
    loop: LoopDecision | None = None
    prior_freedom: float = 0.0

    @property
    def deciding_change(self) -> float | None:
        """The change of the measure that decided, on the log scale."""
        if self.measure is TimingMeasure.LOOP and self.loop is not None:
            return self.loop.change
        return self.change


class LossRepeat(StrEnum):
    """Whether equal runs print equal losses. `ASSUMED`: nobody saw two equal runs, but programs on this
    device repeat themselves."""

    REPEATS = "repeats"
    ASSUMED = "assumed"
    VARIES = "varies"
    UNKNOWN = "unknown"


class LossTrace(Struct, frozen=True):
    """The loss curve of a run, thinned, as it is stored.

    `digest` is of all that the run printed of its loss; equal digests are equal curves. `steps` and `losses`
    belong together, in order. `sha` is the commit, where it is known.
    """

    digest: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    sha: str | None = None

    def points(self) -> Mapping[int, float]:
        """The loss by step."""
        return dict(zip(self.steps, self.losses, strict=True))


class LossDecision(Struct, frozen=True, kw_only=True):
    """The decision on the loss curves. `max_relative` is the largest |head/base - 1|, at `worst_step`, and
    `allowed_relative` the tolerance there; `digits` names the number that identity was checked on. `shift` is
    the mean relative difference, with its sign, of the last `shift_steps` steps; `shift_allowed` is how far
    equal runs move it, where `repeat` says that they differ. Older reports lack the last four."""

    verdict: LossVerdict
    first_difference_step: int | None = None
    first_outside_step: int | None = None
    max_relative: float | None = None
    worst_step: int | None = None
    allowed_relative: float | None = None
    compared_steps: int = 0
    digits: str = ""
    repeat: LossRepeat | None = None
    shift: float | None = None
    shift_allowed: float | None = None
    shift_steps: int = 0
    reason: str = ""


class Direction(StrEnum):
    """Which way a judged metric moved, if it moved."""

    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"


class MetricRow(Struct, frozen=True, kw_only=True):
    """One metric on both sides: `key` is a row of `bot.verdict.metrics.METRICS`. `direction` colours judged
    metrics only."""

    key: str
    base: float | str | None
    head: float | str | None
    diff: float | None = None
    judged: bool = False
    direction: Direction = Direction.SAME


class Comparison(Struct, frozen=True, kw_only=True):
    """One case, base against head: the verdict and everything it rests on."""

    verdict: Verdict
    timing: TimingDecision
    loss: LossDecision
    caveats: tuple[Caveat, ...] = ()
    rows: tuple[MetricRow, ...] = ()
    base: tuple[MeasuredRun, ...] = ()
    head: tuple[MeasuredRun, ...] = ()
    reason: str = ""
    explanation: Explanation | None = None


class Margins(Struct, frozen=True, kw_only=True):
    """The thresholds a repository may raise, in percent."""

    practical_percent: float = 1.0
    equivalence_percent: float = 5.0
