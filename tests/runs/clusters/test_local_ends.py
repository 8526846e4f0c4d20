"""How jobs on this machine end: by themselves, by limits, by deletion, by accident."""

import os
import signal
import time

from bot.runs.clusters.jobfolder import JobFolder, held
from bot.runs.clusters.port import JobState, Observation
from tests.runs.clusters.workbench import PATIENCE, Bench, now


def test_over_time_ends_as_timeout_ends_it(bench: Bench) -> None:
    """124 where the program ends when asked, 137 where it has to be made to."""
    bench.launch("mv-a", "sleep 100", timeout=0.2)
    bench.launch("mv-b", "trap '' TERM; echo deaf; sleep 100 & wait; sleep 100", timeout=0.2)
    assert bench.ended("mv-a").exit_code == 124
    assert bench.ended("mv-b").exit_code == 137
    assert bench.said("mv-a") == ["timeout: sending signal TERM to command 'sleep'"]
    assert bench.log("mv-b").endswith("EXIT_CODE=137\n")


def test_a_program_that_cannot_start_says_so(bench: Bench) -> None:
    """As a shell would: 127 and a line."""
    bench.launch("mv-a", "no-such-program")
    assert bench.ended("mv-a").exit_code == 127
    assert bench.said("mv-a") == ["no-such-program: No such file or directory"]


def test_memory_is_limited(bench: Bench) -> None:
    """A program that wants more than its share fails, the machine does not."""
    bench.launch("mv-a", "python3 -c 'bytearray(900 * 2**20)'", memory_mb=400)
    assert bench.ended("mv-a").exit_code == 1
    assert "MemoryError" in bench.log("mv-a")


def test_deleting_ends_every_process_and_keeps_the_log(bench: Bench) -> None:
    """Children and children's children are gone, the name is forgotten, the log has its end."""
    bench.launch("mv-a", "sleep 100 & (trap '' TERM; sleep 100) & echo up; wait")
    bench.until_logged("mv-a", "up")
    now(bench.cluster.delete("mv-a"))
    assert not held(JobFolder(bench.root, "mv-a").log)
    assert now(bench.cluster.observe("mv-a")) == Observation(state=JobState.ABSENT)
    assert now(bench.cluster.names()) == frozenset()
    assert bench.log("mv-a").endswith("EXIT_CODE=143\n")
    now(bench.cluster.delete("mv-a"))


def test_a_job_in_the_queue_can_be_deleted(bench: Bench) -> None:
    """It never starts."""
    bench.launch("mv-a", "sleep 100")
    bench.launch("mv-b", "true")
    now(bench.cluster.delete("mv-b"))
    now(bench.cluster.delete("mv-a"))
    assert not JobFolder(bench.root, "mv-b").log.exists()


def test_a_deleted_name_can_be_launched_again(bench: Bench) -> None:
    """The name is free, and the log is the new run's."""
    bench.launch("mv-a", "echo first")
    bench.ended("mv-a")
    now(bench.cluster.delete("mv-a"))
    bench.launch("mv-a", "echo second")
    bench.ended("mv-a")
    assert bench.said("mv-a") == ["second"]


def test_a_job_whose_supervisor_was_killed_has_ended_without_an_exit_code(bench: Bench) -> None:
    """Its log has no end, what it left running is ended, and the queue moves on."""
    bench.launch("mv-a", "echo up; sleep 100")
    bench.launch("mv-b", "true")
    bench.until_logged("mv-a", "up")
    folder = JobFolder(bench.root, "mv-a")
    supervisor = folder.read("supervisor")
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    assert bench.ended("mv-a").exit_code is None
    assert "XPK End" not in bench.log("mv-a")
    assert bench.ended("mv-b").exit_code == 0
    limit = time.monotonic() + PATIENCE
    while held(folder.log):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_program_that_kills_its_supervisor_is_ended_all_the_same(bench: Bench) -> None:
    """Its process group is known before it lives, so nothing it does first can hide it."""
    bench.launch("mv-a", "kill -9 $PPID; sleep 100")
    assert bench.ended("mv-a").exit_code is None
    limit = time.monotonic() + PATIENCE
    while held(JobFolder(bench.root, "mv-a").log):
        assert time.monotonic() < limit
        time.sleep(0.01)
