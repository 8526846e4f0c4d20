"""The configuration of a repository, and what a pull request would make of it."""

import asyncio

import pytest

from bot.controller.suites import PATH, Suites
from bot.intake.pull import Repository
from tests.controller.forge import FakeForge
from tests.controller.samples import ACME, FETCHES, HEAD


def _preview(files: dict[str, str]) -> str:
    suites = Suites(forge=FakeForge(files=files), now=lambda: 0.0)
    return asyncio.run(suites.preview(ACME, HEAD))


GONE = f"this pull request removes {PATH}: without it nothing is measured"
ONCE = f"this pull request edits {PATH}: once it is on the default branch, and not before, it"
CHANGED = (
    "adds 2 cases (12_ring, 13_pp); removes the case 04_int8; "
    "changes the practical margin from 1 % to 2 %; changes the concurrent runs from 4 to 8; edits checks"
)
ANOTHER = FETCHES.replace("04_int8: {}", "12_ring: {}, 13_pp: {}") + (
    "margins: {practical_percent: 2}\nbudget: {concurrent_runs: 8}\nchecks: check\n"
)
WRONG = f"as this pull request leaves it is not valid: {PATH}:5: chekcs: unknown key; did you mean checks?"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, GONE),
        ({PATH: FETCHES}, f"{ONCE} changes nothing that MaxView reads"),
        (
            {PATH: FETCHES, f"{HEAD}:{PATH}": ANOTHER},
            f"{ONCE} {CHANGED}",
        ),
        ({f"{HEAD}:{PATH}": FETCHES}, f"{ONCE} sets up 3 cases in 2 variants"),
        (
            {PATH: FETCHES, f"{HEAD}:{PATH}": FETCHES.replace("pure_nnx=true", "pure_nnx=false")},
            f"{ONCE} edits the variant nnx",
        ),
        ({PATH: FETCHES + "chekcs: off\n"}, f"{PATH} {WRONG}"),
    ],
)
def test_an_edited_configuration_is_previewed(files: dict[str, str], said: str) -> None:
    """Its errors are told before they are on the default branch, with their lines."""
    assert _preview(files) == said


def test_a_configuration_is_asked_for_once_a_minute() -> None:
    """Every look at a pull request needs it, and GitHub counts requests."""
    forge, clock = FakeForge(files={PATH: FETCHES}), [0.0]
    suites = Suites(forge=forge, now=lambda: clock[0])
    for moment in (0.0, 30.0, 61.0):
        clock[0] = moment
        asyncio.run(suites.read(ACME))
    assert len(forge.asked) == 2


def test_what_was_pushed_to_main_is_read_at_once_and_compared() -> None:
    """Whoever was not told of the configuration before cannot say that it is the same."""
    forge = FakeForge(files={PATH: FETCHES})
    suites = Suites(forge=forge, now=lambda: 0.0)
    assert [True, False] == [asyncio.run(suites.renew(ACME)) for _ in range(2)]
    forge.files[PATH] = FETCHES + "checks: check\n"
    assert [True, False] == [asyncio.run(suites.renew(ACME)) for _ in range(2)]


def test_what_was_read_between_a_push_and_its_webhook_hides_no_change() -> None:
    """A look at one pull request may see the new configuration before its push is heard of."""
    forge = FakeForge(files={PATH: FETCHES})
    suites = Suites(forge=forge, now=lambda: 0.0)
    asyncio.run(suites.renew(ACME))
    forge.files[PATH] = FETCHES + "checks: check\n"
    suites.forget(ACME)
    asyncio.run(suites.read(ACME))
    assert asyncio.run(suites.renew(ACME))


def test_a_reading_that_a_push_overtakes_is_not_kept() -> None:
    """GitHub answered it with what was there before the push: the next look reads it anew."""

    class Pushed(FakeForge):
        async def file(self, repository: Repository, path: str, ref: str) -> str | None:
            text = await super().file(repository, path, ref)
            if self.files == {PATH: FETCHES}:
                self.files[PATH] = FETCHES + "checks: check\n"
                await suites.renew(ACME)
            return text

    suites = Suites(forge=Pushed(files={PATH: FETCHES}), now=lambda: 0.0)
    old = asyncio.run(suites.read(ACME))
    assert old != asyncio.run(suites.read(ACME))
