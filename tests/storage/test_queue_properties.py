"""A state machine over requests and claims: no request is lost, and no row has two holders that can write.

Several processes enqueue, claim, renew, release, postpone, die and return in any order, while the clock jumps
both ways. What the database says is held against a model in plain values.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import Connection, delete, select

from bot.storage import pull_requests, queue
from bot.storage.database import Database
from bot.storage.queue import Claim
from bot.storage.tables import PULL_REQUEST

LEASE = 30.0

ROWS = (1, 2)

OWNERS = ("a", "b", "c")

EXAMPLES = {"sqlite": 40, "postgresql": 15}


@dataclass(slots=True)
class Known:
    """What the model knows of one row: requests, those that a finished step saw, and the newest claim."""

    asked: int = 0
    answered: int = 0
    newest: Claim | None = None
    free: bool = True


def _clear(connection: Connection) -> None:
    connection.execute(delete(PULL_REQUEST))


def _rows(connection: Connection) -> dict[int, dict[str, Any]]:
    return {row["number"]: dict(row) for row in connection.execute(select(PULL_REQUEST)).mappings()}


class Machine(RuleBasedStateMachine):
    """Three processes, two pull requests, one clock."""

    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.database.write_now(_clear)
        self.now = 1000.0
        self.known = {number: Known() for number in ROWS}
        self.held: list[tuple[str, Claim]] = []

    @rule(number=st.sampled_from(ROWS))
    def want(self, number: int) -> None:
        """A delivery asks for a pull request."""
        self.database.write_now(
            pull_requests.enqueue, repository="acme/x", number=number, installation=1, now=self.now
        )
        self.known[number].asked += 1

    @rule(owner=st.sampled_from(OWNERS))
    def claim(self, owner: str) -> None:
        """A process takes what is due longest; what another holds it never gets."""
        held = self.database.write_now(queue.claim, PULL_REQUEST, owner=owner, now=self.now, lease=LEASE)
        if held is None:
            return
        known = self.known[held.row["number"]]
        assert known.free or known.newest is None or known.newest.lease_until <= self.now
        known.newest, known.free = held, False
        self.held.append((owner, held))

    @rule(place=st.integers(0, 9), due=st.sampled_from([None, 5.0, 900.0]))
    def let_go(self, place: int, due: float | None) -> None:
        """A process finishes: if it still holds the row, every request it saw is answered."""
        if (held := self._one_of_the_held(place)) is None:
            return
        when = None if due is None else self.now + due
        written = self.database.write_now(pull_requests.release_pull, held, now=self.now, due=when, values={})
        assert written == self._is_newest(held)
        if written:
            known = self.known[held.row["number"]]
            known.answered, known.free = held.row["wanted"], True

    @rule(place=st.integers(0, 9), delay=st.floats(0.1, 600))
    def fail(self, place: int, delay: float) -> None:
        """A process fails at a row and puts it off."""
        if (held := self._one_of_the_held(place)) is None:
            return
        written = self.database.write_now(queue.postpone, held, due=self.now + delay, error="no")
        assert written == self._is_newest(held)
        if written:
            self.known[held.row["number"]].free = True

    @rule(place=st.integers(0, 9))
    def die(self, place: int) -> None:
        """A process dies: nobody writes anything any more under its claim."""
        self._one_of_the_held(place)

    @rule(owner=st.sampled_from(OWNERS))
    def hand_back(self, owner: str) -> None:
        """A process ends in good order; its unfinished rows are free."""
        self.database.write_now(queue.release_all, PULL_REQUEST, owner=owner)
        for known in self.known.values():
            if known.newest is not None and known.newest.row["lease_owner"] == owner:
                known.free = True
        self.held = [(name, held) for name, held in self.held if name != owner]

    @rule(seconds=st.sampled_from([0.5, 10.0, 31.0, 5000.0, -20.0, -3600.0]))
    def jump(self, seconds: float) -> None:
        """Time passes, or the clock is put right."""
        self.now += seconds

    @invariant()
    def no_request_is_lost(self) -> None:
        """A row with an unanswered request is due some time."""
        rows = self.database.write_now(_rows)
        for number, known in self.known.items():
            if known.asked:
                assert rows[number]["wanted"] == known.asked
                assert known.answered == known.asked or rows[number]["due"] is not None

    def teardown(self) -> None:
        """In the end one process answers every request that is left."""
        self.now += 1e6
        for _ in range(3):
            self.claim("a")
            self.let_go(len(self.held) - 1 if self.held else 0, None)
        assert [known.answered for known in self.known.values()] == [
            known.asked for known in self.known.values()
        ]

    def _one_of_the_held(self, place: int) -> Claim | None:
        return self.held.pop(place % len(self.held))[1] if self.held else None

    def _is_newest(self, held: Claim) -> bool:
        known = self.known[held.row["number"]]
        return known.newest is not None and not known.free and known.newest.token == held.token


def test_no_request_is_lost_and_no_row_has_two_holders(
    database: Database, request: pytest.FixtureRequest
) -> None:
    """Whatever happens in whatever order, the model and the database agree."""
    kind = "sqlite" if database.is_sqlite else "postgresql"
    here = type("MachineHere", (Machine,), {"database": database})
    run_state_machine_as_test(
        here,
        settings=settings(
            max_examples=EXAMPLES[kind],
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
