"""Every call of the client, against the stand-in and GitHub's own description."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.domain.pull_request import Comment, PullRequest
from bot.domain.repository import Installation, Permission, Person, Repository
from bot.errors import InternalError, NotFound, UserError
from bot.github.client import GitHubClient
from tests.github.conftest import APP_ID, Hub

pytestmark = pytest.mark.anyio

FIRST = 1_795_000_000.0


async def test_the_app_knows_its_name_and_where_it_is_installed(hub: Hub) -> None:
    """The slug is requested once."""
    assert ("maxview", "maxview") == (await hub.github.app_slug(), await hub.github.app_slug())
    assert (Installation(id=1, suspended=False),) == await hub.github.installations()
    assert ["GET /app", "GET /app/installations"] == hub.stand_in.state.requests


async def test_repositories_are_known_with_their_facts(hub: Hub) -> None:
    """The list of an installation and a single request agree."""
    facts = Repository(full_name="acme/maxtext", installation=1, default_branch="main", id=1)
    assert (facts,) == await hub.github.repositories(1)
    owner = hub.stand_in.state.account("acme").id
    assert replace(facts, owner_id=owner) == await hub.github.repository_facts(hub.repository)


async def test_the_apps_owner_and_accounts_are_known_by_number(hub: Hub) -> None:
    """Names can be taken over by others, numbers cannot."""
    owner = hub.stand_in.state.account("acme").id
    assert await hub.github.app_owner() == owner
    assert await hub.github.installed_accounts() == {"acme": owner}


async def test_a_pull_request_is_read_alone_and_in_the_list(hub: Hub) -> None:
    """Both ways agree."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    pull = await hub.github.pull(hub.repository, number)
    assert pull == PullRequest(
        repository="acme/maxtext",
        number=1,
        title="Add a file",
        open=True,
        merged=False,
        draft=False,
        head_sha=hub.git.head("feat/x#1"),
        head_branch="feat/x#1",
        head_repository="acme/maxtext",
        base_branch="main",
        base_sha=hub.git.head("main"),
        author=Person(login="alice", id=1001),
        updated_at=hub.clock.time,
        labels=(),
    )
    assert (pull,) == await hub.github.open_pulls(hub.repository)


