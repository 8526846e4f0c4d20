"""Which commit a run measured, by what its runner left beside the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.runs.commit_of_run import commit_of, names_to_look_for

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
    ) == names_to_look_for("suite/run")


def test_a_run_at_the_top_has_the_root_as_its_parent() -> None:
    """And a log in the root has only the root."""
    assert "manifest.txt" == names_to_look_for("run")[3]
    assert ("manifest.txt", "summary.json", "meta.json") == names_to_look_for("")


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
    assert expected == commit_of(name, text)


@given(st.sampled_from(["manifest.txt", "summary.json"]), st.text())
def test_no_text_is_too_odd(name: str, text: str) -> None:
    """What lies beside a log is anything."""
    found = commit_of(name, text)
    assert found is None or len(found) >= 7
