"""What is read out of deliveries."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.repository import GHOST, Person, Repository
from bot.errors import UserError
from bot.webhooks.events import (
    Commented,
    Event,
    IgnoredEvent,
    InstallationAction,
    InstallationChanged,
    LabelChange,
    Labelled,
    Ping,
    PullAction,
    PullChanged,
    Pushed,
    read_event,
)
from tests.peers.webhooks import examples_of, webhook_examples
from tests.webhooks.payloads import (
    ALICE,
    BASE,
    COPYBARA,
    HEAD,
    REPOSITORY,
    Json,
    issue_comment,
    pull_request,
    push,
)

MAXTEXT = Repository(full_name="acme/maxtext", installation=100, default_branch="main", private=True, id=1)

OURS = ("pull_request", "issue_comment", "push", "installation", "installation_repositories", "ping")


def _opened(**changes: Any) -> PullChanged:
    facts: dict[str, Any] = {
        "repository": MAXTEXT,
        "number": 3,
        "action": PullAction.OPENED,
        "head_sha": HEAD,
        "head_branch": "feat/x",
        "head_repository": "acme/maxtext",
        "base_branch": "main",
        "draft": False,
        "merged": False,
        "by": Person(login="alice", id=7),
    }
    return PullChanged(**(facts | changes))


@pytest.mark.parametrize(
    "action", ["opened", "synchronize", "reopened", "ready_for_review", "converted_to_draft", "closed"]
)
def test_a_pull_request_that_changes_is_read(action: str) -> None:
    """Every action that may change what is measured gives the same facts."""
    assert _opened(action=PullAction(action)) == read_event("pull_request", pull_request(action))


def test_a_deleted_fork_is_no_repository() -> None:
    """GitHub sends null for a head repository that is gone."""
    payload = pull_request("synchronize")
    payload["pull_request"]["head"]["repo"] = None
    expected = _opened(action=PullAction.SYNCHRONIZE, head_repository=None)
    assert expected == read_event("pull_request", payload)


def test_a_deleted_account_is_a_ghost() -> None:
    """GitHub sends null for an account that is gone."""
    event = read_event("pull_request", pull_request("opened", sender=None))
    assert event == _opened(by=GHOST)


def test_a_new_base_branch_counts_and_a_new_title_does_not() -> None:
    """Of edits only those of the base change what is compared."""
    changed = pull_request("edited", changes={"base": {"ref": {"from": "dev"}, "sha": {"from": BASE}}})
    assert _opened(action=PullAction.EDITED) == read_event("pull_request", changed)
    titled = read_event("pull_request", pull_request("edited", changes={"title": {"from": "x"}}))
    assert IgnoredEvent(why="an edited title or description changes nothing that is measured") == titled


def test_a_new_comment_on_a_pull_request_is_read() -> None:
    """Author, text and time are taken from the comment."""
    assert read_event("issue_comment", issue_comment("/benchmark")) == Commented(
        repository=MAXTEXT,
        number=3,
        comment_id=9,
        author=Person(login="alice", id=7),
        body="/benchmark",
        created_at=1795240800.0,
    )


def test_text_that_cannot_be_written_down_is_replaced() -> None:
    """JSON may carry half a surrogate pair and NUL; a database and UTF-8 cannot."""
    payload = json.loads(json.dumps(issue_comment("/benchmark \ud83d a\x00b \N{ROCKET}")))
    read = read_event("issue_comment", payload)
    assert isinstance(read, Commented)
    assert "/benchmark \ufffd a\ufffdb \N{ROCKET}" == read.body


def test_a_comment_without_text_is_empty() -> None:
    """GitHub may send null for a body."""
    event = read_event("issue_comment", issue_comment(None))
    assert isinstance(event, Commented)
    assert event.body == ""


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (issue_comment("x", "edited"), "a comment was edited: only new comments are read for commands"),
        (issue_comment("x", "deleted"), "a comment was deleted: only new comments are read for commands"),
    ],
)
def test_a_comment_that_no_person_newly_wrote_is_ignored(payload: Json, why: str) -> None:
    """Edits give no commands."""
    assert IgnoredEvent(why=why) == read_event("issue_comment", payload)


def test_a_bot_that_comments_is_known_as_one() -> None:
    """Whether it is listed, the configuration says."""
    by_bot = issue_comment("x")
    by_bot["comment"] = {**by_bot["comment"], "user": COPYBARA}
    event = read_event("issue_comment", by_bot)
    assert isinstance(event, Commented)
    assert event.author.is_bot


@pytest.mark.parametrize("change", LabelChange)
def test_a_label_is_read_with_who_changed_it(change: LabelChange) -> None:
    """The sender put it or took it away, whoever wrote the pull request."""
    payload = pull_request(change.value) | {"label": {"name": "benchmark"}}
    payload["pull_request"] = {**payload["pull_request"], "updated_at": "2026-11-21T06:00:00Z"}
    event = read_event("pull_request", payload)
    assert isinstance(event, Labelled)
    assert ("benchmark", change) == (event.label, event.change)
    assert event.by.login == payload["sender"]["login"]


def test_a_comment_on_what_is_not_marked_as_a_pull_request_says_so() -> None:
    """Whether it is an issue, GitHub's own answer tells later."""
    event = read_event("issue_comment", issue_comment("x", issue={"number": 3}))
    assert isinstance(event, Commented)
    assert not event.on_pull


def test_a_push_to_a_branch_is_read() -> None:
    """Branches may hold slashes; the time is the repository's."""
    assert read_event("push", push("refs/heads/exported_pr_1/x")) == Pushed(
        repository=MAXTEXT,
        branch="exported_pr_1/x",
        before=BASE,
        after=HEAD,
        deleted=False,
        pushed_at=1795240800.0,
    )


