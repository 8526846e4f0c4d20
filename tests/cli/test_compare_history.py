"""`maxview compare --history`: main's earlier runs tell the noise, by the server's rules."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Maxview
from tests.verdict.samples import normals
from tests.writing import maxtext_log


@pytest.fixture
def main_logs(tmp_path: Path) -> list[Path]:
    """Twenty runs of main, 0.15 % apart."""
    paths = [tmp_path / f"main{number}.log" for number in range(20)]
    for number, (path, z) in enumerate(zip(paths, normals(20, 4), strict=True)):
        seconds = 0.2 * (1 + 0.0015 * z)
        path.write_text(maxtext_log(steps=20, step_seconds=seconds, seed=number), encoding="utf-8")
    return paths


def _joined(paths: list[Path]) -> str:
    return ",".join(map(str, paths))


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """A run that is 1.6 % slower."""
    path = tmp_path / "head.log"
    path.write_text(maxtext_log(steps=20, step_seconds=0.2032, seed=77), encoding="utf-8")
    return path


def test_the_noise_is_measured_on_the_runs_given(maxview: Maxview, main_logs: list[Path], head: Path) -> None:
    """With the base's among them it counts once, and the others stand beside it."""
    ran = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs), "--format", "json")
    timing = json.loads(ran.out)["timing"]
    assert (timing["spread"], timing["history"], timing["degrees_of_freedom"]) == ("measured", 20, 19)
    assert (timing["standing"], timing["main_runs"], timing["n"]) == ("main", 19, [1, 1])
    assert timing["verdict"] == "slower"
    assert ran.err == ""


def test_without_them_the_devices_default_stands(maxview: Maxview, main_logs: list[Path], head: Path) -> None:
    """Fourteen are one too few, and 1.6 % then is no more than noise may be."""
    ran = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs[:14]), "--format", "json")
    timing = json.loads(ran.out)["timing"]
    assert (timing["spread"], timing["history"], timing["main_runs"]) == ("device_default", 0, 0)


def test_the_history_is_explained(maxview: Maxview, main_logs: list[Path], head: Path) -> None:
    """How many were used, and what head was held against."""
    ran = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs), "--explain")
    said = " ".join(ran.out.split())
    assert "why: history of main 20 of 20 main runs used" in said
    assert "19 runs of main up to base agree with it" in said
    assert "1 v 1 runs, and 19 runs of main beside base's" in said


def test_it_may_be_given_in_parts(maxview: Maxview, main_logs: list[Path], head: Path) -> None:
    """Two options, one history."""
    parts = ("--history", _joined(main_logs[:10]), "--history", _joined(main_logs[10:]))
    document = json.loads(maxview("compare", main_logs[-1], head, *parts, "--format", "json").out)
    assert document["timing"]["history"] == 20


def test_a_run_under_other_conditions_is_no_history(
    maxview: Maxview, main_logs: list[Path], head: Path
) -> None:
    """It is named with the difference; so are copies and runs without a steady time."""
    text = main_logs[0].read_text(encoding="utf-8")
    main_logs[0].write_text(text.replace("0.9.2", "0.8.1"), encoding="utf-8")
    main_logs[1].write_text(main_logs[2].read_text(encoding="utf-8"), encoding="utf-8")
    main_logs[3].write_text(maxtext_log(steps=3, seed=5), encoding="utf-8")
    ran = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs), "--format", "json")
    assert json.loads(ran.out)["timing"]["history"] == 17
    copies, environment, short = ran.err.splitlines()
    assert copies == f"maxview: {main_logs[2]} is the same run as {main_logs[1]}: it counts once"
    assert environment.startswith(f"maxview: {main_logs[0]} is not in the history: measured on TPU v6 lite")
    assert "0.8.1" in environment
    assert f"{main_logs[3]} is not in the history: no steady step time: too few clean steps" in short


def test_what_is_no_log_is_no_history(maxview: Maxview, good: Path, slow: Path, tmp_path: Path) -> None:
    """One message, exit status 2."""
    other = tmp_path / "notes.txt"
    other.write_text("hello\n", encoding="utf-8")
    ran = maxview("compare", good, slow, "--history", other)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"maxview: {other} is not a training log, so that it is no history\n"
