"""Whose code runs without being approved, and how long an approval holds."""

from bot.controller.vouching import FORK, Vouched, Waits, vouched
from bot.intake.trust import Approval
from tests.controller.samples import HEAD, NOW, pull

TREE, OTHER = "1" * 40, "2" * 40
APPROVAL = Approval(head_sha=HEAD, tree=TREE, by="bob", made=NOW)
FORKED = pull(head_repository="mallory/maxtext")


def test_a_branch_of_the_repository_needs_no_approval() -> None:
    """Somebody who may write pushed it; owners' names are compared as GitHub does."""
    assert Vouched() == vouched(pull(), TREE, None)
    assert Vouched() == vouched(pull(head_repository="ACME/MaxText"), None, None)


def test_a_fork_waits_and_says_what_ends_it() -> None:
    """The command to copy names the whole commit."""
    assert Waits(why=FORK, command=f"/benchmark approve {HEAD}") == vouched(FORKED, TREE, None)


def test_a_deleted_fork_is_a_fork() -> None:
    """Its code is still a stranger's."""
    assert isinstance(vouched(pull(head_repository=None), TREE, None), Waits)


def test_an_approved_head_runs() -> None:
    """By whom is kept; where the files' hash is not known, the very commit is approved."""
    assert Vouched(by="bob") == vouched(FORKED, TREE, APPROVAL)
    assert Vouched(by="bob") == vouched(FORKED, None, APPROVAL)


def test_other_files_wait_again() -> None:
    """A push of other files needs an approval of its own, and the sentence says why."""
    pushed = pull(head_repository="mallory/maxtext", head_sha="d" * 40)

    for tree in (OTHER, None):
        waits = vouched(pushed, tree, APPROVAL)
        assert isinstance(waits, Waits)
        assert "files were pushed that are not those that bob approved at aaaaaaa" == waits.why


def test_the_same_files_in_another_commit_stay_approved() -> None:
    """A reworded message changes the commit and not what runs."""
    assert Vouched(by="bob") == vouched(
        pull(head_repository="mallory/maxtext", head_sha="d" * 40), TREE, APPROVAL
    )


def test_a_commit_whose_files_are_others_is_not_approved() -> None:
    """Both are bound: an equal name of the commit does not outweigh other files."""
    assert isinstance(vouched(FORKED, OTHER, APPROVAL), Waits)
