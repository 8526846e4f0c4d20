"""`maxview parse`: for people, for programs, and with bad input."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Maxview
from tests.log_writers.maxtext import maxtext_log


def test_json_is_one_object_per_run_and_line(maxview: Maxview, good: Path, slow: Path) -> None:
    """Two sources, two lines."""
    result = maxview("parse", "--json", good, slow)
    assert (result.status, result.err) == (0, "")
    documents = [json.loads(line) for line in result.out.splitlines()]
    assert [(one["source"], one["run"]) for one in documents] == [(str(good), 1), (str(slow), 1)]
    assert [one["outcome"]["state"] for one in documents] == ["succeeded", "succeeded"]


def test_people_get_state_steady_step_and_steps_in_80_columns(maxview: Maxview, good: Path) -> None:
    """Nothing is wider than a piped terminal, and nothing ends in blanks."""
    result = maxview("parse", good)
    assert result.status == 0
    assert result.out.startswith("✅ succeeded")
    assert "steady step" in result.out
    assert "• measured for the steady step" in result.out
    assert [line for line in result.out.splitlines() if len(line) > 80 or line != line.rstrip()] == []


def test_a_selector_takes_one_run_of_several(maxview: Maxview, tmp_path: Path) -> None:
    """`#2` is the second; a number too high says how many there are."""
    page = tmp_path / "page.txt"
    page.write_text("".join(maxtext_log(steps=5, workload=one, run_name=one) for one in ("one", "two")))
    assert [json.loads(line)["run"] for line in maxview("parse", "--json", page).out.splitlines()] == [1, 2]
    assert json.loads(maxview("parse", "--json", f"{page}#2").out)["environment"]["run_name"] == "two"
    result = maxview("parse", f"{page}#3")
    assert result.status == 2
    assert result.err == f"maxview: {page}#3: there is no run 3; {page} has 2 runs, #1 to #2\n"


def test_a_file_whose_name_ends_like_a_selector_is_itself(maxview: Maxview, tmp_path: Path) -> None:
    """What exists is meant."""
    path = tmp_path / "run#2"
    path.write_text(maxtext_log(steps=5), encoding="utf-8")
    assert json.loads(maxview("parse", "--json", path).out)["source"] == str(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"milk\neggs\n", "No line of a format that is known was found."),
        (b"", "The log is empty."),
        (bytes(range(256)) * 9, "This is binary data, not a log."),
    ],
)
def test_what_is_no_training_log_is_a_result_with_a_warning(
    maxview: Maxview, tmp_path: Path, content: bytes, why: str
) -> None:
    """Exit 0 and a state, since the file could be read; the warning says what it is."""
    path = tmp_path / "shopping.txt"
    path.write_bytes(content)
    result = maxview("parse", "--json", path)
    assert result.status == 0
    assert json.loads(result.out)["outcome"]["state"] == "not_a_training_log"
    assert result.err == f"maxview: {path} is not a training log: {why}\n"


def test_a_bad_source_does_not_hide_the_good_ones(maxview: Maxview, good: Path, tmp_path: Path) -> None:
    """One line for it, the rest is printed, exit 2."""
    result = maxview("parse", "--json", tmp_path / "missing.log", good)
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert "missing.log" in result.err
    assert json.loads(result.out)["source"] == str(good)


def test_a_log_cannot_write_to_the_terminal(maxview: Maxview, tmp_path: Path) -> None:
    """Escape sequences of a log never reach the screen."""
    path = tmp_path / "odd.log"
    path.write_text(maxtext_log(steps=5, run_name="x\x1b[31mred\x07"), encoding="utf-8")
    result = maxview("parse", path)
    assert "\x1b" not in result.out
    assert "\x07" not in result.out


def test_implausible_values_are_marked_counted_and_listed(maxview: Maxview, tmp_path: Path) -> None:
    """In the table of steps, beside the page's own figures, among the warnings, and in the JSON."""
    text = maxtext_log(steps=12, seed=1)
    line = next(line for line in text.splitlines() if "completed step: 8," in line)
    path = tmp_path / "odd.log"
    path.write_text(text.replace(line, re.sub(r"seconds: [\d.]+", "seconds: -0.200", line)), encoding="utf-8")
    shown = " ".join(maxview("parse", path).out.split())
    assert "✗ not above zero" in shown
    assert re.search(r"✗ made of \d+ implausible values? too", shown)
    assert "struck out of all figures but the page's own: a time or rate that is not above zero" in shown
    assert {
        "step": 8,
        "field": "seconds",
        "value": -0.2,
        "why": "not_positive",
        "text": "-0.2 s is no step time",
    } in json.loads(maxview("parse", "--json", path).out)["implausible"]
