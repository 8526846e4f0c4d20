"""What a training log states about one run, as values: facts only, no judgement.

A fact that the log does not state is `None`, never zero. Times are Unix seconds, UTC. Where no line of the
log carries a year, `RunLog.dated` is false and only differences of times have a meaning.
"""

from enum import StrEnum

from msgspec import Struct


class OutcomeState(StrEnum):
    """How a run ended, according to its log."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    KILLED = "killed"
    INCOMPLETE = "incomplete"
    NOT_A_TRAINING_LOG = "not_a_training_log"


class StepKind(StrEnum):
    """Whether a step line may be used to time training."""

    PLAIN = "plain"
    RAMP_UP = "ramp_up"
    PROFILED = "profiled"


class MarkKind(StrEnum):
    """A moment of the log that is not a step."""

    START = "start"
    END = "end"
    COMPILED = "compiled"
    CHECKPOINT_WAITED = "checkpoint_waited"
    CHECKPOINT_STARTED = "checkpoint_started"
    CHECKPOINT_SAVED = "checkpoint_saved"
    EVAL_STARTED = "eval_started"
    EVAL_ENDED = "eval_ended"
    RESTORED = "restored"


class Step(Struct, frozen=True):
    """One step line. `bot.logs.fast_path` gives the fields by position, for speed.

    `seconds`, `tflops_per_device` (TFLOP/s) and `tokens_per_device` (tokens/s) are as printed;
    `time` is the line's own timestamp; `offset` is its first byte in the (inflated) source.
    `extras` holds the other numbers of the line under the names it prints, in its order.
    """

    step: int
    seconds: float | None = None
    tflops_per_device: float | None = None
    tokens_per_device: float | None = None
    loss: float | None = None
    perplexity: float | None = None
    total_weights: float | None = None
    time: float | None = None
    kind: StepKind = StepKind.PLAIN
    offset: int = 0
    extras: tuple[tuple[str, float], ...] = ()


class Mark(Struct, frozen=True, kw_only=True):
    """A moment that cuts the time line: `seconds` is a duration that the line states or spans, `loss` what
    an evaluation found."""

    kind: MarkKind
    time: float | None = None
    step: int | None = None
    seconds: float | None = None
    loss: float | None = None
    offset: int = 0


class CallSite(Struct, frozen=True, kw_only=True):
    """Where in the program a message that we know was printed: a fingerprint of the code that ran."""

    message: str
    file: str
    line: int


class Environment(Struct, frozen=True, kw_only=True):
    """What the run ran on and with. `mesh` has one size per axis; `process` is the measured host's index."""

    jax: str | None = None
    jaxlib: str | None = None
    libtpu: str | None = None
    orbax: str | None = None
    device_kind: str | None = None
    devices: int | None = None
    mesh: tuple[int, ...] | None = None
    process: int | None = None
    workload: str | None = None
    run_name: str | None = None
    commit: str | None = None
    dtype: str | None = None
    call_sites: tuple[CallSite, ...] = ()


class DeviceMemory(Struct, frozen=True, kw_only=True):
    """One device's memory in use, as one line states it: gigabytes, and percent of the limit."""

    device: str
    used_gb: float
    limit_gb: float
    percent: float
    offset: int = 0


class CompiledMemory(Struct, frozen=True, kw_only=True):
    """The compiler's own static memory figures, gigabytes. Deterministic for a program."""

    total_gb: float | None = None
    output_gb: float | None = None
    temp_gb: float | None = None
    argument_gb: float | None = None
    host_temp_gb: float | None = None


class Failure(Struct, frozen=True, kw_only=True):
    """The first cause of a failure.

    `kind` is one of the documented failure classes (`bot.logs.failures`), `error` the first error line,
    empty where an exit code is all there is, `where` the innermost frame of the project as `file.py:line`,
    `excerpt` up to 40 lines around it, `fingerprint` a hash that is equal for the same failure on another
    day, host and line shift.
    """

    kind: str
    error: str
    where: str | None = None
    excerpt: str = ""
    fingerprint: str = ""
    offset: int = 0


class RunOutcome(Struct, frozen=True, kw_only=True):
    """How the run ended. `expected_steps` counts steps; the last of them is `expected_steps - 1` when
    steps count from 0."""

    state: OutcomeState
    exit_code: int | None = None
    failure: Failure | None = None
    last_step: int | None = None
    expected_steps: int | None = None


class RunLog(Struct, frozen=True, kw_only=True):
    """Everything one log says about one run.

    `run` counts the runs of a source from 1. `steps` are the measured host's, of its last attempt, in the
    order printed, rewinds included. `steps_seen` counts the step lines of that host; where it is larger
    than `len(steps)` the middle was dropped to keep memory flat, and a warning says so.
    `mean_seconds_after_first` is the mean of the printed `seconds` over all steps but the first,
    `stated_mean_seconds` the mean time of a step that the program itself states at its end.
    `memory` is the first reading of each device, `memory_most` the largest later one where there are several.
    `unread_from` is the byte of the text behind which it was not read: then a warning says why, and what
    follows is missing.
    """

    source: str
    run: int
    format: str | None
    outcome: RunOutcome
    attempts: int = 1
    hosts: int = 1
    dated: bool = False
    steps: tuple[Step, ...] = ()
    steps_seen: int = 0
    mean_seconds_after_first: float | None = None
    stated_mean_seconds: float | None = None
    marks: tuple[Mark, ...] = ()
    environment: Environment = Environment()
    parameters_billion: float | None = None
    tflop_per_step: float | None = None
    memory: tuple[DeviceMemory, ...] = ()
    memory_most: tuple[DeviceMemory, ...] = ()
    compiled_memory: CompiledMemory | None = None
    max_allocated_mb: float | None = None
    warnings: tuple[str, ...] = ()
    unread_from: int | None = None
