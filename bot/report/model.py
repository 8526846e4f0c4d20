"""The Report on one head commit, the one value that comment, check, page and JSON render, and its inputs."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from bot.domain.case_key import CaseKey
from bot.domain.price import Price
from bot.domain.pull_request import Subject, SubjectKind, subject_kind
from bot.domain.run import BaselineChoice, HeadChoice, RunRecord
from bot.runs.eta import DurationRange
from bot.verdict.judgement import Comparison, Margins, MeasuredRun, RunsWanted
from bot.verdict.noise import NoiseHistory, PastRun


class PlannedRuns(Struct, frozen=True, kw_only=True):
    """The runs of one case and variant that have not ended yet; `price` is that of all of them, None where it
    is not known."""

    case: str
    variant: str
    base: int
    head: int
    price: Price | None = None

    @property
    def key(self) -> CaseKey:
        """The case and variant."""
        return CaseKey(self.case, self.variant)


class WaitingCases(Struct, frozen=True, kw_only=True):
    """Cases whose runs may not start yet, and why in one clause. `budget` is the limit that is used up, empty
    where the runs wait for a free place."""

    keys: tuple[CaseKey, ...]
    why: str
    budget: str = ""


class PossibleRuns(Struct, frozen=True, kw_only=True):
    """Runs that may follow, at most: of how many cases, and their price. `unpriced` counts those whose price
    is not known."""

    cases: int
    runs: int
    price: Price | None = None
    unpriced: int = 0


class Plan(Struct, frozen=True, kw_only=True):
    """The runs that are to start or under way, and what they cost.

    `confirming` is what may be added to them where they show a change. `reused` counts the runs that need not
    be started, which saves `saved_chip_hours`. `unpriced` counts runs whose price is not known. `proposed`:
    nobody requested the runs, `/benchmark run` would start them. `asked`: the newest command asks to see the
    plan.
    """

    runs: tuple[PlannedRuns, ...] = ()
    price: Price | None = None
    unpriced: int = 0
    confirming: PossibleRuns | None = None
    reused: int = 0
    saved_chip_hours: float | None = None
    waiting: tuple[WaitingCases, ...] = ()
    proposed: bool = False
    asked: bool = False


class RowState(StrEnum):
    """The state of one case and variant, one per row."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    CONFIRMING = "confirming"
    NOT_COMPARABLE = "not_comparable"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    DIVERGED = "diverged"
    NEW_FAILURE = "new_failure"
    FAILS_ON_BOTH = "fails_on_both"
    FIXED = "fixed"
    NO_RUN = "no_run"
    NO_BASELINE = "no_baseline"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    RETRYING = "retrying"
    LOST = "lost"
    CARRIED = "carried"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


class Baseline(Struct, frozen=True, kw_only=True):
    """The commit on the base branch whose runs are compared with.

    `distance` counts commits behind the merge base (0: the merge base itself), None where the commit of
    the runs is not recorded. `why` is one clause that completes "compared with main … because it is …".
    """

    sha: str | None
    why: str
    distance: int | None = None
    newest_started: float | None = None


class CaseProgress(Struct, frozen=True, kw_only=True):
    """How far a case's runs are: steps done of steps expected, runs done of runs wanted.

    `words` describe the run that is farthest, `note` is its cluster's text (untrusted). `retrying`: the run
    failed by its cluster's fault and is started again. `left`: the seconds until all runs have ended.
    """

    step: int | None = None
    steps: int | None = None
    runs_done: int = 0
    runs_wanted: int = 0
    words: str = ""
    note: str = ""
    retrying: bool = False
    left: DurationRange | None = None


class Novelty(StrEnum):
    """How a failure of the head relates to the baseline. `unknown`: the baseline has no conclusive run."""

    NEW = "new"
    SAME_ON_BASE = "same_on_base"
    OTHER_ON_BASE = "other_on_base"
    FIXED = "fixed"
    UNKNOWN = "unknown"


class PullFailure(Struct, frozen=True, kw_only=True):
    """The newest report of pull request `number` has a failure in this case and variant."""

    number: int
    key: CaseKey


class FailureNovelty(Struct, frozen=True, kw_only=True):
    """How new a failure is: the head's, or the baseline's where the head fixes it.

    `pulls` are other open pull requests whose newest report has the same failure in the same case and
    variant, `pulls_elsewhere` those that have it in others only; `main_sha` is the commit of main's newest
    run outside the baseline that fails in the same way.
    """

    novelty: Novelty = field(name="kinship")
    kind: str
    fingerprint: str
    pulls: tuple[int, ...] = ()
    main_sha: str | None = None
    pulls_elsewhere: tuple[int, ...] = ()


