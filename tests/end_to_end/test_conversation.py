"""What people make the bot do by commands and labels, and what they cannot make it do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.storage.rate_limit import MAX_COMMANDS
from tests.end_to_end.scenes import BRANCH, LaunchScene, launch_scene

PROMISED_SECONDS = 10.0

ONLY_ASKED = "triggers: {pull_request: false}\n"

BREAKS = 'raise RuntimeError("the kernel is gone")\n'


@pytest.fixture
def works(tmp_path: Path) -> Iterator[LaunchScene]:
    """A server that starts runs here, for pushes and for people."""
    with launch_scene(tmp_path) as made:
        yield made


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[LaunchScene]:
    """The same, only for people."""
    with launch_scene(tmp_path, ONLY_ASKED) as made:
        yield made


def _quiet(works: LaunchScene, number: int) -> None:
    """Nothing was started, though everything was looked at."""
    comment = works.say(number, "bob", "/benchmark status")
    works.reactions(comment, "rocket")
    works.comment(number, "brought up to date")
    assert {} == works.runs()


def test_a_baseline_that_is_asked_for_is_measured(asked: LaunchScene) -> None:
    """A commit of main; what somebody pushed elsewhere is none."""
    head, main = asked.commit("A = 1\n"), asked.git.head("main")
    number = asked.open()
    asked.say(number, "bob", f"/benchmark baseline {head}\n/benchmark baseline")
    asked.comment(number, "is no commit of main: baselines come from there alone")
    asked.server.until(lambda: asked.runs(main), "main is measured")
    assert {} == asked.runs(head)


def test_a_label_starts_runs_and_taking_it_away_ends_them(asked: LaunchScene) -> None:
    """Nothing runs before; an outsider's label does nothing but a line; a writer's starts the runs, and
    within ten seconds of its end they are gone. The labels are made in the repository, once it is spoken."""
    head, github = asked.commit("A = 1\n"), asked.hosted.github
    number = asked.open()
    asked.hosted.does(github.label(number, "benchmark:a", "mallory"))
    asked.comment(number, "Refused: mallory has read permission")
    assert {} == asked.runs()
    asked.hosted.does(github.unlabel(number, "benchmark:a", "mallory"))

    asked.hosted.does(github.label(number, "benchmark", "bob"))
    asked.server.until(lambda: asked.running(head), "the head is measured")
    assert {"1d76db", "c5def5"} >= {one.colour for one in github.state.labels.values()} - {"ededed"}

    asked.hosted.does(github.unlabel(number, "benchmark", "bob"))
    assert asked.seconds_until_gone(head) < PROMISED_SECONDS
    body = asked.comment(number, "what nothing else asks for is not wanted any more").body
    assert "label benchmark` by bob" in body


def test_cancel_ends_what_runs_until_somebody_asks_again(works: LaunchScene) -> None:
    """Within ten seconds, said in the row with who it was; `run` starts anew; one comment all the while."""
    head = works.commit("A = 1\n")
    number = works.open()
    works.server.until(lambda: works.running(head), "the head is measured")
    first = works.comment(number, "MaxView")

    cancel = works.say(number, "bob", "/benchmark cancel")
    assert works.seconds_until_gone(head) < PROMISED_SECONDS
    assert {"eyes", "rocket"} == works.reactions(cancel, "rocket")
    assert "cancelled by bob on this commit" in works.comment(number, "1 cancelled").body

    works.say(number, "bob", "/benchmark run")
    works.server.until(lambda: works.running(head), "the head is measured again")
    assert first.id == works.comment(number, "runs that are missing are started").id


def test_a_forks_code_runs_once_it_was_approved_and_only_that(works: LaunchScene) -> None:
    """It waits; its author cannot approve it; a writer can, by the command that the comment gives; other
    files wait again, and what was approved before ends."""
    head = works.commit("A = 1\n")
    number = works.open(author="mallory", fork="mallory/maxtext")
    approve = f"/benchmark approve {head}"
    works.comment(number, approve)
    refused = works.say(number, "mallory", approve)
    assert {"eyes", "-1"} == works.reactions(refused, "-1")
    assert {} == works.runs()

    works.say(number, "bob", approve)
    works.server.until(lambda: works.running(head), "the approved head is measured")

    other = works.commit("A = 2\n")
    works.push()
    assert works.seconds_until_gone(head) < PROMISED_SECONDS
    works.comment(number, f"/benchmark approve {other}")
    stale = works.say(number, "bob", approve)
    works.reactions(stale, "confused")
    works.comment(number, f"`{head[:12]}` is not the head. If you have read `{other[:7]}`, write")
    works.comment(number, f"write `/benchmark approve {other}`")
    assert {} == works.runs(other)


def test_a_verdict_is_accepted_and_stays_what_it_is(works: LaunchScene) -> None:
    """The row says who accepted it and why, with nothing in it that acts; the verdict keeps its words, and
    the next head that fails in the same way is covered too. Once it is closed a command is told so."""
    works.git.write(BRANCH, {"job.py": BREAKS}, works.git.head("main"))
    number = works.open()
    verdict = works.comment(number, "(1 of 1 case done)").body.splitlines()[2]

    works.say(number, "bob", '/benchmark ack a reason="known, see @alice and <b>#12</b>"')
    body = works.comment(number, "accepted by bob: known, see @&#8203;alice and &lt;b&gt;").body
    words = verdict.removeprefix("## ").partition(" (1 of 1")[0]
    assert f"## {words}, acknowledged (1 of 1 case done)" in body

    new = works.git.write(BRANCH, {"README.md": "More\n"})
    works.push()
    works.comment(number, f"head {new}")
    works.comment(number, ", acknowledged (1 of 1 case done)")

    works.hosted.does(works.hosted.github.close_pull(number))
    late = works.say(number, "bob", "/benchmark rerun")
    works.reactions(late, "confused")
    works.comment(number, "This pull request is closed: nothing is run for it")


def test_who_asks_too_often_is_told_once_when_it_opens_again(asked: LaunchScene) -> None:
    """Twenty commands an hour, in a database that outlives the server."""
    asked.commit("A = 1\n")
    number = asked.open()
    ten = "/benchmark status\n" * (MAX_COMMANDS // 2)
    for _ in range(2):
        asked.reactions(asked.say(number, "bob", ten), "rocket")
    asked.server.kill()
    asked.server.start()
    asked.server.leases_end()

    first, second = (asked.say(number, "bob", "/benchmark run") for _ in range(2))
    for comment in (first, second):
        assert {"eyes", "-1"} == asked.reactions(comment, "-1")
    body = asked.comment(number, "20 commands within an hour, which is the most").body
    assert 1 == body.count("which is the most")
    assert {} == asked.runs()


def test_a_comment_that_is_edited_into_a_command_is_none(asked: LaunchScene) -> None:
    """What stood there when it was written counts; and so does a command whose comment is edited away."""
    head, github = asked.commit("A = 1\n"), asked.hosted.github
    number = asked.open()
    harmless = asked.say(number, "bob", "Nice")
    asked.hosted.does(github.edit_comment(harmless, "/benchmark run"))
    _quiet(asked, number)

    meant = asked.say(number, "bob", "/benchmark run")
    asked.hosted.does(github.edit_comment(meant, "Never mind"))
    asked.server.until(lambda: asked.running(head), "the head is measured")
    assert () == github.reactions_to(harmless)
