"""The state of each row of a report, from the runs of both sides and what they measured."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.run import BaselineChoice, HeadChoice, RunOrigin, RunRecord, RunState
from bot.logs.facts import OutcomeState
from bot.report.build import BuiltReport, build_report
from bot.report.model import CaseRuns, InterimLook, RowState
from bot.verdict.judgement import MeasuredRun, RunsWanted
from bot.verdict.measure import measure
from bot.worker.pull_decisions import report_request
from tests.verdict.made_runs import CPU, Shape, run_log
from tests.worker.samples import BASE, HEAD, NOW, PULL, ROW, suite

NOTHING = BaselineChoice(sha=None, distance=None, why="no finished run of main was found")

SLOW = 0.17


def _run(seed: int, seconds: float = 0.147) -> MeasuredRun:
    """A run on a submission of its own."""
    return replace(measure(run_log(Shape(seed=seed, step_seconds=seconds))), submission=f"submission {seed}")


def _failed() -> MeasuredRun:
    log = run_log()
    return measure(
        replace(
            log,
            steps=(),
            steps_seen=0,
            outcome=replace(log.outcome, state=OutcomeState.FAILED, exit_code=1),
        )
    )


def _record(name: str, sha: str = HEAD, state: RunState = RunState.ENDED) -> RunRecord:
    return RunRecord(
        id=name,
        repository="acme/maxtext",
        case="x",
        variant="linen",
        sha=sha,
        started=NOW,
        state=state,
        origin=RunOrigin.LAUNCHED,
    )


def _base(*names: str) -> BaselineChoice:
    runs = tuple(_record(name, BASE) for name in names)
    return BaselineChoice(sha=BASE, distance=0, why="the merge base", runs=runs)


def _head(*names: str) -> HeadChoice:
    return HeadChoice(runs=tuple(_record(name) for name in names))


def _build(
    *cases: CaseRuns, of: Suite | None = None, measured: Mapping[str, MeasuredRun] | None = None
) -> BuiltReport:
    asked = report_request(ROW, PULL, suite=of or suite(), problem=None, now=NOW)
    return build_report(replace(asked, merge_base=BASE), cases, measured or {})


def _case(head: HeadChoice, base: BaselineChoice, **more: object) -> CaseRuns:
    return replace(CaseRuns(case="x", variant="linen", head=head, base=base), **more)


RUNS = {
    **{f"b{n}": _run(n) for n in range(3)},
    **{f"h{n}": _run(10 + n) for n in range(3)},
    **{f"s{n}": _run(20 + n, SLOW) for n in range(3)},
    "failed": _failed(),
}

BASES, HEADS, SLOWER = _base("b0", "b1", "b2"), _head("h0", "h1", "h2"), _head("s0", "s1", "s2")


@pytest.mark.parametrize(
    ("head", "base", "expected"),
    [
        (HEADS, BASES, RowState.SAME),
        (SLOWER, BASES, RowState.SLOWER),
        (_head("failed"), BASES, RowState.NEW_FAILURE),
        (HEADS, _base("failed"), RowState.FIXED),
        (_head("failed"), _base("failed"), RowState.FAILS_ON_BOTH),
        (HEADS, NOTHING, RowState.NO_BASELINE),
        (_head("failed"), NOTHING, RowState.NO_BASELINE),
        (HeadChoice(), BASES, RowState.NO_RUN),
        (HeadChoice(), NOTHING, RowState.NO_RUN),
        (_head("not measured"), BASES, RowState.NO_RUN),
        (HEADS, _base("not measured"), RowState.NO_BASELINE),
    ],
)
def test_finished_runs_give_the_verdict_and_missing_ones_are_named(
    head: HeadChoice, base: BaselineChoice, expected: RowState
) -> None:
    """Every mixture of succeeded, failed and missing sides has its own word, and none of them is green."""
    (line,) = _build(_case(head, base), measured=RUNS).report.rows
    assert expected == line.state


def test_runs_of_one_submission_are_confirmed_before_they_are_believed() -> None:
    """They share their nodes and their hour: three of them are no three runs, unless the change is large."""
    slower = {f"s{n}": _run(20 + n, 0.16) for n in range(3)}
    together = {name: replace(run, submission=name[0]) for name, run in {**RUNS, **slower}.items()}
    (line,) = _build(_case(SLOWER, BASES), measured=together).report.rows
    assert RowState.CONFIRMING == line.state


@pytest.mark.parametrize(
    ("days", "note"),
    [
        (9.1, "main has had no good run of this case for 9 days"),
        (7.0, "main has had no good run of this case for 7 days"),
        (6.9, ""),
        (None, ""),
    ],
)
def test_an_old_baseline_is_said(days: float | None, note: str) -> None:
    """A week after main's last good run its speed is hearsay, whatever the verdict."""
    last_good = None if days is None else NOW - days * 86_400
    (line,) = _build(_case(HeadChoice(), BASES, last_good=last_good), measured=RUNS).report.rows
    assert note == line.note


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([RunState.RUNNING, RunState.PLANNED], RowState.RUNNING),
        ([RunState.QUEUED], RowState.QUEUED),
        ([RunState.PLANNED], RowState.QUEUED),
        ([RunState.LAUNCHED], RowState.QUEUED),
    ],
)
@pytest.mark.parametrize("head", [HeadChoice(), HEADS, SLOWER])
def test_times_are_not_judged_before_the_round_is_in(
    head: HeadChoice, states: list[RunState], expected: RowState
) -> None:
    """While runs are under way a verdict on times waits: stopping early would find more than there is."""
    unfinished = tuple(_record(f"u{n}", state=state) for n, state in enumerate(states))
    built = _build(_case(head, BASES, unfinished=unfinished), measured=RUNS)
    assert (built.report.rows[0].state, built.looks) == (expected, {})


