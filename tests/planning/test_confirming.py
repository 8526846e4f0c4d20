"""Which runs confirm a change that one run of each side showed."""

import pytest
from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.domain.price import Price, PriceBasis
from bot.domain.run import RunRecord, RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning.plan import MAX_REPEATS
from bot.planning.plan_report import price_plan
from bot.planning.run_plan import plan_pull_request
from bot.report.model import CaseReport, RowState
from bot.verdict.judgement import (
    Comparison,
    LossDecision,
    LossVerdict,
    RunsWanted,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from bot.verdict.timing_decision import most_wanted
from tests.planning.samples import HEAD_FILES, PUSHED, SUBJECT, found, line, plan, plan_lines, records
from tests.worker.samples import BASE, HEAD


def _seen(wanted: RunsWanted) -> Comparison:
    timing = TimingDecision(
        verdict=TimingVerdict.CONFIRMING, confirms=TimingVerdict.SLOWER, confirm_runs=wanted
    )
    loss = LossDecision(verdict=LossVerdict.IDENTICAL)
    return Comparison(verdict=Verdict.CONFIRMING, timing=timing, loss=loss)


def _row(base: tuple[RunRecord, ...], head: tuple[RunRecord, ...], wanted: RunsWanted) -> CaseReport:
    return line(
        "03_dropout",
        state=RowState.CONFIRMING,
        comparison=_seen(wanted),
        base_runs=base,
        head_runs=head,
    )


WITH_MAIN, WITHOUT = RunsWanted(head=2), RunsWanted(base=1, head=2)

FIRST = records(plan(lines=[line("03_dropout")]), RunState.ENDED)


@pytest.mark.parametrize(("wanted", "sides"), [(WITH_MAIN, "bhhh"), (WITHOUT, "bhbhh")])
def test_each_side_gets_what_confirms_the_change(wanted: RunsWanted, sides: str) -> None:
    """Two more of head where main's runs stand behind base, and one of base too where they do not."""
    subject = replace(SUBJECT, started=FIRST)
    planned = plan(subject, [_row(FIRST[:1], FIRST[1:], wanted)])
    assert plan_lines(planned) == sides
    assert {run.key for run in FIRST} < {one.record.key for one in planned}


@pytest.mark.parametrize("wanted", [WITH_MAIN, WITHOUT])
@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.RUNNING, RunState.ENDED])
def test_looking_again_while_they_run_plans_the_same(wanted: RunsWanted, state: RunState) -> None:
    """However often it is planned, and by whichever process."""
    subject = replace(SUBJECT, started=FIRST)
    planned = plan(subject, [_row(FIRST[:1], FIRST[1:], wanted)])
    first = {run.key for run in FIRST}
    started = tuple(
        run if run.key in first else replace(run, state=state) for run in records(planned, RunState.ENDED)
    )
    again = replace(SUBJECT, started=started)
    if state is RunState.ENDED:
        base = tuple(run for run in started if run.sha == BASE)
        head = tuple(run for run in started if run.sha == HEAD)
        row = line("03_dropout", state=RowState.SLOWER, base_runs=base, head_runs=head)
    else:
        row = replace(_row(FIRST[:1], FIRST[1:], wanted), under_way=wanted)
    assert plan(again, [row]) == planned


def test_found_runs_are_confirmed_by_launched_ones() -> None:
    """Three found runs that were submitted together count as one: two more are launched."""
    planned = plan(lines=[_row(found(BASE, 6), found(HEAD, 3), WITH_MAIN)])
    assert plan_lines(planned) == "hh"


def test_what_was_measured_afresh_counts() -> None:
    """A fresh pair is a second run of each side: one more of head confirms, not two."""
    ask = RunRequest(
        source=RequestSource.COMMAND,
        name="9:00",
        keys=frozenset({CaseKey("03_dropout", "linen")}),
        by="bob",
        fresh=1,
    )
    subject = replace(SUBJECT, run_requests=(PUSHED, ask), started=FIRST)
    row = line("03_dropout", state=RowState.SAME, base_runs=FIRST[:1], head_runs=FIRST[1:])
    pairs = records(plan(subject, [row]), RunState.ENDED)
    base, head = (tuple(run for run in pairs if run.sha == sha) for sha in (BASE, HEAD))
    assert (len(base), len(head)) == (2, 2)
    planned = plan(replace(subject, started=pairs), [_row(base, head, RunsWanted(head=1))])
    assert plan_lines(planned).count("h") == 3
    assert plan_lines(planned).count("b") == 2


