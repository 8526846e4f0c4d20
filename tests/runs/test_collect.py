"""Runs are found in a folder, and of each the log is read that speaks for it."""

from pathlib import Path

import pytest

from bot.runs import collect
from bot.runs.collect import Manifests, Sought
from bot.runs.pattern import RunPattern
from bot.storage.artifacts import open_store
from tests.writing import maxtext_log

PATTERN = RunPattern("{slug}/{case}/*.log")
SOUGHT = Sought(slug="main", shas=(), variants=("",), cases=("a",))
NEAR, FAR = "a" * 40, "b" * 40


def _read(folder: Path) -> collect.Collected:
    store = open_store(f"file:{folder}")
    (found,) = collect.find_runs(store, PATTERN, SOUGHT)
    return collect.read_run(store, "acme/maxtext", found, Manifests(store))


def _write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("first", "said"), [(0, "1.log"), (2, "0.log")])
def test_process_0_speaks_for_a_run_and_without_it_the_fullest_log(
    tmp_path: Path, first: int, said: str
) -> None:
    """Whatever the names of the files say."""
    logs = {
        "main__a__0_dot_log": maxtext_log(steps=12, process=1),
        "main__a__1_dot_log": maxtext_log(steps=10, process=first),
    }
    _write(tmp_path, **logs)
    assert (_read(tmp_path).record.log_uri or "").endswith(f"main/a/{said}")


def test_the_commit_is_the_nearest_that_is_recorded(tmp_path: Path) -> None:
    """A file beside the log that records none leaves the word to the folder above."""
    _write(tmp_path, main__a__0_dot_log=maxtext_log(steps=10))
    _write(tmp_path, main__a__summary_dot_json="{}", main__manifest_dot_txt=f"git_commit: {FAR}")
    assert _read(tmp_path).record.sha == FAR
    _write(tmp_path, main__a__manifest_dot_txt=f"git_commit: {NEAR}")
    assert _read(tmp_path).record.sha == NEAR
