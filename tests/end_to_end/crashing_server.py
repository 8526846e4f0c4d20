"""`maxview serve` in a process that kills itself at one call of a run's life.

Run as `python -m tests.end_to_end.crashing_server CALL MOMENT [STATE]`. CALL is a key of `CALLS`, or a
function given to `Database.write`. MOMENT is `before` or `after`; with the latter also `inside`: carried out
and not committed. With STATE only a run written in that state counts.
"""

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from bot.__main__ import main
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.xpk.cluster import XpkCluster
from bot.ingest import read_log
from bot.storage.database import Database
from bot.worker.budget_gate import BudgetGate
from bot.worker.runs import RunStep

CALLS: dict[str, tuple[Any, str]] = {
    "admit": (BudgetGate, "admit"),
    "launch": (LocalCluster, "launch"),
    "launch with xpk": (XpkCluster, "launch"),
    "delete": (LocalCluster, "delete"),
    "keep the log": (RunStep, "_store_text"),
    "read the log": (read_log, "read_log"),
    "settle": (BudgetGate, "settle"),
}


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _at(owner: Any, name: str, moment: str) -> None:
    """Die before or after a call."""
    real: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(real)
    async def waited(*args: Any, **more: Any) -> Any:
        if moment == "before":
            _die()
        await real(*args, **more)
        _die()

    @functools.wraps(real)
    def called(*args: Any, **more: Any) -> Any:
        if moment == "before":
            _die()
        real(*args, **more)
        _die()

    setattr(owner, name, waited if inspect.iscoroutinefunction(real) else called)


def _at_write(name: str, moment: str, state: str) -> None:
    """Die around the writing of one function."""
    real = Database.write

    async def write(self: Database, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        states = {str(one.state) for one in args if hasattr(one, "state")}
        if function.__name__ != name or (state and state not in states):
            return await real(self, function, *args, **more)
        if moment == "before":
            _die()

        def inside(*inner: Any, **kept: Any) -> Any:
            function(*inner, **kept)
            _die()

        if moment == "inside":
            return await real(self, inside, *args, **more)
        await real(self, function, *args, **more)
        return _die()

    Database.write = write  # type: ignore[method-assign]


if __name__ == "__main__":
    call, when, *rest = sys.argv[1:]
    if call in CALLS:
        _at(*CALLS[call], when)
    else:
        _at_write(call, when, rest[0] if rest else "")
    sys.exit(main(["serve"]))