def test_a_push_without_any_time_has_none() -> None:
    """What is not stated is None."""
    event = read_event("push", push("refs/heads/x", repository=REPOSITORY))
    assert isinstance(event, Pushed)
    assert event.pushed_at is None


def test_a_tag_is_ignored() -> None:
    """Tags measure nothing."""
    assert IgnoredEvent(why="refs/tags/v1 is not a branch") == read_event("push", push("refs/tags/v1"))


def test_an_installation_brings_and_takes_repositories() -> None:
    """Created adds its list, deleted removes it."""
    payload = {
        "installation": {"id": 100, "account": {"login": "acme"}},
        "repositories": [{"id": 1, "full_name": "acme/maxtext", "private": True}],
    }
    short = Repository(full_name="acme/maxtext", installation=100, private=True, id=1)
    expected = InstallationChanged(
        installation=100, action=InstallationAction.CREATED, account="acme", added=(short,), removed=()
    )
    assert expected == read_event("installation", {**payload, "action": "created"})
    gone = read_event("installation", {**payload, "action": "deleted"})
    assert isinstance(gone, InstallationChanged)
    assert ((), (short,)) == (gone.added, gone.removed)


def test_a_standing_installation_gets_other_repositories() -> None:
    """Added and removed repositories stand in lists of their own."""
    event = read_event(
        "installation_repositories",
        {
            "action": "added",
            "installation": {"id": 100, "account": {"login": "acme"}},
            "repositories_added": [{"id": 2, "full_name": "acme/jax"}],
            "repositories_removed": [],
        },
    )
    assert isinstance(event, InstallationChanged)
    assert (Repository(full_name="acme/jax", installation=100, id=2),) == event.added


@pytest.mark.parametrize(
    ("name", "payload", "told"),
    [
        ("pull_request", {"installation": {"id": 1}}, "the field action is missing: GitHub gives text there"),
        (
            "pull_request",
            pull_request("opened", pull_request=[]),
            "the field pull_request is not an object: GitHub gives an object there",
        ),
        (
            "pull_request",
            pull_request("opened", pull_request={"number": "3"}),
            "the field pull_request.number is not a whole number: GitHub gives a whole number there",
        ),
        (
            "issue_comment",
            issue_comment("x", comment={"id": 1, "user": ALICE, "created_at": "yesterday"}),
            "the field comment.created_at is not a time: GitHub gives a time there",
        ),
        (
            "installation",
            {"action": "created", "installation": {"id": 1}, "repositories": [{}]},
            "the field repositories[0].full_name is missing: GitHub gives text there",
        ),
    ],
)
def test_a_missing_field_is_named(name: str, payload: Json, told: str) -> None:
    """The message says which field and what is expected there."""
    with pytest.raises(UserError) as raised:
        read_event(name, payload)
    assert told == raised.value.text


def test_a_repository_s_own_webhook_is_ignored() -> None:
    """Without an installation nothing could be answered."""
    payload = pull_request("opened")
    del payload["installation"]
    event = read_event("pull_request", payload)
    assert isinstance(event, IgnoredEvent)
    assert event.why.startswith("it names no installation")


def test_other_events_are_ignored_by_name() -> None:
    """An event that is not ours is not looked into."""
    assert IgnoredEvent(why="no use is made of star events") == read_event("star", {})


def test_every_example_of_github_is_read_or_ignored() -> None:
    """No body that GitHub sent raises, whether it came to a repository's webhook or to an App's."""
    everything = (*webhook_examples(), *examples_of(*{name for name, _ in webhook_examples()}))
    assert len(everything) > 600
    for name, payload in everything:
        read_event(name, payload)


@pytest.mark.parametrize(
    ("name", "least", "kind"),
    [
        ("pull_request", 5, PullChanged),
        ("push", 2, Pushed),
        ("installation", 4, InstallationChanged),
        ("installation_repositories", 3, InstallationChanged),
        ("ping", 4, Ping),
    ],
)
def test_examples_of_our_events_give_values(name: str, least: int, kind: type[Event]) -> None:
    """Enough of GitHub's own bodies are understood, not only ignored."""
    events = [read_event(name, payload) for name, payload in examples_of(name)]
    assert sum(isinstance(event, kind) for event in events) >= least


def test_a_github_comment_on_a_pull_request_gives_its_text() -> None:
    """GitHub's example of a comment, set on a pull request (it has none of these), is read whole."""
    created = [one for _, one in examples_of("issue_comment") if one["action"] == "created"]
    for payload in created:
        event = read_event("issue_comment", {**payload, "issue": {**payload["issue"], "pull_request": {}}})
        assert isinstance(event, Commented)
        assert payload["comment"]["body"] == event.body


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(OURS), st.data())
def test_any_json_gives_a_value_or_told(name: str, data: st.DataObject) -> None:
    """Whatever stands in a field, the answer is a value or a message."""
    whole: Json = json.loads(
        json.dumps({**pull_request("opened"), **issue_comment("/benchmark"), **push("refs/heads/x")})
    )
    whole["action"] = data.draw(st.sampled_from(["opened", "created", "added", "closed"]))
    place: Any = whole
    path = data.draw(
        st.sampled_from(
            [
                "repository.full_name",
                "pull_request.head",
                "comment.user.id",
                "comment",
                "installation.id",
                "sender",
            ]
        )
    )
    *outer, last = path.split(".")
    for step in outer:
        place = place[step]
    place[last] = data.draw(_JSON)
    with suppress(UserError):
        read_event(name, whole)
