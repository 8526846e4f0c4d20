"""The configuration of a repository, and what a pull request would make of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from bot.config import CONFIG_PATH
from bot.config.loader import CACHE_SECONDS, LoadedSuite, SuiteLoader
from bot.storage import pull_requests, queue, repositories
from bot.storage.database import Database
from bot.storage.tables import PULL_REQUEST
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, FETCHES, HEAD, NOW

CHECKED = FETCHES + "checks: check\n"


@dataclass(slots=True, kw_only=True)
class Scene:
    """A repository that is known, with one open pull request; several processes over one database."""

    database: Database
    forge: PlainGitHub = field(default_factory=lambda: PlainGitHub(files={CONFIG_PATH: FETCHES}))
    clock: float = NOW

    def __post_init__(self) -> None:
        """Remember both; nobody has looked yet."""
        self.database.write_now(repositories.save_repository, repositories.repository_row(ACME))
        self.database.write_now(
            pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW
        )

    def process(self) -> SuiteLoader:
        """One of them."""
        return SuiteLoader(forge=self.forge, database=self.database, now=lambda: self.clock)

    def read(self, suites: SuiteLoader) -> LoadedSuite:
        """What a process takes for the configuration."""
        return asyncio.run(suites.read(ACME))

    def push(self, suites: SuiteLoader, text: str | None = None) -> bool:
        """Something is pushed to main, and a process hears of it; whether it says that everything is looked
        at."""
        if text is not None:
            self.forge.history.files[CONFIG_PATH] = text
        return asyncio.run(suites.refresh(ACME))

    def look(self) -> bool:
        """Look at the pull request; whether it was due."""
        held = self.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=self.clock, lease=9.0)
        return held is not None and self.database.write_now(
            pull_requests.release_pull, held, now=self.clock, due=None, values={}
        )


@pytest.fixture
def scene(database: Database) -> Scene:
    """Nothing was read yet."""
    return Scene(database=database)


@pytest.fixture
def preview(database: Database) -> Callable[[dict[str, str]], str]:
    """What is said of an edited configuration."""

    def said(files: dict[str, str]) -> str:
        suites = SuiteLoader(forge=PlainGitHub(files=files), database=database, now=lambda: 0.0)
        return asyncio.run(suites.preview(ACME, HEAD))

    return said


GONE = f"this pull request removes {CONFIG_PATH}: without it nothing is measured"

ONCE = f"this pull request edits {CONFIG_PATH}: once it is on the default branch, and not before, it"

CHANGED = (
    "adds 2 cases (12_ring, 13_pp); removes the case 04_int8; "
    "changes the practical margin from 1 % to 2 %; changes the concurrent runs from 4 to 8; edits checks"
)

ANOTHER = FETCHES.replace("04_int8: {}", "12_ring: {}, 13_pp: {}") + (
    "margins: {practical_percent: 2}\nbudget: {concurrent_runs: 8}\nchecks: check\n"
)

WRONG = (
    f"as this pull request leaves it is not valid: {CONFIG_PATH}:5: chekcs: unknown key; did you mean checks?"
)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, GONE),
        ({CONFIG_PATH: FETCHES}, f"{ONCE} changes nothing that MaxView reads"),
        (
            {CONFIG_PATH: FETCHES, f"{HEAD}:{CONFIG_PATH}": ANOTHER},
            f"{ONCE} {CHANGED}",
        ),
        ({f"{HEAD}:{CONFIG_PATH}": FETCHES}, f"{ONCE} sets up 3 cases in 2 variants"),
        (
            {
                CONFIG_PATH: FETCHES,
                f"{HEAD}:{CONFIG_PATH}": FETCHES.replace("pure_nnx=true", "pure_nnx=false"),
            },
            f"{ONCE} edits the variant nnx",
        ),
        ({CONFIG_PATH: FETCHES + "chekcs: off\n"}, f"{CONFIG_PATH} {WRONG}"),
    ],
)
def test_an_edited_configuration_is_previewed(
    files: dict[str, str], said: str, preview: Callable[[dict[str, str]], str]
) -> None:
    """Its problems are reported with their lines before it reaches the default branch."""
    assert preview(files) == said


def test_a_configuration_is_cached_for_a_minute(scene: Scene) -> None:
    """Every look at a pull request needs it, and GitHub counts requests. The default branch is read again
    only after a change."""
    suites = scene.process()
    for seconds in (0.0, CACHE_SECONDS / 2, CACHE_SECONDS + 1):
        scene.clock = NOW + seconds
        scene.read(suites)
    file, facts = f"GET /repos/acme/maxtext/contents/{CONFIG_PATH}", "GET /repos/acme/maxtext"
    assert [file, facts, file] == scene.forge.requests


def test_a_push_to_main_refreshes_the_configuration(scene: Scene) -> None:
    """An unchanged one makes no pull request due, whichever processes get the push."""
    assert [True, False] == [scene.push(scene.process()) for _ in range(2)]
    assert [True, False] == [scene.look() for _ in range(2)]
    assert [True, False] == [scene.push(scene.process(), CHECKED) for _ in range(2)]
    assert [True, False] == [scene.look() for _ in range(2)]


def test_a_change_seen_by_one_process_reaches_all(scene: Scene) -> None:
    """One process gets the push and makes the pull requests due; another one works on them, with an older
    copy in its cache."""
    here, there = scene.process(), scene.process()
    old = scene.read(there)
    scene.look()
    scene.push(here, CHECKED)
    assert scene.look()
    assert old != scene.read(there) == scene.read(here)


def test_a_change_without_a_delivery_is_seen_at_the_next_read(scene: Scene) -> None:
    """It makes every pull request due."""
    suites = scene.process()
    scene.read(suites)
    scene.look()
    scene.forge.history.files[CONFIG_PATH] = CHECKED
    assert not scene.look()
    scene.clock += CACHE_SECONDS
    scene.read(suites)
    assert scene.look()


def test_a_reverted_change_leaves_nothing_behind(scene: Scene) -> None:
    """A look between the two pushes saw what neither delivery shows; its pull requests become due again."""
    suites = scene.process()
    scene.push(suites)
    scene.look()
    scene.forge.history.files[CONFIG_PATH] = CHECKED
    passing = scene.process()
    scene.read(passing)
    scene.look()
    scene.push(suites, FETCHES)
    assert scene.look()
    assert scene.read(passing) == scene.read(suites)


def test_a_read_overtaken_by_a_push_is_discarded(scene: Scene) -> None:
    """GitHub answered it with the file from before the push, which another process saw meanwhile."""
    other = scene.process()

    async def push() -> None:
        scene.forge.history.files[CONFIG_PATH] = CHECKED
        await other.refresh(ACME)

    scene.forge.stand_in.interrupt_next("GET", CONFIG_PATH, push, after=True)
    overtaken = scene.process()
    assert scene.read(overtaken) == scene.read(other)
    assert not scene.push(other)


def test_a_late_delivery_with_a_former_default_branch_is_not_believed(scene: Scene) -> None:
    """Pushes to that branch configure nothing now."""
    suites = scene.process()
    right = scene.read(suites)
    scene.look()
    scene.forge.history.files[f"master:{CONFIG_PATH}"] = CHECKED
    assert not asyncio.run(suites.refresh(replace(ACME, default_branch="master")))
    assert right == scene.read(suites)
    assert not scene.look()


def test_an_edited_repository_invalidates_every_cache(scene: Scene) -> None:
    """Its default branch may be another one, whose configuration nobody pushed."""
    here, there = scene.process(), scene.process()
    old = scene.read(there)
    scene.forge.history.files[CONFIG_PATH] = CHECKED
    asyncio.run(here.invalidate(ACME))
    assert old != scene.read(there)
