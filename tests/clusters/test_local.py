"""Jobs on this machine, with real processes.

How jobs on this machine end: by themselves, by limits, by deletion, by accident."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from bot.clusters.interface import JobState, Observation
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.local.job_folder import JobFolder, is_locked
from bot.errors import UserError
from tests.clusters.local_bench import MARK, PATIENCE, LocalBench, run_async


def test_a_log_is_framed_as_xpk_frames_it(bench: LocalBench) -> None:
    """Start, commit, both streams in the order written, end, exit code."""
    bench.launch("mv-a", "cat mark.txt; echo one; echo two >&2; echo {run_name} {case}; exit 3")
    seen = bench.ended("mv-a")
    date = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}"
    assert re.fullmatch(
        rf"XPK Start: {date}\n"
        rf'BENCH_META {{"sha": "{bench.sha}", "case": "01_base", "variant": "default"}}\n'
        rf"here\none\ntwo\nrun-mv-a 01_base\n"
        rf"XPK End: {date}\nEXIT_CODE=3\n",
        bench.log("mv-a"),
    )
    log = JobFolder(bench.root, "mv-a").log
    heard = log.stat().st_mtime
    assert seen == Observation(state=JobState.ENDED, exit_code=3, log_uri=log.as_uri(), last_output=heard)


def test_a_second_launch_of_a_name_does_nothing(bench: LocalBench) -> None:
    """Not while it runs, and not after it ended."""
    counter = bench.folder / "count"
    command = f"echo x >> '{counter}'; sleep 0.2"
    for _ in range(3):
        bench.launch("mv-a", command)
    bench.ended("mv-a")
    bench.launch("mv-a", command)
    bench.launch("mv-b", "true")
    bench.ended("mv-b")
    assert counter.read_text() == "x\n"


def test_jobs_take_turns_in_order(bench: LocalBench) -> None:
    """One at a time, first come first served, also while nobody looks."""
    order = bench.folder / "order"
    for number in range(4):
        bench.launch(f"mv-{'dcba'[number]}", f"echo {number} in >> '{order}'; echo {number} out >> '{order}'")
    assert run_async(bench.cluster.names()) == frozenset({"mv-a", "mv-b", "mv-c", "mv-d"})
    limit = time.monotonic() + PATIENCE
    while not order.exists() or len(order.read_text().splitlines()) < 8:
        assert time.monotonic() < limit
        time.sleep(0.02)
    assert order.read_text().splitlines() == [f"{n} {way}" for n in range(4) for way in ("in", "out")]


def test_a_waiting_job_is_queued(bench: LocalBench) -> None:
    """The one that runs is running, the next is queued, an unknown one is absent."""
    bench.launch("mv-a", "sleep 100")
    bench.launch("mv-b", "true")
    bench.until("mv-a", JobState.RUNNING)
    assert run_async(bench.cluster.observe("mv-b")) == Observation(state=JobState.QUEUED)
    assert run_async(bench.cluster.observe("mv-c")) == Observation(state=JobState.ABSENT)
    assert run_async(bench.cluster.observe("../etc")) == Observation(state=JobState.ABSENT)
    run_async(bench.cluster.delete("mv-a"))
    assert bench.ended("mv-b").exit_code == 0


def test_a_program_sees_few_variables(bench: LocalBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bot's secrets are in its environment; a pull request's code runs in the program."""
    monkeypatch.setenv("GITHUB_PRIVATE_KEY", "c0ffee")
    bench.launch("mv-a", "env; cat /proc/$PPID/environ; echo")
    bench.ended("mv-a")
    assert "c0ffee" not in bench.log("mv-a")
    names = {line.partition("=")[0] for line in bench.said("mv-a")}
    assert {"PATH", "HOME", "TMPDIR", "GREETING", "PYTHONUNBUFFERED"} <= names
    assert "GITHUB_PRIVATE_KEY" not in names
    assert "GREETING=good day" in bench.said("mv-a")


