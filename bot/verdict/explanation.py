"""Why a comparison says what it says: every figure with what it was made of, small enough to keep.

In:  nothing; these are values. Out: `Explanation` and its parts.

Steps are kept as spans, `(first, last)`, so that a run of 100,000 steps is explained in a line.
"""

from dataclasses import dataclass
from enum import StrEnum

Spans = tuple[tuple[int, int], ...]


class Reason(StrEnum):
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


REASONS: dict[Reason, str] = {
    Reason.EARLIER_ATTEMPT: "before the last restart",
    Reason.WARM_UP: "warm-up: compilation and the filling of the double buffer",
    Reason.RAMP_UP: "batch ramp-up",
    Reason.PROFILED: "timed by the profiler",
    Reason.LAST_LINE: "the last line, which waits for the final checkpoint",
    Reason.EVAL: "spans an evaluation",
    Reason.IMPLAUSIBLE: "implausible",
    Reason.NO_INTERVAL: "no interval to the line before",
    Reason.IMPOSSIBLE: "shorter than the device's peak allows",
    Reason.SHORT: "a catch-up, shorter than 0.67 medians",
    Reason.LONG: "a stall, longer than 1.5 medians",
    Reason.TOO_FEW: "clean, but too few to stand for the run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """The steps that were left out for one reason."""

    reason: Reason
    steps: Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands: the byte of the (inflated) log, and the step whose line it is, if it is one."""

    what: str
    offset: int
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun:
    """One run: its steady step time (seconds, relative standard error) and the steps behind it.

    `used` says that it is in the comparison's mean; `bounds` are the shortest and longest interval kept,
    seconds; `problem` says why there is no steady step time.
    """

    source: str
    run: int
    used: bool
    seconds: float | None = None
    se: float | None = None
    clock: str | None = None
    bounds: tuple[float, float] | None = None
    kept: Spans = ()
    kept_count: int = 0
    considered: int = 0
    dropped: tuple[Dropped, ...] = ()
    problem: str | None = None
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedHistory:
    """Main's runs: how many were `given`, how many lie `before_change`, are older than the newest that count,
    or were dropped as `glitches` (seconds); `used` is 0 where the rest are too few."""

    given: int
    used: int = 0
    before_change: int = 0
    older: int = 0
    glitches: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """The decision on step time with its numbers filled in; changes and errors on the log scale.

    `n` counts what was weighed: `main` of base's are main's runs, by `standing`; where that is disputed, base
    is `base_off` from them. `between` and `within` are variances of the change, `se` the root of what was
    taken of them: both, where `summed`, else the one between runs unless the other dwarfs it. `level` is what
    this look may spend, `first_level` what the first could, `quantile` the t or z at `1 - level / (2 cases)`,
    `z` the one of the equivalence test, `rounding` what the last printed digits alone may have done.
    Defaults stand for reports that were stored before a figure was among these.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactFigure:
    """An exact metric: it has moved where it changed by `least` (in its unit) and `least_percent`."""

    key: str
    base: float
    head: float
    percent: float | None
    least: float
    least_percent: float
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that a comparison rests on; `arithmetic` is None where nothing could be decided."""

    base: tuple[ExplainedRun, ...] = ()
    head: tuple[ExplainedRun, ...] = ()
    history: ExplainedHistory = ExplainedHistory(given=0)
    arithmetic: Arithmetic | None = None
    exact: tuple[ExactFigure, ...] = ()
