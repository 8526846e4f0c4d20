"""The API's response types of a run, a comparison and a report: one Struct for each JSON object.

`documents` fills them; JSON and the API's schemas come from them. The fields are the keys in their order. A
key is always there, but for those with the default `UNSET`; what is not known is null, never zero.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from bot.domain.price import PriceBasis
from bot.domain.run import RunOrigin, RunState
from bot.logs.facts import OutcomeState, StepKind
from bot.logs.failures import Responsibility
from bot.report.model import Novelty, ParityTransition, RowState
from bot.verdict.judgement import (
    BaselineSource,
    CaveatKind,
    CaveatWeight,
    Direction,
    Explanation,
    ImplausibleReason,
    LoopPhase,
    LossRepeat,
    LossVerdict,
    NoiseSource,
    SecondsDialect,
    StepClock,
    TimingMeasure,
    TimingVerdict,
    Verdict,
)

Version = Annotated[Literal[1], Meta(description="The version of these shapes.")]

Moment = Annotated[str, Meta(description="UTC.", extra_json_schema={"format": "date-time"})]


# Runs


class OutcomeResponse(Struct, frozen=True, kw_only=True):
    """How the run ended."""

    state: OutcomeState
    exit_code: int | None
    class_: Annotated[str | None, Meta(description="The class of its failure.")] = field(name="class")
    error: str | None
    where: str | None
    fingerprint: Annotated[str | None, Meta(description="The same for the same failure in another run.")]
    last_step: int | None
    expected_steps: int | None


class StepResponse(Struct, frozen=True, kw_only=True):
    """One step line, as printed."""

    step: int
    seconds: float | None
    tflops_per_device: float | None
    tokens_per_device: float | None
    loss: float | None
    perplexity: float | None
    total_weights: float | None
    time: Moment | None
    loss_text: Annotated[
        str | UnsetType, Meta(description="`nan` or `inf`, where the loss is no number.")
    ] = UNSET
    kind: StepKind | UnsetType = UNSET
    extras: Annotated[
        dict[str, float | None] | UnsetType,
        Meta(description="The other numbers of the line, under the names it prints."),
    ] = UNSET


class CompiledMemoryResponse(Struct, frozen=True, kw_only=True):
    """The compiler's own figures."""

    total: float | None
    output: float | None
    temp: float | None
    argument: float | None
    host_temp: float | None


class RawMetricsResponse(Struct, frozen=True, kw_only=True):
    """The figures of the log's own last lines."""

    avg_step_seconds: float | None
    last_tflops_per_device: float | None
    last_tokens_per_device: float | None


class MeasurementsResponse(Struct, frozen=True, kw_only=True):
    """Everything computed from the log; units are in the names."""

    parameters_billion: float | None
    final_loss: float | None
    steady_step_seconds: float | None
    steady_se_percent: float | None
    steady_kept: int
    steady_candidates: int
    steady_clock: StepClock | None
    steady_tokens_per_device: float | None
    steady_tflops_per_device: float | None
    mfu_percent: float | None
    tflop_per_step: float | None
    tokens_per_step: float | None
    memory_percent: float | None
    memory_headroom_gb: float | None
    memory_growth_gb: float | None
    max_allocated_mb: float | None
    compiled_memory_gb: CompiledMemoryResponse | None
    compile_seconds: float | None
    step0_seconds: float | None
    checkpoint_blocking_seconds: float | None
    final_checkpoint_wait_seconds: float | None
    wall_seconds: float | None
    chip_hours: float | None
    page: RawMetricsResponse
    final_loss_text: str | UnsetType = UNSET


class EnvironmentResponse(Struct, frozen=True, kw_only=True):
    """What the run ran on and with, as its log states it."""

    jax: str | None
    jaxlib: str | None
    libtpu: str | None
    orbax: str | None
    device_kind: str | None
    devices: int | None
    mesh: tuple[int, ...] | None
    process: int | None
    workload: str | None
    run_name: str | None
    commit: str | None
    dtype: str | None
    clock_dialect: SecondsDialect | None
    call_sites: Annotated[
        dict[str, tuple[int, ...]], Meta(description="Lines of the program that printed, by file.")
    ]


class PhaseResponse(Struct, frozen=True, kw_only=True):
    """A phase of the run's wall time."""

    phase: str
    seconds: float | None


