"""Whose a repository is, by GitHub's word: renames, transfers and freed names carry no grant along."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bot.clusters.interface import Isolation
from bot.errors import NotGranted, TransientError
from bot.planning.budget import OperatorLimit
from bot.policy.gate import NOT_ASKED, REMEMBERED_SECONDS, Asked, LaunchTarget, PolicyGate, last_known_guard
from bot.policy.grants import Grants, LocalJobs, Policy, PolicyEntry
from bot.storage import policy as stored
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.policy import StoredMatch
from bot.storage.repositories import RepositoryRow
from tests.github.plain_github import NAME, PlainGitHub

OWNERS = PolicyEntry(match="Acme/*", sources=("gs://b/*",), local=LocalJobs.SANDBOXED)

ONE = PolicyEntry(match="acme/maxtext", sources=("gs://b/*",))


@dataclass
class World:
    """A gate on a GitHub of one repository, and a clock."""

    database: Database
    entries: tuple[PolicyEntry, ...] | None
    forge: PlainGitHub = field(default_factory=PlainGitHub)
    clock: float = 1e9

    def __post_init__(self) -> None:
        """The App is installed on the repository."""
        self.forge.stand_in.state.account("acme").id = 500
        self.installed(NAME)
        self.gate = self.restarted()

    def restarted(self) -> PolicyGate:
        """The gate of a process that has just started."""
        self.gate = PolicyGate(
            policy=Policy(entries=self.entries),
            database=self.database,
            forge=self.forge,
            now=lambda: self.clock,
        )
        return self.gate

    def installed(self, name: str, number: int = 1) -> None:
        """A delivery says that the App is installed on a repository of this name."""
        row = RepositoryRow(
            full_name=name, installation=1, default_branch="main", private=False, active=True, id=number
        )
        self.database.write_now(repositories.save_repository, row)

    def grants(self, name: str = NAME) -> Grants:
        """What holds for it now, asked of GitHub."""
        return asyncio.run(self.gate.grants(name, ask_anew=True))

    def pages_may_read(self, name: str, address: str) -> bool:
        """Whether the pages may, which ask nobody."""
        return last_known_guard(self.gate.policy, self.database)(name)(address)

    def renamed(self, name: str) -> None:
        """GitHub knows the repository under another name, and a delivery says so."""
        self.forge.stand_in.state.full_name = name
        self.installed(name)


def _is_granted(world: World, name: str = NAME) -> bool:
    return world.grants(name).allows("gs://b/run")


@pytest.mark.parametrize("entry", [OWNERS, ONE])
def test_what_the_policy_names_is_granted(database: Database, entry: PolicyEntry) -> None:
    """Whatever the case of the letters."""
    assert _is_granted(World(database, (entry,)))


def test_others_are_granted_nothing(database: Database) -> None:
    """An entry of another owner or repository says nothing of this one."""
    others = tuple(PolicyEntry(match=match, sources=("gs://b/*",)) for match in ("acme/other", "acm/*"))

    assert not _is_granted(World(database, others))


@pytest.mark.parametrize("entry", [OWNERS, ONE])
def test_a_transfer_carries_no_grant(database: Database, entry: PolicyEntry) -> None:
    """The new owner's words are not those that the operator trusts."""
    world = World(database, (entry,))
    assert _is_granted(world)
    world.renamed("mallory/maxtext")

    assert not _is_granted(world, "mallory/maxtext")


def test_a_rename_out_of_the_names_carries_no_grant(database: Database) -> None:
    """The entry names what it names; a rename within `OWNER/*` stays within it."""
    one, owners = World(database, (ONE,)), World(database, (OWNERS,))
    assert _is_granted(one)
    assert _is_granted(owners)
    one.renamed("acme/renamed")
    owners.renamed("acme/renamed")

    assert not _is_granted(one, "acme/renamed")
    assert _is_granted(owners, "acme/renamed")


@pytest.mark.parametrize("entry", [OWNERS, ONE])
def test_who_takes_a_freed_owners_name_gets_nothing(database: Database, entry: PolicyEntry) -> None:
    """Same name, another account: also after a restart."""
    world = World(database, (entry,))
    assert _is_granted(world)
    world.forge.stand_in.state.account("acme").id = 666
    assert not _is_granted(world)
    world.restarted()

    assert not _is_granted(world)


def test_a_new_repository_of_a_freed_name_gets_nothing(database: Database) -> None:
    """An entry for one repository is for that one; the operator may have its name resolved again."""
    database.write_now(
        stored.save_matches, {"acme/maxtext": StoredMatch(owner_id=500, repository_id=99)}, 1.0
    )
    world = World(database, (ONE,))
    assert not _is_granted(world)
    assert database.write_now(stored.forget_match, "Acme/MaxText")

    assert _is_granted(world)


