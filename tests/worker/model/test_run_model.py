"""No run is started twice, none is lost, and no limit is passed, whatever dies, sleeps, fails or jumps."""

import asyncio
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.artifacts.log_archive import ArchiveFile
from bot.artifacts.store import ArtifactStore
from bot.ingest import read_log
from bot.ingest.read_log import ReadLog
from bot.ingest.turns import TurnTaker
from bot.logs.reader import LogReader
from bot.planning.budget import BudgetLimits
from bot.storage import launched_runs, queue
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.worker.fake_cluster import LOG
from tests.worker.model.ledger import KNOWN, Ledger
from tests.worker.model.sql_budget import TIGHT_LIMITS, SqlBudget
from tests.worker.model.world import EVENTS, WEIGHTS, World

EVENTS_A_WORLD = 1000

STEPS = 200_000

SEEDS = 4

SQL_WORLDS = 9


def _measured() -> MeasuredRun:
    reader = LogReader("a log")
    reader.feed(LOG.encode())
    return measure(reader.close()[-1])


class _Text:
    """The text of a log that was read."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def keep(self, store: ArtifactStore, name: str) -> None:
        """Write it."""
        store.write(name, self._chunks, "text/plain")


@pytest.fixture(autouse=True, scope="module")
def no_threads() -> Any:
    """Logs are read at once, and always say the same."""

    measured = _measured()

    def read(chunks: Iterable[bytes], _source: str, _taker: TurnTaker) -> ReadLog:
        return ReadLog(measured=measured, text=cast(ArchiveFile, _Text(list(chunks))))

    async def inline(function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "to_thread", inline)
        patch.setattr(read_log, "read_log", read)
        yield


def test_the_model_stands_in_for_functions_that_exist() -> None:
    """A renamed function would leave the model behind."""
    assert [name for one in KNOWN if not hasattr(Ledger, f"_{(name := one.__name__)}")] == []
    assert queue.extend_lease in KNOWN
    assert launched_runs.release_run in KNOWN


@pytest.mark.parametrize("seed", range(SEEDS))
def test_two_hundred_thousand_steps_start_nothing_twice_and_lose_nothing(seed: int) -> None:
    """Worlds of some hundred events each, every one brought to rest at its end; a quarter here."""
    dice = random.Random(seed)  # noqa: S311 - repeatable events, no secret
    names, weights = list(WEIGHTS), list(WEIGHTS.values())
    steps, launches = 0, 0
    while steps < STEPS // SEEDS:
        world = World()
        for event in dice.choices(names, weights, k=EVENTS_A_WORLD):
            world.do(event, dice.randrange(1000))
        steps += EVENTS_A_WORLD
        world.calm()
        launches += world.model_cluster.launches
    assert launches > steps / 500


@given(st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.integers(0, 999)), max_size=150))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_sequence_of_events_is_found_that_breaks_it(script: list[tuple[str, int]]) -> None:
    """The same world, where a failing sequence would be shortened to its core."""
    world = World()
    for event, number in script:
        world.do(event, number)
    world.calm()


def _sql_budget(limits: BudgetLimits, held_by: set[str], ledger: Ledger) -> SqlBudget:
    return SqlBudget(ledger=ledger, limits=limits, held_by=held_by)


def test_the_real_limits_are_never_passed() -> None:
    """The same events, where the database of the budgets decides: no more runs at once, no more chip-hours
    of a day or a pull request."""
    dice = random.Random(SEEDS)  # noqa: S311 - repeatable events, no secret
    names, weights = list(WEIGHTS), list(WEIGHTS.values())
    launches = 0
    held_by: set[str] = set()
    for limits in SQL_WORLDS // len(TIGHT_LIMITS) * TIGHT_LIMITS:
        world = World(partial(_sql_budget, limits, held_by))
        for event in dice.choices(names, weights, k=EVENTS_A_WORLD):
            world.do(event, dice.randrange(1000))
        launches += world.model_cluster.launches
    assert launches > SQL_WORLDS
    assert held_by == {"concurrent_runs", "chip_hours_per_day", "chip_hours_per_pull_request"}
