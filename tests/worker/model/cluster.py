"""The cluster of the world of runs, and the shelf for its logs.

In:  the calls of `Cluster` and of a store. Out: what a cluster answers that is slow, and at times overlooks.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.clusters.interface import Job, JobState, Observation
from bot.errors import NotFound, TransientError
from tests.worker.model.ledger import YieldOnce


@dataclass(slots=True, kw_only=True)
class TrueJob:
    """A job as it really is; `ran` is how long by a clock that nobody can put."""

    seen: Observation
    ran: float = 0.0


@dataclass(slots=True, kw_only=True)
class ModelCluster:
    """The cluster. An answer may be old by the time it is heard, and three times in a row the job may be
    missing from it that is there. `may_start` says whether a job of this name may be started now."""

    may_start: Callable[[str], bool]
    jobs: dict[str, TrueJob] = field(default_factory=dict)
    logs: set[str] = field(default_factory=set)
    launches: int = 0
    refusing: int = 0
    blind: dict[str, int] = field(default_factory=dict)

    async def aclose(self) -> None:
        """As `Cluster.aclose`."""

    async def launch(self, job: Job) -> None:
        """The fence stands right before it, so nobody else goes first. At times the cluster cannot, says so,
        and has done it nevertheless."""
        refused, self.refusing = self.refusing, max(0, self.refusing - 1)
        if refused == 1:
            raise TransientError("No such image", after=5.0)
        if job.name not in self.jobs:
            assert self.may_start(job.name), f"{job.name} was seen before, and is started again"
            self.jobs[job.name] = TrueJob(seen=Observation(state=JobState.QUEUED))
            self.launches += 1
        if refused:
            raise TransientError("The answer was lost", after=5.0, may_have_acted=True)

    async def observe(self, name: str) -> Observation:
        """How it stands now, heard a little later."""
        known = self.jobs.get(name)
        seen = known.seen if known and not self._overlooked(name) else Observation(state=JobState.ABSENT)
        await YieldOnce()
        return seen

    def _overlooked(self, name: str) -> bool:
        """Three looks in a row are written down, and a fourth is believed: it is always right."""
        left = self.blind.pop(name, 0)
        if left > 1:
            self.blind[name] = left - 1
        return left > 1

    async def delete(self, name: str) -> None:
        """The fence stands right before it."""
        self.jobs.pop(name, None)

    async def names(self) -> frozenset[str]:
        """All names, heard a little later."""
        known = frozenset(self.jobs)
        await YieldOnce()
        return known

    @contextmanager
    def open_log(self, name: str) -> Iterator[Iterator[bytes]]:
        """The log of a job that ran."""
        if name not in self.logs:
            raise NotFound("no log")
        yield iter([b"a log"])


class LogStore:
    """Where logs are kept."""

    def write(self, name: str, chunks: Iterator[bytes], kind: str) -> None:  # noqa: ARG002 - as the real one
        """Keep it."""
        assert list(chunks)

    def uri(self, name: str) -> str:
        """Its address."""
        return f"file:/{name}"
