"""`maxview runs`: what an operator sees of launched runs, and what comes of what they ask for."""

import json
from pathlib import Path

import alembic.command
import pytest
from msgspec.structs import replace
from sqlalchemy import create_engine

from bot.artifacts.sources import open_store
from bot.cli import terminal
from bot.clusters.interface import ClusterFault
from bot.clusters.local.job_folder import JobFolder
from bot.domain.pull_request import MAIN_ROW_NUMBER
from bot.domain.run import RunState
from bot.planning import plan
from bot.storage import pull_requests, runs
from bot.storage.database import Database
from bot.storage.migrations import configuration
from tests.cli.conftest import Maxview
from tests.worker.fake_cluster import LOG, FakeCluster, RunProcess, planned_run

FIRST_RUN = planned_run(key="aaaa0001cccccccc", case="04_int8")

SECOND_RUN = planned_run(key="aaaa0002cccccccc", case="03_dropout")

LOCAL_RUN = planned_run(key="bbbb000000000003", case="11_offload", place=None)

ALL_RUNS = (FIRST_RUN, SECOND_RUN, LOCAL_RUN)


@pytest.fixture
def process(
    database: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> RunProcess:
    """A server's process with three launched runs that pull request 7 wants, and its settings."""
    import time  # noqa: PLC0415 - the command reads the real clock

    now = time.time() - 100
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=now)
    database.write_now(runs.plan_runs, ALL_RUNS, repository="acme/maxtext", number=7, now=now)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.delenv("GITHUB_APP_ID", raising=False)
    store = open_store(f"file:{tmp_path / 'artifacts'}")
    process = RunProcess(database=database, cluster=FakeCluster(), artifacts=store, clock=[now + 1])
    process.step(3)
    process.cluster.runs_on(FIRST_RUN.job.name, last_step=6, expected_steps=10)
    process.later()
    return process


def _state(process: RunProcess, one: plan.PlannedRun) -> RunState:
    return process.record(one.record.id).state


def test_the_list_shows_what_waits_and_what_runs(process: RunProcess, maxview: Maxview) -> None:
    """One line a run: which case, where, how it stands and how far it is."""
    result = maxview("runs")
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["run", "case", "where", "for", "state"]
    first = next(line for line in lines if "04_int8 · linen" in line)
    assert first.split()[0] == FIRST_RUN.record.id[:8]
    assert first.endswith("running: step 6 of 10")
    assert "this machine" in next(line for line in lines if "11_offload" in line)
    again = maxview("runs", "list")
    assert [line.split()[0] for line in again.out.splitlines()] == [line.split()[0] for line in lines]


def test_finished_runs_are_listed_with_all(process: RunProcess, maxview: Maxview) -> None:
    """Ended runs are left out of the ordinary list, and limits and repositories narrow it."""
    process.cluster.ends(FIRST_RUN.job.name)
    process.later()
    assert "04_int8" not in maxview("runs").out
    assert "04_int8" in maxview("runs", "list", "--all").out
    assert len(maxview("runs", "list", "--all", "--limit", "1", "--json").out.splitlines()) == 1
    assert maxview("runs", "list", "--repository", "acme/other").out.strip().startswith("No run waits")


def test_programs_get_one_object_a_run(process: RunProcess, maxview: Maxview) -> None:
    """Plain values, each line by itself."""
    objects = [json.loads(line) for line in maxview("runs", "list", "--json").out.splitlines()]
    first = next(one for one in objects if one["run"] == FIRST_RUN.record.id)
    assert {one["run"] for one in objects} == {one.record.id for one in ALL_RUNS}
    assert (first["state"], first["last_step"], first["expected_steps"]) == ("running", 6, 10)
    assert (first["wanted_by"], first["place"], first["attempt"]) == ([7], "p/z/c", 1)


def test_a_run_is_shown_with_its_past_attempts(process: RunProcess, maxview: Maxview) -> None:
    """When, why and what the cluster said, on lines that a cluster's words cannot break."""
    process.cluster.fails(FIRST_RUN.job.name, ClusterFault.PREEMPTED, "by\x1b[31m prod\nnamespace")
    process.later()
    shown = maxview("runs", "show", "aaaa0001")
    assert shown.status == 0
    assert "attempt 2, since it was preempted" in shown.out
    assert "\x1b" not in shown.out
    assert FIRST_RUN.job.name in shown.out
    document = json.loads(maxview("runs", "show", "aaaa0001", "--json").out)
    assert [(one["attempt"], one["why"]) for one in document["past"]] == [(1, "it was preempted")]


def test_a_kept_log_is_streamed_as_it_was_written(process: RunProcess, maxview: Maxview) -> None:
    """Every byte, of the last attempt or of an earlier one."""
    process.cluster.logs[FIRST_RUN.job.name] = "first attempt\n"
    process.cluster.fails(FIRST_RUN.job.name, ClusterFault.PREEMPTED)
    process.later()
    process.later(30)
    process.cluster.ends(f"{FIRST_RUN.job.name}-2")
    process.later()
    assert maxview("runs", "log", "aaaa0001").out == LOG
    assert maxview("runs", "log", "aaaa0001", "--attempt", "1").out == "first attempt\n"
    missing = maxview("runs", "log", "aaaa0001", "--attempt", "9")
    assert (missing.status, missing.out) == (2, "")


