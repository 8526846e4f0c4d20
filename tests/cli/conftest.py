"""Running the program in this process, and logs for it to read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from bot.__main__ import main
from tests.log_writers.maxtext import maxtext_log


class CommandResult(Struct, frozen=True, kw_only=True):
    """What a command did."""

    status: int
    out: str
    err: str


Maxview = Callable[..., CommandResult]


@pytest.fixture
def maxview(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Maxview:
    """Run `maxview` with these arguments."""
    monkeypatch.delenv("MAXVIEW_DEBUG", raising=False)

    def run(*arguments: object) -> CommandResult:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exited:
            status = int(exited.code or 0)
        captured = capsys.readouterr()
        return CommandResult(status=status, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """The log of a run that succeeded."""
    path = tmp_path / "main.log"
    path.write_text(maxtext_log(steps=12, seed=1), encoding="utf-8")
    return path


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """The log of a run whose steps take a fifth longer, which no glitch of a TPU explains."""
    path = tmp_path / "branch.log"
    path.write_text(maxtext_log(steps=12, step_seconds=0.24, seed=2), encoding="utf-8")
    return path