class ImplausibleResponse(Struct, frozen=True, kw_only=True):
    """A value that cannot be true, and why."""

    step: int | None
    field: str
    value: float | None
    why: ImplausibleReason
    text: str


class MeasuredRunResponse(Struct, frozen=True, kw_only=True):
    """What a log says of a run."""

    schema: Version
    source: str
    run: int
    attempts: int
    hosts: int
    format: str | None
    outcome: OutcomeResponse
    steps: tuple[StepResponse, ...]
    steps_seen: int
    measurements: MeasurementsResponse
    environment: EnvironmentResponse
    ledger: tuple[PhaseResponse, ...]
    implausible: tuple[ImplausibleResponse, ...]
    warnings: tuple[str, ...]


class RunLineResponse(Struct, frozen=True, kw_only=True):
    """One run of a side."""

    id: str
    sha: str | None
    started: Moment | None
    state: RunState
    origin: RunOrigin
    attempt: int
    log: str | None


# Comparisons


class PhaseChangeResponse(Struct, frozen=True, kw_only=True):
    """One phase of the loop on both sides, in seconds a step."""

    phase: LoopPhase
    base_seconds: float | None
    head_seconds: float | None
    change_percent: Annotated[float | None, Meta(description="Its part in the change of the loop time.")]
    steps: Annotated[int, Meta(description="Steps of head's runs in which it happened.")]
    window: Annotated[int, Meta(description="Steps of head's runs that were looked at.")]


class LoopResponse(Struct, frozen=True, kw_only=True):
    """The decision on the loop time; changes are percent of head against base."""

    verdict: TimingVerdict
    change_percent: float | None
    band_percent: Annotated[float | None, Meta(description="From which change on it counts.")]
    se_percent: float | None
    bound_percent: Annotated[float | None, Meta(description="The largest change that is still possible.")]
    base_seconds: float | None
    head_seconds: float | None
    worst: Annotated[LoopPhase | None, Meta(description="The phase that moved most to the worse.")]
    history: Annotated[int, Meta(description="Runs of main that the noise was measured from.")]
    phases: tuple[PhaseChangeResponse, ...]
    reason: str


class RunsWantedResponse(Struct, frozen=True, kw_only=True):
    """Further runs, each on a submission of its own."""

    base: int
    head: int


class TimingResponse(Struct, frozen=True, kw_only=True):
    """The decision on steady step time; changes are percent of head against base."""

    verdict: TimingVerdict
    change_percent: float | None
    band_percent: Annotated[float | None, Meta(description="From which change on it counts.")]
    mde_percent: Annotated[float | None, Meta(description="The change seen in 4 of 5 such comparisons.")]
    se_percent: float | None
    n: Annotated[tuple[int, int], Meta(description="Runs of base and head.")]
    base_seconds: float | None
    head_seconds: float | None
    spread: Annotated[NoiseSource, Meta(description="Where the noise between runs was taken from.")]
    degrees_of_freedom: int
    history: Annotated[int, Meta(description="Runs of main that the noise was measured from.")]
    baseline_source: Annotated[BaselineSource, Meta(description="What main's runs do beside the base.")] = (
        field(name="standing")
    )
    main_runs: Annotated[int, Meta(description="Runs of main that stand beside the base.")]
    look: int
    comparable_cases: int
    more_runs: int | None
    reason: str
    submissions: Annotated[tuple[int, int], Meta(description="Independent runs of base and head.")]
    confirms: Annotated[TimingVerdict | None, Meta(description="What was seen and is to be confirmed.")]
    confirm_runs: Annotated[RunsWantedResponse, Meta(description="Runs that confirm it.")]
    measure: Annotated[TimingMeasure, Meta(description="What decided.")]
    loop: LoopResponse | None


class LossResponse(Struct, frozen=True, kw_only=True):
    """The decision on the loss curves."""

    verdict: LossVerdict
    first_difference_step: int | None
    first_outside_step: int | None
    max_relative: float | None
    worst_step: int | None
    allowed_relative: float | None
    compared_steps: int
    digits: str
    repeat: Annotated[
        LossRepeat | None, Meta(description="Whether equal runs of this case print equal losses.")
    ]
    shift: Annotated[
        float | None, Meta(description="Mean relative difference of the last `shift_steps` steps.")
    ]
    shift_allowed: Annotated[float | None, Meta(description="How far equal runs move that mean.")]
    shift_steps: int
    reason: str