class AcknowledgedState(Struct, frozen=True, kw_only=True):
    """The state of a row when it was acknowledged: its words, the change of step time with its threshold (log
    scale), the fingerprint of the failure, the loss verdict, and the growth of memory (head over base)."""

    word: str
    change: float | None = None
    band: float | None = None
    fingerprint: str = ""
    loss: str = ""
    memory: float = 1.0


class Acknowledgement(Struct, frozen=True, kw_only=True):
    """`by` accepted a case's verdict on a head at `made` (Unix seconds); `reason` is untrusted text.

    It changes what follows from a verdict (severity, conclusion, what to do), never the verdict. It holds for
    every head whose row says the same for the same reason, and ends where the row gets worse.
    """

    case: str
    variant: str
    verdict: RowState
    head_sha: str
    by: str
    reason: str
    made: float
    grounds: AcknowledgedState

    @property
    def key(self) -> CaseKey:
        """The case and variant."""
        return CaseKey(self.case, self.variant)


class CaseReport(Struct, frozen=True, kw_only=True):
    """One row: a case in one variant.

    `noise_history` describes the main runs that its noise was measured from, `failure` how new its failure
    is. `under_way` counts the launched runs of a confirming row that have not ended, `lost_runs` those
    that the cluster lost. `closed`: its pull request was closed before its runs had ended.
    """

    case: str
    variant: str
    state: RowState
    comparison: Comparison | None = None
    baseline: Baseline | None = None
    base_runs: tuple[RunRecord, ...] = ()
    head_runs: tuple[RunRecord, ...] = ()
    stale_runs: tuple[RunRecord, ...] = ()
    progress: CaseProgress | None = None
    note: str = ""
    noise_history: NoiseHistory | None = field(name="past", default=None)
    failure: FailureNovelty | None = None
    acknowledged: Acknowledgement | None = None
    under_way: RunsWanted = RunsWanted()
    lost_runs: int = 0
    closed: bool = False

    @property
    def key(self) -> CaseKey:
        """The case and variant."""
        return CaseKey(self.case, self.variant)


class ParityTransition(StrEnum):
    """The change of a case in one variant since the baseline. `unknown`: a side has no conclusive run;
    `mixed`: a side has passing and failing runs, so there is no clear change."""

    STILL_PASSES = "still_passes"
    PASSES_NOW = "fail_to_pass"
    FAILS_NOW = "pass_to_fail"
    FAILS_THE_SAME = "fails_the_same"
    FAILS_OTHERWISE = "fails_otherwise"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class ParityRow(Struct, frozen=True, kw_only=True):
    """One case in two variants: whether it passes in each on the head and on the baseline, and the change
    between. `comparison` is of the second variant against the first, both on the head.

    A side neither passes nor fails (None) where it has no conclusive run, and where its runs are mixed.
    """

    case: str
    first_variant: str
    second_variant: str
    first_passes: bool | None
    second_passes: bool | None
    base_first_passes: bool | None = None
    base_second_passes: bool | None = None
    first_transition: ParityTransition = ParityTransition.UNKNOWN
    second_transition: ParityTransition = ParityTransition.UNKNOWN
    comparison: Comparison | None = None
    first_mixed: bool = False
    second_mixed: bool = False
    base_first_mixed: bool = False
    base_second_mixed: bool = False


class ReportedCommand(Struct, frozen=True, kw_only=True):
    """A `/benchmark` command, or a label, and what came of it; `result` is one plain sentence.
    `asks_for_help`: the list of commands is the answer."""

    text: str
    by: str
    at: float
    result: str
    refused: bool = False
    asks_for_help: bool = False


class SkippedCase(Struct, frozen=True, kw_only=True):
    """A case that was not run here, and why."""

    case: str
    variant: str
    why: str

    @property
    def key(self) -> CaseKey:
        """The case and variant."""
        return CaseKey(self.case, self.variant)


class ProblemKind(StrEnum):
    """Who ends a problem; one that the operator's policy refuses repeats the repository's own words."""

    TO_FIX = "to_fix"
    PASSES = "passes"
    REFUSED = "refused"


