"""What names stand for, and the runs that stand for names, in both databases."""

import pytest
from msgspec.structs import replace

from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.storage import histories, pull_requests, refs, runs
from bot.storage.database import Connection, Database
from bot.storage.histories import HistoryQuery
from bot.storage.refs import RefKind
from bot.storage.runs import backfill
from bot.storage.tables import CASE_KEY, MEASUREMENT, PULL_REQUEST
from bot.verdict.comparability import conditions_text
from bot.verdict.judgement import MeasuredRun
from bot.verdict.loss.curve import loss_trace
from bot.verdict.noise import PastRun
from tests.verdict.made_runs import Shape, failed
from tests.verdict.made_runs import run as made

HERE = "acme/x"

SHAS = ("abcdef0" + "1" * 33, "abcdef0" + "2" * 33, "0123456" + "a" * 33)

GOOD, BAD = made(Shape(steps=12)), failed(error="ValueError: x")


def _keep(database: Database, name: str, measured: MeasuredRun | None = GOOD, **values: object) -> RunRecord:
    record = RunRecord(id=name, repository=HERE, case="a", variant="", branch="main", started=1.0)
    record = replace(record, **values)
    database.write_now(runs.save, record, now=5.0, measured=measured)
    return record


def _ids(found: refs.RunsByCase) -> dict[tuple[str, str], list[str]]:
    return {key: [kept.record.id for kept in some] for key, some in found.items()}


def _runs(database: Database, text: str) -> dict[tuple[str, str], list[str]]:
    def read(connection: Connection) -> dict[tuple[str, str], list[str]]:
        ref = refs.resolve(connection, HERE, text)
        assert ref is not None, text
        return _ids(refs.runs_of(connection, HERE, ref))

    return database.write_now(read)


def test_a_branch_is_its_newest_commit_for_each_case(database: Database) -> None:
    """With its repeats; runs of this machine only where there is no other, unread and open ones never."""
    _keep(database, "old", sha=SHAS[0], started=1.0)
    _keep(database, "new1", sha=SHAS[1], started=2.0)
    _keep(database, "new2", sha=SHAS[1], started=3.0)
    _keep(database, "ours", sha=SHAS[2], started=4.0, origin=RunOrigin.LAUNCHED)
    _keep(database, "unread", None, sha=SHAS[2], started=5.0)
    _keep(database, "open", sha=SHAS[2], started=6.0, state=RunState.RUNNING)
    _keep(database, "b", case="b", variant="nnx", sha=SHAS[0], started=1.0)
    _keep(database, "b-unnamed", case="b", variant="nnx", sha=None, started=2.0)
    _keep(database, "c", case="c", sha=SHAS[2], origin=RunOrigin.LAUNCHED)
    expected = {("a", ""): ["new2", "new1"], ("b", "nnx"): ["b-unnamed"], ("c", ""): ["c"]}
    assert expected == _runs(database, "main")
    assert expected == _runs(database, "main")


def test_a_run_that_we_started_on_a_cluster_is_as_good_as_a_found_one(database: Database) -> None:
    """Main's own runs by the clock are its newest commit."""
    _keep(database, "found", sha=SHAS[0], started=1.0)
    _keep(database, "scheduled", sha=SHAS[1], started=2.0, origin=RunOrigin.LAUNCHED, place="p/z/c")
    assert {("a", ""): ["scheduled"]} == _runs(database, "main")


def test_a_commit_is_found_by_what_it_begins_with_and_by_what_begins_it(database: Database) -> None:
    """Upper or lower case; runs may record fewer digits than are asked for."""
    _keep(database, "full", sha=SHAS[2])
    _keep(database, "short", sha=SHAS[2][:9])
    for text in (SHAS[2], SHAS[2][:7], SHAS[2][:12].upper()):
        assert {"full", "short"} == {*_runs(database, text)["a", ""]}, text


@pytest.mark.parametrize("text", ["", "abcde", "abcdef0", "nothing", "pr/7", "pr/x", "0123457", "x" * 99])
def test_what_is_not_known_is_nothing(text: str, database: Database) -> None:
    """Nor is a beginning that two commits share."""
    _keep(database, "one", sha=SHAS[0])
    _keep(database, "two", sha=SHAS[1])
    assert database.write_now(refs.resolve, HERE, text) is None
    assert database.write_now(refs.resolve, "acme/else", "main") is None


