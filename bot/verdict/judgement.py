"""What a comparison says, as values: the words of `maxview compare`, the comment and the pages.

In:  nothing. Out: `Measurements`, `MeasuredRun`, `Comparison` and their parts.
"""

from dataclasses import dataclass
from enum import StrEnum

from bot.logs.facts import RunLog
from bot.logs.ledger import Phase
from bot.verdict.explanation import Explanation
from bot.verdict.implausible import Implausible
from bot.verdict.standing import Standing


class Verdict(StrEnum):
    """The one word for a case, best news first."""

    SAME = "same"
    FASTER = "faster"
    FIXED = "fixed"
    INCONCLUSIVE = "inconclusive"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    NOT_COMPARABLE = "not_comparable"
    FAILS_ON_BOTH = "fails_on_both"
    SLOWER = "slower"
    DIVERGED = "diverged"
    NEW_FAILURE = "new_failure"


class TimingVerdict(StrEnum):
    """What the steady step times say."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    WITHHELD = "withheld"


class LossVerdict(StrEnum):
    """What the two loss curves say."""

    IDENTICAL = "identical"
    WITHIN_TOLERANCE = "within_tolerance"
    DIFFERENT_START = "different_start"
    DRIFTED = "drifted"
    DIVERGED = "diverged"
    NOT_COMPARABLE = "not_comparable"


class CaveatKind(StrEnum):
    """Why to doubt a comparison."""

    ENVIRONMENT = "environment"
    PROVENANCE = "provenance"
    PROCESS = "process"
    CLOCK = "clock"
    WORKLOAD = "workload"
    OUTCOME = "outcome"
    STEPS = "steps"


class Weight(StrEnum):
    """What a caveat does to the verdict."""

    NOTED = "noted"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    NOT_COMPARABLE = "not_comparable"


class Clock(StrEnum):
    """Which clock a steady step time was read from."""

    COMPLETION = "completion"
    LOGGER = "logger"


class Dialect(StrEnum):
    """What the printed `seconds` mean: time between dispatches, or between flushes (MaxText PR 4270)."""

    DISPATCH = "dispatch"
    FLUSH = "flush"


class Spread(StrEnum):
    """Where the run-to-run noise of a timing decision was taken from."""

    MEASURED = "measured"
    DEVICE_DEFAULT = "device_default"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """The steady step time of one run.

    `seconds` is the median of the kept intervals, `se` its relative within-run standard error, `resolution`
    the last digit that the intervals were printed with, as a share of `seconds`.
    `kept_steps` and `candidate_steps` name the steps whose intervals were used and considered.
    `seconds` is None where there is no steady state; `problem` then says why."""

    seconds: float | None = None
    se: float | None = None
    resolution: float = 0.0
    clock: Clock | None = None
    kept_steps: tuple[int, ...] = ()
    candidate_steps: tuple[int, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Everything computed from one `RunLog`; units are in the names, what cannot be had is None."""

    steady: Steady = Steady()
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
    dialect: Dialect | None = None
    ledger: tuple[Phase, ...] = ()
    implausible: tuple[Implausible, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A run's log and what was measured from it."""

    log: RunLog
    measurements: Measurements


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """One difference to know before believing a figure: `field` is what differs, `base` and `head` how."""

    kind: CaveatKind
    field: str
    base: str | None = None
    head: str | None = None
    weight: Weight = Weight.NOTED
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The decision on steady step time: `change` is ln(head/base), `band` the threshold T, `mde` the effect
    seen in 4 of 5 comparisons, `se` the standard error, all on the log scale (`percent()` makes it readable).
    `n` is runs of base and head; `main_runs` of main's runs stand beside base's in `base_seconds`, which is
    the level that head was held against. `more_runs` is how many further runs a side would settle it, if any
    can."""

    verdict: TimingVerdict
    change: float | None = None
    band: float | None = None
    mde: float | None = None
    se: float | None = None
    n: tuple[int, int] = (0, 0)
    base_seconds: float | None = None
    head_seconds: float | None = None
    spread: Spread = Spread.UNKNOWN
    degrees_of_freedom: int = 0
    history: int = 0
    standing: Standing = Standing.BASE
    main_runs: int = 0
    look: int = 1
    comparable_cases: int = 1
    more_runs: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The decision on the loss curves. `max_relative` is |head/base - 1| at its largest, at `worst_step`, and
    `allowed_relative` what is tolerated there; `digits` is what identity was checked on ("perplexity")."""

    verdict: LossVerdict
    first_difference_step: int | None = None
    first_outside_step: int | None = None
    max_relative: float | None = None
    worst_step: int | None = None
    allowed_relative: float | None = None
    compared_steps: int = 0
    digits: str = ""
    reason: str = ""


class Direction(StrEnum):
    """Whether an exact metric moved enough to be said."""

    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric on both sides: `key` is a row of `bot.verdict.metrics.METRICS`; `judged` metrics may be
    coloured by `direction`, the others never are."""

    key: str
    base: float | str | None
    head: float | str | None
    diff: float | None = None
    judged: bool = False
    direction: Direction = Direction.SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One case, base against head: the verdict and everything it rests on."""

    verdict: Verdict
    timing: Timing
    loss: Loss
    caveats: tuple[Caveat, ...] = ()
    rows: tuple[Row, ...] = ()
    base: tuple[MeasuredRun, ...] = ()
    head: tuple[MeasuredRun, ...] = ()
    reason: str = ""
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """The thresholds a repository may raise, in percent."""

    practical_percent: float = 1.0
    equivalence_percent: float = 5.0
