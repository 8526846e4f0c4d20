"""Which runs a comparison needs, and when main's daily runs are due."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.planning.plan import (
    SECONDS_PER_DAY,
    CaseNeed,
    ComparisonSide,
    RequiredRun,
    SideCommit,
    count_found,
    newest_due_day,
    next_daily_time,
    plan_runs,
    repeats_needed,
)
from bot.verdict.judgement import (
    Comparison,
    LossDecision,
    LossVerdict,
    TimingDecision,
    TimingVerdict,
    Verdict,
)

BASE = SideCommit(side=ComparisonSide.BASELINE, sha="a" * 40, tree="1" * 40)

HEAD = SideCommit(side=ComparisonSide.CANDIDATE, sha="b" * 40, tree="2" * 40)


def shown(wanted: Sequence[RequiredRun]) -> list[str]:
    """A plan in short."""
    return [f"{run.case}/{run.variant} {run.commit.side[:4]} {run.repeat}" for run in wanted]


def found(sha: str | None, state: RunState = RunState.ENDED) -> RunRecord:
    """A run of case `a` that was found ready-made."""
    return RunRecord(id="1", repository="o/r", case="a", variant="linen", sha=sha, state=state)


def judged(verdict: Verdict, timing: TimingVerdict, more_runs: int | None = None) -> Comparison:
    """A comparison that came to this."""
    return Comparison(
        verdict=verdict,
        timing=TimingDecision(verdict=timing, more_runs=more_runs),
        loss=LossDecision(verdict=LossVerdict.IDENTICAL),
    )


OPEN = judged(Verdict.INCONCLUSIVE, TimingVerdict.INCONCLUSIVE, more_runs=2)


def test_the_sides_take_turns() -> None:
    """A machine that gets slower in the meantime slows both sides alike."""
    needs = [
        CaseNeed(case="a", variant="linen", base=2, head=2),
        CaseNeed(case="b", variant="linen", base=1, head=1),
    ]
    assert shown(plan_runs(base=BASE, head=HEAD, needs=needs)) == [
        "a/linen base 1",
        "a/linen cand 1",
        "a/linen base 2",
        "a/linen cand 2",
        "b/linen base 1",
        "b/linen cand 1",
    ]


def test_a_side_that_has_runs_needs_fewer() -> None:
    """Each side has a number of its own."""
    plan = plan_runs(base=BASE, head=HEAD, needs=[CaseNeed(case="a", variant="linen", base=1, head=3)])
    assert shown(plan) == ["a/linen base 1", "a/linen cand 1", "a/linen cand 2", "a/linen cand 3"]


def test_a_fresh_measurement_has_repeats_of_its_own() -> None:
    """Every time that people ask anew both sides are measured again, beside what there is."""
    need = CaseNeed(case="a", variant="linen", head=1, fresh=2, round=1)
    plan = plan_runs(base=BASE, head=HEAD, needs=[need])
    assert [(run.commit.side, run.repeat, run.fresh) for run in plan] == [
        (ComparisonSide.CANDIDATE, 1, 0),
        (ComparisonSide.BASELINE, 1, 1),
        (ComparisonSide.CANDIDATE, 1, 1),
        (ComparisonSide.BASELINE, 1, 2),
        (ComparisonSide.CANDIDATE, 1, 2),
    ]


def test_runs_that_were_found_are_known_by_commit_and_by_files() -> None:
    """A short hash names the commit too; the same files on another commit are as good."""
    known = [found("a" * 40), found("a" * 7), found("a" * 6), found(None), found("c" * 40)]
    assert count_found(known, BASE) == 2
    assert count_found([replace(found("c" * 40), tree=BASE.tree)], BASE) == 1
    assert count_found([replace(found("a" * 40), origin=RunOrigin.LAUNCHED)], BASE) == 0


def test_two_commits_with_the_same_files_share_their_runs() -> None:
    """Nothing can be slower than itself, so it is not measured twice."""
    same = SideCommit(side=ComparisonSide.CANDIDATE, sha="b" * 40, tree=BASE.tree)
    plan = plan_runs(base=BASE, head=same, needs=[CaseNeed(case="a", variant="linen", base=1, head=2)])
    assert shown(plan) == ["a/linen base 1", "a/linen base 2"]


def test_a_case_without_repeats_is_not_run() -> None:
    """What nobody asked for is not in the plan."""
    assert plan_runs(base=BASE, head=HEAD, needs=[CaseNeed(case="a", variant="linen")]) == ()


def test_the_first_round_measures_noise_where_none_is_known() -> None:
    """Three runs a side on a CPU, one on a TPU."""
    assert repeats_needed(None, 0, device_is_known_quiet=False) == 3
    assert repeats_needed(None, 0, device_is_known_quiet=True) == 1
    assert repeats_needed(OPEN, 1, device_is_known_quiet=False) == 3


def test_an_open_question_gets_the_runs_that_settle_it() -> None:
    """As many as the verdict asks for, up to the limit, and never fewer than there are."""
    assert repeats_needed(OPEN, 3, device_is_known_quiet=False) == 5
    assert repeats_needed(OPEN, 3, device_is_known_quiet=False, limit=4) == 4
    assert repeats_needed(OPEN, 12, device_is_known_quiet=False) == 12
    unknown = judged(Verdict.INCONCLUSIVE, TimingVerdict.INCONCLUSIVE)
    assert repeats_needed(unknown, 3, device_is_known_quiet=False) == 3


def test_a_settled_answer_gets_no_more_runs() -> None:
    """Failures, other environments and clear verdicts are not repeated."""
    for verdict in (Verdict.SAME, Verdict.SLOWER, Verdict.NEW_FAILURE, Verdict.NOT_LIKE_FOR_LIKE):
        comparison = judged(verdict, TimingVerdict.WITHHELD, more_runs=4)
        assert repeats_needed(comparison, 1, device_is_known_quiet=False) == 1
    diverged = judged(Verdict.DIVERGED, TimingVerdict.INCONCLUSIVE, more_runs=4)
    assert repeats_needed(diverged, 3, device_is_known_quiet=False) == 3
    no_steady_state = judged(Verdict.INCONCLUSIVE, TimingVerdict.WITHHELD, more_runs=4)
    assert repeats_needed(no_steady_state, 1, device_is_known_quiet=True) == 1


BEFORE_THREE = datetime(2026, 4, 21, 2, 59, tzinfo=UTC).timestamp()

THREE_O_CLOCK = 3 * 3600


def test_before_its_time_the_newest_day_is_yesterday() -> None:
    """One minute to three, and three."""
    assert "2026-04-20" == newest_due_day(BEFORE_THREE, THREE_O_CLOCK)
    assert "2026-04-21" == newest_due_day(BEFORE_THREE + 60, THREE_O_CLOCK)


@given(st.floats(min_value=0, max_value=4e9), st.integers(min_value=0, max_value=SECONDS_PER_DAY - 1))
def test_the_next_moment_begins_another_day(now: float, daily_at: int) -> None:
    """And it is at most a day away."""
    moment = next_daily_time(now, daily_at)
    assert 0 < moment - now <= SECONDS_PER_DAY + 1e-3
    assert newest_due_day(moment + 1e-3, daily_at) != newest_due_day(now, daily_at)