class Report(Struct, frozen=True, kw_only=True):
    """Everything said about one head commit. Times are Unix seconds.

    `commands` are the last ones, oldest first; `labels` are those that start runs. `approval` is the command
    that lets the head's code run, where it waits for that. `problem` keeps the report from its verdict,
    `trouble` is what GitHub refused us, `refusal` what the operator's policy does not grant.
    `preview` is what a change of the configuration would do.
    """

    repository: str
    number: int
    title: str
    head_sha: str
    head_branch: str
    base_branch: str
    merge_base: str | None
    made_at: float
    rows: tuple[CaseReport, ...] = ()
    parity: tuple[ParityRow, ...] = ()
    skipped: tuple[SkippedCase, ...] = ()
    commands: tuple[ReportedCommand, ...] = ()
    labels: tuple[str, ...] = ()
    approval: str = ""
    problem: str | None = None
    problem_kind: ProblemKind = ProblemKind.TO_FIX
    preview: str = ""
    trouble: str = ""
    refusal: str = ""
    launches: bool = False
    variants: tuple[str, ...] = ()
    chip_hours_used: float | None = None
    chip_hours_saved: float | None = None
    plan: Plan | None = None
    practical_percent: float = 1.0
    equivalence_percent: float = 5.0

    @property
    def is_branch(self) -> bool:
        """Whether it is about a branch that is watched without a pull request."""
        return subject_kind(self.number) is SubjectKind.BRANCH

    @property
    def last_command(self) -> ReportedCommand | None:
        """The newest command."""
        return self.commands[-1] if self.commands else None


class InterimLook(Struct, frozen=True, kw_only=True):
    """A look at a case's data: its number, and a digest of the runs that it saw.

    Where it saw a change that is to be confirmed, `base` and `head` are the ids of those runs.
    """

    look: int
    runs: str
    base: tuple[str, ...] = ()
    head: tuple[str, ...] = ()


class MainFailure(Struct, frozen=True, kw_only=True):
    """A failed run on main: which one, at which commit, and how it failed."""

    run: str
    sha: str | None
    fingerprint: str


class CaseRuns(Struct, frozen=True, kw_only=True):
    """One case in one variant, and its runs.

    `history`: main's newest runs that were measured as the baseline was, oldest first. `main_failures`:
    main's failed runs, newest first. `unfinished`: runs that were started and have not ended; `lost` by the
    cluster; `stopped` counts the head's runs that were cancelled. `began_after` says since when a run without
    a commit counts as the head's. `left_out` and `other_devices` say which runs are not used, and why.
    `last_good` is when main's newest run with a steady step time began (Unix seconds), None where there is
    none.
    """

    case: str
    variant: str
    head: HeadChoice
    base: BaselineChoice
    history: tuple[PastRun, ...] = ()
    main_failures: tuple[MainFailure, ...] = ()
    last_look: InterimLook | None = None
    unfinished: tuple[RunRecord, ...] = ()
    stopped: int = 0
    lost: tuple[RunRecord, ...] = ()
    began_after: str = "the push"
    left_out: str = ""
    other_devices: str = ""
    progress: CaseProgress | None = None
    last_good: float | None = None

    @property
    def key(self) -> CaseKey:
        """The case and variant."""
        return CaseKey(self.case, self.variant)


class ReportRequest(Struct, frozen=True, kw_only=True):
    """What a report is made for and with; `made_at` in Unix seconds.

    `labels` are those that start runs. `approval` is the command that lets the cases of `waiting` run.
    `cancelled_by` says by whom a case was cancelled on this head. `pull_failures` names by fingerprint
    where other open pull requests have a failure. A baseline is old where main has had no good run for
    `old_after_seconds`.
    """

    pull: Subject
    merge_base: str | None
    made_at: float
    margins: Margins = Margins()
    variants: tuple[str, ...] = ()
    compares_variants: bool = False
    launches: bool = False
    commands: tuple[ReportedCommand, ...] = ()
    labels: tuple[str, ...] = ()
    approval: str = ""
    waiting: frozenset[CaseKey] = frozenset()
    cancelled_by: Mapping[CaseKey, str] = field(default_factory=dict)
    acknowledgements: tuple[Acknowledgement, ...] = ()
    problem: str | None = None
    problem_kind: ProblemKind = ProblemKind.TO_FIX
    skipped: tuple[SkippedCase, ...] = ()
    pull_failures: Mapping[str, tuple[PullFailure, ...]] = field(default_factory=dict)
    old_after_seconds: float = 7 * 86_400.0


class CaseSides(Struct, frozen=True):
    """One case with what was measured on both sides; `look` counts this look at its data."""

    runs: CaseRuns
    base: tuple[MeasuredRun, ...]
    head: tuple[MeasuredRun, ...]
    look: InterimLook
