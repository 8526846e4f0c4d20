"""Which runs are planned on a cluster that keeps its pace, and what they share."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from bot.clusters.interface import ClusterPlace
from bot.commands.active_requests import suite_keys
from bot.domain.case_key import CaseKey
from bot.domain.price import Price, PriceBasis
from bot.domain.run import RunOrigin, RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning.jobs import device_of
from bot.planning.run_plan import PlanInput
from bot.report.model import RowState
from tests.planning.samples import (
    HEAD_FILES,
    KEYS,
    OPEN,
    PUSHED,
    SUBJECT,
    TREED,
    XPK,
    found,
    line,
    plan,
    plan_lines,
    records,
)
from tests.worker.samples import BASE, HEAD, pull, suite


def test_a_quiet_device_begins_with_one_run_a_side() -> None:
    """Its noise is known from main, so that one pair may decide."""
    assert plan_lines(plan()) == "bh"
    assert len(plan()) == 2 * len(KEYS)


def test_a_job_for_xpk_holds_all_that_the_cluster_needs() -> None:
    """The place, the image of the exact commit, the variant's arguments, a name within the limit."""
    base, head = (one for one in plan() if (one.record.case, one.record.variant) == ("04_int8", "nnx"))
    place = ClusterPlace(
        project="my-project", zone="us-east5-b", cluster="v6e-32-bench", device_type="v6e-32", priority="low"
    )
    assert (head.job.place, head.job.image) == (place, f"gcr.io/my-project/maxtext:{HEAD}")
    assert base.job.image == f"gcr.io/my-project/maxtext:{BASE}"
    assert head.job.command == "python3 train.py run_name={run_name} quantization=int8 pure_nnx=true"
    assert (head.job.timeout_seconds, len(head.job.name) <= 40) == (2700, True)
    assert (head.record.place, head.record.tree) == (place.name, HEAD_FILES)


@pytest.mark.parametrize(
    "subject",
    [
        replace(SUBJECT, pull=pull(number=8)),
        replace(SUBJECT, pull=pull(head_sha="d" * 40, head_branch="other")),
        replace(
            SUBJECT, facts=structs.replace(TREED, merge_base=structs.replace(TREED.merge_base, sha="e" * 40))
        ),
    ],
    ids=["another pull request", "another commit and branch", "another merge base"],
)
def test_the_same_files_are_measured_once(subject: PlanInput) -> None:
    """Whoever wants them, on whatever commit: the keys are the same, so the runs are."""
    assert {one.record.key for one in plan(subject)} == {one.record.key for one in plan()}


@pytest.mark.parametrize(
    "changed",
    [
        XPK.replace("v6e-32,", "v6e-64,"),
        XPK.replace("maxtext:{sha}", "maxtext-nightly:{sha}"),
        XPK.replace("dropout_rate=0.1", "dropout_rate=0.2").replace("int8", "fp8"),
        XPK.replace("45m", "50m"),
    ],
    ids=["device", "image", "command", "timeout"],
)
def test_another_device_image_or_command_is_another_run(changed: str) -> None:
    """Nothing is reused that was measured otherwise."""
    other = suite(changed)
    assert other.launch is not None
    device = device_of(other.launch)
    assert device is not None
    run_requests = (structs.replace(PUSHED, keys=suite_keys(other)),)
    lines = [line(case, variant) for case in other.case_names for variant in other.variant_names]
    planned = plan(replace(SUBJECT, suite=other, device=device, run_requests=run_requests), lines)
    assert not {one.record.key for one in planned} & {one.record.key for one in plan()}


def test_no_baseline_is_started_where_mains_runs_suffice() -> None:
    """Found runs of the merge base, or of main's nearest commit before it."""
    for sha in (BASE, "e" * 40):
        lines = [line("03_dropout", base_runs=found(sha, 6))]
        assert plan_lines(plan(lines=lines)) == "h"


def test_a_missing_baseline_is_run_on_the_merge_base() -> None:
    """Where the verdict asks for more than main has, the merge base is measured as often as it takes."""
    lines = [
        line(
            "03_dropout",
            state=RowState.INCONCLUSIVE,
            comparison=OPEN,
            base_runs=found("e" * 40, 2),
            head_runs=found(HEAD, 2),
        )
    ]
    assert plan_lines(plan(lines=lines)) == "bhbhbb"


def test_repeats_that_a_verdict_asks_for_take_turns() -> None:
    """Runs that are there count on their own side."""
    lines = [
        line(
            "03_dropout",
            state=RowState.INCONCLUSIVE,
            comparison=OPEN,
            base_runs=found(BASE, 6),
            head_runs=found(HEAD, 1),
        )
    ]
    assert plan_lines(plan(lines=lines)) == "hh"


