"""The cluster that is this machine: runs a case's command on the exact commit, as XPK would on its own.

Jobs outlive this process and are found again by name. A log opens with `XPK Start`, names the commit it
measures, and closes with `XPK End` and `EXIT_CODE`, or has no end.
"""

import asyncio
import os
import re
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from bot.clusters.checkout import check_out
from bot.clusters.command import argument_list, expected_steps
from bot.clusters.interface import Isolation, Job, JobState, Observation
from bot.clusters.job_log import TAIL_BYTES, last_step
from bot.clusters.local.job_folder import JOB_NAME, FolderState, JobFolder, JobOrder, job_folders, locked
from bot.clusters.local.limits import JobLimits, default_limits
from bot.clusters.local.local_queue import start_waiting_jobs
from bot.clusters.local.sandbox import DEFAULT_VIEW, SandboxView, sandbox_problem
from bot.clusters.local.scratch import remove_tree
from bot.errors import InternalError, NotFound, UserError

# Between SIGTERM and SIGKILL: enough to write a last line, short enough to wait for.
GRACE_SECONDS = 5.0

# How many checkouts that no unfinished job needs are kept for the next repeat.
KEPT_CHECKOUTS = 16

_SHA = re.compile(r"[0-9a-f]{7,64}")

# How much of a log is read at once.
_CHUNK_BYTES = 1 << 20


