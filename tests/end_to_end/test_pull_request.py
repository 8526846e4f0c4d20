"""A pull request from its opening to one honest comment, and what people ask of it."""

import re
from collections.abc import Callable

from tests.end_to_end.conftest import BRANCH, CASES, EmulateScene, delivered_pull
from tests.end_to_end.finished_runs import configuration
from tests.end_to_end.server import ask
from tests.peers.postgres import Postgres

LINK = re.compile(r"\]\((http://127\.0\.0\.1:\d+/[^)]*)\)")


def _row(body: str, case: str) -> str:
    """The line of the first table that speaks of a case."""
    return next(line for line in body.splitlines() if line.startswith(f"| [{case}"))


def _opened(scene: EmulateScene) -> int:
    number = scene.open_pull()
    scene.comment(number, "1 new failure")
    return number


def test_opening_a_pull_request_leads_to_one_comment_with_the_verdict(scene: EmulateScene) -> None:
    """Slower, unchanged, failing and missing cases are each reported as such, once, by the App."""
    body = scene.comment(scene.open_pull(), "1 new failure")["body"]
    title = next(line for line in body.splitlines() if line.startswith("## "))
    assert title == ("## 🔴 MaxView: 1 slower · 1 new failure · 1 no run · 1 same (3 of 4 cases done)")
    assert "🔴 slower" in _row(body, "03_dropout")
    assert re.search(r"\*\*\+(9|10)\.\d %\*\* \(±[\d.]+ %, 3 v 4\)", _row(body, "03_dropout"))
    assert "| same |" in _row(body, "04_int8")
    assert "❌ new failure" in _row(body, "10_shardy_true")
    assert "no run" in _row(body, "11_offload")
    assert "`NotImplementedError: Pure NNX support has not been implemented yet.`" in body
    assert f"head {scene.head}" in body
    assert f"base {scene.base} because it is the merge base" in body


def test_every_link_of_the_comment_works(scene: EmulateScene) -> None:
    """The page, its JSON and each log answer 200, and the log is the right one."""
    number = _opened(scene)
    links = set(LINK.findall(scene.comment(number)["body"]))
    assert all(link.startswith(scene.server.url) for link in links)
    assert {link: scene.server.status(link) for link in links} == dict.fromkeys(links, 200)
    logs = [link for link in links if "/log" in link]
    assert len(logs) >= 8
    assert any("Pure NNX support has not been implemented yet." in ask(link).text for link in logs)
    document = ask(f"{scene.server.url}/api/v1/acme/maxtext/pull/{number}").json()
    assert document["head"]["sha"] == scene.head


def test_a_writers_command_is_answered_in_the_same_comment(scene: EmulateScene) -> None:
    """The comment is edited in place, and reports the effect of the command."""
    number = _opened(scene)
    before = scene.comment(number)
    scene.github.comment(number, "bob", "/benchmark rerun 03_dropout")
    after = scene.comment(number, "`/benchmark rerun 03_dropout` by bob")
    assert after["id"] == before["id"]
    assert "03_dropout: finished runs were looked for again." in after["body"]


def test_a_strangers_command_is_refused_with_the_reason(scene: EmulateScene) -> None:
    """The refusal is in the one comment, not in a new one."""
    number = _opened(scene)
    before = scene.comment(number)
    scene.github.comment(number, "mallory", "/benchmark rerun 03_dropout")
    after = scene.comment(number, "by mallory")
    assert after["id"] == before["id"]
    assert "Refused: mallory has no permission on this repository and benchmarks need write" in after["body"]


def test_a_misspelt_command_is_answered_with_the_nearest(scene: EmulateScene) -> None:
    """Neither silence nor a new comment: the reason and the valid spelling."""
    number = _opened(scene)
    scene.github.comment(number, "bob", "/benchmark rerun 03_dropuot")
    assert "Did you mean `/benchmark rerun 03_dropout`?" in scene.comment(number, "by bob")["body"]


def test_a_redelivery_changes_nothing(scene: EmulateScene) -> None:
    """It is acknowledged, one delivery is kept, and nothing is written again."""
    number = _opened(scene)
    before = scene.comment(number)
    payload = delivered_pull(scene, number)
    answers = [scene.server.deliver("pull_request", payload, name="the-same") for _ in range(3)]
    assert [(one.status_code, one.json()) for one in answers] == [(202, {"delivery": "the-same"})] * 3
    scene.server.wait_until_idle()
    assert scene.server.log.count("delivery=the-same") == 1
    assert scene.comment(number) == before


def test_a_run_that_appears_later_is_found_without_a_webhook(scene: EmulateScene) -> None:
    """The bucket is read regularly, and the comment is edited in place."""
    number = _opened(scene)
    before = scene.comment(number)
    scene.runs.write_runs("11_offload", BRANCH, scene.head, 3, since=0.3)
    after = scene.comment(number, "2 same")
    assert after["id"] == before["id"]
    assert "(4 of 4 cases done)" in after["body"]


