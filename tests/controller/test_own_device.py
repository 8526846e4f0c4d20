"""Installations that share a cluster derive other names for the same runs."""

import asyncio

from bot.controller.jobs import Order, device_of, marked, planned
from bot.controller.own_device import own_device
from bot.runs.plan import Commit, Side, Wanted
from bot.storage import marks
from bot.storage.database import Database
from tests.controller.planned import XPK
from tests.controller.samples import suite

SHARED = suite(XPK)


def test_an_installation_is_told_from_every_other(database: Database) -> None:
    """Its mark is made once; a configuration that launches nothing needs none."""
    assert asyncio.run(own_device(database, None)) is None
    first, again = (asyncio.run(own_device(database, SHARED.launch)) for _ in range(2))
    mark = database.now(marks.read, marks.INSTALLATION)
    assert SHARED.launch is not None
    device = device_of(SHARED.launch)
    assert (mark, device) != (None, None)
    assert device is not None
    assert first == again == marked(device, mark or "")


def test_two_installations_give_the_same_run_two_names() -> None:
    """So that none takes the other's job for its own, starts none because of it, and deletes none."""
    assert SHARED.launch is not None
    device = device_of(SHARED.launch)
    assert device is not None
    one = Wanted(commit=Commit(side=Side.CANDIDATE, sha="a" * 40), case="04_int8", variant="linen", repeat=1)
    names = set()
    for mark in ("0a0a0a0a", "0b0b0b0b", "0a0a0a0a"):
        order = Order(
            repository="acme/maxtext",
            suite=SHARED,
            device=marked(device, mark),
            base_branch="main",
            head_branch="feat/x",
            session="",
            prices={},
            charged_to={},
        )
        names.add(planned(one, order).job.name)
    assert len(names) == 2