class LocalCluster:
    """Jobs on this machine, `limit` at a time, in the order they were launched.

    `limits` is the most that each may use, `view` what a sandboxed one sees besides the system.
    """

    def __init__(
        self,
        root: Path,
        *,
        limit: int = 1,
        grace_seconds: float = GRACE_SECONDS,
        limits: JobLimits | None = None,
        view: SandboxView = DEFAULT_VIEW,
    ) -> None:
        self._root = root.absolute()
        self._limit = limit
        self._grace = grace_seconds
        self._limits = limits or default_limits()
        self._view = view

    async def launch(self, job: Job) -> None:
        """As `Cluster.launch`. Raises `UserError` where the name, the command or the commit is wrong, or
        where a sandbox is wanted and cannot be had."""
        await asyncio.to_thread(self._launch, job)

    async def observe(self, name: str) -> Observation:
        """As `Cluster.observe`."""
        return await asyncio.to_thread(self._observe, name)

    async def delete(self, name: str) -> None:
        """As `Cluster.delete`. Returns when the job's processes are gone."""
        await asyncio.to_thread(self._delete, name)

    async def forget(self, names: Collection[str], shas: Collection[str]) -> None:
        """End these jobs, delete their logs, and the checkouts of these commits that no other job needs."""
        for name in names:
            await self.delete(name)
            if JOB_NAME.fullmatch(name):
                await asyncio.to_thread(JobFolder(self._root, name).log.unlink, missing_ok=True)
        await asyncio.to_thread(self._remove_commits, shas)

    async def names(self) -> frozenset[str]:
        """As `Cluster.names`."""
        return await asyncio.to_thread(lambda: frozenset(folder.name for folder in job_folders(self._root)))

    def open_log(self, name: str) -> AbstractContextManager[Iterator[bytes]]:
        """As `Cluster.open_log`."""
        return _log_chunks(self._folder(name))

    async def aclose(self) -> None:
        """As `Cluster.aclose`: there is nothing to close."""

    def _launch(self, job: Job) -> None:
        folder = self._folder(job.name)
        if folder.state() is not FolderState.UNKNOWN:
            self._advance()
            return
        try:
            argument_list(job)
        except ValueError as problem:
            raise UserError(f"The case {job.case} cannot be started: {problem}.") from problem
        if job.isolation is Isolation.SANDBOXED and (reason := sandbox_problem()):
            raise UserError(f"This server cannot sandbox jobs. For its operator: {reason}")
        commit = self._root / "commits" / job.sha
        check_out(Path(job.repository), job.sha, commit, max_bytes=self._limits.disk_bytes)
        with locked(self._root / "launch.lock"):
            if folder.state() is FolderState.UNKNOWN:
                folder.write_order(
                    JobOrder(
                        job=job,
                        turn=self._turn(),
                        commit=str(commit),
                        grace_seconds=self._grace,
                        limits=self._limits,
                        view=self._view,
                    )
                )
                self._forget_commits(keep=commit)
        self._advance()

    def _folder(self, name: str) -> JobFolder:
        if not JOB_NAME.fullmatch(name):
            raise UserError(f"{name!r} cannot be the name of a job: small letters, digits and - are allowed.")
        return JobFolder(self._root, name)

    def _turn(self) -> int:
        """The job's position in the queue: after every job here, even where the clock was set back."""
        turns = [folder.read_order().turn for folder in job_folders(self._root)]
        return max([time.time_ns(), *(turn + 1 for turn in turns)])

    def _forget_commits(self, *, keep: Path) -> None:
        needed = self._needed_commits()
        kept = [path for path in keep.parent.iterdir() if not path.name.startswith(".")]
        kept.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[KEPT_CHECKOUTS:]:
            if str(path) not in needed:
                remove_tree(path)

    def _remove_commits(self, shas: Collection[str]) -> None:
        if not self._root.is_dir():
            return
        with locked(self._root / "launch.lock"):
            needed = self._needed_commits()
            for sha in filter(_SHA.fullmatch, shas):
                path = self._root / "commits" / sha
                if str(path) not in needed:
                    remove_tree(path)

    def _needed_commits(self) -> set[str]:
        return {folder.read_order().commit for folder in job_folders(self._root) if not folder.has("exit")}

    def _advance(self) -> None:
        try:
            start_waiting_jobs(self._root, limit=self._limit)
        except subprocess.CalledProcessError as problem:
            raise InternalError(f"A job's supervisor could not be started: {problem}") from problem

    def _observe(self, name: str) -> Observation:
        if not JOB_NAME.fullmatch(name):
            return Observation(state=JobState.ABSENT)
        folder = JobFolder(self._root, name)
        if folder.state() is FolderState.WAITING:
            self._advance()
        match folder.state():
            case FolderState.UNKNOWN:
                return Observation(state=JobState.ABSENT)
            case FolderState.WAITING:
                return Observation(state=JobState.QUEUED)
            case FolderState.RUNNING:
                state = JobState.RUNNING
            case FolderState.ABANDONED:
                folder.end_leftovers()
                state = JobState.ENDED
            case FolderState.ENDED:
                state = JobState.ENDED
        seen = Observation(
            state=state,
            exit_code=folder.read("exit"),
            expected_steps=expected_steps(folder.read_order().job.command),
        )
        with suppress(FileNotFoundError), folder.open_log() as log:
            return replace(
                seen,
                log_uri=folder.log.as_uri(),
                last_step=last_step(_tail(log)),
                last_output=os.fstat(log).st_mtime,
            )
        return seen

    def _delete(self, name: str) -> None:
        if not JOB_NAME.fullmatch(name):
            return
        folder = JobFolder(self._root, name)
        with locked(self._root / "turns.lock"):
            if folder.state() is FolderState.RUNNING:
                folder.write("cancel", "1")
            else:
                self._remove(folder)
                return
        self._end(folder)
        self._remove(folder)
        self._advance()

    def _end(self, folder: JobFolder) -> None:
        """End a running job through its supervisor; kill the supervisor where it does not answer."""
        deadline = time.monotonic() + self._grace + 2
        asked = False
        while folder.state() is FolderState.RUNNING and time.monotonic() < deadline:
            supervisor = folder.read("supervisor")
            if supervisor is not None and not asked:
                _send_signal(supervisor, signal.SIGTERM)
                asked = True
            time.sleep(0.01)
        supervisor = folder.read("supervisor")
        if supervisor is not None and folder.state() is FolderState.RUNNING:
            _send_signal(supervisor, signal.SIGKILL)

    def _remove(self, folder: JobFolder) -> None:
        folder.end_leftovers()
        folder.remove()


@contextmanager
def _log_chunks(folder: JobFolder) -> Iterator[Iterator[bytes]]:
    with ExitStack() as opened:
        try:
            log = opened.enter_context(folder.open_log())
        except FileNotFoundError as problem:
            raise NotFound(f"{folder.name} has no log: its program was not started.") from problem
        yield iter(lambda: os.read(log, _CHUNK_BYTES), b"")


def _send_signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _tail(log: int) -> bytes:
    return os.pread(log, TAIL_BYTES, max(0, os.fstat(log).st_size - TAIL_BYTES))