def test_a_failure_is_said_at_once() -> None:
    """A crash does not wait for the other runs of its round."""
    unfinished = (_record("u", state=RunState.RUNNING),)
    (line,) = _build(_case(_head("failed"), BASES, unfinished=unfinished), measured=RUNS).report.rows
    assert line.state is RowState.NEW_FAILURE


def test_runs_that_were_lost_are_said_to_be_lost() -> None:
    """Where the cluster lost every run, that is the state; with a run that ended it is not."""
    lost = (_record("l", state=RunState.LOST),)
    assert _build(_case(HeadChoice(), BASES, lost=lost)).report.rows[0].state is RowState.LOST
    assert _build(_case(HEADS, BASES, lost=lost), measured=RUNS).report.rows[0].state is RowState.SAME


def test_a_look_is_spent_when_new_runs_are_seen() -> None:
    """The first look, the same again on the same runs, the next one on more runs."""
    first = _build(_case(HEADS, BASES), measured=RUNS).looks[CaseKey("x", "linen")]
    assert first.look == 1
    assert _build(_case(HEADS, BASES, last_look=first), measured=RUNS).looks[CaseKey("x", "linen")] == first
    others = InterimLook(look=4, runs="as many, but other runs")
    again = _build(_case(HEADS, BASES, last_look=others), measured=RUNS)
    assert again.looks[CaseKey("x", "linen")] == InterimLook(look=5, runs=first.runs)
    comparison = again.report.rows[0].comparison
    assert comparison is not None
    assert comparison.timing.look == 5


def test_the_error_rate_is_shared_by_the_cases_that_can_be_compared() -> None:
    """Cases without runs on a side, or on other devices, do not take a share."""
    runs = {**RUNS, "cpu": measure(run_log(environment=CPU))}
    cases = [
        _case(HEADS, BASES),
        replace(_case(SLOWER, BASES), case="y"),
        replace(_case(HeadChoice(), BASES), case="z"),
        replace(_case(_head("cpu"), BASES), case="w"),
    ]
    rows = _build(*cases, measured=runs).report.rows
    counted = [row.comparison.timing.comparable_cases for row in rows if row.comparison]
    assert counted == [2, 2, 2]
    assert rows[3].state is RowState.NOT_COMPARABLE