class CaveatResponse(Struct, frozen=True, kw_only=True):
    """Why to doubt the comparison."""

    kind: CaveatKind
    field: str
    base: str | None
    head: str | None
    weight: CaveatWeight
    text: str


class MetricResponse(Struct, frozen=True, kw_only=True):
    """One metric on both sides."""

    metric: str
    base: float | str | None
    head: float | str | None
    diff: float | None
    judged: bool
    direction: Direction


class VerdictResponse(Struct, frozen=True, kw_only=True):
    """The verdict on one case and its figures."""

    verdict: Verdict
    reason: str
    timing: TimingResponse
    loss: LossResponse
    caveats: tuple[CaveatResponse, ...]
    rows: tuple[MetricResponse, ...]


class ComparisonResponse(Struct, frozen=True, kw_only=True):
    """One case, base against head, with the first run of each side; all where they are several."""

    schema: Version
    verdict: Verdict
    reason: str
    timing: TimingResponse
    loss: LossResponse
    caveats: tuple[CaveatResponse, ...]
    rows: tuple[MetricResponse, ...]
    explanation: Explanation | UnsetType = UNSET
    base: MeasuredRunResponse | None
    base_runs: tuple[MeasuredRunResponse, ...] | UnsetType = UNSET
    head: MeasuredRunResponse | None
    head_runs: tuple[MeasuredRunResponse, ...] | UnsetType = UNSET


# Reports


class BaselineResponse(Struct, frozen=True, kw_only=True):
    """The commit compared with."""

    sha: str | None
    why: str
    distance: int | None
    newest_started: Moment | None


class ShiftResponse(Struct, frozen=True, kw_only=True):
    """A change of main's level: the commits after `before` up to `at` did it."""

    change_percent: float | None
    before: str | None
    at: str | None
    runs_before: int
    runs_after: int
    started: Moment | None


class NoiseHistoryResponse(Struct, frozen=True, kw_only=True):
    """The runs of main that the noise was measured from."""

    runs: int
    oldest_started: Moment | None
    follows: ShiftResponse | None


class ProgressResponse(Struct, frozen=True, kw_only=True):
    """How far it is."""

    step: int | None
    steps: int | None
    runs_done: int
    runs_wanted: int
    about: Annotated[str, Meta(description="What of it is awaited.")]
    left_seconds: Annotated[
        tuple[float, float] | None, Meta(description="The least and the most that it may still take.")
    ]


class FailureResponse(Struct, frozen=True, kw_only=True):
    """Where its failure is known from."""

    novelty: Novelty = field(name="kinship")
    class_: str = field(name="class")
    fault: Responsibility | None
    retry: Annotated[bool | None, Meta(description="Whether a retry may help.")]
    next_step: str | None
    fingerprint: str
    pull_requests: Annotated[
        tuple[int, ...],
        Meta(description="Other open pull requests that have it in this case and variant."),
    ]
    pull_requests_other_cases: Annotated[
        tuple[int, ...], Meta(description="Those that have it in other cases only.")
    ]
    main_sha: str | None


class AcknowledgementResponse(Struct, frozen=True, kw_only=True):
    """Who took note of it."""

    by: str
    reason: str
    at: Moment | None
    head: str


class CaseLinksResponse(Struct, frozen=True, kw_only=True):
    """Its place."""

    page: str


class RowResponse(Struct, frozen=True, kw_only=True):
    """One case in one variant."""

    case: str
    variant: str
    state: Annotated[
        RowState,
        Meta(
            description="`confirming`: a change was seen, and further runs decide; those that are launched "
            "are counted in `under_way`, the others are asked for in `comparison.timing.confirm_runs`."
        ),
    ]
    note: str
    baseline: BaselineResponse | None
    history: NoiseHistoryResponse | None
    base_runs: tuple[RunLineResponse, ...]
    head_runs: tuple[RunLineResponse, ...]
    stale_runs: tuple[RunLineResponse, ...]
    progress: ProgressResponse | None
    under_way: Annotated[
        RunsWantedResponse,
        Meta(description="The launched runs of a confirming row that have not ended."),
    ]
    failure: FailureResponse | None
    acknowledged: AcknowledgementResponse | None
    carried: Annotated[tuple[str, ...], Meta(description="Runs of other commits with the same files, by id.")]
    comparison: ComparisonResponse | None
    links: CaseLinksResponse


