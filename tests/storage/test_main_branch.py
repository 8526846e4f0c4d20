"""What follows a default branch to another name.

When a change lands unchanged, its runs become main's."""

from typing import Any

import pytest
from msgspec import structs

from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.planning.lineage import Landing, LandingEvidence, LandingHead, MainCommit
from bot.storage import main_branch, pull_requests, queue, repositories, runs
from bot.storage.database import Database
from bot.storage.main_branch import LandedHead as Became
from bot.storage.main_branch import SeenDefaultBranch
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import PULL_REQUEST
from bot.verdict.measure import measure
from tests.verdict.made_runs import Shape, run_log

HERE, ELSEWHERE = "acme/x", "acme/y"

SEEN = SeenDefaultBranch(branch="master", sha="a" * 40)

MASTER_RUN = RunRecord(
    id="r1", repository=HERE, case="a", variant="v", branch="master", sha="b" * 40, started=5.0
)


def _keep(database: Database, *kept: RunRecord) -> None:
    measured = measure(run_log(Shape(steps=12)))
    for run in kept:
        database.write_now(runs.save, run, now=9.0, measured=measured)


def test_what_was_seen_of_main_is_remembered_under_every_name_of_its_repository(database: Database) -> None:
    """Of each repository by itself."""
    row = RepositoryRow(full_name=HERE, installation=1, default_branch="m", private=False, active=True, id=5)
    database.write_now(repositories.save_repository, row)
    assert database.write_now(main_branch.seen_default_branch, HERE) is None
    database.write_now(main_branch.save_default_branch, HERE, SEEN)
    database.write_now(main_branch.save_default_branch, ELSEWHERE, structs.replace(SEEN, branch="trunk"))
    database.write_now(repositories.save_repository, structs.replace(row, full_name="acme/z"))
    assert database.write_now(main_branch.seen_default_branch, "acme/z") == SEEN
    assert database.write_now(main_branch.seen_default_branch, ELSEWHERE) == structs.replace(
        SEEN, branch="trunk"
    )


def test_only_the_branchs_own_runs_follow_it(database: Database) -> None:
    """With its cases; doing it twice changes nothing. Pull requests that compare with it are due, once."""
    elsewhere = (
        structs.replace(MASTER_RUN, id="r2", branch="feat_x", case="b"),
        structs.replace(MASTER_RUN, id="r3", repository=ELSEWHERE, case="c"),
    )
    _keep(database, MASTER_RUN, *elsewhere)
    database.write_now(pull_requests.enqueue, repository=HERE, number=8, installation=1, now=1.0)
    before = database.write_now(pull_requests.find_pull, HERE, 8)
    carried = [
        database.write_now(main_branch.rename_default_branch, HERE, old="master", new="main", now=10.0)
        for _ in range(2)
    ]
    assert carried == [1, 0]
    after = database.write_now(pull_requests.find_pull, HERE, 8)
    assert before is not None
    assert after is not None
    assert before.wanted + 1 == after.wanted
    assert database.write_now(runs.branch_runs, HERE, "main") == (structs.replace(MASTER_RUN, branch="main"),)
    assert summaries_of(database, HERE) == {"feat_x": (("b", "v"),), "main": (("a", "v"),)}
    assert summaries_of(database, ELSEWHERE) == {"master": (("c", "v"),)}


def test_what_landed_on_it_landed_on_it_under_its_new_name(database: Database) -> None:
    """Also what landed long ago; what landed on another branch stays there."""
    for sha, branch in (("c" * 40, "master"), ("e" * 40, "release")):
        head = LandingHead(sha=sha, branch="test_5", number=30, tree="t1")
        commit = MainCommit(sha="d" * 40, tree="t1", parents=(), message="Fast")
        landing = Landing(head=head, commit=commit, known=LandingEvidence.SAME_FILES)
        database.write_now(main_branch.save_landings, HERE, branch, [landing], 10.0)
    database.write_now(main_branch.rename_default_branch, HERE, old="master", new="main", now=10.0)
    of_heads = [database.write_now(main_branch.find_landing, HERE, sha) for sha in ("c" * 40, "e" * 40)]
    assert [one.branch if one else None for one in of_heads] == ["main", "release"]


