"""The program's entry: help, exit status, and one line for every failure."""

import pytest

from bot import __version__
from bot.cli import parse
from tests.cli.conftest import Maxview


def test_help_names_every_command_with_examples(maxview: Maxview) -> None:
    """A newcomer finds what to type."""
    result = maxview("--help")
    assert result.status == 0
    for words in ("parse", "compare", "serve", "demo", "config", "examples:", "exit status:"):
        assert words in result.out


def test_the_version_is_printed(maxview: Maxview) -> None:
    """`maxview --version` is one line."""
    assert maxview("--version").out == f"maxview {__version__}\n"


@pytest.mark.parametrize("arguments", [["prase", "x"], ["parse"], ["parse", "x", "--nope"], ["compare", "x"]])
def test_bad_use_is_one_line_and_exit_2(maxview: Maxview, arguments: list[str]) -> None:
    """It says what is wrong and where the help is."""
    result = maxview(*arguments)
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert "--help)" in result.err


def test_our_own_failure_is_one_line_and_exit_3(maxview: Maxview, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, unless it is asked for."""

    def broken(_: str) -> None:
        raise RuntimeError("not what we thought\nat all")

    monkeypatch.setattr(parse, "read_runs", broken)
    result = maxview("parse", "x")
    assert result.status == 3
    assert result.err.startswith("maxview failed: RuntimeError: not what we thought at all\n")
    assert "Traceback" not in result.err
    monkeypatch.setenv("MAXVIEW_DEBUG", "1")
    assert "Traceback" in maxview("parse", "x").err


def test_an_interruption_is_no_failure_of_ours(maxview: Maxview, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with the status that shells expect."""

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parse, "read_runs", interrupted)
    assert maxview("parse", "x").status == 130
