"""Runs are found, read and measured, and their commit is read from manifests."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.artifacts.sources import open_store
from bot.domain.run_pattern import RunPattern
from bot.ingest import collect
from bot.ingest.collect import ImportQuery, ManifestReader, manifest_commit, manifest_paths
from tests.log_writers.maxtext import maxtext_log

PATTERN = RunPattern("{slug}/{case}/*.log")

SOUGHT = ImportQuery(slug="main", shas=(), variants=("",), cases=("a",))

NEAR, FAR = "a" * 40, "b" * 40


def _read(folder: Path) -> collect.ImportedRun:
    store = open_store(f"file:{folder}")
    (found,) = collect.find_runs(store, PATTERN, SOUGHT)
    return collect.read_run(store, "acme/maxtext", found, ManifestReader(store))


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


SHA = "574ad3fb9c1e0d2b3a4f5061728394a5b6c7d8e9"


def test_the_runs_folder_comes_before_its_parent() -> None:
    """The nearest record is the one that was written with the log."""
    assert (
        "suite/run/manifest.txt",
        "suite/run/summary.json",
        "suite/run/meta.json",
        "suite/manifest.txt",
        "suite/summary.json",
        "suite/meta.json",
    ) == manifest_paths("suite/run")


def test_a_run_at_the_top_has_the_root_as_its_parent() -> None:
    """And a log in the root has only the root."""
    assert "manifest.txt" == manifest_paths("run")[3]
    assert ("manifest.txt", "summary.json", "meta.json") == manifest_paths("")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a/manifest.txt", f"run_id: x\ngit_branch: main\ngit_commit: {SHA}\njax: 0.9.2\n", SHA),
        ("manifest.txt", f"git_commit={SHA[:7]}\r\n", SHA[:7]),
        ("manifest.txt", f"  git_commit = '{SHA.upper()}'", SHA),
        ("manifest.txt", f"my_git_commit: {SHA}\n", None),
        ("manifest.txt", "git_commit: 574ad3f-dirty\n", None),
        ("manifest.txt", "git_commit: 574ad3\n", None),
        ("manifest.txt", "git_commit: main\n", None),
        ("manifest.txt", "git_commit:\njax: 0.9.2\n", None),
        ("manifest.txt", "", None),
        ("summary.json", f'{{"run_id": "x", "git_commit": "{SHA}"}}', SHA),
        ("meta.json", f'{{"git_commit": "{SHA[:8]}"}}', SHA[:8]),
        ("summary.json", '{"pass": 3}', None),
        ("summary.json", '{"git_commit": 5740000}', None),
        ("summary.json", "[1, 2]", None),
        ("summary.json", '{"git_commit": "574', None),
        ("summary.json", "[" * 100_000, None),
    ],
)
def test_a_commit_is_read_or_it_is_not_there(name: str, text: str, expected: str | None) -> None:
    """A tag, a branch or a dirty tree names no commit."""
    assert expected == manifest_commit(name, text)


@given(st.sampled_from(["manifest.txt", "summary.json"]), st.text())
def test_no_text_is_too_odd(name: str, text: str) -> None:
    """What lies beside a log is anything."""
    found = manifest_commit(name, text)
    assert found is None or len(found) >= 7
