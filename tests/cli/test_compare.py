"""`maxview compare`: one verdict in four formats.

`maxview compare --history`: main's earlier runs tell the noise, by the server's rules."""

import gzip
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Maxview
from tests.log_writers.maxtext import TRACEBACK, maxtext_log
from tests.report.github_rendering import broken_tables
from tests.verdict.made_runs import normals


def test_the_verdict_comes_first_with_its_number(maxview: Maxview, good: Path, slow: Path) -> None:
    """The verdict is the first line."""
    result = maxview("compare", good, slow)
    assert result.status == 0
    assert result.out.startswith("🔴 slower: +")
    assert [line for line in result.out.splitlines() if len(line) > 80 or line != line.rstrip()] == []


def test_a_red_verdict_exits_1_only_where_that_was_asked_for(
    maxview: Maxview, good: Path, slow: Path, tmp_path: Path
) -> None:
    """A gate can be built on it."""
    again = tmp_path / "again.log"
    again.write_text(maxtext_log(steps=20, seed=77), encoding="utf-8")
    assert maxview("compare", good, slow, "--fail-on-regression").status == 1
    assert maxview("compare", good, again, "--fail-on-regression").status == 0


def test_a_log_against_itself_is_refused(maxview: Maxview, good: Path, tmp_path: Path) -> None:
    """Also as a copy, packed or among others: it would be green and show nothing."""
    copy, other = tmp_path / "copy.log.gz", tmp_path / "other.log"
    copy.write_bytes(gzip.compress(good.read_bytes()))
    other.write_text(maxtext_log(steps=12, seed=78), encoding="utf-8")
    for head in (str(good), str(copy), f"{other},{copy}"):
        result = maxview("compare", good, head)
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith(f"maxview: {good} and ")
        assert "hold the same run: a log against itself shows nothing" in result.err


def test_more_cases_need_more_evidence(maxview: Maxview, good: Path, slow: Path) -> None:
    """As in a report of that many; no number is named in one line."""
    bands = [
        json.loads(maxview("compare", good, slow, "--format", "json", "--cases", count).out)["timing"]
        for count in (1, 25)
    ]
    assert [one["comparable_cases"] for one in bands] == [1, 25]
    refused = maxview("compare", good, slow, "--cases", "none")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "none is not a number of cases" in refused.err


@pytest.mark.parametrize("output_format", ["text", "markdown", "json", "html"])
def test_all_formats_say_the_same_verdict(
    maxview: Maxview, good: Path, slow: Path, output_format: str
) -> None:
    """They are renderings of one comparison."""
    assert "slower" in maxview("compare", good, slow, "--format", output_format).out


def test_json_is_the_contract(maxview: Maxview, good: Path, slow: Path) -> None:
    """Programs read the verdict, its figures, and both runs."""
    document = json.loads(maxview("compare", good, slow, "--format", "json").out)
    assert document["verdict"] == "slower"
    assert document["timing"]["change_percent"] == pytest.approx(20, abs=1.5)
    assert {"schema", "timing", "loss", "caveats", "rows", "base", "head"} <= set(document)
    assert document["rows"][0]["metric"] == "parameters_billion"


def test_markdown_has_whole_tables(maxview: Maxview, good: Path, slow: Path) -> None:
    """GitHub would render it."""
    assert broken_tables(maxview("compare", good, slow, "--format", "markdown").out) == []


def test_the_page_loads_nothing_and_escapes_everything(maxview: Maxview, good: Path, tmp_path: Path) -> None:
    """One file, no script, no address, and a log cannot write tags into it."""
    failed = tmp_path / "<b>failed.log"
    failed.write_text(
        maxtext_log(steps=0, exit_code=1, failure=TRACEBACK + "\nValueError: <script>x</script>"),
        encoding="utf-8",
    )
    page = maxview("compare", good, failed, "--format", "html").out
    assert "new failure" in page
    for trap in ("<script", "<b>failed", "http://", "https://", "src=", "@import", "url("):
        assert trap not in page


def test_repeats_are_joined_by_commas(maxview: Maxview, good: Path, slow: Path, tmp_path: Path) -> None:
    """Three against two."""
    others = [tmp_path / f"{n}.log" for n in range(3)]
    for n, other in enumerate(others):
        other.write_text(maxtext_log(steps=12, seed=10 + n), encoding="utf-8")
    base, head = ",".join(map(str, (good, *others[:2]))), f"{slow},{others[2]}"
    result = maxview("compare", base, head, "--format", "json")
    assert (json.loads(result.out)["timing"]["n"], result.err) == ([3, 2], "")


def test_a_run_that_is_given_twice_is_no_repeat(
    maxview: Maxview, good: Path, slow: Path, tmp_path: Path
) -> None:
    """Copies have no noise between them: whatever the copy is called or packed in, the run counts once."""
    copy = tmp_path / "copy.log.gz"
    copy.write_bytes(gzip.compress(good.read_bytes().replace(b"\n", b"\r\n")))
    result = maxview("compare", f"{good},{copy},{good}", slow, "--format", "json")
    assert json.loads(result.out)["timing"]["n"] == [1, 1]
    assert result.err.splitlines() == [
        f"maxview: {again} is the same run as {good}: it counts once" for again in (copy, good)
    ]


