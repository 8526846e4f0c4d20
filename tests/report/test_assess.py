"""What rows and reports amount to: headline, severity, failure novelty, acknowledgements, ended reports."""

import pytest
from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.domain.run import BaselineChoice, HeadChoice, RunRecord
from bot.logs.facts import Failure, OutcomeState
from bot.report.assess import (
    Severity,
    acknowledged_state,
    acknowledgement_holds,
    closed_report,
    failure_novelty,
    headline,
    is_green,
    is_settled,
    novelty_words,
    severity,
    superseded_report,
    with_acknowledgements,
    with_kinds,
)
from bot.report.comment import comment_body
from bot.report.documents import report_document
from bot.report.model import (
    Acknowledgement,
    CaseProgress,
    CaseReport,
    CaseRuns,
    CaseSides,
    FailureNovelty,
    InterimLook,
    MainFailure,
    Novelty,
    Plan,
    PlannedRuns,
    ProblemKind,
    PullFailure,
    Report,
    ReportRequest,
    RowState,
    WaitingCases,
)
from bot.report.text.pieces import markdown
from bot.templating import Renderer
from bot.verdict.judgement import LossVerdict, MeasuredRun, TimingVerdict, Verdict
from bot.verdict.measure import measure
from bot.web.pages.case import row_line
from tests.report.sample_states import REASON, accepted, every_state, row_in_state
from tests.report.samples import (
    case,
    compared,
    failing,
    failing_differently,
    failing_elsewhere,
    mixed,
    report,
    rows,
    same,
    several_same,
    slower,
    timing,
    unsure,
)
from tests.verdict.made_runs import run_log
from tests.worker.samples import PULL


def _slower(percent: float) -> CaseReport:
    return case("04_int8", RowState.SLOWER, compared(Verdict.SLOWER, timing(TimingVerdict.SLOWER, percent)))


def _heavier(memory: float) -> CaseReport:
    changed = compared(Verdict.SAME, timing(TimingVerdict.SAME, 0.1), metrics=rows(1.31, memory))
    return case("04_int8", RowState.SAME, changed)


def _acceptance(row: CaseReport) -> Acknowledgement:
    one = accepted(row).acknowledged
    assert one is not None
    return one


def test_an_acknowledged_verdict_keeps_its_words_and_loses_its_severity() -> None:
    """The symbol and the state stay; severity falls to what is left, and nothing becomes green."""
    before, after = report(slower(), same("a")), report(accepted(slower()), same("a"))

    assert (Severity.RED, Severity.QUIET) == (severity(before), severity(after))
    assert headline(before).replace("1 slower", "1 slower, acknowledged") == headline(after)
    assert headline(after).startswith("🔴")
    assert not is_green(after)


def test_unacknowledged_rows_still_count() -> None:
    """One acceptance does not cover another case."""
    assert Severity.RED == severity(report(accepted(slower()), failing()))


@pytest.mark.parametrize("state", [*RowState])
def test_only_news_can_be_acknowledged(state: RowState) -> None:
    """Nothing green, nothing that is still awaited."""
    can = {
        RowState.SLOWER,
        RowState.DIVERGED,
        RowState.NEW_FAILURE,
        RowState.NOT_COMPARABLE,
        RowState.NOT_LIKE_FOR_LIKE,
        RowState.CONFIRMING,
        RowState.INCONCLUSIVE,
    }
    assert (state in can) == (acknowledged_state(row_in_state(state)) is not None)


def test_an_acknowledged_slowdown_may_grow_by_its_threshold() -> None:
    """The acknowledged figure had a threshold; more than that is news."""
    held = [
        percent
        for percent in (3.0, 6.1, 7.0, 9.5)
        if acknowledgement_holds(_acceptance(_slower(6.1)), _slower(percent))
    ]
    assert [3.0, 6.1, 7.0] == held


def test_another_verdict_ends_an_acknowledgement() -> None:
    """Slower is not failing, a failure is not another failure, and diverged is worse than slower."""
    other = failing()
    assert other.failure is not None
    differently = replace(other, failure=replace(other.failure, fingerprint="other"))

    assert acknowledgement_holds(_acceptance(failing()), failing())
    assert not acknowledgement_holds(_acceptance(failing()), differently)
    assert not acknowledgement_holds(_acceptance(_slower(6.1)), failing("04_int8", "linen"))
    assert not acknowledgement_holds(_acceptance(unsure("04_int8")), _slower(6.1))