def test_runs_of_earlier_commits_are_mentioned_and_not_judged(
    make_scene: Callable[..., EmulateScene],
) -> None:
    """They are stale."""
    scene = make_scene()
    for case in CASES:
        scene.runs.write_runs(case, "main", scene.base, 3)
        scene.runs.write_run(case, BRANCH, "f" * 40, hours_ago=0.5, step_seconds=0.4)
    scene.server.start()
    body = scene.comment(scene.open_pull(), "no run")["body"]
    assert "slower" not in body.splitlines()[2]
    assert "fffffff" in body


def test_an_invalid_configuration_is_reported_with_its_line(make_scene: Callable[..., EmulateScene]) -> None:
    """One comment names the file, the line and the nearest key; a fixed file is used."""
    scene = make_scene()
    scene.usual_runs()
    text = configuration(scene.bucket.url, CASES)
    scene.configure(text.replace("source:", "sorce:"))
    scene.server.start()
    number = scene.open_pull()
    body = scene.comment(number, ".github/maxview.yml")["body"]
    assert re.search(
        r"\.github/maxview\.yml:(&#8203;)?3: runs\.sorce: unknown key; did you mean source\?", body
    )
    before = scene.comment(number)
    scene.configure(text)
    after = scene.comment(number, "1 new failure")
    assert after["id"] >= before["id"]


def test_an_unreachable_bucket_is_reported(make_scene: Callable[..., EmulateScene]) -> None:
    """The comment says that the runs could not be read, the log says where; the server stays up."""
    scene = make_scene("gs://no-such-bucket")
    scene.server.start()
    body = scene.comment(scene.open_pull(), "could not be read")["body"]
    assert "no such bucket or object; check the name" in body
    assert "no-such-bucket" not in body
    assert "gs://no-such-bucket" in scene.server.log
    assert scene.server.status("/healthz") == 200


def test_a_pull_request_that_touches_no_case_is_left_alone(make_scene: Callable[..., EmulateScene]) -> None:
    """Without a configuration, and outside the paths of one, there is no comment."""
    scene = make_scene()
    text = configuration(scene.bucket.url, CASES) + 'triggers: {paths: ["elsewhere/**"]}\n'
    scene.configure(text)
    scene.server.start()
    number = scene.open_pull()
    scene.server.wait_until(
        lambda: f"acme/maxtext#{number} is looked at" in scene.server.log, "it is looked at"
    )
    scene.server.wait_until_idle()
    scene.github.comment(number, "bob", "Nice, but see /benchmark run below.")
    scene.server.wait_until(lambda: "holds no /benchmark command" in scene.server.log, "the comment is read")
    assert scene.ours(number) == []
    scene.github.comment(number, "bob", "/benchmark status")
    scene.comment(number, "by bob")


def test_a_closed_pull_request_keeps_its_comment(scene: EmulateScene) -> None:
    """Whatever appears in the bucket."""
    number = _opened(scene)
    before = scene.comment(number)
    scene.github.close_pull(number)
    scene.server.wait_until(
        lambda: scene.server.log.count(f"#{number} is looked at") == 2, "the end is heard"
    )
    scene.server.wait_until_idle()
    scene.runs.write_runs("11_offload", BRANCH, scene.head, 3, since=0.3)
    assert scene.comment(number) == before


def test_the_server_survives_bad_deliveries(scene: EmulateScene) -> None:
    """Forged, broken and foreign deliveries are refused one by one, and the next good one is accepted."""
    server = scene.server
    assert server.deliver("pull_request", {}, name="d1", secret="x").status_code == 401
    assert server.deliver("pull_request", b"payload=%7B%7D", name="d2").status_code == 400
    assert server.deliver("pull_request", b"[]", name="d3").status_code == 400
    assert server.deliver("ping", {"zen": "Keep it logically awesome."}, name="d4").status_code == 200
    assert server.deliver("pull_request", {"action": "opened"}, name="d5").status_code == 202
    assert server.deliver("gollum", {"a": "\u0000\ud800"}, name="d6").status_code == 202
    _opened(scene)


def test_everything_works_on_postgresql(make_scene: Callable[..., EmulateScene], postgres: Postgres) -> None:
    """One comment, and a command answered in it."""
    scene = make_scene(DATABASE_URL=postgres.empty())
    scene.usual_runs()
    scene.server.start()
    number = _opened(scene)
    before = scene.comment(number)
    scene.github.comment(number, "bob", "/benchmark rerun 03_dropout")
    assert scene.comment(number, "by bob")["id"] == before["id"]
