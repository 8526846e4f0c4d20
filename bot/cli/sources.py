"""Turn what a person typed into measured runs: `train.log`, `page.txt#2`, `-`, `gs://bucket/run.log`.

Raises `UserError` for what cannot be read and for a run that does not exist.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bot.artifacts.sources import open_source, source_size
from bot.cli.terminal import progress
from bot.errors import UserError
from bot.logs.facts import OutcomeState
from bot.logs.reader import read_log
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure

# page.txt#2
_SELECTOR = re.compile(r"(?P<source>.+)#(?P<run>\d{1,6})", re.DOTALL)

PROGRESS_BYTES = 32 << 20  # sources of this size and more get a progress bar


class SelectedSource(Struct, frozen=True, kw_only=True):
    """A source and the number of one of its runs; `None` means all runs."""

    source: str
    run: int | None = None


def parse_source(text: str) -> SelectedSource:
    """Split `SOURCE#2`, unless a file of that very name exists."""
    found = _SELECTOR.fullmatch(text)
    if found is None or _exists(text):
        return SelectedSource(source=text)
    return SelectedSource(source=found["source"], run=int(found["run"]))


def read_runs(text: str) -> tuple[MeasuredRun, ...]:
    """Every run of a source, or the one that its selector names. A source without a log is one run."""
    wanted = parse_source(text)
    with open_source(wanted.source) as pieces:
        logs = tuple(read_log(_with_progress(pieces, wanted.source), wanted.source))
    runs = tuple(measure(log) for log in logs)
    if wanted.run is None:
        return runs
    for run in runs:
        if run.log.run == wanted.run and run.log.outcome.state is not OutcomeState.NOT_A_TRAINING_LOG:
            return (run,)
    raise UserError(f"{text}: there is no run {wanted.run}; {_available_runs(runs, wanted.source)}")


def _available_runs(runs: tuple[MeasuredRun, ...], source: str) -> str:
    count = sum(run.log.outcome.state is not OutcomeState.NOT_A_TRAINING_LOG for run in runs)
    if count == 0:
        return f"{source} is not a training log"
    return f"{source} has one run, #1" if count == 1 else f"{source} has {count} runs, #1 to #{count}"


def _with_progress(pieces: Iterator[bytes], source: str) -> Iterator[bytes]:
    """The same pieces, with a progress bar on standard error for long reads on a terminal."""
    if not sys.stderr.isatty():
        return pieces  # the size takes a request to the bucket, and nobody sees the bar
    return progress(pieces, name=source, total=source_size(source), least=PROGRESS_BYTES)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
