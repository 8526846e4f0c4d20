"""`maxview config`: what a configuration means, what is wrong with it, and its schema."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from bot.cli import config
from bot.config import json_schema
from bot.errors import UserError

FILE = """\
version: 1
runs:
  source: gs://lance-maxtext
  pattern: "{variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log"
variants: {linen: , nnx: {args: pure_nnx=true}}
compare: [ref, variant]
cases: {03_dropout: , 04_int8: }
triggers: {paths: ["src/**"]}
"""

MEANING = """\
FILE: valid
cases                 03_dropout, 04_int8
variants              linen, nnx
compare               ref and variant
runs are found in     gs://lance-maxtext
by the pattern        {variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log
runs are launched     never (no launch: they are only found)
answers on            pull requests that touch src/**; commands in comments
and on pushes to      test_*, exported_pr_*
and on the labels     benchmark (all), benchmark:* (what * stands for)
may start runs        people who may write, copybara-service[bot]
beside the comment    nothing (checks: off)
main's runs are old   after 7 days
a change counts from  1 %
same means within     5 %
"""


def _run(*arguments: str) -> int:
    parser = ArgumentParser()
    config.add_arguments(parser)
    return config.main(parser.parse_args(arguments))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A valid configuration, and a terminal wide enough for its pattern."""
    monkeypatch.setenv("COLUMNS", "160")
    path = tmp_path / "maxview.yml"
    path.write_text(FILE)
    return path


def test_a_valid_file_is_described(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Defaults included, so that one sees what was not written."""
    assert 0 == _run("check", str(file))
    output = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
    assert MEANING == output.replace(str(file), "FILE")


def test_a_narrow_terminal_cuts_nothing(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long pattern is folded."""
    monkeypatch.setenv("COLUMNS", "50")
    _run("check", str(file))
    output = capsys.readouterr().out
    assert "…" not in output
    assert "{case}/*.log" in "".join(output.split())


def test_the_place_of_launched_runs_is_described(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster, the device and the priority, and what launches may use."""
    file.write_text(
        "version: 1\ncases: {a: {command: x}}\nlaunch: {cluster: xpk, xpk: {cluster: c, project: p, "
        'zone: z, device-type: v6e-32, docker-image: "i:{sha}", timeout: 45m}}\n'
    )
    assert 0 == _run("check", str(file))
    output = capsys.readouterr().out
    assert "by XPK on p/z/c, on v6e-32 with priority medium" in output
    assert "200 chip-hours a day; 4 runs at a time" in output
    file.write_text(
        "version: 1\ncases: {a: {command: x}}\nlaunch: {cluster: local, local: {repository: r}}\n"
        "triggers: {pull_request: false, branches: []}\n"
        "budget: {chip_hours_per_day: 8.5, chip_hours_per_person_per_day: 4, "
        "chip_hours_per_pull_request: 2, concurrent_runs: 1}\n"
    )
    assert 0 == _run("check", str(file))
    output = capsys.readouterr().out
    assert "as processes on the server's machine" in output
    assert "commands in comments" in output
    words = " ".join(output.split())
    assert "8.5 chip-hours a day, 4 of one person, 2 of one pull request in all; 1 run at a time" in words


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("checks: check", "beside the comment a check, shown once it can be concluded, never red"),
        (
            "checks: {kind: status, pending: true, fail_on_regression: true}",
            "beside the comment a commit status, shown from the start, red where a case is worse",
        ),
        (
            "trust: {bots: [], teams: [acme/performance]}",
            "may start runs people who may write, team acme/performance",
        ),
        (
            "launch: {cluster: local, local: {repository: r}}\nbaseline: {daily_at: 00:00}",
            "main is run where it is compared with, and daily at 00:00 UTC",
        ),
        (
            'baseline: {daily_at: "03:30"}',
            "main is run never, though daily_at says daily at 03:30 UTC: there is no launch",
        ),
        (
            "triggers: {labels: {speed: 05_moe, some: 0*}}",
            "and on the labels speed (05_moe: no such case), some (0*)",
        ),
        (
            "margins: {practical_percent: 6}",
            "same means within 5 %; a change between that and what counts stays inconclusive",
        ),
    ],
)
def test_surprising_settings_are_described(
    file: Path, capsys: pytest.CaptureFixture[str], more: str, line: str
) -> None:
    """Who may start runs, what stands beside the comment, when main is run; and what can have no effect."""
    cases = "cases: {03_dropout: {command: x}, 04_int8: {command: x}}"
    file.write_text(f'version: 1\nruns: {{source: "file:/r", pattern: "{{case}}/*.log"}}\n{cases}\n{more}\n')
    assert 0 == _run("check", str(file))
    assert line in " ".join(capsys.readouterr().out.split())


def test_a_misplaced_key_says_where_it_belongs(file: Path) -> None:
    """The nearest spelling would lead astray."""
    file.write_text(
        "version: 1\ncases: {a: {command: x}}\nlaunch: {cluster: local, local: {repository: r}, "
        "timeout: 5m}\ndrafts: true\nmemory: 8G\n"
    )
    with pytest.raises(UserError) as error:
        _run("check", str(file))
    assert error.value.text.splitlines() == [
        f"{file}:3: launch.timeout: unknown key; it belongs under xpk or local",
        f"{file}:4: drafts: unknown key; it belongs under triggers",
        f"{file}:5: memory: unknown key; it belongs under launch.local",
    ]


def test_problems_name_file_and_line(file: Path) -> None:
    """As a compiler says them, so that editors jump there."""
    file.write_text(FILE.replace("compare", "compere"))
    with pytest.raises(UserError) as error:
        _run("check", str(file))
    assert f"{file}:6: compere: unknown key; did you mean compare?" == error.value.text


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (b"version: 1\n\xff", ":2: not UTF-8 text; save the file as UTF-8"),
        (b"x" * (3 << 20), ": far too long for a configuration; is it the right file?"),
    ],
)
def test_a_file_that_is_no_text_is_refused(file: Path, content: bytes, output: str) -> None:
    """A binary given by mistake ends in one line."""
    file.write_bytes(content)
    with pytest.raises(UserError) as error:
        _run("check", str(file))
    assert f"{file}{output}" == error.value.text


def test_standard_input_is_checked(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git show branch:.github/maxview.yml | maxview config check -`, a byte order mark included."""
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    with file.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert 0 == _run("check", "-")
    assert capsys.readouterr().out.startswith("-: valid")


def test_the_schema_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same that the server publishes."""
    assert 0 == _run("schema")
    assert json_schema() == json.loads(capsys.readouterr().out)