def test_names_are_resolved_at_the_start(database: Database) -> None:
    """So that nobody takes a name between the start and its first use."""
    world = World(database, (OWNERS, ONE, PolicyEntry(match="nobody/*")))
    asyncio.run(world.gate.resolve_names())
    assert database.read_here(stored.stored_matches) == {
        "acme/*": StoredMatch(owner_id=500, repository_id=None),
        "acme/maxtext": StoredMatch(owner_id=500, repository_id=None),
    }
    world.forge.stand_in.state.account("acme").id = 666

    assert not _is_granted(world)


def test_where_github_cannot_be_asked_nothing_is_granted(database: Database) -> None:
    """And the refusal says so."""
    world = World(database, (OWNERS,))
    world.forge.stand_in.state.away = True
    refusal = world.grants().source_refusal("gs://b/run", "gs://b/run")

    assert refusal is not None
    assert refusal.text == f"this server may not read gs://b/run: {NOT_ASKED}"


def test_what_github_said_is_remembered_for_seconds(database: Database) -> None:
    """Not longer, and not right before a launch."""
    world = World(database, (OWNERS,))
    look: Callable[[], Grants] = lambda: asyncio.run(world.gate.grants(NAME))  # noqa: E731 - named for its use
    assert look().allows("gs://b/run")
    world.forge.stand_in.state.account("acme").id = 666
    assert look().allows("gs://b/run")
    world.clock += REMEMBERED_SECONDS
    assert not look().allows("gs://b/run")


def test_what_was_known_last_needs_no_github(database: Database) -> None:
    """For pages, and for jobs that run already; before GitHub was asked nothing is known."""
    world = World(database, (OWNERS,))
    here = LaunchTarget(place=None, repository="/srv/maxtext.git")
    assert not world.pages_may_read(NAME, "gs://b/run")
    world.forge.stand_in.state.away = True
    with pytest.raises(TransientError):
        asyncio.run(world.gate.launch(NAME, here, Asked.EVER))
    world.forge.stand_in.state.away = False
    world.grants()
    world.forge.stand_in.state.away = True

    assert world.pages_may_read(NAME, "gs://b/run")
    assert asyncio.run(world.gate.launch(NAME, here, Asked.EVER)).refusal is None
    assert asyncio.run(world.gate.launch(NAME, here, Asked.EVER)).isolation is Isolation.SANDBOXED
    assert asyncio.run(world.gate.launch(NAME, here, Asked.NOW)).refusal is not None
    assert not world.pages_may_read("acme/other", "gs://b/run")


def test_a_late_delivery_gives_nobody_anothers_numbers(database: Database) -> None:
    """Another repository of the name is another row, of which nothing is known."""
    world = World(database, (OWNERS,))
    world.grants()
    world.installed(NAME, number=2)

    assert not world.pages_may_read(NAME, "gs://b/run")


def test_without_entries_only_the_apps_owner_may_upload(database: Database) -> None:
    """And nobody reads or launches anything."""
    world = World(database, None)
    owners = world.grants()

    assert owners.upload_refusal() is None
    assert owners.source_refusal("gs://b/run", "gs://b/run") is not None
    assert owners.launch_refusal(None) is not None


def test_a_stranger_may_upload_nothing_without_entries(database: Database) -> None:
    """The App's owner is asked of GitHub, and is somebody else."""
    world = World(database, None)
    world.gate._app_owner = 7

    assert world.grants().upload_refusal() is not None


def test_an_empty_list_grants_nobody_anything(database: Database) -> None:
    """Not even the App's owner."""
    assert World(database, ()).grants().upload_refusal() is not None


def test_a_budget_is_of_all_repositories_of_its_entry(database: Database) -> None:
    """Who makes a second repository gets no second budget."""
    limited = PolicyEntry(match="acme/*", chip_hours_per_day=5.0)
    world = World(database, (limited, PolicyEntry(match="acme/maxtext", chip_hours_per_day=2.0)))
    world.grants()
    world.installed("acme/second", number=2)
    database.write_now(stored.save_owner, "acme/second", number=2, owner_id=500)
    world.installed("acme/stranger", number=3)
    database.write_now(stored.save_owner, "acme/stranger", number=3, owner_id=666)

    assert asyncio.run(world.gate.limits(NAME)) == (
        OperatorLimit(chip_hours_per_day=5.0, repositories=(NAME, "acme/second")),
        OperatorLimit(chip_hours_per_day=2.0, repositories=(NAME,)),
    )


def test_a_refusal_is_noted_once_with_the_lines_that_grant_it(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator copies them into the policy."""
    world = World(database, ())
    for _ in range(2):
        with pytest.raises(NotGranted, match="may not read gs://b/runs: ask its operator"):
            asyncio.run(world.gate.source_guard(NAME, "gs://b/runs"))

    (record,) = caplog.records
    assert record.getMessage() == (
        "acme/maxtext: this server may not read gs://b/runs: ask its operator; to grant it, add to "
        'repositories: in POLICY: - {match: "acme/maxtext", sources: ["gs://b/runs/*"]}'
    )
