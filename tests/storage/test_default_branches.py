"""What follows a default branch to another name."""

from dataclasses import replace

from bot.runs.lineage import Head, Known, Landed, Landing
from bot.runs.records import RunRecord
from bot.storage import default_branches, landings, pulls, repositories, runs, summaries
from bot.storage.database import Database
from bot.storage.default_branches import Seen
from bot.storage.pulls import RepositoryRow
from bot.verdict.measure import measure
from tests.verdict.samples import Shape, run_log

REPO, OTHER = "acme/x", "acme/y"
SEEN = Seen(branch="master", sha="a" * 40)
RUN = RunRecord(id="r1", repository=REPO, case="a", variant="v", branch="master", sha="b" * 40, started=5.0)


def _keep(database: Database, *kept: RunRecord) -> None:
    measured = measure(run_log(Shape(steps=12)))
    for run in kept:
        database.now(runs.save, run, now=9.0, measured=measured)


def test_what_was_seen_of_main_is_remembered_under_every_name_of_its_repository(database: Database) -> None:
    """Of each repository by itself."""
    row = RepositoryRow(full_name=REPO, installation=1, default_branch="m", private=False, active=True, id=5)
    database.now(pulls.keep_repository, row)
    assert database.now(default_branches.seen, REPO) is None
    database.now(default_branches.keep, REPO, SEEN)
    database.now(default_branches.keep, OTHER, replace(SEEN, branch="trunk"))
    database.now(repositories.keep_repository, replace(row, full_name="acme/z"))
    assert database.now(default_branches.seen, "acme/z") == SEEN
    assert database.now(default_branches.seen, OTHER) == replace(SEEN, branch="trunk")


def test_only_the_branchs_own_runs_follow_it(database: Database) -> None:
    """With the cases that it has; twice told is once done. Who compares with it looks again, once."""
    elsewhere = (
        replace(RUN, id="r2", branch="feat_x", case="b"),
        replace(RUN, id="r3", repository=OTHER, case="c"),
    )
    _keep(database, RUN, *elsewhere)
    database.now(pulls.want, repository=REPO, number=8, installation=1, now=1.0)
    before = database.now(pulls.find, REPO, 8)
    carried = [
        database.now(default_branches.carry_over, REPO, old="master", new="main", now=10.0) for _ in range(2)
    ]
    assert carried == [1, 0]
    after = database.now(pulls.find, REPO, 8)
    assert before is not None
    assert after is not None
    assert before.wanted + 1 == after.wanted
    assert database.now(runs.of_branch, REPO, "main") == (replace(RUN, branch="main"),)
    assert summaries_of(database, REPO) == {"feat_x": (("b", "v"),), "main": (("a", "v"),)}
    assert summaries_of(database, OTHER) == {"master": (("c", "v"),)}


def test_what_landed_on_it_landed_on_it_under_its_new_name(database: Database) -> None:
    """Also what landed long ago; what landed on another branch stays there."""
    for sha, branch in (("c" * 40, "master"), ("e" * 40, "release")):
        head = Head(sha=sha, branch="test_5", number=30, tree="t1")
        commit = Landed(sha="d" * 40, tree="t1", parents=(), message="Fast")
        landing = Landing(head=head, commit=commit, known=Known.SAME_FILES)
        database.now(landings.save, REPO, branch, [landing], 10.0)
    database.now(default_branches.carry_over, REPO, old="master", new="main", now=10.0)
    of_heads = [database.now(landings.of_head, REPO, sha) for sha in ("c" * 40, "e" * 40)]
    assert [one.branch if one else None for one in of_heads] == ["main", "release"]


def summaries_of(database: Database, repository: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """The cases of every branch."""
    names = database.now(summaries.branches, repository)
    return {name: database.now(summaries.keys, repository, name) for name in names}


def test_a_name_that_is_spelt_alike_in_a_bucket_keeps_its_runs(database: Database) -> None:
    """`main-line` and `main/line` are one name there; nothing is lost on the way."""
    run = replace(RUN, branch="main_line")
    _keep(database, run)
    database.now(default_branches.carry_over, REPO, old="main-line", new="main/line", now=10.0)
    assert database.now(runs.of_branch, REPO, "main_line") == (run,)


def test_a_run_that_was_adopted_under_the_old_name_counts_once(database: Database) -> None:
    """What landed is found again on the branch by its new name: no second double of the run is made."""
    head = Head(sha="c" * 40, branch="test_5", number=30, tree="t1")
    commit = Landed(sha="d" * 40, tree="t1", parents=(), message="Fast")
    landing = Landing(head=head, commit=commit, known=Known.SAME_FILES)
    _keep(
        database,
        replace(RUN, branch="test_5", sha=head.sha),
        replace(RUN, id="r2", branch="test_5", sha=head.sha, started=6.0),
    )
    for branch in ("master", "main"):
        database.now(landings.save, REPO, branch, [landing], 10.0)
        database.now(landings.adopt, REPO, branch, 10.0)
        database.now(default_branches.carry_over, REPO, old="master", new="main", now=10.0)
    of_main = database.now(runs.of_branch, REPO, "main")
    assert [(run.sha, run.started) for run in of_main] == [(commit.sha, 6.0), (commit.sha, 5.0)]
    landed = database.now(landings.of_head, REPO, head.sha)
    assert landed is not None
    assert landed.branch == "main"
