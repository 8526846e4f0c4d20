"""The real process dies at every write of a run's life: each job is started once, and no run is lost."""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import launched_runs
from bot.storage.database import Database
from bot.storage.launched_runs import release_run
from tests.end_to_end.scenes import BRANCH, LaunchScene, launch_scene
from tests.log_writers.maxtext import maxtext_log

RELEASE = release_run.__name__

LAUNCHING = (
    ("admit", "after"),
    ("launch", "before"),
    ("launch", "after"),
    (RELEASE, "inside"),
    (RELEASE, "after"),
)

ENDING = (
    ("keep the log", "before"),
    ("keep the log", "after"),
    ("read the log", "after"),
    ("settle", "after"),
    (RELEASE, "before", "ended"),
    (RELEASE, "inside", "ended"),
    (RELEASE, "after", "ended"),
)

CANCELLING = (
    ("delete", "before"),
    ("delete", "after"),
    (RELEASE, "inside", "cancelled"),
    (RELEASE, "after", "cancelled"),
)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[LaunchScene]:
    """A server whose jobs write down that they were started, and say what a training program says."""
    with launch_scene(tmp_path) as made:
        job = (
            "import pathlib, sys, time\n"
            f"with open({str(tmp_path / 'starts')!r}, 'a') as starts:\n"
            "    starts.write(sys.argv[2] + '\\n')\n"
            "print(pathlib.Path('log.txt').read_text(), flush=True)\n"
            "time.sleep(300 if pathlib.Path('slow').exists() else 0)\n"
        )
        made.git.write("main", {"job.py": job, "log.txt": maxtext_log(steps=20)})
        yield made


def _starts(scene: LaunchScene) -> Counter[str]:
    return Counter((scene.server.folder / "starts").read_text(encoding="utf-8").split())


def _dies_at(scene: LaunchScene, *points: tuple[str, ...]) -> None:
    for point in points:
        scene.server.start_module("tests.end_to_end.crashing_server", *point)
        scene.server.wait_for_death()
        scene.server.expire_leases()


def _rows(scene: LaunchScene) -> list[tuple[str, int, int]]:
    """State, attempt, and whether there is a measurement, of every run."""
    with closing(sqlite3.connect(scene.server.folder / "data" / "maxview.sqlite")) as file:
        return list(
            file.execute(
                "SELECT state, attempt, measurement.run IS NOT NULL FROM run "
                "LEFT JOIN measurement ON measurement.run = run.id"
            )
        )


def test_a_kill_at_every_write_from_plan_to_measurement_starts_each_job_once(scene: LaunchScene) -> None:
    """Twelve kills in a row: every run is adopted, ends, and is measured."""
    scene.git.write(BRANCH, {"src/a.py": "A = 1\n"}, scene.git.head("main"))
    number = scene.open()
    scene.server.wait_until(scene.runs, "runs are planned")
    scene.server.kill()
    scene.server.expire_leases()
    _dies_at(scene, *LAUNCHING, *ENDING)
    scene.server.start()
    scene.server.wait_until(lambda: scene.runs() and scene.are_over(), "every run is over")
    scene.comment(number, "MaxView")
    rows = _rows(scene)
    assert set(rows) == {("ended", 1, 1)}
    assert set(_starts(scene).values()) == {1}
    assert len(_starts(scene)) == len(rows)
    with closing(sqlite3.connect(scene.server.folder / "data" / "maxview.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM spend WHERE ended IS NULL").fetchone() == (0,)


def test_a_kill_at_every_write_of_a_cancellation_leaves_no_job(scene: LaunchScene) -> None:
    """Four kills between the operator's cancellation and its end: the processes are gone, nothing starts
    again."""
    head = scene.commit("A = 1\n")
    scene.open()
    scene.server.wait_until(lambda: scene.running(head), "the head is measured")
    scene.server.kill()
    scene.server.expire_leases()
    database = Database(f"sqlite:///{scene.server.folder / 'data' / 'maxview.sqlite'}")
    for run in scene.runs():
        database.write_now(launched_runs.cancel_run, run, now=time.time())
    database.close()
    _dies_at(scene, *CANCELLING)
    scene.server.start()
    scene.server.wait_until(scene.are_over, "no job and no open run is left")
    assert set(scene.runs(head).values()) == {"cancelled"}
    assert set(_starts(scene).values()) <= {1}
