"""The budgets of a configuration between a plan and a launch."""

import asyncio

import pytest
from msgspec import structs
from msgspec.structs import replace

from bot.clusters.interface import ClusterPlace
from bot.config import CONFIG_PATH
from bot.config.loader import SuiteLoader
from bot.domain.case_key import CaseKey
from bot.domain.price import Price, PriceBasis
from bot.planning.jobs import device_of
from bot.storage import repositories, runs, spend
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow
from bot.worker.budget_gate import (
    NO_VALID_CONFIGURATION,
    Admitted,
    BudgetGate,
    Deferred,
    chip_hours_taken,
    most_chip_hours,
)
from tests.github.plain_github import PlainGitHub
from tests.planning.samples import SUBJECT, XPK, line, plan
from tests.policy.open_policy import OPEN
from tests.worker.samples import NOW, PULL, suite

BUDGET = "budget: {chip_hours_per_day: 40, concurrent_runs: 1}\n"

PRICE = Price(usual=6.4, least=6.1, most=7.0, basis=PriceBasis.MEASURED, runs=3)

BASE, HEAD = plan(replace(SUBJECT, prices={CaseKey("03_dropout", "linen"): PRICE}), [line("03_dropout")])


def _purse(database: Database, text: str = XPK + BUDGET) -> BudgetGate:
    row = RepositoryRow(
        full_name=PULL.repository, installation=1, default_branch="main", private=False, active=True
    )
    database.write_now(repositories.save_repository, row)
    database.write_now(runs.plan_runs, [BASE, HEAD], repository=PULL.repository, number=7, now=NOW)
    forge = PlainGitHub(files={CONFIG_PATH: text})
    suites = SuiteLoader(forge=forge, database=database, now=lambda: NOW)
    return BudgetGate(database=database, suites=suites, permissions=OPEN, now=lambda: NOW)


def test_a_launch_is_held_to_the_budget_of_the_default_branch(database: Database) -> None:
    """The first is admitted, the second waits for its place, then for the day."""
    purse = _purse(database)
    assert asyncio.run(purse.admit(BASE.record, BASE.job)) == Admitted()
    held = asyncio.run(purse.admit(HEAD.record, HEAD.job))
    assert isinstance(held, Deferred)
    assert held.why == "chip_hours_per_day: 40 does not cover 32 + at most 32; it resets at 00:00 UTC"
    asyncio.run(purse.settle(BASE.record, BASE.job, chip_hours=2.0, ran_seconds=200.0))
    assert asyncio.run(purse.admit(HEAD.record, HEAD.job)) == Admitted()
    assert database.write_now(spend.day_chip_hours, PULL.repository, NOW) == 34.0


def test_a_launch_that_is_asked_for_again_is_told_that_it_was_admitted_before(database: Database) -> None:
    """An earlier call may have started it, until that was settled."""
    purse = _purse(database)
    assert asyncio.run(purse.admit(BASE.record, BASE.job)) == Admitted()
    assert asyncio.run(purse.admit(BASE.record, BASE.job)) == Admitted(again=True)
    asyncio.run(purse.settle(BASE.record, BASE.job, chip_hours=None, ran_seconds=None))
    assert asyncio.run(purse.admit(BASE.record, BASE.job)) == Admitted()


def test_a_full_place_is_named(database: Database) -> None:
    """As people know the cluster."""
    purse = _purse(database, XPK + "budget: {concurrent_runs: 1}\n")
    asyncio.run(purse.admit(BASE.record, BASE.job))
    held = asyncio.run(purse.admit(HEAD.record, HEAD.job))
    assert isinstance(held, Deferred)
    assert held.why == "concurrent_runs: 1 of 1 runs are on my-project/us-east5-b/v6e-32-bench"


def test_every_slice_is_paid_for(database: Database) -> None:
    """Two slices cost twice as much as one, are runs of their own, and are not known to be quiet."""
    two = suite(XPK.replace("device-type: v6e-32,", "device-type: v6e-32, slices: 2,"))
    assert two.launch is not None
    device = device_of(two.launch)
    assert device is not None
    assert (device.name, device.chips, device.quiet) == ("2 × v6e-32", 64, False)
    runs_ = plan(replace(SUBJECT, suite=two, device=device), [line("03_dropout")])
    assert {one.job.place and one.job.place.slices for one in runs_} == {2}
    assert {one.record.key for one in runs_}.isdisjoint({BASE.record.key, HEAD.record.key})
    assert most_chip_hours(runs_[0].job) == 64
    purse = _purse(database)
    held = asyncio.run(purse.admit(BASE.record, runs_[0].job))
    assert isinstance(held, Deferred)
    assert held.why.startswith("chip_hours_per_day: 40 is less than this one run can take, 64")


def test_nothing_starts_where_no_configuration_says_what_may_be_spent(database: Database) -> None:
    """A default branch whose configuration was broken meanwhile spends nothing."""
    held = asyncio.run(_purse(database, "version: 2\n").admit(BASE.record, BASE.job))
    assert isinstance(held, Deferred)
    assert held.why == NO_VALID_CONFIGURATION


@pytest.mark.parametrize(
    ("chip_hours", "ran_seconds", "expected"),
    [
        (None, None, 0.0),
        (2.5, None, 2.5),
        (None, 900.0, 8.0),
        (2.5, 900.0, 8.0),
        (9.0, 900.0, 9.0),
        (2.5, 36_000.0, 32.0),
        (5000.0, 900.0, 32.0),
        (5000.0, None, 32.0),
    ],
)
def test_what_an_attempt_took_is_the_more_of_what_is_known(
    chip_hours: float | None, ran_seconds: float | None, expected: float
) -> None:
    """A cut log knows less than the cluster saw; what never ran took nothing. None takes more than it can,
    whatever its log says and however long nobody looked: so no budget is ever passed."""
    assert chip_hours_taken(HEAD.job, chip_hours=chip_hours, ran_seconds=ran_seconds) == expected


def test_what_nobody_can_say_is_not_called_nothing() -> None:
    """A device whose chips are not known, and a log that does not say."""
    place = ClusterPlace(project="p", zone="z", cluster="c", device_type="n2-standard-32-2", priority="low")
    odd = structs.replace(HEAD.job, place=place)
    assert chip_hours_taken(odd, chip_hours=None, ran_seconds=900.0) is None
    assert chip_hours_taken(odd, chip_hours=2.0, ran_seconds=900.0) == 2.0
    assert chip_hours_taken(structs.replace(HEAD.job, place=None), chip_hours=None, ran_seconds=900.0) == 0.25
