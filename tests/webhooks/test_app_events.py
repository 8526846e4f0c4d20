"""What happens to the App and its repositories is read, and what is none of ours is left alone."""

from typing import Any

import pytest

from bot.domain.check import MERGE_GROUP_KEY, ButtonAction, check_key
from bot.errors import UserError
from bot.webhooks.app_events import (
    BotCommentChanged,
    CheckRequested,
    ConversationUnlocked,
    MergeGroupCreated,
    RepositoryChange,
    RepositoryChanged,
    read_app_event,
)
from bot.webhooks.events import USED_EVENTS, IgnoredEvent, is_used_event, read_event
from tests.peers.webhooks import examples_of

REPOSITORY: dict[str, Any] = {"full_name": "acme/maxtext", "id": 9, "default_branch": "main"}

BOB: dict[str, Any] = {"login": "bob", "id": 2, "type": "User"}

BOT: dict[str, Any] = {"login": "maxview[bot]", "id": 7, "type": "Bot"}

SHA = "a" * 40


def _payload(action: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "repository": REPOSITORY, "installation": {"id": 1}, "sender": BOB, **more}


def _check(action: str, key: str = check_key(7), **more: Any) -> dict[str, Any]:
    return _payload(action, check_run={"external_id": key, "head_sha": SHA}, **more)


@pytest.mark.parametrize("wish", ButtonAction)
def test_a_pressed_button_is_a_wish_for_its_pull_request(wish: ButtonAction) -> None:
    """The number comes back in the name that we gave the check: for forks GitHub lists no pull request."""
    read = read_app_event(
        "check_run", _check("requested_action", requested_action={"identifier": wish.value})
    )
    assert isinstance(read, CheckRequested)
    assert (7, wish, SHA, "bob", False) == (
        read.row_number,
        read.action,
        read.head_sha,
        read.by.login,
        read.reset,
    )


def test_asking_for_a_check_again_resets_it() -> None:
    """For one check, also of a branch without a pull request, and for all of a commit."""
    branch = read_app_event("check_run", _check("rerequested", check_key(-1)))
    assert isinstance(branch, CheckRequested)
    assert (-1, True) == (branch.row_number, branch.reset)
    one = read_app_event("check_run", _check("rerequested"))
    every = read_app_event("check_suite", _payload("rerequested", check_suite={"head_sha": SHA}))
    assert isinstance(one, CheckRequested)
    assert isinstance(every, CheckRequested)
    assert [(7, True), (None, True)] == [(read.row_number, read.reset) for read in (one, every)]


@pytest.mark.parametrize("key", ["", "7", "pull x", "pull 7 ", "pull 7\n", "Pull 7", "pull " + "7" * 40])
def test_a_check_of_another_program_is_none_of_ours(key: str) -> None:
    """GitHub sends other Apps' checks too, in some cases; a strange button is nobody's wish."""
    assert read_app_event("check_run", _check("rerequested", key)) is None
    strange = _check("requested_action", requested_action={"identifier": "merge"})
    assert read_app_event("check_run", strange) is None


@pytest.mark.parametrize("fate", RepositoryChange)
def test_a_repositorys_fate_is_read_with_the_name_it_has_now(fate: RepositoryChange) -> None:
    """GitHub's number stays the same under every name."""
    read = read_app_event("repository", _payload(fate.value))
    assert isinstance(read, RepositoryChanged)
    assert (fate, "acme/maxtext", 9) == (read.change, read.repository.full_name, read.repository.id)


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_a_bots_comment_that_another_changed_is_looked_at(action: str) -> None:
    """Its own changes are not news to it, and what people do to their comments is theirs."""
    comment = {"id": 5, "user": BOT}
    read = read_app_event("issue_comment", _payload(action, issue={"number": 7}, comment=comment))
    assert isinstance(read, BotCommentChanged)
    assert (7, 5) == (read.number, read.comment_id)
    own = _payload(action, issue={"number": 7}, comment=comment) | {"sender": BOT}
    assert read_app_event("issue_comment", own) is None
    theirs = _payload(action, issue={"number": 7}, comment={"id": 5, "user": BOB})
    assert read_app_event("issue_comment", theirs) is None


