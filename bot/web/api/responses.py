"""The API's response types of pages: one Struct for each JSON object.

Pages fill them; JSON and the API's schemas come from them. The fields are the keys in their order. A key is
always there; what is not known is null, never zero. Those of reports are in `bot.report.responses`.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field

from bot.domain.run import RunOrigin, RunState
from bot.report.model import ParityTransition, RowState
from bot.report.responses import (
    ComparisonResponse,
    MeasuredRunResponse,
    Moment,
    RunLineResponse,
    ShiftResponse,
    VerdictResponse,
    Version,
)
from bot.storage.refs import RefKind
from bot.verdict.comparability import ComparisonAxis
from bot.web.log_viewer.comparison import RowKind

RepositoryName = Annotated[str, Meta(examples=["octo/maxtext"])]

CaseName = Annotated[str, Meta(examples=["04_int8"])]

VariantName = Annotated[str, Meta(examples=["linen"])]

CommitSha = Annotated[str, Meta(examples=["574ad3fb9c1e0a4d2b6f8e7c5a3d1b0f9e8d7c6b"])]

RunId = Annotated[str, Meta(examples=["04_int8-linen-20260421-083238"])]

Address = Annotated[str, Meta(examples=["https://maxview.example/octo/maxtext/pull/12"])]

Next = Annotated[str | None, Meta(description="The address of the next part; null at the end.")]


class ErrorResponse(Struct, frozen=True):
    """What is missing, in one sentence or two."""

    error: str


# Repositories


class ListedRepositoryResponse(Struct, frozen=True, kw_only=True):
    """One of them."""

    repository: RepositoryName
    url: Address


class RepositoriesResponse(Struct, frozen=True, kw_only=True):
    """The public repositories."""

    schema: Version
    repositories: tuple[ListedRepositoryResponse, ...]


class ListedPullResponse(Struct, frozen=True, kw_only=True):
    """A pull request with its newest report."""

    number: int
    title: str
    open: bool
    headline: str
    head_sha: CommitSha | None
    reported_sha: CommitSha | None
    made: Moment | None
    url: Address
    page: Address


class ListedBranchResponse(Struct, frozen=True, kw_only=True):
    """A branch that is watched without a pull request, and its newest report."""

    branch: str
    title: str
    open: bool
    headline: str
    head_sha: CommitSha | None
    reported_sha: CommitSha | None
    made: Moment | None
    url: Address
    page: Address


class BriefRunResponse(Struct, frozen=True, kw_only=True):
    """A run in brief."""

    run: RunId
    sha: CommitSha | None
    started: Moment | None
    outcome: str | None
    value: Annotated[float | None, Meta(description="Its steady step time, seconds.")]


class HealthResponse(Struct, frozen=True, kw_only=True):
    """A case on main: its newest run, and its newest good one of those looked at."""

    case: CaseName
    variant: VariantName
    newest: BriefRunResponse
    last_good: BriefRunResponse | None
    looked_at: int


class MainChangesResponse(Struct, frozen=True, kw_only=True):
    """Where main itself moved."""

    case: CaseName
    variant: VariantName
    conditions: str
    runs: int
    shifts: tuple[ShiftResponse, ...]


class RepositoryResponse(Struct, frozen=True, kw_only=True):
    """A repository: its pull requests, open ones first, and how main stands."""

    schema: Version
    repository: RepositoryName
    pull_requests: tuple[ListedPullResponse, ...]
    branches: tuple[ListedBranchResponse, ...]
    health: tuple[HealthResponse, ...]
    main: tuple[MainChangesResponse, ...]


# Comparisons of two refs


class EndResponse(Struct, frozen=True, kw_only=True):
    """One end of a comparison."""

    name: Annotated[str, Meta(description="As it was asked for.")]
    spelt: Annotated[str, Meta(description="As addresses spell it.")]
    kind: RefKind
    branch: str | None
    sha: CommitSha | None
    number: int | None
    variant: str | None


class ComparedCaseResponse(Struct, frozen=True, kw_only=True):
    """One case."""

    case: CaseName
    base_variant: VariantName
    head_variant: VariantName
    state: RowState
    comparison: VerdictResponse | None
    base_runs: tuple[RunLineResponse, ...]
    head_runs: tuple[RunLineResponse, ...]


class ChosenCaseResponse(Struct, frozen=True, kw_only=True):
    """The case that was asked for."""

    case: CaseName
    base_variant: VariantName
    head_variant: VariantName
    comparison: ComparisonResponse | None


class RefComparisonResponse(Struct, frozen=True, kw_only=True):
    """Two refs case by case."""

    schema: Version
    repository: RepositoryName
    base: EndResponse
    head: EndResponse
    across: ComparisonAxis
    rows: tuple[ComparedCaseResponse, ...]
    chosen: ChosenCaseResponse | None


class ParityOutcome(StrEnum):
    """How the runs of one case in one variant ended."""

    PASSES = "passes"
    FAILS = "fails"
    MIXED = "passes_and_fails"
    UNKNOWN = "not_known"

    @property
    def words(self) -> str:
        """The outcome as people read it."""
        return self.value.replace("_", " ")


class ParityCellResponse(Struct, frozen=True, kw_only=True):
    """One variant."""

    variant: VariantName
    standing: ParityOutcome
    on_main: ParityOutcome
    transition: ParityTransition
    steady_step_seconds: float | None
    change_percent: Annotated[float | None, Meta(description="Against the first variant; not judged.")]
    runs: int
    error: str | None


class ParityCaseResponse(Struct, frozen=True, kw_only=True):
    """One case."""

    case: CaseName
    cells: tuple[ParityCellResponse, ...]


class ParityMatrixResponse(Struct, frozen=True, kw_only=True):
    """Every case in every variant at one ref."""

    schema: Version
    repository: RepositoryName
    name: str
    sha: CommitSha | None
    against: Annotated[str | None, Meta(description="The branch that transitions are told against.")]
    variants: tuple[str, ...]
    rows: tuple[ParityCaseResponse, ...]


# Histories


class PointResponse(Struct, frozen=True, kw_only=True):
    """One run in a history."""

    run: RunId
    sha: CommitSha | None
    started: Moment | None
    outcome: Annotated[str | None, Meta(description="How its log ended.")]
    origin: Annotated[
        RunOrigin,
        Meta(description="Runs that were launched where MaxView runs do not count for levels."),
    ]
    conditions: Annotated[str, Meta(description="Devices, mesh and versions.")]
    value: float | None


class LevelResponse(Struct, frozen=True, kw_only=True):
    """A stretch without a change: its median, and half the band most of its runs lie in."""

    first_run: RunId
    last_run: RunId
    median: float | None
    half_band: float | None


class AcknowledgedChangeResponse(Struct, frozen=True, kw_only=True):
    """Who took note: for certain of this commit, else perhaps."""

    number: int
    by: str
    reason: str
    made: Moment | None
    certain: bool


class ChangeResponse(Struct, frozen=True, kw_only=True):
    """A change of level, or of what the runs were measured under."""

    change_percent: float | None
    before: str | None
    at: str | None
    runs_before: int
    runs_after: int
    started: Moment | None
    conditions: Annotated[tuple[str, str] | None, Meta(description="From what to what, where those changed.")]
    acknowledged: AcknowledgedChangeResponse | None


class MetricInfoResponse(Struct, frozen=True, kw_only=True):
    """What is shown."""

    key: str
    title: str
    unit: str
    how: str


class HistoryResponse(Struct, frozen=True, kw_only=True):
    """One metric of one case on a branch, oldest first."""

    schema: Version
    repository: RepositoryName
    branch: str
    case: CaseName
    variant: VariantName
    metric: MetricInfoResponse
    points: tuple[PointResponse, ...]
    levels: tuple[LevelResponse, ...]
    changes: tuple[ChangeResponse, ...]


class CaseHistoryResponse(Struct, frozen=True, kw_only=True):
    """One case."""

    case: CaseName
    variant: VariantName
    points: tuple[PointResponse, ...]


class HistoriesResponse(Struct, frozen=True, kw_only=True):
    """Every case of a branch with its newest runs."""

    schema: Version
    repository: RepositoryName
    branch: str
    cases: tuple[CaseHistoryResponse, ...]


# Runs and logs


class RunRecordResponse(Struct, frozen=True, kw_only=True):
    """The run as it was found or started."""

    id: RunId
    repository: RepositoryName
    case: CaseName
    variant: VariantName
    branch: str | None
    sha: CommitSha | None
    started: Moment | None
    origin: RunOrigin
    state: RunState
    attempt: int
    page: Address
    log: str | None


class RunResponse(MeasuredRunResponse, frozen=True, kw_only=True):
    """A measured run."""

    record: RunRecordResponse


class UnmeasuredRunResponse(Struct, frozen=True, kw_only=True):
    """A run of which nothing was measured yet."""

    schema: Version
    record: RunRecordResponse


class LogLineResponse(Struct, frozen=True, kw_only=True):
    """A line of a log, or a piece of a long one."""

    number: int
    offset: int
    text: str


class HitResponse(Struct, frozen=True, kw_only=True):
    """A line that holds the words, and its neighbours."""

    line: LogLineResponse
    before: tuple[LogLineResponse, ...]
    after: tuple[LogLineResponse, ...]


class LogSearchResponse(Struct, frozen=True, kw_only=True):
    """What was found in a stretch of a log. Text that strangers may not read is never a hit."""

    schema: Version
    run: RunId
    words: str
    cased: bool
    regular: Annotated[bool, Meta(description="Whether the words were a regular expression.")]
    begin: int = field(name="from")
    end: int = field(name="to")
    size: Annotated[
        int | None, Meta(description="Bytes of the whole log; null where it is stored compressed.")
    ]
    hits: tuple[HitResponse, ...]
    next: Next


class ComparedRunResponse(Struct, frozen=True, kw_only=True):
    """One of the two runs."""

    id: RunId
    case: CaseName
    variant: VariantName
    branch: str | None
    sha: CommitSha | None


class SettingResponse(Struct, frozen=True, kw_only=True):
    """A setting that differs."""

    name: str
    base: str | None
    head: str | None


class SideLineResponse(Struct, frozen=True, kw_only=True):
    """A line of one of the logs."""

    number: int
    seconds: Annotated[float | None, Meta(description="Since the start of the log.")]
    text: str


class LineRowResponse(Struct, frozen=True, kw_only=True):
    """Two lines beside each other, or one alone; or so many that are the same and are not shown."""

    kind: RowKind
    base: SideLineResponse | None
    head: SideLineResponse | None
    lines_same: Annotated[
        int, Meta(description="How many lines the row stands for where it shows none, else 0.")
    ]


class LogSectionResponse(Struct, frozen=True, kw_only=True):
    """What both logs print from one event to the next."""

    name: str
    only_in: Annotated[str | None, Meta(description="`base` or `head` where the other has no such section.")]
    apart: int
    figures: Annotated[int, Meta(description="Lines with the same words and other figures.")]
    same: int
    cut: Annotated[bool, Meta(description="Whether the section goes on in the logs.")]
    rows: tuple[LineRowResponse, ...]


class LogComparisonResponse(Struct, frozen=True, kw_only=True):
    """Two logs, section by section; what belongs to one run alone does not make lines differ."""

    schema: Version
    base: ComparedRunResponse
    head: ComparedRunResponse
    settings: Annotated[tuple[SettingResponse, ...], Meta(description="Given with the first sections.")]
    first: Annotated[int, Meta(description="The number of the first section here, from 0.")]
    count: Annotated[int, Meta(description="Sections of both logs.")]
    sections: tuple[LogSectionResponse, ...]
    next: Next
