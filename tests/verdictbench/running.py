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

from tests.verdictbench.adversary import Patience, rerun_until_pleased
from tests.verdictbench.results import Results
from tests.verdictbench.simulation import KINDS, Kind
from tests.verdictbench.trials import Experiment, Tally, Task, repeats, single

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Reports of each experiment, how many go to a worker at once, and of how many cases of a report the head
    is also slowed: where a target stands, many reports and few cases, so that 1 % can be told from 0.5 %."""

    targets: int
    others: int
    repeats: int
    adversary: int
    chunk: int
    target_effects: int = 1
    other_effects: int = 5
    repeats_kinds: tuple[str, ...] = ("tpu", "gpu", "cpu")
    adversary_kinds: tuple[str, ...] = ("tpu", "gpu", "cpu")
    kinds: tuple[str, ...] = tuple(kind.name for kind in KINDS)


FULL = Amount(targets=2000, others=80, repeats=60, adversary=100, chunk=10)

QUICK = Amount(targets=100, others=10, repeats=10, adversary=10, chunk=10)

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
            return task, dict(rerun_until_pleased(task.kind, task.first, task.reports))


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
    found = [task for kind in chosen for task in _single(kind, amount)]
    for name in (name for name in amount.repeats_kinds if name in amount.kinds):
        found += _split(Experiment.REPEATS, name, amount.repeats, amount)
    for name in (name for name in amount.adversary_kinds if name in amount.kinds):
        found += _split(Experiment.ADVERSARY, name, amount.adversary, amount)
    return found


def _single(kind: Kind, amount: Amount) -> list[Task]:
    many, slowed = (
        (amount.targets, amount.target_effects) if kind.target else (amount.others, amount.other_effects)
    )
    return _split(Experiment.SINGLE, kind.name, many, amount, slowed)


def _split(experiment: Experiment, kind: str, reports: int, amount: Amount, slowed: int = 5) -> list[Task]:
    return [
        Task(
            experiment=experiment,
            kind=kind,
            first=first,
            reports=min(amount.chunk, reports - first),
            with_effects=slowed,
        )
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