def test_an_unlocked_conversation_is_heard() -> None:
    """What could not be said is said then."""
    read = read_app_event("pull_request", _payload("unlocked", pull_request={"number": 7}))
    assert isinstance(read, ConversationUnlocked)


def test_what_is_missing_is_named() -> None:
    """What lacks a field is refused with its name; what names no installation is not the App's."""
    with pytest.raises(UserError, match=r"check_run\.head_sha"):
        read_app_event("check_run", _payload("rerequested", check_run={"external_id": check_key(7)}))
    assert read_app_event("repository", {"action": "renamed", "repository": REPOSITORY}) is None


@pytest.mark.parametrize("event", sorted(USED_EVENTS))
def test_every_kind_that_is_fetched_may_ask_something(event: str) -> None:
    """And what is not named there is ignored when it is read."""
    assert all(is_used_event(event, action) for action in USED_EVENTS[event])
    assert not is_used_event("workflow_run", "completed")
    assert not is_used_event(event, "an action of another year")
    assert isinstance(read_event("workflow_run", {"action": "completed"}), IgnoredEvent)


def test_what_github_really_sent_is_read() -> None:
    """Its own examples: repositories, suites, and checks of other programs, none of which raises."""
    read = [
        (name, read_app_event(name, payload))
        for name, payload in examples_of("check_run", "check_suite", "repository", "issue_comment")
    ]
    kinds = {type(life) for _, life in read if life is not None}
    assert {RepositoryChanged, CheckRequested} <= kinds
    assert [] == [life for name, life in read if name == "check_run" and life is not None]


QUEUED = "refs/heads/gh-readonly-queue/{}/pr-104-" + SHA


@pytest.mark.parametrize(
    ("ref", "pull"),
    [
        (QUEUED.format("main"), 104),
        (QUEUED.format("release/1.2"), 104),
        ("refs/heads/gh-readonly-queue/main/" + SHA, None),
        ("refs/heads/main", None),
        (None, None),
    ],
)
def test_a_merge_queue_asks_for_the_check_of_its_commit(ref: str | None, pull: int | None) -> None:
    """Its branch names the last pull request in it; where it does not, the commit waits all the same."""
    group = {"head_sha": SHA, "head_ref": ref, "base_ref": "refs/heads/main"}
    read = read_app_event("merge_group", _payload("checks_requested", merge_group=group))
    assert isinstance(read, MergeGroupCreated)
    assert (SHA, pull, "acme/maxtext") == (read.head_sha, read.pull, read.repository.full_name)


def test_a_merge_queues_commit_that_is_gone_asks_nothing() -> None:
    """It was merged, or left out."""
    gone = _payload("destroyed", reason="merged", merge_group={"head_sha": SHA})
    assert read_app_event("merge_group", gone) is None
    assert isinstance(read_event("merge_group", gone), IgnoredEvent)
    assert not is_used_event("merge_group", "destroyed")


def test_the_check_of_a_merge_queues_commit_has_no_buttons_and_can_be_asked_for_again() -> None:
    """It belongs to no pull request's conversation."""
    read = read_app_event("check_run", _check("rerequested", MERGE_GROUP_KEY))
    assert isinstance(read, CheckRequested)
    assert (None, True) == (read.row_number, read.reset)
    pressed = _check("requested_action", MERGE_GROUP_KEY, requested_action={"identifier": "rerun"})
    assert read_app_event("check_run", pressed) is None


def test_a_merge_group_that_github_really_sent_is_read() -> None:
    """Its own examples."""
    for name, payload in examples_of("merge_group"):
        read = read_app_event(name, payload)
        assert isinstance(read, MergeGroupCreated)
        assert 104 == read.pull
