"""Ask the policy for a repository: who it is by GitHub's own word, and what holds for it.

`match` names are resolved to GitHub's numbers once, at the start or at the first use, and the numbers are
kept in the database (`policy_match`). Where GitHub cannot be asked nothing is granted, and the refusal says
so. The file is read at the start alone: a changed policy takes effect at the next start.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

from bot.artifacts.sources import canonical_address
from bot.artifacts.store import AddressGuard
from bot.clusters.interface import ClusterPlace, Isolation
from bot.domain.forge import Forge
from bot.domain.repository import Repository
from bot.errors import InternalError, NotGranted, TransientError, UserError
from bot.planning.budget import OperatorLimit
from bot.policy.grants import Grants, LocalJobs, MatchIds, Policy, Refusal, RepositoryIdentity
from bot.policy.suggest import entry_line
from bot.storage import policy as stored
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.policy import StoredIdentity, StoredMatch

REMEMBERED_SECONDS = 30.0
"""How long GitHub's word on whose a repository is is remembered. Right before a launch it is asked anew."""

NOTED_REFUSALS = 1000
"""Refusals whose lines are in the log already; they are not repeated while the process lives."""

NOT_ASKED = "GitHub could not be asked whose repository this is; MaxView tries again by itself"

LOG = logging.getLogger(__name__)


class Asked(StrEnum):
    """How old GitHub's word on whose a repository is may be."""

    NOW = "now"
    RECENTLY = "recently"
    EVER = "ever"


class LaunchTarget(Struct, frozen=True, kw_only=True):
    """What of a job reaches the outside: where it runs, in which image; where a local job's commits are."""

    place: ClusterPlace | None
    image: str = ""
    repository: str = ""


class LaunchDecision(Struct, frozen=True, kw_only=True):
    """Why a job may not be launched, None where it may; and how a local one is kept from the server."""

    refusal: Refusal | None
    isolation: Isolation = Isolation.SANDBOXED


class Permissions(Protocol):
    """What those ask who read or launch for a repository."""

    async def source_guard(self, repository: str, source: str) -> AddressGuard:
        """What of a source may be read; raises `NotGranted`, in one line for the comment."""
        ...

    async def launch(self, repository: str, target: LaunchTarget, asked: Asked) -> LaunchDecision:
        """Whether a job may be launched, or has a right to what it was launched on.

        Raises `TransientError` where that was never known and cannot be asked now."""
        ...

    async def limits(self, repository: str) -> tuple[OperatorLimit, ...]:
        """The operator's limits on what a repository's launches may cost."""
        ...

    def knows(self, place: ClusterPlace | None) -> bool:
        """Whether any entry is about this cluster; others are asked nothing."""
        ...


class _Remembered(Struct, frozen=True, kw_only=True):
    grants: Grants
    at: float


