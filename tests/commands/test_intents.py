"""What deliveries ask of us, and who may ask."""

from msgspec.structs import replace

from bot.commands import grammar
from bot.commands.intents import (
    BranchIntent,
    CloseIntent,
    CommandIntent,
    IgnoreIntent,
    InstallIntent,
    Intent,
    WatchIntent,
    decide_intent,
)
from bot.commands.permission import Allowed, AuthorRights, Denied, decide_permission
from bot.domain.command import CommentOrigin
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Permission, Person, Repository
from bot.webhooks.events import read_event
from tests.webhooks.payloads import HEAD, Json, issue_comment, pull_request, push

MAXTEXT = Repository(full_name="acme/maxtext", installation=100, default_branch="main", private=True, id=1)

ALICE = Person(login="alice", id=7)


def _intent(name: str, payload: Json) -> Intent:
    return decide_intent(read_event(name, payload))


def test_a_pull_request_is_watched_until_it_closes() -> None:
    """Every action watches it but closing."""
    watched = WatchIntent(repository=MAXTEXT, number=3, head_sha=HEAD)
    assert watched == _intent("pull_request", pull_request("opened"))
    assert watched == _intent("pull_request", pull_request("reopened"))
    assert CloseIntent(repository=MAXTEXT, number=3) == _intent("pull_request", pull_request("closed"))


def test_a_comment_with_commands_asks_for_them() -> None:
    """The commands come read, in order, with who asked."""
    assert _intent("issue_comment", issue_comment("/benchmark status\n/benchmark rn")) == CommandIntent(
        repository=MAXTEXT,
        number=3,
        origin=CommentOrigin(9),
        author=ALICE,
        commands=(
            grammar.StatusCommand(text="/benchmark status"),
            grammar.ParseError(
                text="/benchmark rn",
                why="rn is not a command: "
                "run, rerun, cancel, status, plan, baseline, approve, ack, rotate-links and help are.",
                nearest="/benchmark run",
            ),
        ),
        created_at=1795240800.0,
    )


def test_a_command_may_stand_on_an_issue() -> None:
    """The delivery alone cannot always tell."""
    intent = _intent("issue_comment", issue_comment("/benchmark", issue={"number": 3}))
    assert isinstance(intent, CommandIntent)
    assert not intent.on_pull


def test_a_comment_without_commands_asks_nothing() -> None:
    """People may talk."""
    expected = IgnoreIntent(why="the comment holds no /benchmark command")
    assert expected == _intent("issue_comment", issue_comment("Looks good to me"))


def test_a_push_speaks_of_its_branch_and_whether_it_is_gone() -> None:
    """Which branches are watched is decided elsewhere."""
    expected = BranchIntent(repository=MAXTEXT, branch="test_1", sha=HEAD, pushed_at=1795240800.0)
    assert expected == _intent("push", push("refs/heads/test_1"))
    deleted = _intent("push", push("refs/heads/test_1", deleted=True, after="0" * 40))
    assert replace(expected, sha="0" * 40, deleted=True) == deleted


def test_an_installation_that_ends_or_pauses_is_gone() -> None:
    """Deleted and suspended are alike to us."""
    payload: Json = {"installation": {"id": 100, "account": {"login": "acme"}}}
    for action, gone in (("created", False), ("unsuspend", False), ("suspend", True), ("deleted", True)):
        intent = _intent("installation", {**payload, "action": action})
        assert InstallIntent(installation=100, account="acme", gone=gone) == intent


def test_what_is_ignored_keeps_its_reason() -> None:
    """The reason can be logged."""
    assert IgnoreIntent(why="GitHub tried out the address") == _intent("ping", {"zen": "…"})
    assert IgnoreIntent(why="no use is made of star events") == _intent("star", {})


def test_who_may_write_may_start_runs() -> None:
    """Write is enough, and admin is known; read, which everyone has on a public repository, is not."""
    assert Allowed() == decide_permission(AuthorRights(permission=Permission.WRITE), ALICE)
    assert Allowed(is_admin=True) == decide_permission(AuthorRights(permission=Permission.ADMIN), ALICE)
    assert decide_permission(AuthorRights(permission=Permission.READ), ALICE) == Denied(
        why="alice has read permission on this repository and benchmarks need write: "
        "someone who may write can ask for the same."
    )
    assert decide_permission(AuthorRights(permission=Permission.NONE), ALICE) == Denied(
        why="alice has no permission on this repository and benchmarks need write: "
        "someone who may write can ask for the same."
    )


def test_a_member_of_a_trusted_team_may_start_runs() -> None:
    """Whatever the permission on the repository is."""
    assert Allowed() == decide_permission(AuthorRights(permission=Permission.READ, team="acme/perf"), ALICE)


def test_a_bot_may_start_runs_only_where_it_is_listed() -> None:
    """Even if it may write; and a list makes nobody who is no bot trusted."""
    bot = Person(login="helper[bot]", id=8, is_bot=True)
    refused = Denied(why="helper[bot] is a bot that trust.bots of the configuration does not list.")

    assert refused == decide_permission(AuthorRights(permission=Permission.ADMIN), bot)
    assert Allowed() == decide_permission(AuthorRights(permission=Permission.NONE, listed=True), bot)
    assert isinstance(decide_permission(AuthorRights(permission=Permission.READ, listed=True), ALICE), Denied)


def test_a_pull_request_is_from_a_fork_when_its_head_is_elsewhere() -> None:
    """Another repository, or one that is gone."""
    assert not _pull("Acme/MaxText").from_fork
    assert _pull("mallory/maxtext").from_fork
    assert _pull(None).from_fork


def _pull(head_repository: str | None) -> PullRequest:
    return PullRequest(
        repository="acme/maxtext",
        number=3,
        title="T",
        open=True,
        merged=False,
        draft=False,
        head_sha=HEAD,
        head_branch="x",
        head_repository=head_repository,
        base_branch="main",
        base_sha=HEAD,
        author=ALICE,
        updated_at=0.0,
    )
