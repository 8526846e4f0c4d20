"""A local cluster for tests: a repository with one commit, and real processes."""

import asyncio
import time
from collections.abc import Awaitable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from bot.clusters.checkout import create_repository, write_commit
from bot.clusters.interface import Isolation, Job, JobState, Observation
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.local.job_folder import JobFolder
from bot.clusters.local.limits import JobLimits

T = TypeVar("T")

PATIENCE = 20.0

MARK = "mark.txt"


def run_async(awaitable: Awaitable[T]) -> T:
    """The result of an asynchronous call."""

    async def wait() -> T:
        return await awaitable

    return asyncio.run(wait())


class LocalBench:
    """A repository with one commit, and a cluster in a path with spaces."""

    def __init__(
        self,
        folder: Path,
        isolation: Isolation = Isolation.UNSANDBOXED,
        files: Mapping[str, bytes] = MappingProxyType({}),
        limits: JobLimits | None = None,
    ) -> None:
        self.isolation = isolation
        self.folder = folder / "a place with spaces"
        self.root = self.folder / "cluster"
        create_repository(self.folder / "r.git")
        self.sha = write_commit(
            self.folder / "r.git",
            branch="main",
            files={MARK: b"here\n", "code/say.py": b"import os, sys\nprint(sorted(os.environ))\n", **files},
            message="m",
            author="A <a@example.com>",
            at=1,
        ).sha
        self.cluster = LocalCluster(self.root, grace_seconds=0.3, limits=limits)

    def job(self, name: str, command: str, timeout: float = PATIENCE, memory_mb: int | None = None) -> Job:
        """A job of this repository's commit."""
        return Job(
            name=name,
            repository=str(self.folder / "r.git"),
            sha=self.sha,
            case="01_base",
            variant="default",
            command=command,
            run_name=f"run-{name}",
            timeout_seconds=timeout,
            memory_mb=memory_mb,
            environment=(("GREETING", "good day"),),
            isolation=self.isolation,
        )

    def launch(
        self, name: str, command: str, timeout: float = PATIENCE, memory_mb: int | None = None
    ) -> None:
        """Launch a job."""
        run_async(self.cluster.launch(self.job(name, command, timeout, memory_mb)))

    def until(self, name: str, *states: JobState) -> Observation:
        """Look until the job is in one of these states."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            seen = run_async(self.cluster.observe(name))
            if seen.state in states:
                return seen
            time.sleep(0.01)
        raise AssertionError(f"{name} did not come to {states}: {seen}")

    def ended(self, name: str) -> Observation:
        """Look until the job has ended."""
        return self.until(name, JobState.ENDED)

    def log(self, name: str) -> str:
        """The job's log."""
        return JobFolder(self.root, name).log.read_text()

    def said(self, name: str) -> list[str]:
        """The log's lines between the frame's."""
        return self.log(name).splitlines()[2:-2]

    def until_logged(self, name: str, text: str) -> None:
        """Look until the log holds a text."""
        limit = time.monotonic() + PATIENCE
        while text not in (self.log(name) if JobFolder(self.root, name).log.exists() else ""):
            assert time.monotonic() < limit
            time.sleep(0.01)
