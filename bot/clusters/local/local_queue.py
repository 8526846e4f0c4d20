"""The queue of the local cluster: starts supervisors in order, as many as may run at once.

Whoever calls it, and however often, a job gets one supervisor and the limit holds. The bot calls it
after a launch and with every look. A supervisor calls it when its own job has ended, so the queue moves
on while the bot is away.
"""

import os
import subprocess
import sys
from pathlib import Path

import bot
from bot.clusters.local.job_folder import FolderState, JobFolder, job_folders, locked
from bot.clusters.local.program import PASSED_VARIABLES


def start_waiting_jobs(root: Path, *, limit: int | None = None) -> None:
    """Start supervisors for the jobs that may run now. `limit` sets how many jobs run at once from now on."""
    with locked(root / "turns.lock"):
        if limit is not None:
            (root / "limit").write_text(str(limit), encoding="ascii")
        most = int((root / "limit").read_text(encoding="ascii"))
        states = {folder: folder.state() for folder in job_folders(root)}
        for folder, state in states.items():
            if state is FolderState.ABANDONED:
                folder.end_leftovers()
        running = sum(1 for state in states.values() if state is FolderState.RUNNING)
        waiting = [folder for folder, state in states.items() if state is FolderState.WAITING]
        waiting.sort(key=lambda folder: folder.read_order().turn)
        for folder in waiting[: max(0, most - running)]:
            _start_supervisor(folder)


def _start_supervisor(folder: JobFolder) -> None:
    """Start the process that supervises one job.

    It inherits the lock, so there is no moment in which the job has a supervisor and nobody holds it. The
    process that is started here forks and ends at once: its child has no parent and needs no reaping.
    """
    with locked(folder.lock) as lock, (folder.path / "supervisor.log").open("ab") as complaints:
        subprocess.run(
            # -P: nothing is imported from the folder that the server happens to be in.
            [sys.executable, "-P", "-m", "bot.clusters.local.supervisor", str(folder.root), folder.name],
            stdin=subprocess.DEVNULL,
            stdout=complaints,
            stderr=complaints,
            pass_fds=(lock,),
            start_new_session=True,
            check=True,
            env=_environment() | {"PYTHONPATH": str(Path(bot.__file__).parent.parent)},
        )


def _environment() -> dict[str, str]:
    """A supervisor gets what its program may see, and none of the server's secrets."""
    return {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
