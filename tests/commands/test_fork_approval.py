"""Whose code runs without being approved, and how long an approval holds."""

from bot.commands.fork_approval import FORK_REASON, ApprovalNeeded, RunAllowed, check_approval
from bot.domain.run_request import Approval
from tests.worker.samples import HEAD, NOW, pull

TREE, OTHER = "1" * 40, "2" * 40

APPROVAL = Approval(head_sha=HEAD, tree=TREE, by="bob", made=NOW)

FORKED = pull(head_repository="mallory/maxtext")


def test_a_branch_of_the_repository_needs_no_approval() -> None:
    """Somebody who may write pushed it; owners' names are compared as GitHub does."""
    assert RunAllowed() == check_approval(pull(), TREE, None)
    assert RunAllowed() == check_approval(pull(head_repository="ACME/MaxText"), None, None)


def test_a_fork_waits_and_says_what_ends_it() -> None:
    """The command to copy names the whole commit."""
    assert ApprovalNeeded(why=FORK_REASON, command=f"/benchmark approve {HEAD}") == check_approval(
        FORKED, TREE, None
    )


def test_a_deleted_fork_is_a_fork() -> None:
    """Its code is still a stranger's."""
    assert isinstance(check_approval(pull(head_repository=None), TREE, None), ApprovalNeeded)


def test_an_approved_head_runs() -> None:
    """By whom is kept; where the files' hash is not known, the very commit is approved."""
    assert RunAllowed(by="bob") == check_approval(FORKED, TREE, APPROVAL)
    assert RunAllowed(by="bob") == check_approval(FORKED, None, APPROVAL)


def test_other_files_wait_again() -> None:
    """A push of other files needs an approval of its own, and the sentence says why."""
    pushed = pull(head_repository="mallory/maxtext", head_sha="d" * 40)

    for tree in (OTHER, None):
        waits = check_approval(pushed, tree, APPROVAL)
        assert isinstance(waits, ApprovalNeeded)
        assert "files were pushed that are not those that bob approved at aaaaaaa" == waits.why


def test_the_same_files_in_another_commit_stay_approved() -> None:
    """A reworded message changes the commit and not what runs."""
    assert RunAllowed(by="bob") == check_approval(
        pull(head_repository="mallory/maxtext", head_sha="d" * 40), TREE, APPROVAL
    )


def test_a_commit_whose_files_are_others_is_not_approved() -> None:
    """Both are bound: an equal name of the commit does not outweigh other files."""
    assert isinstance(check_approval(FORKED, OTHER, APPROVAL), ApprovalNeeded)
