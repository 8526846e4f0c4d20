"""Keeps below GitHub's rate limits, and stops asking while GitHub is away.

The limits are GitHub's secondary ones, of which its answers do not say how much is left:
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
Other programs may use the same installation's share, so a part is left free.

A request that finds nobody costs up to 20 seconds. After some failures in a row the circuit opens: one
request is tried in growing intervals, and the others fail at once.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpx
from msgspec import Struct, field

from bot.errors import Outage
from bot.github.errors import RateLimited

MINUTE, HOUR = 60.0, 3600.0

WRITES_PER_MINUTE, WRITES_PER_HOUR = 76, 475
"""Of about 80 and 500 contents that GitHub lets be created."""

POINTS_PER_MINUTE = 850
"""Of 900; reading costs one, writing five."""

POINTS_PER_WRITE = 5

SLOT_SECONDS = 10
"""What processes tell each other is counted in stretches of this length; all in one counts as sent at its
end, so what is kept below is a little less than the limit."""

UsageSlot = tuple[int, int, int]
"""The number of a stretch since the beginning of Unix time; writes and points in it."""

UsageExchange = Callable[[int, Sequence[UsageSlot], int], Awaitable[Sequence[UsageSlot] | None]]
"""Given an installation, what this process sent, and the first stretch that still counts: remembers that, and
says what all others sent since; None where that cannot be had now."""


class _Usage(Struct):
    """Moments of writes, oldest first, and of every point of the last minute."""

    writes: deque[float] = field(default_factory=deque)
    points: deque[float] = field(default_factory=deque)


class RateLimiter:
    """What each installation has spent; `now` gives Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._spent: dict[int, _Usage] = {}
        self._others: dict[int, tuple[UsageSlot, ...]] = {}
        self._told: dict[int, int] = {}

    def spend(self, installation: int, method: str) -> None:
        """Count a request, or raise `Limited` with the seconds after which it may be sent."""
        now, writes = self._now(), method != "GET"
        spent = self._spent.setdefault(installation, _Usage())
        _drop_until(spent.writes, now - HOUR)
        _drop_until(spent.points, now - MINUTE)
        cost = POINTS_PER_WRITE if writes else 1
        others = self._others.get(installation, ())
        points = _merge_usage(
            spent.points, ((stretch, count) for stretch, _, count in others), now - MINUTE, now
        )
        waits = [_seconds_until_free(points, POINTS_PER_MINUTE - cost + 1, now, MINUTE)]
        if writes:
            written = _merge_usage(
                spent.writes, ((stretch, count) for stretch, count, _ in others), now - HOUR, now
            )
            waits += [_seconds_until_free(written, WRITES_PER_HOUR, now, HOUR)]
            waits += [_seconds_until_free(written, WRITES_PER_MINUTE, now, MINUTE)]
        if max(waits) > 0:
            raise RateLimited("as much was sent as GitHub allows in this time", after=max(waits))
        spent.points.extend([now] * cost)
        if writes:
            spent.writes.append(now)

    def used(self, installation: int) -> float:
        """The share of an hour's writes that is spent, from 0 to 1."""
        now = self._now()
        spent = self._spent.get(installation, _Usage())
        _drop_until(spent.writes, now - HOUR)
        others = ((stretch, count) for stretch, count, _ in self._others.get(installation, ()))
        return len(_merge_usage(spent.writes, others, now - HOUR, now)) / WRITES_PER_HOUR

    async def exchange(self, installation: int, exchange: UsageExchange) -> None:
        """Tell others what this process sent since it was told the last time, and count what they sent."""
        now, since = self._now(), self._told.get(installation, 0)
        spent = self._spent.get(installation, _Usage())
        moments = ([at for at in some if _slot_of(at) >= since] for some in (spent.writes, spent.points))
        writes, points = (Counter(map(_slot_of, some)) for some in moments)
        sent = [(one, writes[one], points[one]) for one in sorted(writes | points)]
        heard = await exchange(installation, sent, _slot_of(now - HOUR))
        if heard is not None:
            self._told[installation] = _slot_of(now)
            self._others[installation] = tuple(heard)


def _slot_of(moment: float) -> int:
    return int(moment // SLOT_SECONDS)


def _merge_usage(
    own: deque[float], others: Iterable[tuple[int, int]], before: float, now: float
) -> Sequence[float]:
    """Our moments and those of others, oldest first; what was at `before` or earlier is left out, and what a
    wrong clock puts into the future."""
    ends = (((stretch + 1.0) * SLOT_SECONDS, count) for stretch, count in others)
    heard = [min(end, now) for end, count in ends if before < end < now + MINUTE for _ in range(count)]
    return sorted([*own, *heard]) if heard else own


def _drop_until(moments: deque[float], before: float) -> None:
    while moments and moments[0] <= before:
        moments.popleft()


def _seconds_until_free(moments: Sequence[float], most: int, now: float, window: float) -> float:
    """Seconds until fewer than `most` moments lie in the window."""
    if len(moments) < most:
        return 0.0
    return max(moments[-most] + window - now, 0.0)


FAILURES_TO_OPEN = 5
"""In a row, of any requests: a single one that GitHub cannot answer does not come without good ones."""

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 5.0, 60.0
"""How long nobody asks: short outages pass in seconds, and a minute late is soon enough after long ones."""

PROBE_SECONDS = 20.0
"""A request ends within this time; until then it is the only one."""


class CircuitBreaker:
    """One for a connection; `now` gives Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed = 0
        self._closed_until = 0.0
        self._pause = FIRST_PAUSE_SECONDS

    @property
    def is_open(self) -> bool:
        """Whether GitHub is taken for away."""
        return self._failed >= FAILURES_TO_OPEN

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
        self._failed, self._pause = 0, FIRST_PAUSE_SECONDS

    def failed(self) -> None:
        """GitHub gave no answer, or one that says that it failed."""
        self._failed += 1
        if self.is_open:
            self._closed_until = self._now() + self._pause
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)


# GitHub ends a request itself after ten seconds.
REQUEST_TIMEOUT = httpx.Timeout(15.0, connect=5.0)
