"""A policy of the tests that grants everything, and notes what it was asked."""

from dataclasses import dataclass, field

from bot.artifacts.store import AddressGuard
from bot.clusters.interface import ClusterPlace, Isolation
from bot.errors import NotGranted
from bot.planning.budget import OperatorLimit
from bot.policy.gate import Asked, LaunchDecision, LaunchTarget
from bot.policy.grants import PolicyEntry, Refusal


@dataclass(slots=True, kw_only=True)
class OpenPolicy:
    """Grants everything; `refused` refuses launches, `unread` refuses sources, `places` limits clusters."""

    refused: str = ""
    unread: str = ""
    operator_limits: tuple[OperatorLimit, ...] = ()
    unknown_places: bool = False
    asked: list[Asked] = field(default_factory=list)

    async def source_guard(self, repository: str, source: str) -> AddressGuard:  # noqa: ARG002 - as the Protocol
        """As `Permissions.source_guard`."""
        if self.unread:
            raise NotGranted(self.unread)
        return lambda _address: True

    async def launch(
        self,
        repository: str,
        target: LaunchTarget,  # noqa: ARG002 - as the Protocol
        asked: Asked,
    ) -> LaunchDecision:
        """As `Permissions.launch`."""
        self.asked.append(asked)
        wanted = PolicyEntry(match=repository)
        refusal = Refusal(text=self.refused, wanted=wanted) if self.refused else None
        return LaunchDecision(refusal=refusal, isolation=Isolation.UNSANDBOXED)

    async def limits(self, repository: str) -> tuple[OperatorLimit, ...]:  # noqa: ARG002 - as the Protocol
        """As `Permissions.limits`."""
        return self.operator_limits

    def knows(self, place: ClusterPlace | None) -> bool:
        """As `Permissions.knows`."""
        return place is None or not self.unknown_places


OPEN = OpenPolicy()
"""For tests that are about something else."""
