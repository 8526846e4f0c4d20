"""A delivery becomes a wish, once, however often it is worked on."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, select

from bot.commands.handler import make_command_handler
from bot.config.loader import SuiteLoader
from bot.domain.command import CommentOrigin
from bot.domain.delivery import Delivery
from bot.domain.repository import Permission, Person
from bot.errors import TransientError
from bot.storage import deliveries, pull_requests, queue, repositories
from bot.storage.database import Database
from bot.storage.tables import DELIVERY, PULL_REQUEST
from bot.worker.deliveries import DeliveryStep
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import FETCHES, HEAD, NOW, PULL

WHO = {"login": "bob", "id": 8, "type": "User"}

WHERE = {"full_name": "acme/maxtext", "private": False, "default_branch": "main", "id": 5}

INSTALLATION = {"id": 1}


@dataclass(slots=True, kw_only=True)
class Scene:
    """A delivery step over a database and a forge."""

    database: Database
    forge: PlainGitHub
    woken: int = 0

    def take(self, event: str, payload: dict[str, Any], *, name: str = "d1") -> tuple[str, str]:
        """Record a delivery, work on it, and say what came of it."""
        received = Delivery(id=name, event=event, payload=msgspec.json.encode(payload), received=NOW)
        self.database.write_now(deliveries.record, [received])
        held = self.database.write_now(queue.claim, DELIVERY, owner="me", now=NOW, lease=30.0)
        assert held is not None
        suites = SuiteLoader(forge=self.forge, database=self.database, now=lambda: NOW)
        step = DeliveryStep(
            database=self.database,
            forge=self.forge,
            suites=suites,
            handler=make_command_handler(self.database, self.forge, suites, lambda: NOW),
            now=lambda: NOW,
            wake=self._wake,
        )
        asyncio.run(step(held))
        return self.database.write_now(_outcome, name)

    def wanted(self) -> int:
        """How often pull request 7 was wished for."""
        row = self.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
        return row.wanted if row else 0

    def _wake(self) -> None:
        self.woken += 1


def _outcome(connection: Connection, name: str) -> tuple[str, str]:
    row = connection.execute(select(DELIVERY).where(DELIVERY.c.id == name)).mappings().one()
    assert row["due"] is None
    return row["state"], row["outcome"]


@pytest.fixture
def scene(database: Database) -> Scene:
    """A repository with a configuration, a writer and a stranger."""
    forge = PlainGitHub(pulls=[PULL], files={".github/maxview.yml": FETCHES})
    forge.permit(Person(login="bob", id=8), Permission.WRITE)
    forge.permit(Person(login="eve", id=8), Permission.READ)
    forge.add_comment(99)
    return Scene(database=database, forge=forge)


def _pull(action: str, head: str = HEAD) -> dict[str, Any]:
    side = {"sha": head, "ref": "feat/x", "repo": WHERE}
    subject = {"number": 7, "head": side, "base": {"ref": "main"}, "draft": False, "merged": False}
    return {
        "action": action,
        "pull_request": subject,
        "repository": WHERE,
        "installation": INSTALLATION,
        "sender": WHO,
    }


def _comment(body: str, login: str = "bob", action: str = "created") -> dict[str, Any]:
    return {
        "action": action,
        "issue": {"number": 7, "pull_request": {"url": "u"}},
        "comment": {
            "id": 99,
            "user": {**WHO, "login": login},
            "body": body,
            "created_at": "2026-11-18T00:00:00Z",
        },
        "repository": WHERE,
        "installation": INSTALLATION,
        "sender": WHO,
    }


@pytest.mark.parametrize("action", ["opened", "synchronize", "reopened", "ready_for_review", "closed"])
def test_a_changed_pull_request_is_wished_for(scene: Scene, action: str) -> None:
    """Every action that may change the answer has the pull request looked at, and wakes the workers."""
    assert scene.take("pull_request", _pull(action)) == ("done", "acme/maxtext#7 is looked at")
    assert (scene.wanted(), scene.woken) == (1, 1)
    kept = scene.database.write_now(repositories.find_repository, "acme/maxtext")
    assert kept is not None
    assert (kept.installation, kept.private, kept.active) == (1, False, True)


def test_what_changes_nothing_is_ignored_with_the_reason(scene: Scene) -> None:
    """Assignments, edits and foreign events leave a note in the row and nothing else."""
    state, outcome = scene.take("pull_request", _pull("assigned"))
    assert (state, scene.wanted()) == ("ignored", 0)
    assert "changes nothing that is measured" in outcome


def test_a_delivery_without_what_is_needed_fails_once(scene: Scene) -> None:
    """A payload that lacks a field is put aside with the field's name, and not tried again."""
    broken = _pull("opened")
    del broken["pull_request"]["head"]
    state, outcome = scene.take("pull_request", broken)
    assert state == "failed"
    assert "head.sha" in outcome