def test_runs_under_way_are_let_go_of_where_the_verdict_no_longer_hangs_on_times() -> None:
    """Found runs tell that it fails: what is still running is stopped."""
    started = plan(lines=[line("03_dropout")])
    failing = line(
        "03_dropout", state=RowState.NEW_FAILURE, base_runs=found(BASE, 2), head_runs=found(HEAD, 2)
    )
    waiting = structs.replace(failing, state=RowState.SAME)
    subject = replace(SUBJECT, started=records(started, RunState.RUNNING))
    assert (plan_lines(plan(subject, [failing])), plan_lines(plan(subject, [waiting]))) == ("", "bh")


def test_runs_of_others_with_the_same_files_leave_nothing_to_start() -> None:
    """What another pull request launched and ended is there; found runs of the same files are too."""
    launched = found("d" * 40, origin=RunOrigin.LAUNCHED, tree=HEAD_FILES)
    lines = [line("03_dropout", base_runs=found(BASE), head_runs=launched)]
    assert plan_lines(plan(lines=lines)) == ""
    lines = [line("03_dropout", base_runs=found(BASE), head_runs=found("d" * 40, tree=HEAD_FILES))]
    assert plan_lines(plan(lines=lines)) == ""


def test_a_run_that_the_cluster_lost_for_another_is_not_taken_over() -> None:
    """A new repeat is planned instead; what was lost under this pull request is not started for ever."""
    lines = [line("03_dropout")]
    first = plan(lines=lines)
    lost = frozenset({first[1].record.key or ""})
    again = plan(replace(SUBJECT, lost=lost), lines)
    assert (plan_lines(again), again[0]) == ("bh", first[0])
    assert again[1].record.key not in {one.record.key for one in first}
    mine = replace(SUBJECT, lost=lost, started=records(first, RunState.LOST))
    assert plan(mine, [line("03_dropout", state=RowState.LOST)]) == first


def test_asking_afresh_measures_both_sides_anew() -> None:
    """Beside what is there, however much that is; each time that somebody asks."""
    lines = [
        line("03_dropout", state=RowState.SAME, base_runs=found(BASE, 6), head_runs=found(HEAD, 6)),
    ]
    for times in (1, 2):
        ask = RunRequest(
            source=RequestSource.COMMAND,
            name="9:00",
            keys=frozenset({CaseKey("03_dropout", "linen")}),
            by="bob",
            fresh=times,
        )
        planned = plan(replace(SUBJECT, run_requests=(PUSHED, ask)), lines)
        assert plan_lines(planned) == "bh" * times
        started = replace(SUBJECT, run_requests=(PUSHED, ask), started=records(planned, RunState.RUNNING))
        assert plan(started, [structs.replace(lines[0], state=RowState.RUNNING)]) == planned


def test_a_fresh_measurement_is_charged_to_who_asked() -> None:
    """What a push starts is charged to the author."""
    ask = RunRequest(
        source=RequestSource.COMMAND, name="9:00", keys=frozenset({CaseKey("03_dropout", "linen")}), by="bob"
    )
    people = {
        one.record.case_key: one.charged_to for one in plan(replace(SUBJECT, run_requests=(PUSHED, ask)))
    }
    assert (people[CaseKey("03_dropout", "linen")], people[CaseKey("04_int8", "nnx")]) == ("bob", "alice")


def test_what_may_be_spent_is_the_most_that_such_runs_took() -> None:
    """A launch sets aside the upper end of the range; nothing where no price is known."""
    price = Price(usual=6.4, least=6.1, most=7.0, basis=PriceBasis.MEASURED, runs=3)
    prices = {CaseKey("03_dropout", "linen"): price, CaseKey("04_int8", "linen"): None}
    kept = {one.record.case_key: one.price for one in plan(replace(SUBJECT, prices=prices))}
    assert (kept[CaseKey("03_dropout", "linen")], kept[CaseKey("04_int8", "linen")]) == (7.0, None)


def test_what_nobody_asks_for_is_not_run() -> None:
    """Only the keys of asks are planned."""
    ask = RunRequest(
        source=RequestSource.LABEL, name="benchmark:04_int8", keys=frozenset({CaseKey("04_int8", "nnx")})
    )
    planned = plan(replace(SUBJECT, run_requests=(ask,)))
    assert {(one.record.case, one.record.variant) for one in planned} == {("04_int8", "nnx")}


def test_what_is_asked_no_more_is_stopped_and_what_ended_is_kept() -> None:
    """A cancelled case loses the runs under way, not its results."""
    first = plan(lines=[line("03_dropout")])
    states = (RunState.ENDED, RunState.RUNNING)
    started = tuple(
        structs.replace(one.record, state=state) for one, state in zip(first, states, strict=True)
    )
    silent = replace(SUBJECT, run_requests=(), started=started)
    kept = plan(silent, [line("03_dropout", state=RowState.RUNNING)])
    assert [one.record.key for one in kept] == [first[0].record.key]
