"""A name is worth nothing: what was private stays private when another repository takes its name."""

from collections.abc import Callable

import pytest
from msgspec import structs

from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow
from bot.web.auth.keys import DAY_SECONDS
from tests.web.site_under_test import PRIVATE, SiteUnderTest
from tests.web.test_safety import private_pages

STRANGERS = RepositoryRow(
    full_name=PRIVATE, installation=9, default_branch="main", private=True, active=True, id=77
)

HIDDEN = "octo/hidden"


def _told(database: Database, row: RepositoryRow) -> None:
    """By a delivery."""
    database.write_now(repositories.save_repository, row)


def _answered(database: Database, row: RepositoryRow) -> None:
    """By GitHub's own answer."""
    database.write_now(repositories.confirm_repository, row, closings=None, now=1.0)


def _renamed(site: SiteUnderTest) -> dict[str, str]:
    """A private repository with pages that took another name; its pages by their old address."""
    pages = private_pages(site)
    site.database.write_now(repositories.rename_repository, PRIVATE, HIDDEN)
    return {path: path.replace(PRIVATE, HIDDEN) for path in pages}


@pytest.mark.parametrize("heard", [_told, _answered])
@pytest.mark.parametrize("name", [PRIVATE, PRIVATE.upper()])
@pytest.mark.parametrize("private", [True, False])
def test_who_takes_a_former_name_is_handed_nothing(
    heard: Callable[[Database, RepositoryRow], None],
    name: str,
    private: bool,  # noqa: FBT001
    site: SiteUnderTest,
) -> None:
    """Their own keys, which their comments carry, lead to their own repository and open nothing else."""
    before = site.key(PRIVATE, 4270)
    pages = _renamed(site)
    heard(site.database, structs.replace(STRANGERS, full_name=name, private=private))
    assert {} == {
        old: new for old, new in site.database.write_now(repositories.former_names).items() if new == HIDDEN
    }
    theirs = site.key(name, 4270)
    for old, new in pages.items():
        for address in (old, new):
            answer = site.get(f"{address}?key={theirs}")
            if not private and 200 == answer.status_code:
                # Their own repository is public, once GitHub says so.
                assert heard is _answered
                continue
            assert (303, address) == (answer.status_code, answer.headers["location"])
            cookie = answer.headers["set-cookie"].partition(";")[0]
            assert 404 == site.get(address, cookie=cookie).status_code, address
    # The owner's readers come to where it is now.
    assert 303 == site.get(f"/{HIDDEN}/pull/4270?key={before}").status_code


def test_a_name_that_another_repository_had_leads_nowhere_for_good(site: SiteUnderTest) -> None:
    """Also after the stranger gave it up again, or took another name."""
    _renamed(site)
    _told(site.database, STRANGERS)
    _told(site.database, structs.replace(STRANGERS, full_name="mallory/elsewhere"))
    assert {PRIVATE: "mallory/elsewhere"} == site.database.write_now(repositories.former_names)
    answer = site.get(f"/{PRIVATE}/pull/4270?key={site.key(HIDDEN, 4270)}")
    assert (303, f"/{PRIVATE}/pull/4270") == (answer.status_code, answer.headers["location"])


def test_a_name_that_two_had_leads_nowhere(site: SiteUnderTest) -> None:
    """Nobody knows which of them a link meant."""
    _told(site.database, structs.replace(STRANGERS, full_name="octo/first", id=5))
    _told(site.database, structs.replace(STRANGERS, full_name="octo/second", id=5))
    _told(site.database, structs.replace(STRANGERS, full_name="octo/first", id=6))
    _told(site.database, structs.replace(STRANGERS, full_name="octo/third", id=6))
    assert {"octo/first": "octo/third"} == site.database.write_now(repositories.former_names)


def test_a_late_delivery_takes_no_name_away(site: SiteUnderTest) -> None:
    """The owner's repository is heard of by its former name after a stranger has it: it stays what it is."""
    _renamed(site)
    _told(site.database, STRANGERS)
    database = site.database
    assert HIDDEN == database.write_now(repositories.current_name, PRIVATE, 1)
    assert HIDDEN == database.write_now(repositories.current_name, PRIVATE.upper(), 1)
    assert PRIVATE == database.write_now(repositories.current_name, PRIVATE, 77)
    assert "octo/newest" == database.write_now(repositories.current_name, "octo/newest", 1)


def test_what_is_set_aside_is_shut(site: SiteUnderTest) -> None:
    """A public repository whose name another one has: nobody knows what became of it."""
    site.add_repository("octo/open", private=False, number=5)
    assert 200 == site.get("/octo/open").status_code
    _told(site.database, structs.replace(STRANGERS, full_name="octo/open"))
    assert 404 == site.get("/octo/open").status_code
    assert 404 == site.get("/octo/open~5").status_code
    site.now += DAY_SECONDS
    assert 404 == site.get("/octo/open~5").status_code
