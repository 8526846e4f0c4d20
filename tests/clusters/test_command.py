"""From a case's command to an argument list, and the lines around a log."""

import pytest

from bot.clusters.command import argument_list
from bot.clusters.interface import Job
from bot.clusters.job_log import date_line, log_footer, log_header


def job(command: str, case: str = "04_int8") -> Job:
    """A job with this command."""
    return Job(
        name="mv-a",
        repository="/r",
        sha="0" * 40,
        case=case,
        variant="linen",
        command=command,
        run_name="linen_main_04",
        timeout_seconds=60,
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python3 -m train x=1", ["python3", "-m", "train", "x=1"]),
        ("train '{run_name}' {case}/{variant}", ["train", "linen_main_04", "04_int8/linen"]),
        ("train {sha}", ["train", "0" * 40]),
        ("train {other} {{case}}", ["train", "{other}", "{04_int8}"]),
        ("'/a b/python' x", ["/a b/python", "x"]),
        ("a && b", ["/bin/sh", "-c", "a && b"]),
        ("XLA=1 train {case}", ["/bin/sh", "-c", "XLA=1 train 04_int8"]),
        ("train > $HOME/out", ["/bin/sh", "-c", "train > $HOME/out"]),
        ("a\nb", ["/bin/sh", "-c", "a\nb"]),
    ],
)
def test_a_command_becomes_the_words_it_means(command: str, words: list[str]) -> None:
    """Plain commands are started directly; a shell comes only where the command needs one."""
    assert words == argument_list(job(command))


@pytest.mark.parametrize("command", ["", "   ", "'", "train {case}"])
def test_what_cannot_be_a_command_is_refused(command: str) -> None:
    """Empty commands, open quotes, and values that a shell would read."""
    with pytest.raises(ValueError, match=r"command|case"):
        argument_list(job(command, case="a;b"))


def test_the_date_reads_as_gnu_date_prints_it() -> None:
    """Two columns for the day, English names, UTC."""
    assert date_line(1776473664) == "Sat Apr 18 00:54:24 UTC 2026"
    assert date_line(1793984949.9) == "Fri Nov  6 17:09:09 UTC 2026"


def test_the_frame_is_xpks_and_names_the_commit() -> None:
    """What stands above and below the program's output."""
    assert (
        log_header(started=1776473664, sha="ab" * 20, case="04_int8", variant="linen")
        == 'XPK Start: Sat Apr 18 00:54:24 UTC 2026\nBENCH_META {"sha": "'
        + "ab" * 20
        + '", "case": "04_int8", "variant": "linen"}\n'
    )
    assert log_footer(ended=1776473664, exit_code=7) == "XPK End: Sat Apr 18 00:54:24 UTC 2026\nEXIT_CODE=7\n"