class ParityResponse(Struct, frozen=True, kw_only=True):
    """One case in two variants."""

    case: str
    first_variant: str
    second_variant: str
    first_passes: bool | None
    second_passes: bool | None
    base_first_passes: bool | None
    base_second_passes: bool | None
    first_mixed: bool
    second_mixed: bool
    base_first_mixed: bool
    base_second_mixed: bool
    first_transition: ParityTransition
    second_transition: ParityTransition
    comparison: ComparisonResponse | None


class ParityTallyResponse(Struct, frozen=True, kw_only=True):
    """How many cases pass in both variants."""

    cases: int
    known: int
    head: int
    head_unknown: int
    head_mixed: int
    base: int | None
    base_unknown: int
    base_mixed: int


class SkippedResponse(Struct, frozen=True, kw_only=True):
    """A case that was not run."""

    case: str
    variant: str
    why: str


class CommandResponse(Struct, frozen=True, kw_only=True):
    """A command and what came of it."""

    text: str
    by: str
    at: Moment | None
    result: str
    refused: bool


class PriceResponse(Struct, frozen=True, kw_only=True):
    """A price in chip-hours."""

    usual: float | None
    least: float | None
    most: float | None
    basis: PriceBasis
    runs: int


class PlannedRunsResponse(Struct, frozen=True, kw_only=True):
    """The runs of one case that have not ended yet."""

    case: str
    variant: str
    base: int
    head: int
    chip_hours: PriceResponse | None


class WaitingResponse(Struct, frozen=True, kw_only=True):
    """Cases whose runs may not start yet, and why."""

    keys: tuple[str, ...]
    why: str


class PossibleRunsResponse(Struct, frozen=True, kw_only=True):
    """Runs that may follow, at most."""

    cases: int
    runs: int
    chip_hours: PriceResponse | None
    runs_without_a_price: int


class PlanResponse(Struct, frozen=True, kw_only=True):
    """What is to come, its price, what is reused and what waits."""

    runs: tuple[PlannedRunsResponse, ...]
    chip_hours: PriceResponse | None
    runs_without_a_price: int
    confirming: Annotated[
        PossibleRunsResponse | None,
        Meta(description="What confirms a change, should the runs show one in every case."),
    ]
    reused_runs: int
    waiting: tuple[WaitingResponse, ...]
    proposed: bool


class HeadResponse(Struct, frozen=True, kw_only=True):
    """The head."""

    sha: str
    branch: str


class BaseResponse(Struct, frozen=True, kw_only=True):
    """The base."""

    branch: str
    merge_base: str | None


class ChipHoursResponse(Struct, frozen=True, kw_only=True):
    """What it cost."""

    used: float | None
    saved: float | None


class MarginsResponse(Struct, frozen=True, kw_only=True):
    """What verdicts are held to."""

    practical_percent: float
    equivalence_percent: float


class ReportLinksResponse(Struct, frozen=True, kw_only=True):
    """Its places."""

    page: str
    json: str


class ReportResponse(Struct, frozen=True, kw_only=True):
    """Everything said about one head commit: what the comment says, and what it rests on."""

    schema: Version
    repository: str
    number: Annotated[
        int | None,
        Meta(description="The pull request's; null for a branch that is watched without one."),
    ]
    title: str
    headline: str
    severity: int
    green: bool
    settled: Annotated[bool, Meta(description="Whether nothing more is awaited.")]
    head: HeadResponse
    base: BaseResponse
    made_at: Moment | None
    problem: str | None
    rows: tuple[RowResponse, ...]
    parity: tuple[ParityResponse, ...]
    parity_tally: ParityTallyResponse | None
    skipped: tuple[SkippedResponse, ...]
    last_command: CommandResponse | None
    commands: tuple[CommandResponse, ...]
    approval: str | None
    variants: tuple[str, ...]
    launches: bool
    chip_hours: ChipHoursResponse
    plan: PlanResponse | None
    margins: MarginsResponse
    links: ReportLinksResponse
