"""One run of one case, as we store it, and the log files it was found by."""

from enum import StrEnum

from msgspec import Struct

from bot.domain.case_key import CaseKey
from bot.domain.commit import same_commit


class RunState(StrEnum):
    """The state of a run. A found run is `ended`: its log is all there is of it."""

    PLANNED = "planned"
    LAUNCHED = "launched"
    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    CANCELLED = "cancelled"


class RunOrigin(StrEnum):
    """Whether we found a run in the store or launched it."""

    FOUND = "found"
    LAUNCHED = "launched"


def comparable_across_days(origin: str, place: str | None) -> bool:
    """Whether a run may be compared with those of other days: a found one, and one that we launched on a
    cluster (`place`). One of this machine is only comparable with the runs that it alternated with."""
    return origin == RunOrigin.FOUND or place is not None


class LogFile(Struct, frozen=True, kw_only=True):
    """A file of a store. `name` is relative to the store's root, `updated` in Unix seconds. `generation`
    changes whenever the content does."""

    name: str
    size: int
    updated: float
    generation: str


class FoundRun(Struct, frozen=True, kw_only=True):
    """The log files of one run folder, and what its path says. `started` is from its date and time, UTC."""

    folder: str
    files: tuple[LogFile, ...]
    case: str
    variant: str
    slug: str | None = None
    started: float | None = None
    sha: str | None = None


class RunRecord(Struct, frozen=True, kw_only=True):
    """One run of one case and variant on one commit.

    `branch` is the slug of the branch it ran on. `sha` has at least 7 digits, or is None where nothing
    records the commit. `log_uri` names the measured log (`gs://…` or `file:…`), `generation` its content.
    `key` is equal for launches of the same run; a found run has none. `tree` is the hash of the commit's
    files and `place` the name of the cluster, where they are known. `measured_sha` is the head that was run,
    where that head landed with the same files as `sha`.
    """

    id: str
    repository: str
    case: str
    variant: str
    branch: str | None = None
    sha: str | None = None
    started: float | None = None
    origin: RunOrigin = RunOrigin.FOUND
    state: RunState = RunState.ENDED
    log_uri: str | None = None
    generation: str | None = None
    key: str | None = None
    attempt: int = 1
    tree: str | None = None
    place: str | None = None
    measured_sha: str | None = None

    @property
    def case_key(self) -> CaseKey:
        """The case and variant that were run."""
        return CaseKey(self.case, self.variant)

    @property
    def comparable_across_days(self) -> bool:
        """Whether `comparable_across_days` holds for it."""
        return comparable_across_days(self.origin, self.place)


class HeadChoice(Struct, frozen=True, kw_only=True):
    """The runs of the head commit, newest first, and those of other commits of its branch.

    Where `commit_recorded` is False, the one run is assumed to be the head's: it is the newest that began
    after the head was pushed. The report states that as a caveat."""

    runs: tuple[RunRecord, ...] = ()
    stale: tuple[RunRecord, ...] = ()
    commit_recorded: bool = True

    def commit(self, head_sha: str) -> str | None:
        """The commit that the runs say they measured: the head, or another one with the same files."""
        if not self.commit_recorded:
            return None
        others = [run.sha for run in self.runs if not same_commit(run.sha, head_sha)]
        return others[0] if others and len(others) == len(self.runs) else head_sha


class BaselineChoice(Struct, frozen=True, kw_only=True):
    """The baseline's runs, newest first. `distance` is the number of commits before the merge base, None
    where their commit is not recorded. `why` completes "compared with … because it is …"; without runs it
    is a clause of its own."""

    sha: str | None
    distance: int | None
    why: str
    runs: tuple[RunRecord, ...] = ()