def test_a_push_wakes_the_pull_requests_of_its_branch(scene: Scene) -> None:
    """The open pull requests of the branch are looked at, for their new head."""
    scene.take("pull_request", _pull("opened"))
    held = scene.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=1.0)
    assert held is not None
    values = {"head_branch": "feat/x", "head_sha": HEAD}
    scene.database.write_now(pull_requests.release_pull, held, now=NOW, due=None, values=values)
    push = {
        "ref": "refs/heads/feat/x",
        "before": HEAD,
        "after": "d" * 40,
        "deleted": False,
        "repository": WHERE,
        "installation": INSTALLATION,
        "sender": WHO,
    }
    assert scene.take("push", push, name="d2") == ("done", "1 pull requests of feat/x are looked at")
    row = scene.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert (row.head_sha, row.head_seen) == ("d" * 40, NOW)


def test_a_command_is_acknowledged_and_remembered(scene: Scene) -> None:
    """Eyes, then a rocket; the pull request is looked at, with the command in its row."""
    state, outcome = scene.take("issue_comment", _comment("/benchmark rerun 03_dropout"))
    assert state == "done"
    assert outcome.startswith("/benchmark rerun 03_dropout by bob: 03_dropout")
    assert scene.forge.reactions == [(99, "eyes"), (99, "rocket")]
    row = scene.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert [(one.origin, one.refused) for one in row.commands] == [(CommentOrigin(99), False)]


def test_a_refused_command_is_acknowledged_as_such(scene: Scene) -> None:
    """Eyes, then a thumb down; the refusal is remembered, so that the comment can say it."""
    scene.take("issue_comment", _comment("/benchmark", login="eve"))
    assert scene.forge.reactions == [(99, "eyes"), (99, "-1")]
    row = scene.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert row.commands[0].result.startswith("Refused: eve has read permission")


def test_a_command_is_carried_out_where_reactions_cannot_be_had(database: Database) -> None:
    """A server without reactions does not stop a command."""
    forge = PlainGitHub(pulls=[PULL])
    forge.permit(Person(login="bob", id=8), Permission.WRITE)
    scene = Scene(database=database, forge=forge)
    assert scene.take("issue_comment", _comment("/benchmark status"))[0] == "done"
    assert scene.wanted() == 1


def test_working_on_a_delivery_twice_remembers_one_command(scene: Scene) -> None:
    """A process that died after the wish and before the end repeats it: one command, one more look."""
    for name in ("d1", "d2"):
        payload = _comment("/benchmark status")
        scene.take("issue_comment", payload if name == "d1" else {**payload, "again": 1}, name=name)
    row = scene.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert (len(row.commands), row.wanted) == (1, 2)


def test_an_installation_that_lists_nothing_is_asked_for_its_repositories(scene: Scene) -> None:
    """After unsuspending GitHub names no repository: they are asked for, and active again."""
    payload = {"action": "unsuspend", "installation": {"id": 1, "account": {"login": "acme"}}, "sender": WHO}
    scene.take("installation", payload)
    assert "GET /installation/repositories" in scene.forge.requests
    kept = scene.database.write_now(repositories.find_repository, "acme/maxtext")
    assert kept is not None
    assert kept.active


def test_an_installation_that_goes_takes_its_wishes_along(scene: Scene) -> None:
    """After removal nothing is due, and the repository is not listed as active."""
    scene.take("pull_request", _pull("opened"))
    payload = {
        "action": "deleted",
        "installation": {"id": 1, "account": {"login": "acme"}},
        "repositories": [WHERE],
        "sender": WHO,
    }
    scene.take("installation", payload, name="d2")
    held = scene.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW + 1e6, lease=1.0)
    assert held is None


def _deletion() -> dict[str, Any]:
    deleted = _comment("the report", action="deleted")
    deleted["comment"]["user"] = {**WHO, "type": "Bot", "id": 7, "login": "maxview[bot]"}
    return deleted


