"""What is done by the clock, joined: missed deliveries, and open pull requests that nobody told us of.

In:  the database, GitHub, and whether webhooks arrive at all. Out: the work that the controller does.
"""

import time
from collections.abc import Callable

from bot.controller.catching_up import EVERY_SECONDS, PULL_SECONDS, CatchingUp
from bot.controller.chores import CATCH_UP, RECONCILE, ChoreStep
from bot.controller.loop import Work
from bot.controller.reconciling import Reconciling
from bot.github.client import GitHub
from bot.github.deliveries import HookLog
from bot.storage import chores
from bot.storage.database import Database
from bot.storage.tables import CHORE


def upkeep(database: Database, github: GitHub, *, pulls_only: bool, wake: Callable[[], None]) -> Work:
    """Have every chore done now, and then in its time; with `pulls_only` deliveries are read all the time."""
    catching_up = CatchingUp(
        log=HookLog(github),
        database=database,
        wake=wake,
        every=PULL_SECONDS if pulls_only else EVERY_SECONDS,
    )
    reconciling = Reconciling(listing=github, database=database, now=time.time, wake=wake)
    database.now(chores.begin, (CATCH_UP, RECONCILE), now=time.time())
    step = ChoreStep(database=database, chores={CATCH_UP: catching_up, RECONCILE: reconciling}, now=time.time)
    return Work(table=CHORE, step=step, at_once=2)
