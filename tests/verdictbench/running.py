"""The whole benchmark on all cores, with a progress bar on standard error.

In:  how much of it. Out: `Results`.
Promises: the same amount gives the same results on any number of cores.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.verdictbench.adversary import Patience, attack
from tests.verdictbench.kinds import KINDS
from tests.verdictbench.results import Results
from tests.verdictbench.tally import Tally
from tests.verdictbench.trials import Experiment, Task, repeats, single

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Reports of each experiment, and how many go to a worker at once."""

    targets: int
    others: int
    repeats: int
    adversary: int
    chunk: int
    repeats_kinds: tuple[str, ...] = ("tpu", "gpu", "cpu")
    adversary_kinds: tuple[str, ...] = ("tpu", "gpu", "cpu")
    kinds: tuple[str, ...] = tuple(kind.name for kind in KINDS)


FULL = Amount(targets=400, others=80, repeats=60, adversary=100, chunk=10)
QUICK = Amount(targets=50, others=10, repeats=10, adversary=10, chunk=10)

Found = tuple[Task, Mapping[str, Tally] | Mapping[str, Patience]]


def run(amount: Amount, *, console: Console | None = None, workers: int | None = None) -> Results:
    """Run every task and gather what it found."""
    tasks = list(_tasks(amount))
    results = Results()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=console or Console(stderr=True)) as progress,
        get_context("spawn").Pool(workers or os.cpu_count()) as pool,
    ):
        bar = progress.add_task("VerdictBench", total=len(tasks))
        for task, found in pool.imap_unordered(perform, tasks):
            gather(results, task, found)
            progress.update(bar, advance=1, description=f"VerdictBench: {task.experiment} {task.kind}")
    return _in_order(results)


def alone(amount: Amount) -> Results:
    """Run every task in this process: for tests."""
    results = Results()
    for task in _tasks(amount):
        gather(results, *perform(task))
    return _in_order(results)


def perform(task: Task) -> Found:
    """Run one task."""
    match task.experiment:
        case Experiment.SINGLE:
            return task, dict(single(task))
        case Experiment.REPEATS:
            return task, dict(repeats(task))
        case Experiment.ADVERSARY:
            return task, dict(attack(task.kind, task.first, task.reports))


def gather(results: Results, task: Task, found: Mapping[str, Tally] | Mapping[str, Patience]) -> None:
    """Add what a task found."""
    for key, one in found.items():
        if isinstance(one, Patience):
            results.adversary.setdefault(task.kind, {}).setdefault(key, Patience()).add(one)
        else:
            by_kind = results.single if task.experiment is Experiment.SINGLE else results.repeats
            by_kind.setdefault(task.kind, {}).setdefault(key, Tally()).add(one)


def _tasks(amount: Amount) -> Sequence[Task]:
    chosen = [kind for kind in KINDS if kind.name in amount.kinds]
    found = [
        task
        for kind in chosen
        for task in _split(
            Experiment.SINGLE, kind.name, amount.targets if kind.target else amount.others, amount
        )
    ]
    for name in (name for name in amount.repeats_kinds if name in amount.kinds):
        found += _split(Experiment.REPEATS, name, amount.repeats, amount)
    for name in (name for name in amount.adversary_kinds if name in amount.kinds):
        found += _split(Experiment.ADVERSARY, name, amount.adversary, amount)
    return found


def _split(experiment: Experiment, kind: str, reports: int, amount: Amount) -> list[Task]:
    return [
        Task(experiment=experiment, kind=kind, first=first, reports=min(amount.chunk, reports - first))
        for first in range(0, reports, amount.chunk)
    ]


def _in_order(results: Results) -> Results:
    """Return the results in the order of the kinds, whichever worker was first."""
    return Results(
        single=_sorted(results.single),
        repeats=_sorted(results.repeats),
        adversary=_sorted(results.adversary),
    )


def _sorted(found: Mapping[str, T]) -> dict[str, T]:
    return {kind.name: found[kind.name] for kind in KINDS if kind.name in found}
