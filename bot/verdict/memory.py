"""How close a run came to the limit of its devices' memory, and whether it grew.

In:  a `RunLog`. Out: gigabytes; None where the log does not state them.
Promises: the worst device speaks for all, since it is the one that runs out.
"""

from bot.logs.facts import RunLog


def headroom_gb(log: RunLog) -> float | None:
    """Return limit minus use of the device that has least left, over all its readings."""
    left = [one.limit_gb - one.used_gb for one in (*log.memory, *log.memory_most)]
    return min(left, default=None)


def growth_gb(log: RunLog) -> float | None:
    """Return how much the use of a device rose above its first reading, at most; 0 where it never did.

    None where no device was read twice.
    """
    first = {one.device: one.used_gb for one in log.memory}
    rises = [one.used_gb - first[one.device] for one in log.memory_most if one.device in first]
    return max(0.0, *rises) if rises else None