def test_a_changed_loss_ends_the_acknowledgement_of_a_slowdown() -> None:
    """The same state for another reason."""
    row = _slower(6.1)
    assert row.comparison is not None
    drifted = replace(row.comparison.loss, verdict=LossVerdict.DRIFTED)
    changed = replace(row, comparison=replace(row.comparison, loss=drifted))

    assert not acknowledgement_holds(_acceptance(row), changed)


def test_more_memory_than_acknowledged_is_news() -> None:
    """The same words, and a larger figure."""
    assert acknowledgement_holds(_acceptance(_heavier(1.38)), _heavier(1.38))
    assert acknowledgement_holds(_acceptance(_heavier(1.38)), _heavier(1.36))
    assert not acknowledgement_holds(_acceptance(_heavier(1.38)), _heavier(1.60))


def test_the_newest_acknowledgement_of_a_case_counts() -> None:
    """An older one of the same case is replaced, one of another case is not its."""
    old, new = (
        _acceptance(_slower(20.0)),
        replace(_acceptance(_slower(6.1)), made=9e9, reason="newer"),
    )
    (row,) = with_acknowledgements([_slower(6.0)], [new, old])
    (other,) = with_acknowledgements([_slower(6.0)], [replace(old, variant="nnx")])

    assert row.acknowledged is not None
    assert ("newer", None) == (row.acknowledged.reason, other.acknowledged)
    assert REASON == old.reason


def test_the_page_names_who_acknowledged_a_verdict() -> None:
    """On a line of its own below the verdict; the colour stays."""
    shown = report(accepted(slower(), "known <b> @x `y`"))
    line = row_line(shown, shown.rows[0], "a")

    assert ("slower", "red") == (line.word, line.tone)
    assert "👁 accepted by ada: known <b> @x `y`" == line.accepted.replace("\u200b", "")


STATES = every_state()


def test_the_mixed_headline_counts_states_worst_first() -> None:
    """Red first, then what cannot be judged, then what is awaited, then what is well."""
    assert headline(mixed()) == (
        "🔴 MaxView: 1 slower · 1 new failure · 1 not like for like · 1 inconclusive · 1 running · 1 queued"
        " · 9 same (13 of 15 cases done)"
    )


def test_an_unchanged_report_states_its_bound() -> None:
    """Green says how large a change it rules out, rounded up."""
    assert headline(report(*several_same(14))) == (
        "✅ MaxView: no change > 1.0 % in 14 cases, loss curves identical"
    )


def test_more_memory_is_news_though_the_step_time_is_the_same() -> None:
    """A row that got worse in an exact metric is never under a green headline."""
    said = STATES["more_memory"]
    assert headline(said) == "⚠️ MaxView: 1 same time, more memory · 3 same (4 of 4 cases done)"
    assert not is_green(said)


@pytest.mark.parametrize("state", RowState)
def test_no_state_beside_a_slower_case_hides_it(state: RowState) -> None:
    """Red stays red, whatever other rows say."""
    said = report(slower("a"), row_in_state(state, "b"))
    assert headline(said).startswith("🔴")
    assert severity(said) == 3


@pytest.mark.parametrize("state", [RowState.QUEUED, RowState.RUNNING, RowState.NO_RUN])
def test_a_pending_row_is_neither_worse_news_nor_green(state: RowState) -> None:
    """A queued case re-creates no comment, and colours none green."""
    said = report(same("a"), row_in_state(state, "b"))
    assert severity(said) == 0
    assert not is_green(said)


def test_a_settled_report_has_no_pending_row() -> None:
    """A check may be concluded only then."""
    assert is_settled(report(same("a"), slower("b")))
    assert not is_settled(mixed())


def test_a_report_without_cases_is_not_green() -> None:
    """No evidence is no verdict."""
    empty: Report = report()
    assert not is_green(empty)
    assert headline(empty) == "⚪ MaxView: nothing measured yet"


NOVELTY_REQUEST = ReportRequest(
    pull=PULL,
    merge_base="b" * 40,
    made_at=0.0,
    pull_failures={
        "f1": (
            *(PullFailure(number=number, key=CaseKey("a", "")) for number in (12, 15)),
            *(PullFailure(number=number, key=CaseKey("b", "")) for number in (12, 16)),
        )
    },
)

