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
from tests.end_to_end.scenes import BRANCH, LaunchScene, launch_scene
from tests.log_writers.maxtext import maxtext_log

LAUNCHING = (
    ("admit", "after"),
    ("launch", "before"),
    ("launch", "after"),
    ("let_go", "inside"),
    ("let_go", "after"),
)

ENDING = (
    ("keep the log", "before"),
    ("keep the log", "after"),
    ("read the log", "after"),
    ("settle", "after"),
    ("let_go", "before", "ended"),
    ("let_go", "inside", "ended"),
    ("let_go", "after", "ended"),
)

CANCELLING = (
    ("delete", "before"),
    ("delete", "after"),
    ("let_go", "inside", "cancelled"),
    ("let_go", "after", "cancelled"),
)


@pytest.fixture
def works(tmp_path: Path) -> Iterator[LaunchScene]:
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


def _starts(works: LaunchScene) -> Counter[str]:
    return Counter((works.server.folder / "starts").read_text(encoding="utf-8").split())


def _dies_at(works: LaunchScene, *points: tuple[str, ...]) -> None:
    for point in points:
        works.server.begin("tests.end_to_end.dying", *point)
        works.server.dies()
        works.server.leases_end()


def _rows(works: LaunchScene) -> list[tuple[str, int, int]]:
    """State, attempt, and whether there is a measurement, of every run."""
    with closing(sqlite3.connect(works.server.folder / "data" / "maxview.sqlite")) as file:
        return list(
            file.execute(
                "SELECT state, attempt, measurement.run IS NOT NULL FROM run "
                "LEFT JOIN measurement ON measurement.run = run.id"
            )
        )


def test_a_kill_at_every_write_from_plan_to_measurement_starts_each_job_once(works: LaunchScene) -> None:
    """Twelve deaths, one after another: every run is adopted, ends, and is measured."""
    works.git.write(BRANCH, {"src/a.py": "A = 1\n"}, works.git.head("main"))
    number = works.open()
    works.server.until(works.runs, "runs are planned")
    works.server.kill()
    works.server.leases_end()
    _dies_at(works, *LAUNCHING, *ENDING)
    works.server.start()
    works.server.until(lambda: works.runs() and works.are_over(), "every run is over")
    works.comment(number, "MaxView")
    rows = _rows(works)
    assert set(rows) == {("ended", 1, 1)}
    assert set(_starts(works).values()) == {1}
    assert len(_starts(works)) == len(rows)
    with closing(sqlite3.connect(works.server.folder / "data" / "maxview.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM spend WHERE ended IS NULL").fetchone() == (0,)


def test_a_kill_at_every_write_of_a_cancellation_leaves_no_job(works: LaunchScene) -> None:
    """Four deaths between the operator's wish and its end: the processes are gone, nothing starts again."""
    head = works.commit("A = 1\n")
    works.open()
    works.server.until(lambda: works.running(head), "the head is measured")
    works.server.kill()
    works.server.leases_end()
    database = Database(f"sqlite:///{works.server.folder / 'data' / 'maxview.sqlite'}")
    for run in works.runs():
        database.now(launched_runs.cancel_run, run, now=time.time())
    database.close()
    _dies_at(works, *CANCELLING)
    works.server.start()
    works.server.until(works.are_over, "no job and no open run is left")
    assert set(works.runs(head).values()) == {"cancelled"}
    assert set(_starts(works).values()) <= {1}
