"""Fair turns at the processor: repositories that read logs take them one after the other.

Reading and redacting keep a core busy. A turn lasts for one piece of a log, and the next one is that of the
repository that has waited longest: whoever reads gigabytes does not keep others from reading kilobytes.
Nobody holds a turn while waiting for a store.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

CONCURRENT_TURNS = 2
"""Logs worked on at once: each keeps a core busy, and the other cores serve people."""


class Turns:
    """Who may work now; used from threads."""

    def __init__(self, at_once: int = CONCURRENT_TURNS) -> None:
        self._free = at_once
        self._waiting: OrderedDict[str, deque[object]] = OrderedDict()
        self._changed = Condition()

    def of(self, repository: str) -> "TurnTaker":
        """What takes turns for one log of a repository."""
        return TurnTaker(self, repository)

    def take(self, repository: str) -> None:
        """Wait for a turn of this repository."""
        ticket = object()
        with self._changed:
            self._waiting.setdefault(repository, deque()).append(ticket)
            while not self._free or self._next() is not ticket:
                self._changed.wait()
            self._free -= 1
            mine = self._waiting[repository]
            mine.popleft()
            if mine:
                self._waiting.move_to_end(repository)
            else:
                del self._waiting[repository]
            self._changed.notify_all()

    def give_back(self) -> None:
        """End a turn."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    @property
    def wanted(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def _next(self) -> object:
        return next(iter(self._waiting.values()))[0]


class TurnTaker:
    """Takes turns for one log, and counts the seconds that they took."""

    def __init__(self, turns: Turns, repository: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._turns = turns
        self._repository = repository
        self._clock = clock
        self._began = 0.0
        self._spent = 0.0
        self._holds = False

    @property
    def seconds(self) -> float:
        """Seconds worked so far."""
        return self._spent + (self._clock() - self._began if self._holds else 0.0)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Work on one piece."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    def breathe(self) -> None:
        """Within a turn: let others go first who wait."""
        if self._holds and self._turns.wanted:
            self._give_back()
            self._take()

    def _take(self) -> None:
        self._turns.take(self._repository)
        self._holds, self._began = True, self._clock()

    def _give_back(self) -> None:
        self._spent += self._clock() - self._began
        self._holds = False
        self._turns.give_back()