RUN_OF_BASE = RunRecord(id="b0", repository="acme/x", case="a", variant="", sha="b" * 40)


def _failing_run(
    fingerprint: str, kind: str = "code", state: OutcomeState = OutcomeState.FAILED
) -> MeasuredRun:
    log = run_log()
    failure = Failure(kind=kind, error="KeyError: 'x'", fingerprint=fingerprint)
    outcome = replace(log.outcome, state=state, exit_code=1, failure=failure)
    return measure(replace(log, outcome=outcome, steps=(), steps_seen=0))


PASS, FAIL, OTHER = measure(run_log()), _failing_run("f1"), _failing_run("f2")

LOST_RUN = _failing_run("f1", "preempted", OutcomeState.KILLED)


def _novelty_of(
    base: list[MeasuredRun], head: list[MeasuredRun], failures: tuple[MainFailure, ...] = ()
) -> FailureNovelty | None:
    choice = BaselineChoice(sha="b" * 40, distance=0, why="the merge base", runs=(RUN_OF_BASE,))
    runs = CaseRuns(case="a", variant="", head=HeadChoice(), base=choice, main_failures=failures)
    return failure_novelty(
        CaseSides(runs, tuple(base), tuple(head), InterimLook(look=1, runs="")), NOVELTY_REQUEST
    )


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([PASS], [PASS], None),
        ([PASS], [FAIL], Novelty.NEW),
        ([PASS], [PASS, FAIL], Novelty.NEW),
        ([FAIL], [FAIL], Novelty.SAME_ON_BASE),
        ([PASS, FAIL], [FAIL], Novelty.SAME_ON_BASE),
        ([OTHER], [FAIL], Novelty.OTHER_ON_BASE),
        ([FAIL], [PASS], Novelty.FIXED),
        ([FAIL], [PASS, FAIL], Novelty.SAME_ON_BASE),
        ([], [FAIL], Novelty.UNKNOWN),
        ([LOST_RUN], [FAIL], Novelty.UNKNOWN),
        ([PASS], [LOST_RUN], None),
        ([LOST_RUN], [PASS], None),
        ([], [], None),
    ],
)
def test_a_fingerprint_decides_how_new_a_failure_is(
    base: list[MeasuredRun], head: list[MeasuredRun], expected: Novelty | None
) -> None:
    """New only where the baseline passed; what the cluster failed says nothing about the change."""
    found = _novelty_of(base, head)
    assert (found.novelty if found else None) == expected


def test_other_pull_requests_with_the_same_failure_are_named() -> None:
    """Only for what fails here now: a failure that is fixed is no news of theirs."""
    here, fixed = _novelty_of([PASS], [FAIL]), _novelty_of([FAIL], [PASS])
    assert here is not None
    assert fixed is not None
    assert (here.pulls, fixed.pulls) == ((12, 15), ())
    assert (here.pulls_elsewhere, fixed.pulls_elsewhere) == ((16,), ())


def test_the_same_error_in_other_cases_is_said_as_that() -> None:
    """An old failure of another case does not excuse a new one."""
    row = CaseReport(
        case="a",
        variant="",
        state=RowState.NEW_FAILURE,
        failure=FailureNovelty(
            novelty=Novelty.NEW, kind="code", fingerprint="f1", pulls=(12, 15), pulls_elsewhere=(16,)
        ),
    )
    words = markdown(novelty_words(row, "main"))
    assert words == (
        "new: succeeds on main · also on pull requests 12, 15 · the same error in other cases of pull "
        "request 16"
    )


def test_main_may_fail_the_same_way_outside_the_baseline() -> None:
    """The newest such run is named; the baseline's own runs and other failures are not."""
    failures = (
        MainFailure(run="m3", sha="d" * 40, fingerprint="f2"),
        MainFailure(run="m2", sha="c" * 40, fingerprint="f1"),
        MainFailure(run="m1", sha="e" * 40, fingerprint="f1"),
    )
    found = _novelty_of([PASS], [FAIL], failures)
    assert found is not None
    assert found.main_sha == "c" * 40
    own = _novelty_of([PASS], [FAIL], (MainFailure(run="b0", sha="b" * 40, fingerprint="f1"),))
    assert own is not None
    assert own.main_sha is None


