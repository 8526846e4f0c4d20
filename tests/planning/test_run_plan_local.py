"""Which runs are started for a pull request, where its configuration starts runs."""

from collections import Counter

import pytest
from msgspec import structs
from msgspec.structs import replace

from bot.commands.active_requests import suite_keys
from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning import run_plan
from bot.planning.jobs import device_of
from bot.planning.plan import MAX_REPEATS, PlannedRun
from bot.planning.run_plan import PlanInput
from bot.report.model import CaseReport, RowState
from bot.verdict.judgement import (
    Comparison,
    LossDecision,
    LossVerdict,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from tests.worker.samples import BASE, FACTS, HEAD, LAUNCHES, PULL, pull, suite

SUITE = suite(
    LAUNCHES.replace('variants: {linen: {}, nnx: {args: "pure_nnx=true"}}\n', "variants: {linen: {}}\n")
)


def _line(case: str, state: RowState = RowState.NO_RUN, **more: object) -> CaseReport:
    return structs.replace(CaseReport(case=case, variant="linen", state=state), **more)


def _subject(
    with_suite: Suite = SUITE, *started: RunRecord, run_requests: tuple[RunRequest, ...] = ()
) -> PlanInput:
    assert with_suite.launch is not None
    device = device_of(with_suite.launch)
    assert device is not None
    pushed = RunRequest(source=RequestSource.PUSH, name="push", keys=suite_keys(with_suite))
    return PlanInput(
        pull=PULL,
        facts=FACTS,
        suite=with_suite,
        device=device,
        run_requests=(pushed, *run_requests),
        started=started,
    )


def plan(subject: PlanInput, *lines: CaseReport) -> tuple[PlannedRun, ...]:
    """The runs to have."""
    return run_plan.plan_pull_request(subject, lines).planned


def _counts(planned: tuple[PlannedRun, ...]) -> Counter[tuple[str, str]]:
    return Counter((one.record.case, (one.record.sha or "")[0]) for one in planned)


def _records(planned: tuple[PlannedRun, ...], state: RunState) -> tuple[RunRecord, ...]:
    return tuple(structs.replace(one.record, state=state) for one in planned)


def _judged(verdict: Verdict, timing: TimingVerdict, more_runs: int | None = None) -> Comparison:
    return Comparison(
        verdict=verdict,
        timing=TimingDecision(verdict=timing, more_runs=more_runs),
        loss=LossDecision(verdict=LossVerdict.IDENTICAL),
    )


FIRST = plan(_subject(), _line("03_dropout"), _line("04_int8"))


def test_the_first_round_measures_the_noise_of_both_sides() -> None:
    """Three runs a side of every case with a command, in turns, each on its exact commit."""
    assert _counts(FIRST) == {
        ("03_dropout", "a"): 3,
        ("03_dropout", "b"): 3,
        ("04_int8", "a"): 3,
        ("04_int8", "b"): 3,
    }
    assert [one.job.sha for one in FIRST[:4]] == [BASE, HEAD, BASE, HEAD]
    assert {one.record.branch for one in FIRST} == {"main", "feat_x"}


def test_names_are_derived_so_that_repeating_plans_the_same() -> None:
    """The same subject gives the same keys and jobs; every run has its own."""
    again = plan(_subject(), _line("03_dropout"), _line("04_int8"))
    assert again == FIRST
    assert len({one.record.key for one in FIRST}) == len({one.job.name for one in FIRST}) == len(FIRST)


@pytest.mark.parametrize("changed", [{"head_sha": "d" * 40}, {"number": 8}])
def test_another_head_or_pull_request_has_runs_of_its_own(changed: dict[str, object]) -> None:
    """On a device whose speed drifts a comparison is made within one session."""
    subject = replace(_subject(), pull=pull(**changed))
    other = plan(subject, _line("03_dropout"), _line("04_int8"))
    assert not {one.record.key for one in other} & {one.record.key for one in FIRST}


def test_variants_add_their_arguments_to_the_command() -> None:
    """Every variant runs the case's command with its own arguments."""
    both = suite(LAUNCHES)
    lines = [structs.replace(_line("04_int8"), variant=variant) for variant in both.variant_names]
    commands = {one.job.variant: one.job.command for one in plan(_subject(both), *lines)}
    assert commands == {
        "linen": "python3 train.py run_name={run_name} quantization=int8",
        "nnx": "python3 train.py run_name={run_name} quantization=int8 pure_nnx=true",
    }


def test_runs_under_way_are_neither_repeated_nor_dropped() -> None:
    """While a round runs, the plan names exactly that round."""
    started = _records(FIRST, RunState.RUNNING)
    lines = [_line("03_dropout", RowState.RUNNING), _line("04_int8", RowState.QUEUED)]
    assert plan(_subject(SUITE, *started), *lines) == FIRST


def test_lost_runs_are_not_started_again_for_ever() -> None:
    """A case whose runs were all lost is not planned anew by itself."""
    started = _records(FIRST, RunState.LOST)
    lines = [_line("03_dropout", RowState.LOST), _line("04_int8", RowState.LOST)]
    assert plan(_subject(SUITE, *started), *lines) == FIRST


def _ended(case: str, state: RowState, comparison: Comparison) -> CaseReport:
    mine = [run for run in _records(FIRST, RunState.ENDED) if run.case == case]
    return _line(
        case,
        state,
        comparison=comparison,
        base_runs=tuple(run for run in mine if run.sha == BASE),
        head_runs=tuple(run for run in mine if run.sha == HEAD),
    )


def test_an_open_question_gets_the_runs_that_would_settle_it() -> None:
    """Inconclusive times ask for as many more as the verdict says; a settled case asks for none."""
    started = _records(FIRST, RunState.ENDED)
    unsure = _judged(Verdict.INCONCLUSIVE, TimingVerdict.INCONCLUSIVE, more_runs=2)
    same = _judged(Verdict.SAME, TimingVerdict.SAME)
    lines = [
        _ended("03_dropout", RowState.INCONCLUSIVE, unsure),
        _ended("04_int8", RowState.SAME, same),
    ]
    planned = plan(_subject(SUITE, *started), *lines)
    assert _counts(planned) == {
        ("03_dropout", "a"): 5,
        ("03_dropout", "b"): 5,
        ("04_int8", "a"): 3,
        ("04_int8", "b"): 3,
    }


def test_what_more_runs_cannot_settle_gets_none() -> None:
    """However many the verdict would like, a case never has more than the most; other doubts ask for none."""
    started = _records(FIRST, RunState.ENDED)
    greedy = _judged(Verdict.INCONCLUSIVE, TimingVerdict.INCONCLUSIVE, more_runs=400)
    doubt = _judged(Verdict.INCONCLUSIVE, TimingVerdict.SAME, more_runs=None)
    lines = [
        _ended("03_dropout", RowState.INCONCLUSIVE, greedy),
        _ended("04_int8", RowState.INCONCLUSIVE, doubt),
    ]
    counts = _counts(plan(_subject(SUITE, *started), *lines))
    assert (counts["03_dropout", "a"], counts["04_int8", "a"]) == (MAX_REPEATS, 3)


def _rerun(*keys: CaseKey, fresh: int = 1) -> RunRequest:
    return RunRequest(source=RequestSource.COMMAND, name="1:00", keys=frozenset(keys), by="bob", fresh=fresh)


@pytest.mark.parametrize(("times", "expected"), [(1, 6), (2, 9), (3, MAX_REPEATS), (9, MAX_REPEATS)])
def test_each_rerun_adds_a_round_up_to_the_most(times: int, expected: int) -> None:
    """A person who asks gets a fresh round on both sides; asking for ever does not run for ever."""
    started = _records(FIRST, RunState.ENDED)
    slower = _judged(Verdict.SLOWER, TimingVerdict.SLOWER)
    lines = [_ended("03_dropout", RowState.SLOWER, slower), _ended("04_int8", RowState.SLOWER, slower)]
    run_requests = tuple(
        structs.replace(_rerun(CaseKey("03_dropout", "linen")), name=f"1:{n:02}") for n in range(times)
    )
    counts = _counts(plan(_subject(SUITE, *started, run_requests=run_requests), *lines))
    assert (counts["03_dropout", "a"], counts["03_dropout", "b"]) == (expected, expected)
    assert counts["04_int8", "a"] == 3


def test_runs_that_were_found_need_not_be_started() -> None:
    """Finished runs of the exact commits count towards the round."""
    found = RunRecord(
        id="f",
        repository="acme/maxtext",
        case="03_dropout",
        variant="linen",
        sha=BASE,
        origin=RunOrigin.FOUND,
    )
    line = _line("03_dropout", base_runs=(found, structs.replace(found, id="g")))
    counts = _counts(plan(_subject(), line))
    assert counts == {("03_dropout", "b"): 1, ("03_dropout", "a"): 3}
