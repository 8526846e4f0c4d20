"""When a change lands unchanged, its runs become main's."""

from dataclasses import replace

import pytest

from bot.runs.lineage import Head, Known, Landed, Landing
from bot.runs.records import Origin, RunRecord, RunState
from bot.storage import landings, pulls, queue, runs
from bot.storage.database import Database
from bot.storage.landings import Landed as Became
from bot.storage.tables import PULL_REQUEST
from bot.verdict.measure import measure
from tests.verdict.samples import Shape, run_log

REPO, HEAD_SHA, MAIN_SHA = "acme/x", "a" * 40, "b" * 40
HEAD = Head(sha=HEAD_SHA, branch="test_5", number=30, tree="t1")
COMMIT = Landed(sha=MAIN_SHA, tree="t1", parents=(), message="Fast")
SAME_FILES = Landing(head=HEAD, commit=COMMIT, known=Known.SAME_FILES)
FOUND = RunRecord(id="r1", repository=REPO, case="a", variant="v", branch="test_5", sha=HEAD_SHA, started=5.0)


def _landed(database: Database, landing: Landing, *kept: RunRecord) -> tuple[RunRecord, ...]:
    """Main's runs after these runs were kept and the head landed, twice told."""
    measured = measure(run_log(Shape(steps=12)))
    for run in kept:
        database.now(runs.save, run, now=9.0, measured=measured)
    for _ in range(2):
        database.now(landings.save, REPO, "main", [landing], 10.0)
        database.now(landings.adopt, REPO, "main", 10.0)
    return database.now(runs.of_branch, REPO, "main")


def test_runs_of_a_head_that_landed_unchanged_are_mains(database: Database) -> None:
    """With main's commit, the head they were measured on, and the same measurement; once."""
    (run,) = _landed(database, SAME_FILES, FOUND)
    assert run == replace(FOUND, id=run.id, branch="main", sha=MAIN_SHA, measured_sha=HEAD_SHA)
    measured = database.now(runs.measured, ["r1", run.id])
    assert measured["r1"] == measured[run.id]
    assert [FOUND] == list(database.now(runs.of_branch, REPO, "test_5"))


def test_who_compares_with_main_looks_at_what_it_took_over_in_the_same_breath(database: Database) -> None:
    """A death right after cannot leave the two apart; where nothing is new, nobody looks."""
    database.now(pulls.want, repository=REPO, number=8, installation=1, now=1.0)
    before = database.now(pulls.find, REPO, 8)
    _landed(database, SAME_FILES, FOUND)
    after = database.now(pulls.find, REPO, 8)
    assert before is not None
    assert after is not None
    assert before.wanted + 1 == after.wanted


def test_what_landed_on_another_branch_is_not_mains(database: Database) -> None:
    """A release took it, and main did not."""
    database.now(runs.save, FOUND, now=9.0, measured=measure(run_log(Shape(steps=12))))
    database.now(landings.save, REPO, "release", [SAME_FILES], 10.0)
    assert database.now(landings.adopt, REPO, "main", 10.0) == 0
    assert database.now(runs.of_branch, REPO, "main") == ()
    assert database.now(landings.adopt, REPO, "release", 10.0) == 1


def test_a_change_that_landed_twice_has_its_runs_once(database: Database) -> None:
    """Rolled back and landed again: they are of the newer commit, and count once in main's history."""
    again = replace(SAME_FILES, commit=replace(COMMIT, sha="c" * 40))
    (first,) = _landed(database, SAME_FILES, FOUND)
    (second,) = _landed(database, again, FOUND)
    assert second == replace(first, sha="c" * 40)
    assert {second.id} == set(database.now(runs.measured, [second.id]))


def test_branches_are_looked_for_however_many_pull_requests_there_are(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of either."""
    monkeypatch.setattr(landings, "MOST_HEADS", 2)
    for number in (-3, -2, -1, 7, 8, 9):
        database.now(pulls.want, repository=REPO, number=number, installation=1, now=1.0)
        held = database.now(
            queue.take,
            PULL_REQUEST,
            key={"repository": REPO, "number": number},
            owner="me",
            now=1.0,
            lease=9.0,
        )
        assert held is not None
        database.now(pulls.let_go, held, now=1.0, due=None, values={"head_sha": f"{number}"})
    assert ["9", "8", "-3", "-2"] == [head.sha for head in database.now(landings.heads, REPO)]


def test_a_run_that_names_its_commit_in_short_is_found(database: Database) -> None:
    """As the names of logs do."""
    (run,) = _landed(database, SAME_FILES, replace(FOUND, sha=HEAD_SHA[:7]))
    assert (MAIN_SHA, HEAD_SHA) == (run.sha, run.measured_sha)


def test_a_run_found_after_the_landing_is_mains_too(database: Database) -> None:
    """Adopting is repeated."""
    assert () == _landed(database, SAME_FILES)
    assert 1 == len(_landed(database, SAME_FILES, FOUND))


def test_runs_of_a_head_that_changed_while_landing_stay_its_own(database: Database) -> None:
    """Other files came with it: what was measured is not what stands on main."""
    rebased = Landing(head=HEAD, commit=replace(COMMIT, tree="t2"), known=Known.SAME_CHANGE)
    assert () == _landed(database, rebased, FOUND)
    became = Became(head_sha=HEAD_SHA, branch="main", main_sha=MAIN_SHA, same_files=False)
    assert became == database.now(landings.of_head, REPO, HEAD_SHA)


def test_only_evidence_is_adopted(database: Database) -> None:
    """Not runs of other commits, unfinished ones, nor those we started here; those of a cluster are."""
    launched = replace(FOUND, origin=Origin.LAUNCHED)
    kept = (
        replace(FOUND, id="other", sha="c" * 40),
        replace(FOUND, id="running", state=RunState.RUNNING),
        replace(launched, id="here", key="k1"),
        replace(launched, id="there", key="k2", place="p/z/c"),
        replace(FOUND, id="unrecorded", sha=None),
    )
    (run,) = _landed(database, SAME_FILES, *kept)
    assert ("p/z/c", None) == (run.place, run.key)


def test_a_surer_sign_replaces_a_weaker_one_and_never_the_other_way(database: Database) -> None:
    """Deliveries come in any order."""
    weak = Landing(head=HEAD, commit=replace(COMMIT, sha="d" * 40, tree="t9"), known=Known.SAME_PULL)
    for order in ((weak, SAME_FILES), (SAME_FILES, weak)):
        for landing in order:
            database.now(landings.save, REPO, "main", [landing], 10.0)
        became = database.now(landings.of_head, REPO, HEAD_SHA)
        assert became is not None
        assert MAIN_SHA == became.main_sha