def test_runs_of_a_commit_do_not_see_each_others_files(bench: LocalBench) -> None:
    """Each run has its own copy of the commit."""
    for name in ("mv-a", "mv-b"):
        bench.launch(name, "ls; rm -r code; touch new")
    bench.ended("mv-b")
    assert bench.said("mv-a") == bench.said("mv-b") == ["code", MARK]


def test_the_newest_step_is_seen_while_it_runs(bench: LocalBench) -> None:
    """A log that is still written tells how far it is."""
    said = "echo 'completed step: 6, seconds: 1.0'; echo 'completed step: 7, s'"
    bench.launch("mv-a", f"{said}; sleep 100; train steps=30")
    bench.until_logged("mv-a", "step: 7")
    seen = run_async(bench.cluster.observe("mv-a"))
    assert (seen.state, seen.last_step, seen.expected_steps) == (JobState.RUNNING, 7, 30)
    assert seen.last_output is not None
    assert abs(time.time() - seen.last_output) < PATIENCE
    run_async(bench.cluster.delete("mv-a"))


def test_another_process_finds_the_job_by_name(bench: LocalBench) -> None:
    """All there is to know is in files: a new cluster object adopts what an old one started."""
    bench.launch("mv-a", "sleep 0.3; exit 5")
    bench.cluster = LocalCluster(bench.root)
    assert bench.until("mv-a", JobState.RUNNING).exit_code is None
    assert bench.ended("mv-a").exit_code == 5


def test_several_jobs_run_at_once_where_that_is_allowed(bench: LocalBench) -> None:
    """Two that wait for each other both end."""
    bench.cluster = LocalCluster(bench.root, limit=2)
    for name, other in (("a", "b"), ("b", "a")):
        path = bench.folder / "met"
        bench.launch(f"mv-{name}", f"touch '{path}'{name}; until [ -e '{path}'{other} ]; do sleep 0.01; done")
    assert [bench.ended(name).exit_code for name in ("mv-a", "mv-b")] == [0, 0]


def test_what_a_person_must_put_right_is_told(bench: LocalBench) -> None:
    """A name, a command or a commit that cannot be."""
    with pytest.raises(UserError, match="cannot be the name of a job"):
        bench.launch("Not/a name", "true")
    with pytest.raises(UserError, match="01_base cannot be started"):
        bench.launch("mv-a", "")
    bench.sha = "0" * 40
    with pytest.raises(UserError, match="has no commit"):
        bench.launch("mv-a", "true")
    assert run_async(bench.cluster.names()) == frozenset()


def test_over_time_ends_as_timeout_ends_it(bench: LocalBench) -> None:
    """124 where the program ends when asked, 137 where it has to be made to."""
    bench.launch("mv-a", "sleep 100", timeout=0.2)
    bench.launch("mv-b", "trap '' TERM; echo deaf; sleep 100 & wait; sleep 100", timeout=0.2)
    assert bench.ended("mv-a").exit_code == 124
    assert bench.ended("mv-b").exit_code == 137
    assert bench.said("mv-a") == ["timeout: sending signal TERM to command 'sleep'"]
    assert bench.log("mv-b").endswith("EXIT_CODE=137\n")


def test_a_program_that_cannot_start_says_so(bench: LocalBench) -> None:
    """As a shell would: 127 and a line."""
    bench.launch("mv-a", "no-such-program")
    assert bench.ended("mv-a").exit_code == 127
    assert bench.said("mv-a") == ["no-such-program: No such file or directory"]


def test_memory_is_limited(bench: LocalBench) -> None:
    """A program that wants more than its share fails, the machine does not."""
    bench.launch("mv-a", "python3 -c 'bytearray(900 * 2**20)'", memory_mb=400)
    assert bench.ended("mv-a").exit_code == 1
    assert "MemoryError" in bench.log("mv-a")


