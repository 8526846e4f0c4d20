"""What a run costs in chip-hours, how well that is known, and which limit keeps it from starting."""

from enum import StrEnum

from msgspec import Struct


class PriceBasis(StrEnum):
    """What a price rests on: runs that were measured, or nothing but the most that the run may take."""

    MEASURED = "measured"
    LIMIT = "limit"


class Price(Struct, frozen=True, kw_only=True):
    """Chip-hours of one run or of several: the usual, the least and the most seen, from `runs` runs.

    Where `basis` is LIMIT, all three are an upper bound: devices times the time limit.
    """

    usual: float
    least: float
    most: float
    basis: PriceBasis
    runs: int = 0


class HoldLimit(StrEnum):
    """A limit that can keep a run from starting, by its key in the configuration or the policy."""

    CONCURRENT_RUNS = "concurrent_runs"
    DAY = "chip_hours_per_day"
    PERSON = "chip_hours_per_person_per_day"
    PULL_REQUEST = "chip_hours_per_pull_request"
    OPERATOR = "operator's chip_hours_per_day"


class HoldReason(Struct, frozen=True):
    """Why a run may not start yet: the limit, and what it lacks. Stored and shown as `str(reason)`."""

    limit: HoldLimit
    detail: str

    def __str__(self) -> str:
        """`limit: detail`."""
        return f"{self.limit}: {self.detail}"

    @property
    def is_budget(self) -> bool:
        """Whether a budget is used up: a person may have to act. A slot gets free by itself."""
        return self.limit is not HoldLimit.CONCURRENT_RUNS

    @classmethod
    def parse(cls, text: str) -> "HoldReason | None":
        """Read the text form; None where it names no limit that we know."""
        limit, _, detail = text.partition(": ")
        return cls(HoldLimit(limit), detail) if limit in set(HoldLimit) else None


def exhausted_budget(why: str) -> str:
    """The budget that is used up, by a stored reason; empty where the run waits for something else."""
    reason = HoldReason.parse(why)
    return reason.limit.value if reason and reason.is_budget else ""