async def test_closed_and_merged_pull_requests_are_not_open(hub: Hub) -> None:
    """The list holds open ones only; a merged one is marked."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    await hub.stand_in.close_pull(number, merged=True)
    pull = await hub.github.pull(hub.repository, number)
    assert (False, True) == (pull.open, pull.merged)
    assert () == await hub.github.open_pulls(hub.repository)


async def test_lists_are_read_to_their_last_page(hub: Hub) -> None:
    """More than a hundred of anything are found."""
    files = {f"src/{at:03}.py": f"{at}\n" for at in range(250)}
    hub.git.write("many", files, hub.git.head("main"))
    number = await hub.stand_in.open_pull("many", "Many files", "alice")
    for at in range(101):
        hub.git.write("long", {"README.md": f"{at}\n"}, *(() if at else (hub.git.head("main"),)))
        await hub.stand_in.comment(number, "alice", f"comment {at}")
        await hub.stand_in.open_pull("feat/x#1", f"Pull {at}", "alice")
    assert tuple(files) == await hub.github.changed_paths(hub.repository, number)
    assert len(await hub.github.open_pulls(hub.repository)) == 102
    comments = [one.body async for one in hub.github.comments(hub.repository, number)]
    assert [f"comment {at}" for at in range(101)] == comments
    assert len(await hub.github.ancestors(hub.repository, "long", limit=300)) == 103


async def test_both_names_of_a_renamed_file_are_changed(hub: Hub) -> None:
    """A rename touches the old path too."""
    text = "".join("one\n" * 40)
    hub.git.write("moved", {"src/old.py": "", "src/moved.py": text}, hub.git.head("main"))
    number = await hub.stand_in.open_pull("moved", "Move", "alice")
    expected = ("src/moved.py", "src/old.py")
    assert expected == await hub.github.changed_paths(hub.repository, number)


async def test_a_pull_request_without_changes_has_no_paths(hub: Hub) -> None:
    """The comparison of its commits is requested too, and agrees."""
    hub.git.write("empty", {}, hub.git.head("main"))
    number = await hub.stand_in.open_pull("empty", "Nothing", "alice")
    assert () == await hub.github.changed_paths(hub.repository, number)
    assert any("/compare/" in one for one in hub.asked())


async def test_a_file_is_read_at_a_branch_or_commit(hub: Hub) -> None:
    """Names may hold characters with a meaning in URLs."""
    hub.git.write("feat/x#1", {"a b/c?d#e%20.txt": "odd"})
    at = hub.github.file
    assert await at(hub.repository, ".github/maxview.yml", "main") == "version: 1\n"
    assert await at(hub.repository, "README.md", hub.git.head("main")) == "# MaxText\n"
    assert await at(hub.repository, "a b/c?d#e%20.txt", "feat/x#1") == "odd"


async def test_no_file_is_none(hub: Hub) -> None:
    """A missing file, a folder and a missing branch hold no text."""
    assert await hub.github.file(hub.repository, "no.txt", "main") is None
    assert await hub.github.file(hub.repository, ".github", "main") is None
    assert await hub.github.file(hub.repository, "README.md", "no-branch") is None


async def test_a_file_that_is_too_long_is_a_user_error(hub: Hub) -> None:
    """GitHub returns no content above a megabyte."""
    hub.git.write("main", {"long.txt": "x" * 1_000_001})
    with pytest.raises(UserError, match=r"long.txt is longer than 1 MB"):
        await hub.github.file(hub.repository, "long.txt", "main")


async def test_the_merge_base_is_the_newest_shared_commit(hub: Hub) -> None:
    """Main may have moved on since."""
    shared = hub.git.head("main")
    hub.git.write("main", {"README.md": "# Later\n"})
    expected = hub.git.commit(shared)
    assert (shared, FIRST + 60, "Change") == (expected.sha, expected.committed_at, expected.message)
    assert expected == await hub.github.merge_base(hub.repository, "main", "feat/x#1")
    assert expected == await hub.github.merge_base(hub.repository, shared, hub.git.head("feat/x#1"))


async def test_commits_that_share_nothing_have_no_merge_base(hub: Hub) -> None:
    """GitHub answers 404, so it is not found."""
    hub.git.write("alone", {"a.txt": "a"})
    with pytest.raises(NotFound):
        await hub.github.merge_base(hub.repository, "main", "alone")


async def test_ancestors_begin_with_the_commit_itself(hub: Hub) -> None:
    """Newest first, and no more than requested."""
    head, main = hub.git.head("feat/x#1"), hub.git.head("main")
    found = await hub.github.ancestors(hub.repository, head)
    assert [head, main] == [one.sha for one in found[:2]]
    assert len(found) == 3
    assert (found[0],) == await hub.github.ancestors(hub.repository, head, limit=1)
    with pytest.raises(NotFound):
        await hub.github.ancestors(hub.repository, "0" * 40)


async def test_the_head_of_a_branch_is_its_newest_commit(hub: Hub) -> None:
    """The whole message comes with it."""
    expected = hub.git.commit(hub.git.head("feat/x#1"))
    assert (FIRST + 120, "Add a file\n\nFor a reason") == (expected.committed_at, expected.message)
    assert (expected,) == await hub.github.ancestors(hub.repository, "feat/x#1", limit=1)
    with pytest.raises(NotFound):
        await hub.github.ancestors(hub.repository, "no-branch", limit=1)


async def test_permission_is_what_github_says_of_the_person(hub: Hub) -> None:
    """An unknown person has none."""
    people = hub.stand_in.state.accounts
    asked = [
        await hub.github.permission(
            hub.repository, Person(login=who, id=people[who].id if who in people else 1)
        )
        for who in ("alice", "bob", "mallory", "who")
    ]
    assert [Permission.ADMIN, Permission.WRITE, Permission.READ, Permission.NONE] == asked
    assert [True, True, False, False] == [one is not None and one.may_write for one in asked]


async def test_a_login_of_another_account_has_no_permission(hub: Hub) -> None:
    """The response is about the login; the id tells whether it is the same account."""
    assert await hub.github.permission(hub.repository, Person(login="alice", id=77)) is None


async def test_paths_between_two_branches_are_known(hub: Hub) -> None:
    """For a branch without a pull request."""
    assert ("src/new.py",) == await hub.github.compared_paths(hub.repository, "main", "feat/x#1")


async def test_a_team_has_members(hub: Hub) -> None:
    """A person outside the team, or of an unknown team, is no member."""
    hub.stand_in.state.teams["acme/perf"] = {"bob"}
    asked = [
        await hub.github.is_member(hub.repository, team, Person(login=who, id=1))
        for team, who in (("acme/perf", "bob"), ("acme/perf", "mallory"), ("acme/none", "bob"))
    ]
    assert [True, False, False] == asked


async def test_a_label_is_made_once_and_then_left_alone(hub: Hub) -> None:
    """Case does not matter; its colour may have changed."""
    for colour in ("1d76db", "000000"):
        await hub.github.make_label(hub.repository, "benchmark", colour=colour, description="Runs it")
    await hub.github.make_label(hub.repository, "Benchmark", colour="ffffff", description="Other")
    assert [("benchmark", "1d76db", "Runs it")] == [
        (one.name, one.colour, one.description) for one in hub.stand_in.state.labels.values()
    ]


async def test_labels_and_forks_are_read_with_a_pull_request(hub: Hub) -> None:
    """Its labels now, and the repository of its branch."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add", "mallory", fork="mallory/maxtext")
    await hub.stand_in.label(number, "benchmark", "bob")
    pull = await hub.github.pull(hub.repository, number)
    assert (("benchmark",), True) == (pull.labels, pull.from_fork)
    await hub.stand_in.unlabel(number, "benchmark", "bob")
    assert () == (await hub.github.pull(hub.repository, number)).labels


