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
def scene(tmp_path: Path) -> Iterator[LaunchScene]:
    """A server that starts runs here, for pushes and for people."""
    with launch_scene(tmp_path) as made:
        yield made


@pytest.fixture
def on_request(tmp_path: Path) -> Iterator[LaunchScene]:
    """The same, only for people."""
    with launch_scene(tmp_path, ONLY_ASKED) as made:
        yield made


def _assert_nothing_starts(scene: LaunchScene, number: int) -> None:
    """Nothing was started, though everything was looked at."""
    comment = scene.say(number, "bob", "/benchmark status")
    scene.reactions(comment, "rocket")
    scene.comment(number, "brought up to date")
    assert {} == scene.runs()


def test_a_requested_baseline_is_measured(on_request: LaunchScene) -> None:
    """Only a commit of main; commits of other branches are refused."""
    head, main = on_request.commit("A = 1\n"), on_request.git.head("main")
    number = on_request.open()
    on_request.say(number, "bob", f"/benchmark baseline {head}\n/benchmark baseline")
    on_request.comment(number, "is no commit of main: baselines come from there alone")
    on_request.server.wait_until(lambda: on_request.runs(main), "main is measured")
    assert {} == on_request.runs(head)


def test_a_label_starts_runs_and_removing_it_ends_them(on_request: LaunchScene) -> None:
    """Nothing runs before. An outsider's label only adds a line. A writer's label starts the runs, which are
    gone within ten seconds of its removal. The labels exist in the repository after the first look."""
    head, github = on_request.commit("A = 1\n"), on_request.hosted.github
    number = on_request.open()
    on_request.hosted.run(github.label(number, "benchmark:a", "mallory"))
    on_request.comment(number, "Refused: mallory has read permission")
    assert {} == on_request.runs()
    on_request.hosted.run(github.unlabel(number, "benchmark:a", "mallory"))

    on_request.hosted.run(github.label(number, "benchmark", "bob"))
    on_request.server.wait_until(lambda: on_request.running(head), "the head is measured")
    assert {"1d76db", "c5def5"} >= {one.colour for one in github.state.labels.values()} - {"ededed"}

    on_request.hosted.run(github.unlabel(number, "benchmark", "bob"))
    assert on_request.seconds_until_gone(head) < PROMISED_SECONDS
    body = on_request.comment(number, "what nothing else asks for is not wanted any more").body
    assert "label benchmark` by bob" in body


def test_cancel_ends_runs_until_somebody_requests_them_again(scene: LaunchScene) -> None:
    """Within ten seconds, and the row names who cancelled; `run` starts again; one comment throughout."""
    head = scene.commit("A = 1\n")
    number = scene.open()
    scene.server.wait_until(lambda: scene.running(head), "the head is measured")
    first = scene.comment(number, "MaxView")

    cancel = scene.say(number, "bob", "/benchmark cancel")
    assert scene.seconds_until_gone(head) < PROMISED_SECONDS
    assert {"eyes", "rocket"} == scene.reactions(cancel, "rocket")
    assert "cancelled by bob on this commit" in scene.comment(number, "1 cancelled").body

    scene.say(number, "bob", "/benchmark run")
    scene.server.wait_until(lambda: scene.running(head), "the head is measured again")
    assert first.id == scene.comment(number, "runs that are missing are started").id


def test_a_forks_code_runs_only_as_approved(scene: LaunchScene) -> None:
    """It waits. Its author cannot approve it; a writer can, by the command in the comment. Other files wait
    again, and runs of the approved files end."""
    head = scene.commit("A = 1\n")
    number = scene.open(author="mallory", fork="mallory/maxtext")
    approve = f"/benchmark approve {head}"
    scene.comment(number, approve)
    refused = scene.say(number, "mallory", approve)
    assert {"eyes", "-1"} == scene.reactions(refused, "-1")
    assert {} == scene.runs()

    scene.say(number, "bob", approve)
    scene.server.wait_until(lambda: scene.running(head), "the approved head is measured")

    other = scene.commit("A = 2\n")
    scene.push()
    assert scene.seconds_until_gone(head) < PROMISED_SECONDS
    scene.comment(number, f"/benchmark approve {other}")
    stale = scene.say(number, "bob", approve)
    scene.reactions(stale, "confused")
    scene.comment(number, f"`{head[:12]}` is not the head. If you have read `{other[:7]}`, write")
    scene.comment(number, f"write `/benchmark approve {other}`")
    assert {} == scene.runs(other)


def test_an_accepted_verdict_keeps_its_words(scene: LaunchScene) -> None:
    """The row names who accepted it and why, with nothing in it that acts. The next head that fails in the
    same way is covered too. A command on the closed pull request is refused."""
    scene.git.write(BRANCH, {"job.py": BREAKS}, scene.git.head("main"))
    number = scene.open()
    verdict = scene.comment(number, "(1 of 1 case done)").body.splitlines()[2]

    scene.say(number, "bob", '/benchmark ack a reason="known, see @alice and <b>#12</b>"')
    body = scene.comment(number, "accepted by bob: known, see @&#8203;alice and &lt;b&gt;").body
    words = verdict.removeprefix("## ").partition(" (1 of 1")[0]
    assert f"## {words}, acknowledged (1 of 1 case done)" in body

    new = scene.git.write(BRANCH, {"README.md": "More\n"})
    scene.push()
    scene.comment(number, f"head {new}")
    scene.comment(number, ", acknowledged (1 of 1 case done)")

    scene.hosted.run(scene.hosted.github.close_pull(number))
    late = scene.say(number, "bob", "/benchmark rerun")
    scene.reactions(late, "confused")
    scene.comment(number, "This pull request is closed: nothing is run for it")


def test_too_many_commands_are_refused_with_the_time_of_the_next(on_request: LaunchScene) -> None:
    """Twenty commands an hour, in a database that outlives the server."""
    on_request.commit("A = 1\n")
    number = on_request.open()
    ten = "/benchmark status\n" * (MAX_COMMANDS // 2)
    for _ in range(2):
        on_request.reactions(on_request.say(number, "bob", ten), "rocket")
    on_request.server.kill()
    on_request.server.start()
    on_request.server.expire_leases()

    first, second = (on_request.say(number, "bob", "/benchmark run") for _ in range(2))
    for comment in (first, second):
        assert {"eyes", "-1"} == on_request.reactions(comment, "-1")
    body = on_request.comment(number, "20 commands within an hour, which is the most").body
    assert 1 == body.count("which is the most")
    assert {} == on_request.runs()


def test_editing_a_comment_triggers_no_command(on_request: LaunchScene) -> None:
    """Only its first text counts; a command whose comment is edited away still counts."""
    head, github = on_request.commit("A = 1\n"), on_request.hosted.github
    number = on_request.open()
    harmless = on_request.say(number, "bob", "Nice")
    on_request.hosted.run(github.edit_comment(harmless, "/benchmark run"))
    _assert_nothing_starts(on_request, number)

    meant = on_request.say(number, "bob", "/benchmark run")
    on_request.hosted.run(github.edit_comment(meant, "Never mind"))
    on_request.server.wait_until(lambda: on_request.running(head), "the head is measured")
    assert () == github.reactions_to(harmless)
