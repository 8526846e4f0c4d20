"""Stops asking GitHub while it is away, and finds out when it is back.

In:  how requests end. Out: `Outage` instead of a request, as long as the circuit is open.

A request that finds nobody costs up to 20 seconds and a place among those who wait; during an outage all of
them would. After some failures in a row nobody asks any more but one, who tries in growing intervals.
"""

from collections.abc import Callable

from bot.errors import Outage

FAILURES = 5
"""In a row, of any requests: a single one that GitHub cannot answer does not come without good ones."""

FIRST_SECONDS, LONGEST_SECONDS = 5.0, 60.0
"""How long nobody asks: short outages pass in seconds, and a minute late is soon enough after long ones."""

PROBE_SECONDS = 20.0
"""A request ends within this time; until then it is the only one."""


class Circuit:
    """One for a connection; `now` gives Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed = 0
        self._closed_until = 0.0
        self._pause = FIRST_SECONDS

    @property
    def is_open(self) -> bool:
        """Whether GitHub is taken for away."""
        return self._failed >= FAILURES

    def check(self) -> None:
        """Return where a request may be sent."""
        left = self._closed_until - self._now()
        if self.is_open and left > 0:
            raise Outage("GitHub is away; nothing is sent until it answers again", after=left)

    def pass_one(self) -> None:
        """Return right before a request is sent, which is the only one while GitHub is taken for away."""
        self.check()
        if self.is_open:
            self._closed_until = self._now() + PROBE_SECONDS

    def worked(self) -> None:
        """GitHub answered: everybody may ask."""
        self._failed, self._pause = 0, FIRST_SECONDS

    def failed(self) -> None:
        """GitHub gave no answer, or one that says that it failed."""
        self._failed += 1
        if self.is_open:
            self._closed_until = self._now() + self._pause
            self._pause = min(2 * self._pause, LONGEST_SECONDS)