def test_names_that_may_have_been_meant(database: Database) -> None:
    """Branches and pull requests that are spelt alike; the commits, where there are several."""
    _keep(database, "one", sha=SHAS[0], branch="feat_new_kernel")
    _keep(database, "two", sha=SHAS[1])
    database.write_now(pull_requests.enqueue, repository=HERE, number=12, installation=1, now=1.0)
    assert ("feat_new_kernel",) == database.write_now(refs.suggestions, HERE, "feat/new-kernal")[:1]
    database.write_now(
        pull_requests.watch_branch, repository=HERE, branch="test_1", installation=1, sha=None, now=1.0
    )
    assert ("pr/12",) == database.write_now(refs.suggestions, HERE, "pr/13")
    assert {HERE: 1} == database.write_now(pull_requests.count_open_pulls)
    assert tuple(sha[:12] for sha in SHAS[:2]) == database.write_now(refs.suggestions, HERE, "abcdef0")


def test_a_pull_request_is_its_head(database: Database) -> None:
    """By the commit that GitHub last named."""
    _keep(database, "one", sha=SHAS[0], branch="feat")
    database.write_now(pull_requests.enqueue, repository=HERE, number=12, installation=1, now=1.0)
    database.write_now(lambda c: c.execute(PULL_REQUEST.update().values(head_sha=SHAS[0])))
    ref = database.write_now(refs.resolve, HERE, "PR/12")
    assert ref is not None
    assert (RefKind.PULL, SHAS[0], 12) == (ref.kind, ref.sha, ref.number)
    assert {("a", ""): ["one"]} == _runs(database, "#12")


def test_more_keys_than_one_statement_takes(database: Database) -> None:
    """Each is read from the end of its own index, in one question for a hundred."""
    names = [f"{number:03d}" for number in range(130)]

    def save(connection: Connection) -> None:
        for name in names:
            record = RunRecord(id=name, repository=HERE, case=name, variant="", branch="main", started=1.0)
            runs.save(connection, record, now=1.0, measured=GOOD)

    database.write_now(save)
    assert {(name, ""): [name] for name in names} == _runs(database, "main")


def test_a_history_ends_where_the_base_began(database: Database) -> None:
    """Runs under the same conditions with a steady step time, not after that moment, oldest first: of a
    cluster, whoever started them, and none of this machine."""
    seconds, under = GOOD.measurements.steady.seconds, conditions_text(GOOD)
    loop = GOOD.measurements.loop
    assert seconds is not None
    assert loop is not None
    for number in range(3):
        _keep(database, f"r{number}", sha=SHAS[0], started=float(number))
    _keep(database, "scheduled", sha=SHAS[0], started=3.0, origin=RunOrigin.LAUNCHED, place="p/z/c")
    _keep(database, "bad", BAD, sha=SHAS[0], started=1.5)
    _keep(database, "ours", sha=SHAS[0], started=1.6, origin=RunOrigin.LAUNCHED)
    wanted = [
        HistoryQuery(key=("a", ""), under=under, until=2.0),
        HistoryQuery(key=("a", ""), under="other", until=2.0),
        HistoryQuery(key=("a", ""), under=under, until=None),
    ]
    losses = loss_trace(GOOD.log, SHAS[0])
    past = [
        PastRun(
            seconds=seconds,
            sha=SHAS[0],
            started=float(number),
            run=name,
            losses=losses,
            loop=loop.seconds,
            submission=f"start {number}",
        )
        for number, name in enumerate(("r0", "r1", "r2", "scheduled"))
    ]
    assert [tuple(past[:3]), (), tuple(past)] == database.write_now(
        histories.query_histories, HERE, "main", wanted
    )


def test_a_summary_has_every_figure_and_the_end(database: Database) -> None:
    """Read without the run's own document."""
    _keep(database, "good", started=1.0)
    _keep(database, "bad", BAD, started=2.0)
    good, bad = database.write_now(histories.history_points, HERE, "main", ("a", ""), "final_loss")
    assert (GOOD.measurements.final_loss, "succeeded") == (good.value, good.outcome)
    assert (None, "failed") == (bad.value, bad.outcome)
    kept = runs.summarize(BAD)
    assert ("failed", "ValueError: x") == (kept.state, kept.error)
    assert kept == runs.read_summary(runs.summary_columns(BAD)["summary"])  # type: ignore[arg-type]


def test_what_older_versions_did_not_keep_is_filled_in(database: Database) -> None:
    """Summaries, outcomes and case keys, until nothing is left to fill."""
    for number in range(3):
        _keep(database, f"r{number}", started=float(number))
    bare = MEASUREMENT.update().values(summary=None, outcome=None)
    database.write_now(lambda c: c.execute(bare))
    database.write_now(lambda c: c.execute(CASE_KEY.delete()))
    assert [None] * 3 == [one.value for one in _losses(database)]
    assert (3, 0) == (database.write_now(backfill), database.write_now(backfill))
    assert [GOOD.measurements.final_loss] * 3 == [one.value for one in _losses(database)]
    assert (("a", ""),) == database.write_now(runs.case_keys, HERE, "main")


def _losses(database: Database) -> tuple[histories.HistoryPoint, ...]:
    return database.write_now(histories.history_points, HERE, "main", ("a", ""), "final_loss")