@pytest.mark.parametrize(
    ("novelty", "words"),
    [
        (Novelty.NEW, "new: succeeds on main"),
        (Novelty.SAME_ON_BASE, "the same on main"),
        (Novelty.OTHER_ON_BASE, "main fails otherwise"),
        (Novelty.FIXED, "fixed: fails on main"),
        (Novelty.UNKNOWN, "main has no run that tells whether it is new"),
    ],
)
def test_every_novelty_has_its_words(novelty: Novelty, words: str) -> None:
    """Short enough to stand in the quote of a row."""
    news = FailureNovelty(novelty=novelty, kind="code", fingerprint="f1", pulls=(12,))
    row = CaseReport(case="a", variant="", state=RowState.NEW_FAILURE, failure=news)
    assert markdown(novelty_words(row, "main")) == f"{words} · also on pull request 12"


def test_the_json_names_responsibility_and_other_pull_requests() -> None:
    """Everything the quote says, and the fingerprint that it rests on."""
    rows = report_document(report(failing_elsewhere(), failing_differently()))["rows"]
    assert isinstance(rows, list)
    first, second = (row["failure"] for row in rows)
    assert (first["kinship"], first["pull_requests"], first["fingerprint"]) == ("new", [4266, 4271], "9f3b2c")
    assert second == {
        "kinship": "other_on_base",
        "class": "code",
        "fault": "change",
        "retry": False,
        "next_step": "Read the traceback and fix the code it points at.",
        "fingerprint": "9f3b2c",
        "pull_requests": [],
        "pull_requests_other_cases": [],
        "main_sha": None,
    }


PENDING_ROWS = (
    case("13_pp", RowState.RUNNING, progress=CaseProgress(step=6, steps=10), note="retried once"),
    case("14_gpipe", RowState.QUEUED),
    case("15_ring", RowState.WAITING_FOR_APPROVAL),
)

SMALL_PLAN = Plan(runs=(PlannedRuns(case="13_pp", variant="linen", base=1, head=1),))


def test_the_pending_rows_of_an_old_head_are_superseded() -> None:
    """What was measured stays; what was pending says which commit took its place."""
    ended = superseded_report(report(slower(), *PENDING_ROWS, plan=SMALL_PLAN), "abc1234" + "0" * 33)
    assert ended is not None
    assert [row.state for row in ended.rows] == [RowState.SLOWER, *[RowState.SUPERSEDED] * 3]
    assert ended.rows[1].note == "superseded by abc1234 before its runs had ended; retried once"
    assert (ended.plan, ended.rows[1].progress) == (None, None)


def test_a_closed_pull_request_names_what_was_not_measured() -> None:
    """It asks nobody to act."""
    ended = closed_report(report(same("04_int8"), *PENDING_ROWS))
    assert ended is not None
    assert [row.state for row in ended.rows] == [RowState.SAME, *[RowState.CANCELLED] * 3]
    body = comment_body(ended, public_url="https://x.example", render=Renderer().render)
    assert (
        "`13_pp`, `14_gpipe`, `15_ring`: not measured to the end, since the pull request was closed." in body
    )


def test_a_finished_report_does_not_change() -> None:
    """Nothing was pending, so nothing is written again."""
    done = report(slower(), same("05_x"))
    assert (closed_report(done), superseded_report(done, "a" * 40)) == (None, None)
    assert closed_report(replace(done, rows=())) is None


def test_a_stored_report_of_an_older_version_gets_its_kinds() -> None:
    """A problem that passes, a closed pull request, a used-up budget: texts alone said so before."""
    ended = closed_report(report(*PENDING_ROWS))
    assert ended is not None
    why = "chip_hours_per_day: 200 does not cover 201"
    older = replace(
        ended,
        rows=tuple(replace(row, closed=False) for row in ended.rows),
        problem="The runs could not be read; MaxView tries again by itself.",
        plan=Plan(waiting=(WaitingCases(keys=(), why=why), WaitingCases(keys=(), why="concurrent_runs: 4"))),
    )
    read = with_kinds(older)
    assert read.plan is not None
    assert read.rows == ended.rows
    assert read.problem_kind is ProblemKind.PASSES
    assert [one.budget for one in read.plan.waiting] == ["chip_hours_per_day", ""]
    plain = report(same("04_int8"), problem="no such key")
    assert with_kinds(plain) == plain
