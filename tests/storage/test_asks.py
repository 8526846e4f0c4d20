"""What was asked and approved comes back as it was kept."""

from bot.intake.trust import Approval
from bot.runs.asks import Ask, Source, Withdrawal
from bot.storage import approvals, asks
from bot.storage.database import Database

HERE = ("acme/maxtext", 7)
COMMAND = Ask(
    source=Source.COMMAND,
    name="9:00",
    keys=frozenset({"a/linen", "b/linen"}),
    by="bob",
    fresh=1,
    head_sha="a" * 40,
    made=5.0,
)
LABEL = Ask(source=Source.LABEL, name="benchmark", keys=frozenset({"a/linen"}), by="bob", made=7.0)
CANCEL = Withdrawal(name="10:00", keys=frozenset({"a/linen"}), by="carol", head_sha="a" * 40, made=6.0)


def test_asks_come_back_in_the_order_people_made_them(database: Database) -> None:
    """Of this pull request alone, however often they are written."""
    for one in (LABEL, CANCEL, COMMAND, COMMAND):
        database.now(asks.keep, *HERE, one)
    database.now(asks.keep, "acme/maxtext", 8, LABEL)

    assert (COMMAND, CANCEL, LABEL) == database.now(asks.of_pull, *HERE)


def test_only_what_was_asked_before_is_taken_back(database: Database) -> None:
    """A label that was put again since stays."""
    database.now(asks.keep, *HERE, LABEL)

    def taken(made: float) -> bool:
        return database.now(asks.take_back, *HERE, source=Source.LABEL, name="benchmark", made=made)

    assert [False, True] == [taken(6.0), taken(8.0)]
    assert () == database.now(asks.of_pull, *HERE)


def test_the_newest_approval_counts(database: Database) -> None:
    """And an approval of other files is dropped when those are seen."""
    first = Approval(head_sha="a" * 40, tree="1" * 40, by="bob", made=5.0)
    second = Approval(head_sha="b" * 40, tree="2" * 40, by="carol", made=6.0)
    database.now(approvals.keep, *HERE, first)
    database.now(approvals.keep, *HERE, second)
    assert second == database.now(approvals.newest, *HERE)

    assert 0 == database.now(approvals.drop, *HERE, but_tree="1" * 40, until=5.5)
    assert 1 == database.now(approvals.drop, *HERE, but_tree="1" * 40, until=6.0)
    assert first == database.now(approvals.newest, *HERE)
    assert 1 == database.now(approvals.drop, *HERE, but_tree="3" * 40, until=6.0)
    assert database.now(approvals.newest, *HERE) is None
