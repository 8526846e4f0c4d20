"""Installations that share a cluster derive other names for the same runs."""

import asyncio

from bot.planning.jobs import JobContext, device_of, make_planned_run, with_installation
from bot.planning.plan import ComparisonSide, RequiredRun, SideCommit
from bot.storage import named_values
from bot.storage.database import Database
from bot.worker.run_planner import installation_device
from tests.planning.samples import XPK
from tests.worker.samples import suite

SHARED = suite(XPK)


def test_an_installation_is_told_from_every_other(database: Database) -> None:
    """Its mark is made once; a configuration that launches nothing needs none."""
    assert asyncio.run(installation_device(database, None)) is None
    first, again = (asyncio.run(installation_device(database, SHARED.launch)) for _ in range(2))
    mark = database.write_now(named_values.read, named_values.INSTALLATION_KEY)
    assert SHARED.launch is not None
    device = device_of(SHARED.launch)
    assert (mark, device) != (None, None)
    assert device is not None
    assert first == again == with_installation(device, mark or "")


def test_two_installations_give_the_same_run_two_names() -> None:
    """So that none takes the other's job for its own, starts none because of it, and deletes none."""
    assert SHARED.launch is not None
    device = device_of(SHARED.launch)
    assert device is not None
    one = RequiredRun(
        commit=SideCommit(side=ComparisonSide.CANDIDATE, sha="a" * 40),
        case="04_int8",
        variant="linen",
        repeat=1,
    )
    names = set()
    for mark in ("0a0a0a0a", "0b0b0b0b", "0a0a0a0a"):
        order = JobContext(
            repository="acme/maxtext",
            suite=SHARED,
            device=with_installation(device, mark),
            base_branch="main",
            head_branch="feat/x",
            session="",
            prices={},
            charged_to={},
        )
        names.add(make_planned_run(one, order).job.name)
    assert len(names) == 2