def summaries_of(database: Database, repository: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """The cases of every branch."""
    names = database.write_now(runs.branches_with_runs, repository)
    return {name: database.write_now(runs.case_keys, repository, name) for name in names}


def test_a_name_that_is_spelt_alike_in_a_bucket_keeps_its_runs(database: Database) -> None:
    """`main-line` and `main/line` are one name there; nothing is lost on the way."""
    run = structs.replace(MASTER_RUN, branch="main_line")
    _keep(database, run)
    database.write_now(main_branch.rename_default_branch, HERE, old="main-line", new="main/line", now=10.0)
    assert database.write_now(runs.branch_runs, HERE, "main_line") == (run,)


def test_a_run_that_was_adopted_under_the_old_name_counts_once(database: Database) -> None:
    """What landed is found again on the branch by its new name: no second double of the run is made."""
    head = LandingHead(sha="c" * 40, branch="test_5", number=30, tree="t1")
    commit = MainCommit(sha="d" * 40, tree="t1", parents=(), message="Fast")
    landing = Landing(head=head, commit=commit, known=LandingEvidence.SAME_FILES)
    _keep(
        database,
        structs.replace(MASTER_RUN, branch="test_5", sha=head.sha),
        structs.replace(MASTER_RUN, id="r2", branch="test_5", sha=head.sha, started=6.0),
    )
    for branch in ("master", "main"):
        database.write_now(main_branch.save_landings, HERE, branch, [landing], 10.0)
        database.write_now(main_branch.adopt_runs, HERE, branch, 10.0)
        database.write_now(main_branch.rename_default_branch, HERE, old="master", new="main", now=10.0)
    of_main = database.write_now(runs.branch_runs, HERE, "main")
    assert [(run.sha, run.started) for run in of_main] == [(commit.sha, 6.0), (commit.sha, 5.0)]
    landed = database.write_now(main_branch.find_landing, HERE, head.sha)
    assert landed is not None
    assert landed.branch == "main"


REPOSITORY, HEAD_SHA, MAIN_SHA = "acme/x", "a" * 40, "b" * 40

HEAD = LandingHead(sha=HEAD_SHA, branch="test_5", number=30, tree="t1")

COMMIT = MainCommit(sha=MAIN_SHA, tree="t1", parents=(), message="Fast")

SAME_FILES = Landing(head=HEAD, commit=COMMIT, known=LandingEvidence.SAME_FILES)

FOUND = RunRecord(
    id="r1", repository=REPOSITORY, case="a", variant="v", branch="test_5", sha=HEAD_SHA, started=5.0
)


def _landed(database: Database, landing: Landing, *kept: RunRecord) -> tuple[RunRecord, ...]:
    """Main's runs after these runs were saved and the head landed, reported twice."""
    measured = measure(run_log(Shape(steps=12)))
    for run in kept:
        database.write_now(runs.save, run, now=9.0, measured=measured)
    for _ in range(2):
        database.write_now(main_branch.save_landings, REPOSITORY, "main", [landing], 10.0)
        database.write_now(main_branch.adopt_runs, REPOSITORY, "main", 10.0)
    return database.write_now(runs.branch_runs, REPOSITORY, "main")


def test_runs_of_a_head_that_landed_unchanged_are_mains(database: Database) -> None:
    """With main's commit, the head they were measured on, and the same measurement; once."""
    (run,) = _landed(database, SAME_FILES, FOUND)
    assert run == structs.replace(FOUND, id=run.id, branch="main", sha=MAIN_SHA, measured_sha=HEAD_SHA)
    measured = database.write_now(runs.measured, ["r1", run.id])
    assert measured["r1"] == measured[run.id]
    assert [FOUND] == list(database.write_now(runs.branch_runs, REPOSITORY, "test_5"))


def test_adopted_runs_make_open_pull_requests_due_in_the_same_transaction(database: Database) -> None:
    """A death right after cannot leave the two apart; where nothing is new, nobody looks."""
    database.write_now(pull_requests.enqueue, repository=REPOSITORY, number=8, installation=1, now=1.0)
    before = database.write_now(pull_requests.find_pull, REPOSITORY, 8)
    _landed(database, SAME_FILES, FOUND)
    after = database.write_now(pull_requests.find_pull, REPOSITORY, 8)
    assert before is not None
    assert after is not None
    assert before.wanted + 1 == after.wanted


def test_what_landed_on_another_branch_is_not_mains(database: Database) -> None:
    """A release took it, and main did not."""
    database.write_now(runs.save, FOUND, now=9.0, measured=measure(run_log(Shape(steps=12))))
    database.write_now(main_branch.save_landings, REPOSITORY, "release", [SAME_FILES], 10.0)
    assert database.write_now(main_branch.adopt_runs, REPOSITORY, "main", 10.0) == 0
    assert database.write_now(runs.branch_runs, REPOSITORY, "main") == ()
    assert database.write_now(main_branch.adopt_runs, REPOSITORY, "release", 10.0) == 1


def test_a_change_that_landed_twice_has_its_runs_once(database: Database) -> None:
    """Rolled back and landed again: they are of the newer commit, and count once in main's history."""
    again = structs.replace(SAME_FILES, commit=structs.replace(COMMIT, sha="c" * 40))
    (first,) = _landed(database, SAME_FILES, FOUND)
    (second,) = _landed(database, again, FOUND)
    assert second == structs.replace(first, sha="c" * 40)
    assert {second.id} == set(database.write_now(runs.measured, [second.id]))


def test_branches_are_looked_for_however_many_pull_requests_there_are(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of either."""
    monkeypatch.setattr(main_branch, "MAX_HEADS", 2)
    here: dict[str, Any] = {"repository": REPOSITORY, "installation": 1, "now": 1.0}
    branches = [
        database.write_now(pull_requests.watch_branch, **here, branch=f"test_{n}", sha=None) for n in range(3)
    ]
    for number in (7, 8, 9):
        database.write_now(pull_requests.enqueue, **here, number=number)
    for number in (*branches, 7, 8, 9):
        held = database.write_now(
            queue.claim_row,
            PULL_REQUEST,
            key={"repository": REPOSITORY, "number": number},
            owner="me",
            now=1.0,
            lease=9.0,
        )
        assert held is not None
        database.write_now(
            pull_requests.release_pull, held, now=1.0, due=None, values={"head_sha": f"{number}"}
        )
    newest = ["9", "8", str(branches[2]), str(branches[1])]
    assert newest == [head.sha for head in database.write_now(main_branch.known_heads, REPOSITORY)]


def test_a_run_that_names_its_commit_in_short_is_found(database: Database) -> None:
    """As the names of logs do."""
    (run,) = _landed(database, SAME_FILES, structs.replace(FOUND, sha=HEAD_SHA[:7]))
    assert (MAIN_SHA, HEAD_SHA) == (run.sha, run.measured_sha)


def test_a_run_found_after_the_landing_is_mains_too(database: Database) -> None:
    """Adopting is repeated."""
    assert () == _landed(database, SAME_FILES)
    assert 1 == len(_landed(database, SAME_FILES, FOUND))


def test_runs_of_a_head_that_changed_while_landing_stay_its_own(database: Database) -> None:
    """Other files came with it: the measured files are not those on main."""
    rebased = Landing(head=HEAD, commit=structs.replace(COMMIT, tree="t2"), known=LandingEvidence.SAME_CHANGE)
    assert () == _landed(database, rebased, FOUND)
    became = Became(head_sha=HEAD_SHA, branch="main", main_sha=MAIN_SHA, same_files=False)
    assert became == database.write_now(main_branch.find_landing, REPOSITORY, HEAD_SHA)


def test_only_evidence_is_adopted(database: Database) -> None:
    """Not runs of other commits, unfinished ones, nor those we started here; those of a cluster are."""
    launched = structs.replace(FOUND, origin=RunOrigin.LAUNCHED)
    kept = (
        structs.replace(FOUND, id="other", sha="c" * 40),
        structs.replace(FOUND, id="running", state=RunState.RUNNING),
        structs.replace(launched, id="here", key="k1"),
        structs.replace(launched, id="there", key="k2", place="p/z/c"),
        structs.replace(FOUND, id="unrecorded", sha=None),
    )
    (run,) = _landed(database, SAME_FILES, *kept)
    assert ("p/z/c", None) == (run.place, run.key)


def test_a_surer_sign_replaces_a_weaker_one_and_never_the_other_way(database: Database) -> None:
    """Deliveries come in any order."""
    weak = Landing(
        head=HEAD, commit=structs.replace(COMMIT, sha="d" * 40, tree="t9"), known=LandingEvidence.SAME_PULL
    )
    for order in ((weak, SAME_FILES), (SAME_FILES, weak)):
        for landing in order:
            database.write_now(main_branch.save_landings, REPOSITORY, "main", [landing], 10.0)
        became = database.write_now(main_branch.find_landing, REPOSITORY, HEAD_SHA)
        assert became is not None
        assert MAIN_SHA == became.main_sha
