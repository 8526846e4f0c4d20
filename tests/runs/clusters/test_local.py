"""Jobs on this machine, with real processes."""

import re
import time

import pytest

from bot.errors import Told
from bot.runs.clusters.jobfolder import JobFolder
from bot.runs.clusters.local import LocalCluster
from bot.runs.clusters.port import JobState, Observation
from tests.runs.clusters.workbench import MARK, PATIENCE, Bench, now


def test_a_log_is_framed_as_xpk_frames_it(bench: Bench) -> None:
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
    assert seen == Observation(state=JobState.ENDED, exit_code=3, log_uri=log.as_uri(), heard=heard)


def test_a_second_launch_of_a_name_does_nothing(bench: Bench) -> None:
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


def test_jobs_take_turns_in_order(bench: Bench) -> None:
    """One at a time, first come first served, also while nobody looks."""
    order = bench.folder / "order"
    for number in range(4):
        bench.launch(f"mv-{'dcba'[number]}", f"echo {number} in >> '{order}'; echo {number} out >> '{order}'")
    assert now(bench.cluster.names()) == frozenset({"mv-a", "mv-b", "mv-c", "mv-d"})
    limit = time.monotonic() + PATIENCE
    while not order.exists() or len(order.read_text().splitlines()) < 8:
        assert time.monotonic() < limit
        time.sleep(0.02)
    assert order.read_text().splitlines() == [f"{n} {way}" for n in range(4) for way in ("in", "out")]


def test_a_waiting_job_is_queued(bench: Bench) -> None:
    """The one that runs is running, the next is queued, an unknown one is absent."""
    bench.launch("mv-a", "sleep 100")
    bench.launch("mv-b", "true")
    bench.until("mv-a", JobState.RUNNING)
    assert now(bench.cluster.observe("mv-b")) == Observation(state=JobState.QUEUED)
    assert now(bench.cluster.observe("mv-c")) == Observation(state=JobState.ABSENT)
    assert now(bench.cluster.observe("../etc")) == Observation(state=JobState.ABSENT)
    now(bench.cluster.delete("mv-a"))
    assert bench.ended("mv-b").exit_code == 0


def test_a_program_sees_few_variables(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bot's secrets are in its environment; a pull request's code runs in the program."""
    monkeypatch.setenv("GITHUB_PRIVATE_KEY", "secret")
    bench.launch("mv-a", "env")
    bench.ended("mv-a")
    names = {line.partition("=")[0] for line in bench.said("mv-a")}
    assert {"PATH", "HOME", "TMPDIR", "GREETING", "PYTHONUNBUFFERED"} <= names
    assert "GITHUB_PRIVATE_KEY" not in names
    assert "GREETING=good day" in bench.said("mv-a")


def test_runs_of_a_commit_do_not_see_each_others_files(bench: Bench) -> None:
    """Each run has its own copy of the commit."""
    for name in ("mv-a", "mv-b"):
        bench.launch(name, "ls; rm -r code; touch new")
    bench.ended("mv-b")
    assert bench.said("mv-a") == bench.said("mv-b") == ["code", MARK]


def test_the_newest_step_is_seen_while_it_runs(bench: Bench) -> None:
    """A log that is still written tells how far it is."""
    said = "echo 'completed step: 6, seconds: 1.0'; echo 'completed step: 7, s'"
    bench.launch("mv-a", f"{said}; sleep 100; train steps=30")
    bench.until_logged("mv-a", "step: 7")
    seen = now(bench.cluster.observe("mv-a"))
    assert (seen.state, seen.last_step, seen.expected_steps) == (JobState.RUNNING, 7, 30)
    assert seen.heard is not None
    assert abs(time.time() - seen.heard) < PATIENCE
    now(bench.cluster.delete("mv-a"))


def test_another_process_finds_the_job_by_name(bench: Bench) -> None:
    """All there is to know is in files: a new cluster object adopts what an old one started."""
    bench.launch("mv-a", "sleep 0.3; exit 5")
    bench.cluster = LocalCluster(bench.root)
    assert bench.until("mv-a", JobState.RUNNING).exit_code is None
    assert bench.ended("mv-a").exit_code == 5


def test_several_jobs_run_at_once_where_that_is_allowed(bench: Bench) -> None:
    """Two that wait for each other both end."""
    bench.cluster = LocalCluster(bench.root, limit=2)
    for name, other in (("a", "b"), ("b", "a")):
        path = bench.folder / "met"
        bench.launch(f"mv-{name}", f"touch '{path}'{name}; until [ -e '{path}'{other} ]; do sleep 0.01; done")
    assert [bench.ended(name).exit_code for name in ("mv-a", "mv-b")] == [0, 0]


def test_what_a_person_must_put_right_is_told(bench: Bench) -> None:
    """A name, a command or a commit that cannot be."""
    with pytest.raises(Told, match="cannot be the name of a job"):
        bench.launch("Not/a name", "true")
    with pytest.raises(Told, match="01_base cannot be started"):
        bench.launch("mv-a", "")
    bench.sha = "0" * 40
    with pytest.raises(Told, match="has no commit"):
        bench.launch("mv-a", "true")
    assert now(bench.cluster.names()) == frozenset()