def test_a_source_of_several_runs_says_what_to_type(maxview: Maxview, good: Path, tmp_path: Path) -> None:
    """The selectors stand in the message."""
    page = tmp_path / "page.txt"
    page.write_text(
        "".join(
            maxtext_log(steps=5, workload=one, run_name=one, seed=seed)
            for seed, one in enumerate(("one", "two"))
        )
    )
    result = maxview("compare", page, page)
    assert (result.status, result.out) == (2, "")
    assert result.err == f"maxview: {page} holds 2 runs: name one, for example {page}#1 and {page}#2\n"
    assert maxview("compare", f"{page}#1", f"{page}#2").status == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "The log is empty."),
        (bytes(range(256)) * 400, "This is binary data, not a log."),
        (b"Dear reader, the loss fell.\n" * 50, "No line of a format that is known was found."),
    ],
)
def test_no_gate_passes_on_a_side_that_is_no_training_log(
    maxview: Maxview, good: Path, tmp_path: Path, content: bytes, why: str
) -> None:
    """Nothing was compared: bad input, whichever side it is, and one line says so."""
    odd = tmp_path / "odd.log"
    odd.write_bytes(content)
    for sides in ((good, odd), (odd, good), (good, f"{good},{odd}")):
        result = maxview("compare", *sides, "--fail-on-regression")
        assert (result.status, result.out) == (2, "")
        assert result.err == f"maxview: {odd} is not a training log: {why}\n"


def test_a_closed_pipe_keeps_the_exit_status_of_a_red_verdict(good: Path, slow: Path) -> None:
    """With `| head` and pipefail the red verdict is still the exit status, without a complaint."""
    command = [
        sys.executable,
        "-m",
        "bot",
        "compare",
        str(good),
        str(slow),
        "--explain",
        "--fail-on-regression",
    ]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (1, b"") == (ended.returncode, ended.stderr)


def test_both_sides_cannot_be_standard_input(maxview: Maxview) -> None:
    """There is only one."""
    assert maxview("compare", "-", "-").err == "maxview: BASE and HEAD cannot both be standard input\n"


def test_explain_says_why_in_every_format_and_only_when_asked(
    maxview: Maxview, good: Path, slow: Path
) -> None:
    """Samples, arithmetic and places in the log, in 80 columns; without the flag nothing is longer."""
    result = maxview("compare", "--explain", good, slow)
    for part in ("why: base run", "kept: steps", "dropped: steps 0–2 (warm-up", "at byte", "T = max("):
        assert part in result.out
    assert [line for line in result.out.splitlines() if len(line) > 80 or line != line.rstrip()] == []
    assert "why:" not in maxview("compare", good, slow).out
    for output_format, sign in (("markdown", "<summary>Why</summary>"), ("html", "<summary>Why: samples")):
        assert sign in maxview("compare", "--explain", good, slow, "--format", output_format).out
        assert sign not in maxview("compare", good, slow, "--format", output_format).out


def test_the_explanation_is_in_the_json_with_the_decisions_own_numbers(
    maxview: Maxview, good: Path, slow: Path
) -> None:
    """Programs can repeat the arithmetic."""
    document = json.loads(maxview("compare", "--explain", good, slow, "--format", "json").out)
    why = document["explanation"]
    assert why["arithmetic"]["decision"] == document["timing"]["verdict"] == "slower"
    assert 100 * (math.exp(why["arithmetic"]["change"]) - 1) == pytest.approx(
        document["timing"]["change_percent"], abs=0.01
    )
    assert why["base"][0]["kept_count"] == document["base"]["measurements"]["steady_kept"]
    assert "explanation" not in json.loads(maxview("compare", good, slow, "--format", "json").out)


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
    result = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs), "--format", "json")
    timing = json.loads(result.out)["timing"]
    assert (timing["spread"], timing["history"], timing["degrees_of_freedom"]) == ("measured", 20, 19)
    assert (timing["standing"], timing["main_runs"], timing["n"]) == ("main", 19, [1, 1])
    assert (timing["verdict"], timing["confirms"]) == ("confirming", "slower")
    assert timing["confirm_runs"] == {"base": 0, "head": 2}
    assert (timing["loop"]["history"], timing["loop"]["verdict"]) == (20, "confirming")
    assert result.err == ""


def test_without_history_the_default_noise_of_the_device_is_used(
    maxview: Maxview, main_logs: list[Path], head: Path
) -> None:
    """Fourteen are one too few, and 1.6 % then is no more than noise may be."""
    result = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs[:14]), "--format", "json")
    timing = json.loads(result.out)["timing"]
    assert (timing["spread"], timing["history"], timing["main_runs"]) == ("device_default", 0, 0)


def test_the_history_is_explained(maxview: Maxview, main_logs: list[Path], head: Path) -> None:
    """How many were used, and what head was held against."""
    result = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs), "--explain")
    output = " ".join(result.out.split())
    assert "why: history of main 20 of 20 main runs used" in output
    assert "19 runs of main up to base agree with it" in output
    assert "1 v 1 runs, and 19 runs of main beside base's" in output


def test_history_may_be_given_in_several_options(maxview: Maxview, main_logs: list[Path], head: Path) -> None:
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
    result = maxview("compare", main_logs[-1], head, "--history", _joined(main_logs), "--format", "json")
    assert json.loads(result.out)["timing"]["history"] == 17
    copies, environment, short = result.err.splitlines()
    assert copies == f"maxview: {main_logs[2]} is the same run as {main_logs[1]}: it counts once"
    assert environment.startswith(f"maxview: {main_logs[0]} is not in the history: measured on TPU v6 lite")
    assert "0.8.1" in environment
    assert f"{main_logs[3]} is not in the history: no steady step time: too few clean steps" in short


def test_a_source_without_a_log_is_no_history(
    maxview: Maxview, good: Path, slow: Path, tmp_path: Path
) -> None:
    """One message, exit status 2."""
    other = tmp_path / "notes.txt"
    other.write_text("hello\n", encoding="utf-8")
    result = maxview("compare", good, slow, "--history", other)
    assert (result.status, result.out) == (2, "")
    assert result.err == f"maxview: {other} is not a training log, so that it is no history\n"
