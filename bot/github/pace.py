"""Keeps below GitHub's limits on how fast is written and asked, before it has to say so.

In:  every request of an installation. Out: `Limited` instead of one that would be too much.

The limits are GitHub's secondary ones, of which its answers do not say how much is left:
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
Other programs may use the same installation's share, so a part is left free.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.github.errors import Limited

MINUTE, HOUR = 60.0, 3600.0
WRITES_A_MINUTE, WRITES_AN_HOUR = 76, 475
"""Of about 80 and 500 contents that GitHub lets be created."""

POINTS_A_MINUTE = 850
"""Of 900; reading costs one, writing five."""

POINTS_OF_A_WRITE = 5


@dataclass(slots=True)
class _Spent:
    """Moments of writes, oldest first, and of every point of the last minute."""

    writes: deque[float] = field(default_factory=deque)
    points: deque[float] = field(default_factory=deque)


class Pace:
    """What each installation has spent; `now` gives Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._spent: dict[int, _Spent] = {}

    def spend(self, installation: int, method: str) -> None:
        """Count a request, or raise `Limited` with the seconds after which it may be sent."""
        now, writes = self._now(), method != "GET"
        spent = self._spent.setdefault(installation, _Spent())
        _forget(spent.writes, now - HOUR)
        _forget(spent.points, now - MINUTE)
        cost = POINTS_OF_A_WRITE if writes else 1
        waits = [_wait(spent.points, POINTS_A_MINUTE - cost + 1, now, MINUTE)]
        if writes:
            waits += [_wait(spent.writes, WRITES_AN_HOUR, now, HOUR)]
            waits += [_wait(spent.writes, WRITES_A_MINUTE, now, MINUTE)]
        if max(waits) > 0:
            raise Limited("as much was sent as GitHub allows in this time", after=max(waits))
        spent.points.extend([now] * cost)
        if writes:
            spent.writes.append(now)

    def used(self, installation: int) -> float:
        """The share of an hour's writes that is spent, from 0 to 1."""
        spent = self._spent.get(installation)
        if spent is None:
            return 0.0
        _forget(spent.writes, self._now() - HOUR)
        return len(spent.writes) / WRITES_AN_HOUR


def _forget(moments: deque[float], before: float) -> None:
    while moments and moments[0] <= before:
        moments.popleft()


def _wait(moments: deque[float], most: int, now: float, window: float) -> float:
    """Seconds until fewer than `most` moments lie in the window."""
    if len(moments) < most:
        return 0.0
    return max(moments[-most] + window - now, 0.0)
