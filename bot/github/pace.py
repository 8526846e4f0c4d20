"""Keeps below GitHub's limits on how fast is written and asked, before it has to say so.

In:  every request of an installation, and what other processes sent for it. Out: `Limited` instead of one
     that would be too much.

The limits are GitHub's secondary ones, of which its answers do not say how much is left:
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
Other programs may use the same installation's share, so a part is left free.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bot.github.errors import Limited

MINUTE, HOUR = 60.0, 3600.0
WRITES_A_MINUTE, WRITES_AN_HOUR = 76, 475
"""Of about 80 and 500 contents that GitHub lets be created."""

POINTS_A_MINUTE = 850
"""Of 900; reading costs one, writing five."""

POINTS_OF_A_WRITE = 5

STRETCH_SECONDS = 10
"""What processes tell each other is counted in stretches of this length; all in one counts as sent at its
end, so what is kept below is a little less than the limit."""

Sent = tuple[int, int, int]
"""The number of a stretch since the beginning of Unix time; writes and points in it."""

Exchange = Callable[[int, Sequence[Sent], int], Awaitable[Sequence[Sent] | None]]
"""Given an installation, what this process sent, and the first stretch that still counts: remembers that, and
says what all others sent since; None where that cannot be had now."""


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
        self._others: dict[int, tuple[Sent, ...]] = {}
        self._told: dict[int, int] = {}

    def spend(self, installation: int, method: str) -> None:
        """Count a request, or raise `Limited` with the seconds after which it may be sent."""
        now, writes = self._now(), method != "GET"
        spent = self._spent.setdefault(installation, _Spent())
        _forget(spent.writes, now - HOUR)
        _forget(spent.points, now - MINUTE)
        cost = POINTS_OF_A_WRITE if writes else 1
        others = self._others.get(installation, ())
        points = _with(spent.points, ((stretch, count) for stretch, _, count in others), now - MINUTE, now)
        waits = [_wait(points, POINTS_A_MINUTE - cost + 1, now, MINUTE)]
        if writes:
            written = _with(spent.writes, ((stretch, count) for stretch, count, _ in others), now - HOUR, now)
            waits += [_wait(written, WRITES_AN_HOUR, now, HOUR)]
            waits += [_wait(written, WRITES_A_MINUTE, now, MINUTE)]
        if max(waits) > 0:
            raise Limited("as much was sent as GitHub allows in this time", after=max(waits))
        spent.points.extend([now] * cost)
        if writes:
            spent.writes.append(now)

    def used(self, installation: int) -> float:
        """The share of an hour's writes that is spent, from 0 to 1."""
        now = self._now()
        spent = self._spent.get(installation, _Spent())
        _forget(spent.writes, now - HOUR)
        others = ((stretch, count) for stretch, count, _ in self._others.get(installation, ()))
        return len(_with(spent.writes, others, now - HOUR, now)) / WRITES_AN_HOUR

    async def exchange(self, installation: int, exchange: Exchange) -> None:
        """Tell others what this process sent since it was told the last time, and count what they sent."""
        now, since = self._now(), self._told.get(installation, 0)
        spent = self._spent.get(installation, _Spent())
        moments = ([at for at in some if _stretch(at) >= since] for some in (spent.writes, spent.points))
        writes, points = (Counter(map(_stretch, some)) for some in moments)
        sent = [(one, writes[one], points[one]) for one in sorted(writes | points)]
        heard = await exchange(installation, sent, _stretch(now - HOUR))
        if heard is not None:
            self._told[installation] = _stretch(now)
            self._others[installation] = tuple(heard)


def _stretch(moment: float) -> int:
    return int(moment // STRETCH_SECONDS)


def _with(own: deque[float], others: Iterable[tuple[int, int]], before: float, now: float) -> Sequence[float]:
    """Our moments and those of others, oldest first; what was at `before` or earlier is left out, and what a
    wrong clock puts into the future."""
    ends = (((stretch + 1.0) * STRETCH_SECONDS, count) for stretch, count in others)
    heard = [min(end, now) for end, count in ends if before < end < now + MINUTE for _ in range(count)]
    return sorted([*own, *heard]) if heard else own


def _forget(moments: deque[float], before: float) -> None:
    while moments and moments[0] <= before:
        moments.popleft()


def _wait(moments: Sequence[float], most: int, now: float, window: float) -> float:
    """Seconds until fewer than `most` moments lie in the window."""
    if len(moments) < most:
        return 0.0
    return max(moments[-most] + window - now, 0.0)
