"""Keeps below GitHub's rate limits, and stops asking while GitHub is away.

The limits are GitHub's secondary ones, of which its answers do not say how much is left:
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
Other programs may use the same installation's share, so a part is left free.

A request without an answer costs up to 20 seconds. After some failures in a row the circuit opens: one
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
"""Processes exchange counts of slots of this length. All requests of a slot count as sent at its end, so the
limits kept are a little lower than GitHub's."""

UsageSlot = tuple[int, int, int]
"""The number of a slot since the Unix epoch; writes and points in it."""

UsageExchange = Callable[[int, Sequence[UsageSlot], int], Awaitable[Sequence[UsageSlot] | None]]
"""Given an installation, what this process sent, and the first slot that still counts: stores that, and
returns what all others sent since; None where that is not available now."""


class _Usage(Struct):
    """Moments of writes, oldest first, and of every point of the last minute."""

    writes: deque[float] = field(default_factory=deque)
    points: deque[float] = field(default_factory=deque)


class RateLimiter:
    """Counts the requests of each installation; `now` gives Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._own: dict[int, _Usage] = {}
        self._others: dict[int, tuple[UsageSlot, ...]] = {}
        self._reported_until: dict[int, int] = {}

    def count(self, installation: int, method: str) -> None:
        """Count a request, or raise `RateLimited` with the seconds after which it may be sent."""
        now, is_write = self._now(), method != "GET"
        own = self._own.setdefault(installation, _Usage())
        _drop_until(own.writes, now - HOUR)
        _drop_until(own.points, now - MINUTE)
        cost = POINTS_PER_WRITE if is_write else 1
        others = self._others.get(installation, ())
        points = _merge_usage(own.points, ((slot, count) for slot, _, count in others), now - MINUTE, now)
        waits = [_seconds_until_free(points, POINTS_PER_MINUTE - cost + 1, now, MINUTE)]
        if is_write:
            writes = _merge_usage(own.writes, ((slot, count) for slot, count, _ in others), now - HOUR, now)
            waits += [_seconds_until_free(writes, WRITES_PER_HOUR, now, HOUR)]
            waits += [_seconds_until_free(writes, WRITES_PER_MINUTE, now, MINUTE)]
        if max(waits) > 0:
            raise RateLimited("as much was sent as GitHub allows in this time", after=max(waits))
        own.points.extend([now] * cost)
        if is_write:
            own.writes.append(now)

    def used_share(self, installation: int) -> float:
        """The share of an hour's writes that is used, from 0 to 1."""
        now = self._now()
        own = self._own.get(installation, _Usage())
        _drop_until(own.writes, now - HOUR)
        others = ((slot, count) for slot, count, _ in self._others.get(installation, ()))
        return len(_merge_usage(own.writes, others, now - HOUR, now)) / WRITES_PER_HOUR

    async def exchange(self, installation: int, exchange: UsageExchange) -> None:
        """Report what this process sent since the last report, and take in what others sent."""
        now, since = self._now(), self._reported_until.get(installation, 0)
        own = self._own.get(installation, _Usage())
        moments = ([at for at in some if _slot_of(at) >= since] for some in (own.writes, own.points))
        writes, points = (Counter(map(_slot_of, some)) for some in moments)
        sent = [(slot, writes[slot], points[slot]) for slot in sorted(writes | points)]
        others = await exchange(installation, sent, _slot_of(now - HOUR))
        if others is not None:
            self._reported_until[installation] = _slot_of(now)
            self._others[installation] = tuple(others)


def _slot_of(moment: float) -> int:
    return int(moment // SLOT_SECONDS)


def _merge_usage(
    own: deque[float], others: Iterable[tuple[int, int]], before: float, now: float
) -> Sequence[float]:
    """Our moments and those of others, oldest first, without those at `before` or earlier and those that a
    wrong clock puts into the future."""
    ends = (((slot + 1.0) * SLOT_SECONDS, count) for slot, count in others)
    theirs = [min(end, now) for end, count in ends if before < end < now + MINUTE for _ in range(count)]
    return sorted([*own, *theirs]) if theirs else own


def _drop_until(moments: deque[float], before: float) -> None:
    while moments and moments[0] <= before:
        moments.popleft()


def _seconds_until_free(moments: Sequence[float], most: int, now: float, window: float) -> float:
    """Seconds until fewer than `most` moments lie in the window."""
    if len(moments) < most:
        return 0.0
    return max(moments[-most] + window - now, 0.0)


FAILURES_TO_OPEN = 5
"""Failures in a row, of any requests: a request that GitHub alone cannot answer comes among good ones."""

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 5.0, 60.0
"""How long nothing is sent: short outages pass in seconds; after a long one a minute late is soon enough."""

PROBE_SECONDS = 20.0
"""A request ends within this time; until then it is the only one."""


class CircuitBreaker:
    """Stops requests while GitHub is away; `now` gives Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures = 0
        self._blocked_until = 0.0
        self._pause = FIRST_PAUSE_SECONDS

    @property
    def is_open(self) -> bool:
        """Whether GitHub counts as away."""
        return self._failures >= FAILURES_TO_OPEN

    def check(self) -> None:
        """Raise `Outage` unless a request may be sent."""
        left = self._blocked_until - self._now()
        if self.is_open and left > 0:
            raise Outage("GitHub is away; nothing is sent until it answers again", after=left)

    def before_request(self) -> None:
        """Check right before a request; while the circuit is open, block all others until it ends."""
        self.check()
        if self.is_open:
            self._blocked_until = self._now() + PROBE_SECONDS

    def record_success(self) -> None:
        """GitHub answered: close the circuit."""
        self._failures, self._pause = 0, FIRST_PAUSE_SECONDS

    def record_failure(self) -> None:
        """GitHub gave no answer, or a server error."""
        self._failures += 1
        if self.is_open:
            self._blocked_until = self._now() + self._pause
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)


# GitHub ends a request itself after ten seconds.
REQUEST_TIMEOUT = httpx.Timeout(15.0, connect=5.0)
