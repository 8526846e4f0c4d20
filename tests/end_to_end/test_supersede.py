"""What a push, a storm of pushes and a closed pull request do to the runs that are under way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.scenes import BRANCH, LaunchScene, launch_scene

PROMISED_SECONDS = 10.0


@pytest.fixture
def works(tmp_path: Path) -> Iterator[LaunchScene]:
    """A server that starts runs here."""
    with launch_scene(tmp_path) as made:
        yield made


def _begun(works: LaunchScene) -> tuple[int, str]:
    """A pull request whose head is being measured."""
    head = works.commit("A = 1\n")
    number = works.open()
    works.server.until(lambda: works.running(head), "the head is measured")
    return number, head


def test_a_push_ends_what_it_made_stale(works: LaunchScene) -> None:
    """Within ten seconds of the push no process and no open run of the old head is left; the new head is
    measured, and nobody asked for anything."""
    number, old = _begun(works)
    new = works.commit("A = 2\n")
    works.push()
    assert works.seconds_until_gone(old) < PROMISED_SECONDS
    works.server.until(lambda: works.running(new), "the new head is measured")
    assert old not in works.comment(number, f"head {new}").body


def test_a_push_of_the_same_files_goes_on_with_what_runs(works: LaunchScene) -> None:
    """A rebased or reworded commit with the same files carries its runs over: the same process works on."""
    number, old = _begun(works)
    before = works.runs(old).keys()
    main = works.git.head("main")
    reworded = works.git.write(BRANCH, {"src/a.py": "A = 1\n", "slow": "yes"}, main, message="Said better")
    assert reworded != old
    works.push()
    works.comment(number, f"head {reworded}")
    assert works.running(old)
    assert (works.runs(old).keys(), works.runs(reworded)) == (before, {})
    assert "cancelled" not in works.runs().values()


def test_a_storm_of_pushes_costs_the_runs_of_the_last(works: LaunchScene) -> None:
    """Ten pushes within seconds: nothing is planned for the nine that were pushed over."""
    number, _ = _begun(works)
    heads = []
    for value in range(10):
        heads.append(works.commit(f"A = {value + 10}\n", onto_main=value % 2 == 0))
        works.push()
    works.server.until(lambda: works.runs(heads[-1]), "the last head is planned")
    assert [works.runs(head) for head in heads[:-1]] == [{}] * 9
    works.comment(number, f"head {heads[-1]}")


def test_closing_ends_the_runs_and_says_so(works: LaunchScene) -> None:
    """Nobody wants them any more, and the comment does not go on waiting."""
    number, head = _begun(works)
    works.comment(number, f"head {head}")
    works.hosted.does(works.hosted.github.close_pull(number))
    assert works.seconds_until_gone(head) < PROMISED_SECONDS
    body = works.comment(number, "the pull request was closed").body
    assert "1 cancelled" in body