async def test_a_comment_is_made_read_edited_and_deleted(hub: Hub) -> None:
    """Ours carry the App's number."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    made = await hub.github.create_comment(hub.repository, number, "Hello *there*")
    bot = Person(login="maxview[bot]", id=made.author.id, is_bot=True)
    expected = Comment(id=made.id, author=bot, body="Hello *there*", app_id=APP_ID, created_at=hub.clock.time)
    assert expected == made == await hub.github.comment(hub.repository, made.id)
    edited = await hub.github.edit_comment(hub.repository, made.id, "Bye")
    assert edited.body == "Bye"
    await hub.github.delete_comment(hub.repository, made.id)
    assert await hub.github.comment(hub.repository, made.id) is None


async def test_deleting_a_deleted_comment_is_no_error(hub: Hub) -> None:
    """A repeated deletion does nothing; the description of GitHub leaves its 404 out."""
    await hub.github.delete_comment(hub.repository, 999)
    assert ["the status 404 is not described"] == [one.text for one in hub.contract.violations]
    hub.contract.violations.clear()


async def test_a_person_s_comment_has_no_app(hub: Hub) -> None:
    """Only Apps have numbers."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    comment = await hub.github.comment(hub.repository, await hub.stand_in.comment(number, "bob", "Hi"))
    assert comment is not None
    assert (None, "bob", False) == (comment.app_id, comment.author.login, comment.author.is_bot)


async def test_a_reaction_may_be_repeated(hub: Hub) -> None:
    """The second one changes nothing."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    comment = await hub.stand_in.comment(number, "bob", "/benchmark")
    await hub.github.react(hub.repository, comment, "eyes")
    await hub.github.react(hub.repository, comment, "eyes")
    assert ("eyes",) == hub.stand_in.reactions_to(comment)


async def test_an_invalid_request_is_an_internal_error(hub: Hub) -> None:
    """A comment above GitHub's limit is our mistake, not the reader's."""
    number = await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    with pytest.raises(InternalError, match="422"):
        await hub.github.create_comment(hub.repository, number, "x" * 70_000)


async def test_an_unknown_repository_is_not_found(hub: Hub) -> None:
    """Absent and invisible repositories look alike."""
    other = Repository(full_name="acme/other", installation=1)
    with pytest.raises(NotFound):
        await hub.github.pull(other, 1)


def test_every_method_of_the_client_is_tested_here() -> None:
    """A new method needs a test in this file."""
    source = Path(__file__).read_text(encoding="utf-8")
    methods = [name for name in vars(GitHubClient) if not name.startswith("_") and name != "aclose"]
    assert [] == [name for name in methods if f"github.{name}" not in source]
