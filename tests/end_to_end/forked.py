"""The program in a process of its own that need not import everything first.

In:  a module to run as `python -m` does, its folder, its environment, where its output goes.
Out: a process; its exit status is negative where a signal ended it.

Each is forked from one that has imported the program and runs nothing: a start costs a tenth of what a new
interpreter costs. That `maxview` starts as it is installed is shown where the commands are tested.
"""

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

IMPORTED = ["bot.cli.serve", "bot.app"]


@cache
def _context() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def forked(
    module: Sequence[str], *, folder: Path, environ: Mapping[str, str], output: Path
) -> ForkServerProcess:
    """Start `python -m MODULE ARGUMENT…` there, with no more of an environment than is given."""
    process = _context().Process(
        target=_live, args=(tuple(module), str(folder), dict(environ), str(output)), daemon=True
    )
    process.start()
    return process


def _live(module: tuple[str, ...], folder: str, environ: dict[str, str], output: str) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    for number, path, how in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_APPEND)):
        os.dup2(os.open(path, how | os.O_CREAT), number)
    os.dup2(1, 2)
    sys.argv = list(module)
    runpy.run_module(module[0], run_name="__main__", alter_sys=True)
