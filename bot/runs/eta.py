"""How long a run will still take, as a range, and whether it has stopped writing.

None where nothing is known; nothing is guessed.
"""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from bot.domain.run import RunState
from bot.runs.run_status import RunStatus

SILENT_SECONDS = 600.0
"""A running job that writes nothing for ten minutes is reported: compiling a large model takes several."""

SILENT_STEPS = 20
"""A job whose steps take long may be silent for this many of them."""


class DurationRange(Struct, frozen=True, kw_only=True):
    """From `low` to `high` seconds."""

    low: float
    high: float

    def __add__(self, other: "DurationRange") -> "DurationRange":
        """The time of both, one after the other."""
        return DurationRange(low=self.low + other.low, high=self.high + other.high)

    def parallel(self, other: "DurationRange") -> "DurationRange":
        """The time of both in parallel."""
        return DurationRange(low=max(self.low, other.low), high=max(self.high, other.high))


NO_TIME = DurationRange(low=0.0, high=0.0)


def typical_duration(durations: Sequence[float]) -> DurationRange | None:
    """The time of a run that has not begun: that of earlier runs."""
    return DurationRange(low=min(durations), high=max(durations)) if durations else None


def remaining_time(run: RunStatus, durations: Sequence[float], now: float) -> DurationRange | None:
    """The remaining time of a running job, by its own step times and by the time of earlier runs.

    The later of both counts: steps say nothing of the last checkpoint, earlier runs nothing of a slow device.
    None for a job that has taken longer than every earlier run and shows no steps.
    """
    by_steps = _remaining_by_steps(run, now)
    earlier = typical_duration(durations)
    if earlier is None or run.began is None:
        return by_steps
    passed = max(0.0, now - run.began)
    if passed >= earlier.high:
        return by_steps
    left = DurationRange(low=max(0.0, earlier.low - passed), high=earlier.high - passed)
    return left if by_steps is None else left.parallel(by_steps)


def silent_for(run: RunStatus, now: float) -> float | None:
    """Seconds since a running job last wrote, where its usual step time does not explain them."""
    if run.state is not RunState.RUNNING or run.last_output is None:
        return None
    silent = now - max(run.last_output, run.began or run.last_output)
    usual = max(_seconds_per_step(run), default=0.0)
    return silent if silent >= max(SILENT_SECONDS, SILENT_STEPS * usual) else None


def _remaining_by_steps(run: RunStatus, now: float) -> DurationRange | None:
    """The time of the remaining steps, at the fastest and at the slowest speed that was seen."""
    speeds = _seconds_per_step(run)
    if not speeds or run.expected_steps is None or run.last_step is None:
        return None
    left = max(0, run.expected_steps - 1 - run.last_step)
    since = max(0.0, now - run.sightings[-1].at)
    return DurationRange(low=max(0.0, left * min(speeds) - since), high=max(0.0, left * max(speeds) - since))


def _seconds_per_step(run: RunStatus) -> list[float]:
    """Seconds per step between each two sightings; at the first one the program is warm, so it counts."""
    return [
        (later.at - earlier.at) / (later.step - earlier.step)
        for earlier, later in pairwise(run.sightings)
        if later.at > earlier.at
    ]
