"""Ask the policy for a repository: who it is by GitHub's own word, and what holds for it.

`match` names are resolved to GitHub's numbers once, at the start or at the first use, and the numbers are
kept in the database (`policy_match`). Where GitHub cannot be asked nothing is granted, and the refusal says
so. The file is read at the start alone: a changed policy takes effect at the next start.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct, field

from bot.clusters.interface import ClusterPlace
from bot.domain.forge import Forge
from bot.domain.repository import Repository
from bot.errors import InternalError, UserError
from bot.policy.grants import Grants, MatchIds, Policy, Refusal, RepositoryIdentity
from bot.policy.suggest import entry_line
from bot.storage import policy as stored
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.policy import StoredMatch

REMEMBERED_SECONDS = 30.0
"""How long GitHub's word on whose a repository is is remembered. Right before a launch it is asked anew."""

NOTED_REFUSALS = 1000
"""Refusals whose lines are in the log already; they are not repeated while the process lives."""

NOT_ASKED = "GitHub could not be asked whose repository this is; MaxView tries again by itself"

LOG = logging.getLogger(__name__)


class OperatorBudget(Struct, frozen=True, kw_only=True):
    """Chip-hours a day of all these repositories together."""

    chip_hours_per_day: float
    repositories: tuple[str, ...]


class GrantSource(Protocol):
    """What those ask who read or launch for a repository."""

    async def grants(self, repository: str, *, ask_anew: bool = False) -> Grants:
        """What holds for a repository now, by GitHub's word of this moment or of the last seconds."""
        ...

    def last_known(self, repository: str) -> Grants:
        """What holds by GitHub's word when it was last asked; blocks on the database."""
        ...

    async def budgets(self, repository: str) -> tuple[OperatorBudget, ...]:
        """The operator's limits on what a repository's launches may cost."""
        ...

    def knows(self, place: ClusterPlace | None) -> bool:
        """Whether any entry is about this cluster."""
        ...

    def note(self, repository: str, refusal: Refusal) -> None:
        """Write the lines that would grant it to the log, once."""
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

    async def grants(self, repository: str, *, ask_anew: bool = False) -> Grants:
        """See `GrantSource.grants`."""
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

    def last_known(self, repository: str) -> Grants:
        """See `GrantSource.last_known`."""
        identity = self.database.read_here(stored.stored_identity, repository)
        if identity is None:
            return Grants(repository=repository)
        one = RepositoryIdentity(full_name=identity.full_name, id=identity.id, owner=identity.owner_id)
        return self._grants(repository, one, _ids(self.database.read_here(stored.stored_matches)))

    async def budgets(self, repository: str) -> tuple[OperatorBudget, ...]:
        """See `GrantSource.budgets`."""
        limited = {
            entry.key: entry.chip_hours_per_day
            for entry in (await self.grants(repository)).entries
            if entry.chip_hours_per_day is not None
        }
        if not limited:
            return ()
        ids = _ids(await self.database.read(stored.stored_matches))
        sharing: dict[str, list[str]] = {key: [] for key in limited}
        for known in await self.database.read(stored.stored_identities):
            one = RepositoryIdentity(full_name=known.full_name, id=known.id, owner=known.owner_id)
            for entry in self.policy.entries_of(one, ids, None):
                if entry.key in sharing:
                    sharing[entry.key].append(known.full_name)
        return tuple(
            OperatorBudget(chip_hours_per_day=limit, repositories=tuple(sharing[key]))
            for key, limit in limited.items()
        )

    def knows(self, place: ClusterPlace | None) -> bool:
        """See `GrantSource.knows`."""
        return self.policy.knows(place)

    def note(self, repository: str, refusal: Refusal) -> None:
        """See `GrantSource.note`."""
        if (repository, refusal.text) in self._noted:
            return
        self._noted[repository, refusal.text] = None
        while len(self._noted) > NOTED_REFUSALS:
            self._noted.pop(next(iter(self._noted)))
        line = entry_line(refusal.wanted)
        advice = f"; to grant it, add to repositories: in POLICY: {line}" if line else ""
        LOG.warning("%s: %s%s", repository, refusal.text, advice)

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


def _ids(matches: Mapping[str, StoredMatch]) -> dict[str, MatchIds]:
    return {
        match: MatchIds(owner=found.owner_id, repository=found.repository_id)
        for match, found in matches.items()
    }