def test_the_log_of_a_job_that_runs_here_is_streamed_so_far(
    process: RunProcess, maxview: Maxview, tmp_path: Path
) -> None:
    """Before it is kept it is read where it is written; elsewhere the command says how to read it."""
    written = JobFolder(tmp_path / "cluster", LOCAL_RUN.job.name).log
    written.parent.mkdir(parents=True)
    written.write_text("so far\n", encoding="utf-8")
    assert maxview("runs", "log", "bbbb").out == "so far\n"
    elsewhere = maxview("runs", "log", "aaaa0001")
    assert elsewhere.status == 2
    assert f"jobset-name={FIRST_RUN.job.name}" in elsewhere.err


def test_a_cancelled_run_is_ended_and_stays_cancelled(process: RunProcess, maxview: Maxview) -> None:
    """The server ends the job; a look of the pull request that still wants it does not start it anew."""
    assert maxview("runs", "cancel", "aaaa0001").status == 0
    assert "to be cancelled" in " ".join(maxview("runs").out.split())
    process.later(200)
    process.later()
    assert _state(process, FIRST_RUN) is RunState.CANCELLED
    assert FIRST_RUN.job.name not in process.cluster.jobs
    process.database.write_now(
        runs.plan_runs, ALL_RUNS, repository="acme/maxtext", number=7, now=process.clock[0]
    )
    process.later()
    assert _state(process, FIRST_RUN) is RunState.CANCELLED


def test_a_cancelled_run_is_run_again_when_asked_for(process: RunProcess, maxview: Maxview) -> None:
    """As another attempt that goes on to its end, even where no pull request wants it any more."""
    maxview("runs", "cancel", "aaaa0001")
    process.later(200)
    process.later()
    process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)
    assert maxview("runs", "retry", "aaaa0001").status == 0
    process.later()
    again = f"{FIRST_RUN.job.name}-2"
    assert list(process.cluster.jobs) == [again]
    process.cluster.ends(again)
    process.later()
    assert (_state(process, FIRST_RUN), process.record(FIRST_RUN.record.id).attempt) == (RunState.ENDED, 2)


def test_an_impossible_action_is_one_line(process: RunProcess, maxview: Maxview) -> None:
    """Unknown and ambiguous ids, an open run to retry, an ended one to cancel: status 2, what to do."""
    process.cluster.ends(SECOND_RUN.job.name)
    process.later()
    answers = {
        ("show", "ffff"): "no launched run's id begins with 'ffff'",
        ("show", "aaaa"): "give more characters",
        ("show", "a"): "too short",
        ("show", "aa%a"): "no launched run's id begins with 'aa%a'",
        ("retry", "aaaa0001"): "is running: only what is over can run again",
        ("cancel", "aaaa0002"): "is ended already: there is nothing to cancel",
    }
    for arguments, words in answers.items():
        result = maxview("runs", *arguments)
        assert (result.status, result.out) == (2, ""), arguments
        assert words in result.err
        assert len(result.err.splitlines()) == 1


def test_a_wrong_folder_is_no_empty_list(
    maxview: Maxview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no database nothing is made, and the settings are named."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "elsewhere"))
    result = maxview("runs")
    assert result.status == 2
    assert "DATA_DIR" in result.err
    assert not (tmp_path / "elsewhere").exists()


def test_found_runs_are_not_launched_ones(process: RunProcess, maxview: Maxview) -> None:
    """A run that was found in a bucket cannot be cancelled or run again here."""
    found = replace(FIRST_RUN.record, id="cccc000000000004", key=None, state=RunState.ENDED)
    process.database.write_now(runs.save, found, now=process.clock[0])
    assert maxview("runs", "show", "cccc").status == 2


def test_branches_that_want_a_run_are_named(process: RunProcess, maxview: Maxview) -> None:
    """The default branch, which is measured by the clock, and one that is watched without a pull request."""
    number = process.database.write_now(
        pull_requests.watch_branch,
        repository="acme/maxtext",
        branch="test_5",
        installation=1,
        sha=None,
        now=1.0,
    )
    for wanter in (MAIN_ROW_NUMBER, number):
        process.database.write_now(
            runs.plan_runs, [LOCAL_RUN], repository="acme/maxtext", number=wanter, now=1.0
        )
    assert "wanted by   #7, the branch main, the branch test_5" in maxview("runs", "show", "bbbb").out
    (one,) = map(json.loads, maxview("runs", "show", "bbbb", "--json").out.splitlines())
    assert ([7], ["main", "test_5"]) == (one["wanted_by"], sorted(one["wanted_by_branches"]))


def test_a_narrow_terminal_keeps_ids_whole(
    process: RunProcess, maxview: Maxview, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are there to be copied."""
    monkeypatch.setattr(terminal, "PIPED_COLUMNS", 40)
    listed = maxview("runs").out
    assert max(map(len, listed.splitlines())) <= 40
    assert {one.record.id[:8] for one in ALL_RUNS} <= set(listed.split())


def test_a_database_without_tables_is_an_error(
    maxview: Maxview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was never started leaves an empty one at most."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    (tmp_path / "maxview.sqlite").touch()
    result = maxview("runs")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "the database is empty: start maxview serve once" in result.err


def test_a_database_of_the_first_release_is_an_error(
    maxview: Maxview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a server brings it up to date; until then there is one line, and no failure of ours."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    engine = create_engine(f"sqlite:///{tmp_path / 'maxview.sqlite'}")
    settings = configuration()
    with engine.begin() as connection:
        settings.attributes["connection"] = connection
        alembic.command.upgrade(settings, "0001")
    engine.dispose()
    result = maxview("runs")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "start maxview serve once, which brings it up to date" in result.err


def test_wrong_words_after_a_command_are_one_line(process: RunProcess, maxview: Maxview) -> None:
    """As everywhere."""
    result = maxview("runs", "list", "--limit", "many")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "maxview runs list --help" in result.err
