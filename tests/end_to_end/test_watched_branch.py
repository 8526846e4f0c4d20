"""From Copybara's branch to main, by the real program: watched, spoken for by a pull request, landed."""

from pathlib import Path
from typing import Any

import httpx

from tests.end_to_end.scenes import ImportScene, import_scene
from tests.end_to_end.server import ask

NAME = "acme/maxtext"

BRANCH = "test_936672580"

CHANGE = "Make int8 faster\n\nPiperOrigin-RevId: 936672580"


def _document(scene: ImportScene, path: str) -> dict[str, Any]:
    answer = ask(f"{scene.server.url}/api/v1/{NAME}/{path}")
    document: dict[str, Any] = answer.json() if answer.status_code == httpx.codes.OK else {}
    return document


def _verdict(scene: ImportScene) -> str | None:
    rows = _document(scene, f"branch/{BRANCH}").get("rows") or [{}]
    state: str | None = rows[0].get("state")
    return state


def test_a_copybara_branch_is_watched_and_main_adopts_its_runs_when_it_lands(tmp_path: Path) -> None:
    """Without a pull request it has a page and no comment; a pull request then takes it over; and when it
    lands under another number with the same files, its runs are runs of main's commit."""
    with import_scene(tmp_path) as scene:
        git, github = scene.hosted.git, scene.hosted.github
        head = git.write(BRANCH, {"src/a.py": "A = 2\n"}, scene.base, message=CHANGE)
        scene.runs.write_runs("04_int8", BRANCH, head, 3, since=0.2, step_seconds=0.25)
        scene.server.start()

        scene.hosted.run(github.push(BRANCH))
        scene.server.wait_until(lambda: _verdict(scene) == "slower", "the branch has a report")
        assert 0 == scene.count("POST .*/comments") == scene.count("/pulls/-")
        assert "cannot be written" not in scene.server.log

        number = scene.open_pull(BRANCH)
        scene.comment(number, "slower")
        told = f"Pull request #{number} speaks for this branch now"
        page = f"{scene.server.url}/{NAME}/branch/{BRANCH}"
        scene.server.wait_until(lambda: told in ask(page).text, "the branch's page points there")

        landed = git.write("main", {"src/a.py": "A = 2\n"}, message=CHANGE.replace("580", "599"))
        scene.hosted.run(github.push("main"))

        def of_main() -> set[str]:
            points = _document(scene, "history?case=04_int8").get("points", [])
            return {str(point["sha"]) for point in points}

        scene.server.wait_until(lambda: landed in of_main(), "the landed runs are main's")
        assert head not in of_main()