def test_what_must_be_known_before_believing_is_noted() -> None:
    """Unrecorded commits, stale runs and unreadable logs are said in the row."""
    guessed = _case(replace(HEADS, commit_recorded=False), BASES)
    assert "no run of this branch records its commit" in _build(guessed, measured=RUNS).report.rows[0].note
    stale = _case(HeadChoice(stale=(_record("old", "f" * 40),)), BASES)
    assert (
        "1 run of this branch is older than this commit or of another one, and not used"
        in _build(stale).report.rows[0].note
    )
    unread = _case(_head("h0", "not measured"), BASES)
    assert "1 of the head's logs could not be read" in _build(unread, measured=RUNS).report.rows[0].note


def test_the_baseline_carries_its_reason_and_age() -> None:
    """The row says which commit, why, and when its newest run began."""
    (line,) = _build(_case(HEADS, BASES), measured=RUNS).report.rows
    assert line.baseline is not None
    assert (line.baseline.sha, line.baseline.distance, line.baseline.newest_started) == (BASE, 0, NOW)
    assert "merge base" in line.baseline.why
    (bare,) = _build(_case(HEADS, NOTHING), measured=RUNS).report.rows
    assert bare.baseline is None


def test_variants_are_held_against_each_other_on_the_head() -> None:
    """A case that passes in the first variant and fails in the second is one parity row."""
    cases = [_case(HEADS, BASES), replace(_case(_head("failed"), BASES), variant="nnx")]
    (line,) = _build(*cases, of=suite(compare="[ref, variant]"), measured=RUNS).report.parity
    assert (line.first_passes, line.second_passes, line.base_second_passes) == (True, False, True)
    assert _build(*cases, of=suite(compare="[ref]"), measured=RUNS).report.parity == ()


def test_a_problem_makes_a_report_without_rows() -> None:
    """Where the configuration cannot be read, the report says that and nothing else."""
    asked = report_request(ROW, PULL, suite=None, problem="maxview.yml:3: no", now=NOW)
    report = build_report(asked, (), {}).report
    assert (report.problem, report.rows, report.head_sha) == ("maxview.yml:3: no", (), HEAD)


def _heard(*cases: CaseRuns, **more: object) -> RowState:
    asked = report_request(ROW, PULL, suite=suite(), problem=None, now=NOW)
    built = build_report(replace(asked, merge_base=BASE, **more), cases, RUNS)
    (line,) = built.report.rows
    return line.state


CANCELLED = {"cancelled_by": {CaseKey("x", "linen"): "bob"}}

RUNNING = (_record("r", state=RunState.RUNNING),)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (_case(HeadChoice(), BASES), RowState.CANCELLED),
        (_case(HeadChoice(), BASES, unfinished=RUNNING), RowState.CANCELLED),
        (_case(SLOWER, BASES, unfinished=RUNNING), RowState.CANCELLED),
        (_case(SLOWER, BASES, stopped=1), RowState.CANCELLED),
        (_case(SLOWER, BASES), RowState.SLOWER),
        (_case(_head("failed"), BASES, stopped=1), RowState.NEW_FAILURE),
    ],
)
def test_what_was_cancelled_half_way_has_no_verdict_on_time(case: CaseRuns, expected: RowState) -> None:
    """Stopping a round when its figures please somebody would be a look too many; what was measured whole
    before, and a failure, stand."""
    assert expected == _heard(case, **CANCELLED)