class PolicyGate(Struct, kw_only=True):
    """Asks the policy, and GitHub whose a repository is."""

    policy: Policy
    database: Database
    forge: Forge
    now: Callable[[], float]
    _known: dict[str, _Remembered] = field(default_factory=dict)
    _noted: dict[tuple[str, str], None] = field(default_factory=dict)
    _app_owner: int | None = None

    async def source_guard(self, repository: str, source: str) -> AddressGuard:
        """See `Permissions.source_guard`."""
        grants = await self.grants(repository)
        # A path that nobody may read is not even resolved.
        known = any(entry.sources for entry in grants.entries)
        address = await asyncio.to_thread(canonical_address, source) if known else ""
        if refusal := grants.source_refusal(source, address):
            self._note(repository, refusal)
            raise NotGranted(refusal.text)
        return grants.allows

    async def launch(self, repository: str, target: LaunchTarget, asked: Asked) -> LaunchDecision:
        """See `Permissions.launch`."""
        grants = await self._last_known(repository) if asked is Asked.EVER else None
        if grants is None:
            grants = await self.grants(repository, ask_anew=asked is Asked.NOW)
        if asked is Asked.EVER and grants.why_none:
            raise TransientError(f"{repository}: {grants.why_none}", after=REMEMBERED_SECONDS)
        local = target.place is None and grants.local is not LocalJobs.NO
        address = await asyncio.to_thread(canonical_address, target.repository) if local else ""
        refusal = grants.launch_refusal(target.place, image=target.image, address=address)
        if refusal:
            self._note(repository, refusal)
        return LaunchDecision(refusal=refusal, isolation=grants.isolation)

    async def grants(self, repository: str, *, ask_anew: bool = False) -> Grants:
        """What holds for a repository now, by GitHub's word of this moment or of the last seconds."""
        known = self._known.get(repository)
        if known and not ask_anew and 0 <= self.now() - known.at < REMEMBERED_SECONDS:
            return known.grants
        try:
            found = await self._ask(repository)
        except (InternalError, UserError) as error:
            LOG.warning("%s is granted nothing for now: %s", repository, error)
            return Grants(repository=repository, why_none=NOT_ASKED)
        self._known[repository] = _Remembered(grants=found, at=self.now())
        return found

    async def limits(self, repository: str) -> tuple[OperatorLimit, ...]:
        """See `Permissions.limits`."""
        known = self._known.get(repository)
        grants = known.grants if known else await self.grants(repository)
        if grants.why_none:
            raise TransientError(f"{repository}: {grants.why_none}", after=REMEMBERED_SECONDS)
        limited = {
            entry.key: entry.chip_hours_per_day
            for entry in grants.entries
            if entry.chip_hours_per_day is not None
        }
        if not limited:
            return ()
        ids = _ids(await self.database.read(stored.stored_matches))
        sharing: dict[str, list[str]] = {key: [] for key in limited}
        for one in await self.database.read(stored.stored_identities):
            for entry in self.policy.entries_of(_identity(one), ids, None):
                if entry.key in sharing:
                    sharing[entry.key].append(one.full_name)
        return tuple(
            OperatorLimit(chip_hours_per_day=limit, repositories=tuple(sharing[key]))
            for key, limit in limited.items()
        )

    def knows(self, place: ClusterPlace | None) -> bool:
        """See `Permissions.knows`."""
        return self.policy.knows(place)

    def _note(self, repository: str, refusal: Refusal) -> None:
        """Write the lines that would grant it to the log, once."""
        if (repository, refusal.text) in self._noted:
            return
        self._noted[repository, refusal.text] = None
        while len(self._noted) > NOTED_REFUSALS:
            self._noted.pop(next(iter(self._noted)))
        line = entry_line(refusal.wanted)
        advice = f"; to grant it, add to repositories: in POLICY: {line}" if line else ""
        said = "".join(letter if letter.isprintable() else "·" for letter in refusal.text)
        LOG.warning("%s: %s%s", repository, said, advice)

    async def resolve_names(self) -> None:
        """Resolve the policy's owners that the App is installed on; others at their first use."""
        known = await self.database.read(stored.stored_matches)
        missing = [entry for entry in self.policy.entries or () if entry.key not in known]
        if not missing:
            return
        try:
            accounts = await self.forge.installed_accounts()
        except (InternalError, UserError) as error:
            LOG.warning("the policy's names are resolved later: %s", error)
            return
        fresh = {
            entry.key: StoredMatch(owner_id=accounts[entry.owner], repository_id=None)
            for entry in missing
            if entry.owner in accounts
        }
        await self.database.write(stored.save_matches, fresh, self.now())

    async def _last_known(self, repository: str) -> Grants | None:
        """None where GitHub was never asked: the rows of an older version."""
        identity = await self.database.read(stored.stored_identity, repository)
        if identity is None or identity.owner_id is None:
            return None
        ids = _ids(await self.database.read(stored.stored_matches))
        return self._grants(repository, _identity(identity), ids)

    async def _ask(self, repository: str) -> Grants:
        row = await self.database.read(repositories.find_repository, repository)
        if row is None or not row.active:
            return Grants(repository=repository)
        facts = await self.forge.repository_facts(
            Repository(full_name=row.full_name, installation=row.installation)
        )
        one = RepositoryIdentity(full_name=facts.full_name, id=facts.id, owner=facts.owner_id)
        if facts.id is not None and facts.owner_id is not None:
            await self.database.write(stored.save_owner, repository, number=facts.id, owner_id=facts.owner_id)
        if self.policy.entries is None and self._app_owner is None:
            self._app_owner = await self.forge.app_owner()
        ids = _ids(await self.database.read(stored.stored_matches))
        if fresh := self.policy.unresolved(one, ids):
            rows = {
                key: StoredMatch(owner_id=found.owner, repository_id=found.repository)
                for key, found in fresh.items()
            }
            await self.database.write(stored.save_matches, rows, self.now())
            ids = _ids(await self.database.read(stored.stored_matches))
        return self._grants(repository, one, ids)

    def _grants(self, repository: str, one: RepositoryIdentity, ids: Mapping[str, MatchIds]) -> Grants:
        entries = self.policy.entries_of(one, ids, self._app_owner)
        return Grants(repository=repository, entries=entries, never=self.policy.never)


def last_known_guard(policy: Policy, database: Database) -> Callable[[str], AddressGuard]:
    """What each repository's pages may read, by GitHub's word when it was last asked; blocks."""

    def guard(repository: str) -> AddressGuard:
        identity = database.read_here(stored.stored_identity, repository)
        if identity is None:
            return Grants(repository=repository).allows
        ids = _ids(database.read_here(stored.stored_matches))
        entries = policy.entries_of(_identity(identity), ids, None)
        return Grants(repository=repository, entries=entries, never=policy.never).allows

    return guard


def _identity(known: StoredIdentity) -> RepositoryIdentity:
    return RepositoryIdentity(full_name=known.full_name, id=known.id, owner=known.owner_id)


def _ids(matches: Mapping[str, StoredMatch]) -> dict[str, MatchIds]:
    return {
        match: MatchIds(owner=found.owner_id, repository=found.repository_id)
        for match, found in matches.items()
    }