def test_a_deletion_waits_while_the_comment_may_be_one_that_is_being_written(scene: Scene) -> None:
    """GitHub may tell of it before its answer to our writing was kept; the id is only known then."""
    scene.take("pull_request", _pull("opened"))
    held = scene.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=9.0)
    assert held is not None
    with pytest.raises(TransientError, match="#7: a comment may be on its way"):
        scene.take("issue_comment", _deletion(), name="d2")
    scene.database.write_now(
        pull_requests.release_pull,
        held,
        now=NOW,
        due=None,
        values={"comment_id": 99, "comment_state": "written", "comment_digest": "x"},
    )
    again = {**_deletion(), "again": 1}
    assert scene.take("issue_comment", again, name="d3") == ("done", "#7: our comment is looked at")


def test_a_deletion_waits_too_where_the_id_is_kept_while_it_is_looked_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two questions to the database another one may let go of the row."""
    scene.take("pull_request", _pull("opened"))
    held = scene.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=9.0)
    assert held is not None
    look = pull_requests.mark_comment_changed

    def overtaken(connection: Connection, **asked: Any) -> bool:
        found = look(connection, **asked)
        pull_requests.release_pull(
            connection,
            held,
            now=NOW,
            due=None,
            values={"comment_id": 99, "comment_state": "written", "comment_digest": "x"},
        )
        return found

    monkeypatch.setattr(pull_requests, "mark_comment_changed", overtaken)
    with pytest.raises(TransientError):
        scene.take("issue_comment", _deletion(), name="d2")


def test_a_merge_queues_check_that_is_asked_for_again_is_written_again(scene: Scene) -> None:
    """Of a commit that no queue made, nothing is known."""
    made = {"repository": WHERE, "installation": INSTALLATION, "sender": WHO}
    group = {"head_sha": HEAD, "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{'a' * 40}"}
    said = [scene.take("merge_group", {**made, "action": "checks_requested", "merge_group": group})]
    for sha, name in ((HEAD, "d2"), ("c" * 40, "d3")):
        run = {"head_sha": sha, "external_id": "merge group"}
        said.append(scene.take("check_run", {**made, "action": "rerequested", "check_run": run}, name=name))
    assert said == [
        ("done", f"{HEAD[:7]} is a merge queue's, and gets a check where others do"),
        ("done", f"{HEAD[:7]} is a merge queue's, and its check is written again"),
        ("done", "no open pull request has a check of ours on that commit"),
    ]


def test_a_delivery_from_before_a_rename_does_not_take_it_back(scene: Scene) -> None:
    """Deliveries come late and out of order; what it asks for is asked of the repository as it is called now.
    A rename back to an old name is told by its own delivery."""

    def rename(name: str, delivery: str, action: str = "renamed") -> None:
        renamed = {"action": action, "installation": INSTALLATION, "sender": WHO}
        scene.take("repository", {**renamed, "repository": {**WHERE, "full_name": name}}, name=delivery)

    def names() -> list[str]:
        return [one.full_name for one in scene.database.write_now(repositories.list_repositories)]

    scene.take("pull_request", _pull("opened"))
    rename("acme/next", "d2")
    assert ("done", "acme/next#7 is looked at") == scene.take("pull_request", _pull("synchronize"), name="d3")
    run = {**WHERE, "check_run": {"head_sha": HEAD, "external_id": "pull 7"}}
    asked = {**run, "action": "rerequested", "installation": INSTALLATION, "repository": WHERE, "sender": WHO}
    scene.take("check_run", asked, name="d4")
    rename("acme/maxtext", "d5", action="edited")
    assert ["acme/next"] == names()
    rename("acme/maxtext", "d6")
    assert ["acme/maxtext"] == names()


def test_a_name_that_another_repository_has_by_now_is_that_ones(scene: Scene) -> None:
    """Names are given out again: GitHub's number tells which is meant."""
    scene.take("pull_request", _pull("opened"))
    renamed = {"action": "renamed", "installation": INSTALLATION, "sender": WHO}
    scene.take("repository", {**renamed, "repository": {**WHERE, "full_name": "acme/next"}}, name="d2")
    other = {**_pull("opened"), "repository": {**WHERE, "id": 6}}
    assert ("done", "acme/maxtext#7 is looked at") == scene.take("pull_request", other, name="d3")
    late = {**_pull("synchronize"), "late": True}
    assert ("done", "acme/next#7 is looked at") == scene.take("pull_request", late, name="d4")
