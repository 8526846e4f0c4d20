"""Whether a run may be started now, and what became of what was set aside for it.

In:  a run that is about to be launched, and later the end of that attempt.
Out: `Admitted`, or `Waits` with the reason in one clause.

Budgets and limits stand behind this; here is only what the controller asks of them.
"""

from dataclasses import dataclass
from typing import Protocol

from bot.runs.clusters.port import Job
from bot.runs.records import RunRecord


@dataclass(frozen=True, slots=True)
class Admitted:
    """Start it: what it may cost has been set aside, `again` where an earlier call did: that one may have
    started it."""

    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Ask again at `until` (Unix seconds); `why` is one clause for people: `4 of 4 runs on the cluster`."""

    until: float
    why: str


class Admission(Protocol):
    """Sets aside what an attempt of a run may cost. `run.attempt` says which attempt is meant.

    Both calls are repeated after a crash, so both are idempotent by `run.id` and `run.attempt`: an attempt
    that was admitted is admitted again without a second reservation, one that was settled stays settled.
    """

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Waits:
        """Ask right before the launch, each time; several processes may ask at once."""
        ...

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """Say that the attempt is over, whatever its end; also of an attempt that was never admitted.

        `chip_hours` were read from its log, None where that does not say; `ran_seconds` is how long the
        cluster was seen running it, None where it never was: then nothing was spent.
        """
        ...


@dataclass(frozen=True, slots=True)
class Open:
    """Admits everything: there are no limits."""

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Waits:  # noqa: ARG002 - as the Protocol
        """As `Admission.admit`."""
        return Admitted()

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """As `Admission.settle`."""
