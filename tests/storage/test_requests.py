"""What was asked and approved comes back as it was kept."""

from bot.domain.case_key import CaseKey
from bot.domain.run_request import Approval, Cancellation, RequestSource, RunRequest
from bot.storage import requests
from bot.storage.database import Database

HERE = ("acme/maxtext", 7)

COMMAND = RunRequest(
    source=RequestSource.COMMAND,
    name="9:00",
    keys=frozenset({CaseKey("a", "linen"), CaseKey("b", "linen")}),
    by="bob",
    fresh=1,
    head_sha="a" * 40,
    made=5.0,
)

LABEL = RunRequest(
    source=RequestSource.LABEL, name="benchmark", keys=frozenset({CaseKey("a", "linen")}), by="bob", made=7.0
)

CANCEL = Cancellation(
    name="10:00", keys=frozenset({CaseKey("a", "linen")}), by="carol", head_sha="a" * 40, made=6.0
)


def test_asks_come_back_in_the_order_people_made_them(database: Database) -> None:
    """Of this pull request alone, however often they are written."""
    for one in (LABEL, CANCEL, COMMAND, COMMAND):
        database.write_now(requests.save_request, *HERE, one)
    database.write_now(requests.save_request, "acme/maxtext", 8, LABEL)

    assert (COMMAND, CANCEL, LABEL) == database.write_now(requests.run_requests, *HERE)


def test_only_earlier_requests_are_dropped(database: Database) -> None:
    """A label that was put again since stays."""
    database.write_now(requests.save_request, *HERE, LABEL)

    def taken(made: float) -> bool:
        return database.write_now(
            requests.drop_request, *HERE, source=RequestSource.LABEL, name="benchmark", made=made
        )

    assert [False, True] == [taken(6.0), taken(8.0)]
    assert () == database.write_now(requests.run_requests, *HERE)


def test_the_newest_approval_counts(database: Database) -> None:
    """And an approval of other files is dropped when those are seen."""
    first = Approval(head_sha="a" * 40, tree="1" * 40, by="bob", made=5.0)
    second = Approval(head_sha="b" * 40, tree="2" * 40, by="carol", made=6.0)
    database.write_now(requests.save_approval, *HERE, first)
    database.write_now(requests.save_approval, *HERE, second)
    assert second == database.write_now(requests.newest_approval, *HERE)

    assert 0 == database.write_now(requests.drop_approvals, *HERE, but_tree="1" * 40, until=5.5)
    assert 1 == database.write_now(requests.drop_approvals, *HERE, but_tree="1" * 40, until=6.0)
    assert first == database.write_now(requests.newest_approval, *HERE)
    assert 1 == database.write_now(requests.drop_approvals, *HERE, but_tree="3" * 40, until=6.0)
    assert database.write_now(requests.newest_approval, *HERE) is None