def test_runs_that_the_cluster_lost_are_not_started_without_end() -> None:
    """What was lost under the pull request is said there, and started again by a person."""
    subject = replace(SUBJECT, started=FIRST)
    planned = plan(subject, [_row(FIRST[:1], FIRST[1:], WITH_MAIN)])
    lost = (*records(planned[:3], RunState.ENDED), *records(planned[3:], RunState.LOST))
    heads = tuple(run for run in lost if run.sha == HEAD and run.state is RunState.ENDED)
    again = plan(replace(SUBJECT, started=lost), [_row(lost[:1], heads, RunsWanted(head=1))])
    assert again == planned


def test_nothing_is_started_for_what_nobody_asks_for() -> None:
    """A change of found runs is confirmed by launched ones only where the case may be launched."""
    silent = replace(SUBJECT, run_requests=())
    assert plan(silent, [_row(found(BASE, 6), found(HEAD), WITH_MAIN)]) == ()


def test_a_confirmed_case_whose_head_is_unsure_gets_runs_of_both_sides() -> None:
    """One of three runs of head was off: a fourth tells, beside one more of base."""
    unsure = Comparison(
        verdict=Verdict.INCONCLUSIVE,
        timing=TimingDecision(verdict=TimingVerdict.INCONCLUSIVE, more_runs=1),
        loss=LossDecision(verdict=LossVerdict.IDENTICAL),
    )
    head = found(HEAD, 3, tree=HEAD_FILES)
    row = line(
        "03_dropout",
        state=RowState.INCONCLUSIVE,
        comparison=unsure,
        base_runs=found(BASE),
        head_runs=head,
    )
    assert plan_lines(plan(lines=[row])) == "bh"


@pytest.mark.parametrize(
    ("base", "head", "most"), [(1, 1, (1, 2)), (6, 1, (0, 2)), (3, 3, (0, 0)), (1, 3, (1, 0)), (2, 2, (0, 1))]
)
def test_the_most_that_confirming_takes_is_known(base: int, head: int, most: tuple[int, int]) -> None:
    """Whatever main's runs will say."""
    wanted = most_wanted(base, head)
    assert (wanted.base, wanted.head) == most


def test_the_plan_knows_what_confirming_may_cost() -> None:
    """Up to three more runs of each case that starts; nothing more where they are under way."""
    price = Price(usual=6.4, least=6.1, most=7.0, basis=PriceBasis.MEASURED, runs=3)
    subject = replace(SUBJECT, prices={CaseKey("03_dropout", "linen"): price})
    rows = [line("03_dropout")]
    possible = price_plan(subject, plan_pull_request(subject, rows), rows, {}).confirming
    assert possible is not None
    assert possible.price is not None
    assert (possible.cases, possible.runs, round(possible.price.most, 3), possible.unpriced) == (
        1,
        3,
        21.0,
        0,
    )
    confirming = replace(subject, started=FIRST)
    seen = [_row(FIRST[:1], FIRST[1:], WITH_MAIN)]
    assert price_plan(confirming, plan_pull_request(confirming, seen), seen, {}).confirming is None


def test_confirming_ends_where_its_runs_decide_nothing() -> None:
    """Whatever the verdict still asks for: a side gets no more than the most repeats."""
    subject, started = SUBJECT, FIRST
    for _ in range(3 * MAX_REPEATS):
        base, head = (tuple(run for run in started if run.sha == sha) for sha in (BASE, HEAD))
        planned = plan(replace(subject, started=started), [_row(base, head, WITHOUT)])
        started = records(planned, RunState.ENDED)
    assert {plan_lines(planned).count(side) for side in "bh"} == {MAX_REPEATS}