def test_deleting_ends_every_process_and_keeps_the_log(bench: LocalBench) -> None:
    """Children and children's children are gone, the name is forgotten, the log has its end."""
    bench.launch("mv-a", "sleep 100 & (trap '' TERM; sleep 100) & echo up; wait")
    bench.until_logged("mv-a", "up")
    run_async(bench.cluster.delete("mv-a"))
    assert not is_locked(JobFolder(bench.root, "mv-a").log)
    assert run_async(bench.cluster.observe("mv-a")) == Observation(state=JobState.ABSENT)
    assert run_async(bench.cluster.names()) == frozenset()
    assert bench.log("mv-a").endswith("EXIT_CODE=143\n")
    run_async(bench.cluster.delete("mv-a"))


def test_a_job_in_the_queue_can_be_deleted(bench: LocalBench) -> None:
    """It never starts."""
    bench.launch("mv-a", "sleep 100")
    bench.launch("mv-b", "true")
    run_async(bench.cluster.delete("mv-b"))
    run_async(bench.cluster.delete("mv-a"))
    assert not JobFolder(bench.root, "mv-b").log.exists()


def test_a_deleted_name_can_be_launched_again(bench: LocalBench) -> None:
    """The name is free, and the log is the new run's."""
    bench.launch("mv-a", "echo first")
    bench.ended("mv-a")
    run_async(bench.cluster.delete("mv-a"))
    bench.launch("mv-a", "echo second")
    bench.ended("mv-a")
    assert bench.said("mv-a") == ["second"]


def test_a_job_whose_supervisor_was_killed_has_ended_without_an_exit_code(bench: LocalBench) -> None:
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
    while is_locked(folder.log):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_program_that_kills_its_supervisor_is_ended_all_the_same(bench: LocalBench) -> None:
    """Its process group is known before it lives, so nothing it does first can hide it."""
    bench.launch("mv-a", "kill -9 $PPID; sleep 100")
    assert bench.ended("mv-a").exit_code is None
    limit = time.monotonic() + PATIENCE
    while is_locked(JobFolder(bench.root, "mv-a").log):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_an_order_that_an_older_program_wrote_is_read(tmp_path: Path) -> None:
    """A job outlives the program that launched it, and so does its folder."""
    folder = JobFolder(tmp_path, "mv-a")
    folder.path.mkdir(parents=True)
    (folder.path / "job.json").write_text(
        '{"job": {"name": "mv-a", "repository": "/r.git", "sha": "ab", "case": "01", "variant": "default",'
        ' "command": "true", "run_name": "run-a", "timeout_seconds": 20, "memory_mb": null,'
        ' "environment": [["GREETING", "good day"]], "place": null, "image": "", "labels": []},'
        ' "turn": 1795003200000000000, "commit": "/commits/ab", "grace_seconds": 5.0}'
    )
    order = folder.read_order()
    assert (order.turn, order.commit, order.grace_seconds) == (1795003200000000000, "/commits/ab", 5.0)
    assert (order.job.command, order.job.environment) == ("true", (("GREETING", "good day"),))


def test_a_forgotten_job_leaves_nothing(bench: LocalBench) -> None:
    """Its processes end; its log and its commit's files are gone. Other names harm nothing."""
    bench.launch("a", "sleep 60")
    bench.until("a", JobState.RUNNING)
    run_async(bench.cluster.forget(["a", "never-there", "../x"], {bench.sha, "../../x"}))
    left = [path for path in bench.root.rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    assert ([], JobState.ABSENT) == ([path for path in left if path.name != "limit"], _state(bench, "a"))
    bench.launch("b", "true")
    assert 0 == bench.ended("b").exit_code


def test_a_commit_that_another_job_needs_is_not_forgotten(bench: LocalBench) -> None:
    """A job that waits is somebody else's of the same commit."""
    bench.launch("a", "sleep 60")
    bench.launch("b", "true")
    run_async(bench.cluster.forget(["a"], {bench.sha}))
    assert 0 == bench.ended("b").exit_code


def _state(bench: LocalBench, name: str) -> JobState:
    return run_async(bench.cluster.observe(name)).state