def test_who_cancelled_a_case_is_said_with_it() -> None:
    """In its row."""
    asked = replace(report_request(ROW, PULL, suite=suite(), problem=None, now=NOW), **CANCELLED)
    (line,) = build_report(asked, [_case(HeadChoice(), NOTHING)], {}).report.rows
    assert "cancelled by bob on this commit" == line.note


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (_case(HeadChoice(), BASES), RowState.WAITING_FOR_APPROVAL),
        (_case(HeadChoice(), BASES, unfinished=RUNNING), RowState.RUNNING),
        (_case(HEADS, BASES), RowState.SAME),
    ],
)
def test_a_fork_waits_only_where_nothing_is_known(case: CaseRuns, expected: RowState) -> None:
    """Runs that are there already were somebody's, and are read."""
    assert expected == _heard(
        case, waiting=frozenset({CaseKey("x", "linen")}), approval="/benchmark approve a"
    )


SEEN = {
    **{f"q{n}": _run(n) for n in range(2)},
    "c0": _run(10, 0.151),
    "c1": _run(11, 0.1472),
    "crash": _failed(),
}

PAIR = _case(_head("c0"), _base("q0"))

UNDER_WAY = (_record("q1", BASE, RunState.RUNNING), _record("c2", state=RunState.PLANNED))


def test_a_change_to_be_confirmed_keeps_its_state_while_its_runs_are_under_way() -> None:
    """The look that saw it stands, with its figures: deciding on some of the runs is a look too many."""
    first = _build(PAIR, measured=SEEN)
    look = first.looks[CaseKey("x", "linen")]
    assert (first.report.rows[0].state, look.base, look.head) == (RowState.CONFIRMING, ("q0",), ("c0",))
    assert first.report.rows[0].under_way == RunsWanted()
    partly = replace(PAIR, head=_head("c0", "c1"), unfinished=UNDER_WAY, last_look=look)
    second = _build(partly, measured=SEEN)
    (row,) = second.report.rows
    assert (row.state, row.under_way) == (RowState.CONFIRMING, RunsWanted(base=1, head=1))
    assert row.comparison == first.report.rows[0].comparison
    assert second.looks == first.looks


def test_the_runs_that_confirm_are_the_next_look() -> None:
    """When all have ended, and what was seen is no longer kept."""
    look = _build(PAIR, measured=SEEN).looks[CaseKey("x", "linen")]
    ended = replace(PAIR, head=_head("c0", "c1"), base=_base("q0", "q1"), last_look=look)
    built = _build(ended, measured=SEEN)
    comparison = built.report.rows[0].comparison
    assert comparison is not None
    assert comparison.timing.look == 2
    assert built.looks[CaseKey("x", "linen")].look == 2


def test_a_failure_is_said_before_the_runs_that_confirm_have_ended() -> None:
    """Found runs of the head that all fail need no other run to be judged."""
    look = _build(PAIR, measured=SEEN).looks[CaseKey("x", "linen")]
    crashed = replace(PAIR, head=_head("crash"), unfinished=UNDER_WAY, last_look=look)
    assert _build(crashed, measured=SEEN).report.rows[0].state is RowState.NEW_FAILURE


def test_another_baseline_ends_the_wait_for_the_old_one() -> None:
    """What the last look saw is not compared any more: the case waits like any other."""
    look = _build(PAIR, measured=SEEN).looks[CaseKey("x", "linen")]
    moved = replace(PAIR, base=_base("q1"), unfinished=UNDER_WAY, last_look=look)
    assert _build(moved, measured=SEEN).report.rows[0].state is RowState.RUNNING


def test_cancelling_the_runs_that_confirm_leaves_no_verdict() -> None:
    """Neither red nor green: what was seen is neither confirmed nor refuted."""
    look = _build(PAIR, measured=SEEN).looks[CaseKey("x", "linen")]
    asked = replace(report_request(ROW, PULL, suite=suite(), problem=None, now=NOW), **CANCELLED)
    (row,) = build_report(asked, [replace(PAIR, stopped=2, last_look=look)], SEEN).report.rows
    assert row.state is RowState.CANCELLED
