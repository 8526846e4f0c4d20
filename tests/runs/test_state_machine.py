"""What is done next about a launched run."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from bot.clusters.interface import ClusterFault, JobState, Observation
from bot.domain.run import RunState
from bot.runs.run_status import TERMINAL_STATES, RunStatus, RunTimeouts
from bot.runs.state_machine import (
    MAX_LAUNCH_BACKOFF_SECONDS,
    MAX_LAUNCH_TRIES,
    CheckAgain,
    CollectLog,
    DeleteJob,
    Demand,
    KeepLog,
    LaunchJob,
    SettleAttempt,
    as_clause,
    back_off_launch,
    decide,
    hold_launch,
    launch_refused,
    orphaned_jobs,
)

NOW = 1_000_000.0

TIMEOUTS = RunTimeouts(
    poll_seconds=10,
    missing_seconds=60,
    queue_seconds=3600,
    overrun_seconds=100,
    min_looks=3,
    fault_seconds=50,
    max_attempts=3,
    retry_seconds=20,
)

ABSENT = Observation(state=JobState.ABSENT)

QUEUED = Observation(state=JobState.QUEUED)

RUNNING = Observation(state=JobState.RUNNING, last_step=4)

ENDED = Observation(state=JobState.ENDED, exit_code=0, log_uri="file:///a.log")


def standing(state: RunState, since: float = NOW) -> RunStatus:
    """A run that came into a state at a moment."""
    return RunStatus(name="mv-a", timeout_seconds=600, state=state, since=since)


def test_a_planned_run_is_launched() -> None:
    """The first thing that happens to a wanted run is its launch."""
    run, effects = decide(standing(RunState.PLANNED), ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    assert run.state is RunState.LAUNCHED
    assert effects == (LaunchJob(), CheckAgain(until=NOW + 10))


def test_a_launched_job_is_looked_for_from_its_launch_on() -> None:
    """What was missed before, while its start was refused, does not make it missing sooner."""
    refused = replace(standing(RunState.PLANNED), missing_since=NOW - 50, missing_looks=2)
    run, _ = decide(refused, ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    assert (run.state, run.missing_since, run.missing_looks) == (RunState.LAUNCHED, None, 0)


def test_a_job_that_is_there_already_is_adopted_without_a_launch() -> None:
    """After a crash between the launch and our note of it, the job is found and kept."""
    run, effects = decide(standing(RunState.PLANNED), RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    assert run.state is RunState.RUNNING
    assert effects == (CheckAgain(until=NOW + 10),)
    assert run.last_step == 4


def test_a_lost_launch_call_is_repeated() -> None:
    """A job that was never seen is launched again; its name keeps that harmless."""
    run, effects = decide(standing(RunState.LAUNCHED), ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    assert run.state is RunState.LAUNCHED
    assert effects == (LaunchJob(), CheckAgain(until=NOW + 10))


def test_a_job_that_was_seen_is_never_launched_again() -> None:
    """A job that vanished may have ended; it is waited for, not repeated."""
    _, effects = decide(standing(RunState.RUNNING), ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    assert effects == (CheckAgain(until=NOW + 10),)


def test_a_job_that_stays_away_is_lost_and_deleted() -> None:
    """It takes both time and several looks to give a job up."""
    run = standing(RunState.RUNNING)
    for look in range(3):
        assert (run.state, run.give_up_reason) == (RunState.RUNNING, "")
        run, effects = decide(run, ABSENT, Demand.WANTED, NOW + 50 * look, TIMEOUTS)
    assert (run.give_up_reason, effects) == (
        "its cluster no longer knows of it",
        (KeepLog(), CheckAgain(until=NOW + 100)),
    )
    run, effects = decide(run, ABSENT, Demand.WANTED, NOW + 100, TIMEOUTS)
    assert run.state is RunState.LOST
    assert run.why == "its cluster no longer knows of it"
    assert effects == (DeleteJob(), SettleAttempt())


def test_a_job_that_was_only_overlooked_goes_on() -> None:
    """Seen again at the last look, it is not given up after all."""
    missing = replace(
        standing(RunState.RUNNING), give_up_reason="gone", missing_since=NOW - 60, missing_looks=3
    )
    run, effects = decide(missing, RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    assert (run.state, run.give_up_reason, run.missing_looks) == (RunState.RUNNING, "", 0)
    assert effects == (CheckAgain(until=NOW + 10),)


def test_a_jump_of_the_clock_alone_loses_nothing() -> None:
    """One missing look is not believed, however late the clock says it is."""
    run, _ = decide(standing(RunState.RUNNING), ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    run, _ = decide(run, ABSENT, Demand.WANTED, NOW + 1e6, TIMEOUTS)
    assert (run.state, run.give_up_reason) == (RunState.RUNNING, "")


@pytest.mark.parametrize(("state", "seen"), [(RunState.RUNNING, RUNNING), (RunState.QUEUED, QUEUED)])
def test_time_that_nobody_looked_on_ends_nothing(state: RunState, seen: Observation) -> None:
    """A machine that slept for a week finds its jobs as it left them: one gap counts as 900 s at the most."""
    pace = replace(TIMEOUTS, overrun_seconds=1000)
    run, _ = decide(replace(standing(state), last_look=NOW), seen, Demand.WANTED, NOW + 7 * 86400, pace)
    assert (run.state, run.watched_seconds) == (state, 900)


def test_a_run_has_run_since_it_was_first_seen_running() -> None:
    """What it is charged for begins there, however often it is looked at."""
    run, _ = decide(standing(RunState.QUEUED), RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    run, _ = decide(run, RUNNING, Demand.WANTED, NOW + 100, TIMEOUTS)
    assert (run.began, run.since) == (NOW, NOW)


def test_a_state_since_tomorrow_is_one_since_now() -> None:
    """People read how long a run has stood where it stands."""
    run, _ = decide(standing(RunState.RUNNING, since=NOW + 1e5), RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    assert run.since == NOW


def test_a_clock_that_was_ahead_does_not_stop_ours() -> None:
    """A moment in the future counts as now, so that the limit passes from there."""
    ahead = replace(standing(RunState.RUNNING, since=NOW + 1e9), last_look=NOW + 1e9)
    run, _ = decide(ahead, RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    run, _ = decide(run, RUNNING, Demand.WANTED, NOW + 700, TIMEOUTS)
    assert run.give_up_reason == "it was ended at its time limit of 10 min"


def test_a_job_that_runs_on_past_its_limit_is_ended() -> None:
    """A cluster that does not keep the time limit is not trusted to end the job either."""
    looked_on = replace(standing(RunState.RUNNING), last_look=NOW)
    run, effects = decide(looked_on, RUNNING, Demand.WANTED, NOW + 700, TIMEOUTS)
    assert (run.give_up_reason, effects) == (
        "it was ended at its time limit of 10 min",
        (KeepLog(), CheckAgain(until=NOW + 700)),
    )
    run, effects = decide(run, ABSENT, Demand.WANTED, NOW + 700, TIMEOUTS)
    assert run.state is RunState.LOST
    assert run.why == "it was ended at its time limit of 10 min"
    assert effects == (DeleteJob(), SettleAttempt())


def test_an_old_answer_does_not_move_a_run_back() -> None:
    """A `queued` that was asked for before the job started arrives late and changes nothing."""
    run, _ = decide(standing(RunState.RUNNING), QUEUED, Demand.WANTED, NOW, TIMEOUTS)
    assert run.state is RunState.RUNNING


def test_an_ended_job_is_collected() -> None:
    """The log is read before the end is written down."""
    run, effects = decide(standing(RunState.RUNNING), ENDED, Demand.WANTED, NOW, TIMEOUTS)
    assert run.state is RunState.ENDED
    assert (run.exit_code, run.log_uri, run.last_step) == (0, "file:///a.log", None)
    assert effects == (CollectLog(), SettleAttempt())


def test_an_unwanted_job_is_deleted_until_it_is_gone() -> None:
    """A deletion that got lost is repeated with the next look."""
    run, effects = decide(standing(RunState.RUNNING), RUNNING, Demand.UNWANTED, NOW, TIMEOUTS)
    assert effects == (CheckAgain(until=NOW),)
    for _ in range(2):
        run, effects = decide(run, RUNNING, Demand.UNWANTED, NOW, TIMEOUTS)
        assert run.state is RunState.RUNNING
        assert effects == (DeleteJob(), CheckAgain(until=NOW + 10))
    run, effects = decide(run, ABSENT, Demand.UNWANTED, NOW + 10, TIMEOUTS)
    assert run.state is RunState.CANCELLED
    assert effects == (DeleteJob(), SettleAttempt())


def test_a_job_that_is_being_deleted_is_not_taken_for_lost_when_it_is_wanted_again() -> None:
    """It is cancelled all the same, and planned anew by those who want it."""
    run, _ = decide(standing(RunState.RUNNING), RUNNING, Demand.UNWANTED, NOW, TIMEOUTS)
    run, effects = decide(run, RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    assert effects == (DeleteJob(), CheckAgain(until=NOW + 10))
    run, _ = decide(run, ABSENT, Demand.WANTED, NOW + 10, TIMEOUTS)
    assert run.state is RunState.CANCELLED


def test_an_unwanted_job_that_ended_anyway_is_kept() -> None:
    """What has been paid for is measured."""
    run, effects = decide(standing(RunState.RUNNING), ENDED, Demand.UNWANTED, NOW, TIMEOUTS)
    assert run.state is RunState.ENDED
    assert effects == (CollectLog(), SettleAttempt())


def test_terminal_runs_have_no_effects() -> None:
    """Whatever is seen and wished, what is over stays as it is."""
    for state in TERMINAL_STATES:
        for seen in (ABSENT, QUEUED, RUNNING, ENDED):
            for wish in Demand:
                run = standing(state)
                assert decide(run, seen, wish, NOW, TIMEOUTS) == (run, ())


def test_jobs_that_no_open_run_stands_for_are_orphans() -> None:
    """Ended runs and unknown names are swept; open runs are not."""
    open_run = standing(RunState.RUNNING)
    over = replace(standing(RunState.ENDED), name="mv-b")
    assert orphaned_jobs(["mv-a", "mv-b", "mv-c"], [open_run, over]) == frozenset({"mv-b", "mv-c"})


def faulty(state: JobState, fault: ClusterFault, exit_code: int | None = None, note: str = "") -> Observation:
    """A job that the cluster failed."""
    return Observation(state=state, fault=fault, exit_code=exit_code, note=note)


@pytest.mark.parametrize("fault", ClusterFault)
def test_what_the_cluster_failed_is_tried_again_under_another_name(fault: ClusterFault) -> None:
    """The old job is deleted and settled, the new attempt waits for its turn, and the reason is kept."""
    before = replace(standing(RunState.RUNNING), name="mv-a-0123", began=NOW - 50, last_step=3)
    seen = faulty(JobState.ENDED, fault, 143, "by another")
    noted, effects = decide(before, seen, Demand.WANTED, NOW, TIMEOUTS)
    assert (noted.state, noted.attempt, effects) == (RunState.RUNNING, 1, (KeepLog(), CheckAgain(until=NOW)))
    run, effects = decide(noted, ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    assert (run.state, run.attempt, run.name) == (RunState.PLANNED, 2, "mv-a-0123-2")
    assert effects == (DeleteJob(), SettleAttempt(), CheckAgain(until=NOW + 20))
    over = run.past[0]
    assert (over.number, over.name, over.began, over.ended) == (1, "mv-a-0123", NOW - 50, NOW)
    assert (over.note, over.last_step) == ("by another", 3)
    assert run.names == {"mv-a-0123", "mv-a-0123-2"}


def test_attempts_are_spaced_and_counted() -> None:
    """The pause grows, the names count on, and after the last attempt the run is lost with the reason."""
    run, now, pauses = standing(RunState.RUNNING), NOW, []
    for _ in range(2):
        run, _ = decide(run, faulty(JobState.ENDED, ClusterFault.PREEMPTED), Demand.WANTED, now, TIMEOUTS)
        run, effects = decide(run, ABSENT, Demand.WANTED, now, TIMEOUTS)
        assert isinstance(effects[-1], CheckAgain)
        pauses.append(effects[-1].until - now)
        early, effects = decide(run, ABSENT, Demand.WANTED, now + 1, TIMEOUTS)
        assert (early.state, effects) == (RunState.PLANNED, (CheckAgain(until=now + pauses[-1]),))
        now += pauses[-1]
        run, effects = decide(run, ABSENT, Demand.WANTED, now, TIMEOUTS)
        assert effects == (LaunchJob(), CheckAgain(until=now + 10))
    assert pauses == [20, 80]
    assert run.name == "mv-a-3"
    run, _ = decide(run, faulty(JobState.ENDED, ClusterFault.EVICTED), Demand.WANTED, now, TIMEOUTS)
    run, effects = decide(run, ABSENT, Demand.WANTED, now, TIMEOUTS)
    assert run.state is RunState.LOST
    assert run.why == "the cluster failed all 3 attempts, the last because it was evicted"
    assert effects == (DeleteJob(), SettleAttempt())


@pytest.mark.parametrize("exit_code", [0, 1, 124, 137, 139])
def test_the_changes_own_failure_is_never_tried_again(exit_code: int) -> None:
    """An exit code without a fault of the cluster, out of memory included, is the change's answer."""
    ended = Observation(state=JobState.ENDED, exit_code=exit_code, log_uri="file:///a.log")
    run, effects = decide(standing(RunState.RUNNING), ended, Demand.WANTED, NOW, TIMEOUTS)
    assert (run.state, run.attempt) == (RunState.ENDED, 1)
    assert effects == (CollectLog(), SettleAttempt())


def test_a_run_that_did_its_work_is_measured_whatever_happened_to_its_node() -> None:
    """Exit code 0 outweighs a preemption that came a moment later."""
    run, _ = decide(
        standing(RunState.RUNNING), faulty(JobState.ENDED, ClusterFault.PREEMPTED, 0), Demand.WANTED, NOW
    )
    assert run.state is RunState.ENDED


def test_a_job_that_went_back_into_the_queue_after_it_ran_is_started_anew() -> None:
    """It would go on from its own checkpoint; before it ran, it just waits on."""
    evicted = faulty(JobState.QUEUED, ClusterFault.EVICTED)
    ran = replace(standing(RunState.RUNNING), began=NOW - 5)
    assert decide(ran, evicted, Demand.WANTED, NOW, TIMEOUTS)[0].retry
    waits, _ = decide(standing(RunState.QUEUED), evicted, Demand.WANTED, NOW, TIMEOUTS)
    assert (waits.state, waits.give_up_reason) == (RunState.QUEUED, "")


def test_a_fault_of_a_living_job_counts_when_it_lasts() -> None:
    """An image that cannot be pulled for a moment is waited for; time alone, or looks alone, do not do."""
    stuck, run = faulty(JobState.QUEUED, ClusterFault.IMAGE_PULL), standing(RunState.QUEUED)
    run, _ = decide(run, stuck, Demand.WANTED, NOW, TIMEOUTS)
    run, _ = decide(run, stuck, Demand.WANTED, NOW + 1e6, TIMEOUTS)
    assert not run.give_up_reason
    healed, _ = decide(run, QUEUED, Demand.WANTED, NOW + 1e6, TIMEOUTS)
    assert (healed.faulty_since, healed.faulty_looks) == (None, 0)
    run, _ = decide(run, stuck, Demand.WANTED, NOW + 1e6, TIMEOUTS)
    assert (run.give_up_reason, run.retry) == ("its image could not be pulled", True)


def test_a_launch_that_the_cluster_never_showed_is_the_clusters_fault() -> None:
    """What was accepted and never seen is started once more; what was refused is lost with the refusal."""
    run = standing(RunState.LAUNCHED)
    refused = replace(run, why="there is no such commit")
    for look in range(4):
        run, _ = decide(run, ABSENT, Demand.WANTED, NOW + 50 * look, TIMEOUTS)
        refused, _ = decide(refused, ABSENT, Demand.WANTED, NOW + 50 * look, TIMEOUTS)
    assert (run.state, run.attempt) == (RunState.PLANNED, 2)
    assert (refused.state, refused.why) == (RunState.LOST, "there is no such commit")


def test_a_launch_that_is_not_admitted_leaves_the_run_planned() -> None:
    """It says what it waits for, and asks again."""
    planned = standing(RunState.PLANNED)
    run, effects = hold_launch(planned, until=NOW + 30, why="4 of 4 runs on the cluster")
    assert (run.state, run.why) == (RunState.PLANNED, "4 of 4 runs on the cluster")
    assert effects == (CheckAgain(until=NOW + 30),)
    launched, _ = decide(run, ABSENT, Demand.WANTED, NOW + 30, TIMEOUTS)
    assert (launched.state, launched.why) == (RunState.LAUNCHED, "")


def test_a_pause_before_an_attempt_survives_a_clock_that_was_ahead() -> None:
    """A moment far in the future is no longer away than the pause is long."""
    ahead = replace(standing(RunState.PLANNED), attempt=2, not_before=NOW + 1e9)
    run, effects = decide(ahead, ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    assert effects == (CheckAgain(until=NOW + 20),)
    assert run.not_before == NOW + 20


def test_steps_are_noted_with_the_moment_they_were_written() -> None:
    """Only later steps count, a clock ahead of ours is now, and few are kept."""
    run = standing(RunState.RUNNING)
    for step in (0, 0, 1, 1, *range(2, 30)):
        seen = Observation(state=JobState.RUNNING, last_step=step, last_output=NOW + step)
        run, _ = decide(run, seen, Demand.WANTED, NOW + 20, TIMEOUTS)
    assert [(one.step, one.at - NOW) for one in run.sightings] == [(n, min(n, 20)) for n in range(18, 30)]


def test_what_the_cluster_said_is_dropped_when_it_no_longer_says_so() -> None:
    """An image that could be pulled after all is not spoken of; what was said of a job that is gone stays."""
    said = replace(QUEUED, note="the image is not there")
    run, _ = decide(standing(RunState.QUEUED), said, Demand.WANTED, NOW, TIMEOUTS)
    gone, _ = decide(run, ABSENT, Demand.WANTED, NOW, TIMEOUTS)
    runs_now, _ = decide(run, RUNNING, Demand.WANTED, NOW, TIMEOUTS)
    assert (run.note, gone.note, runs_now.note) == ("the image is not there", "the image is not there", "")


LAUNCH_TIMEOUTS = RunTimeouts(missing_seconds=60.0, min_looks=3)


def test_what_cannot_be_started_is_tried_ever_less_often_and_given_up() -> None:
    """For two days, at last every ten minutes; then it is lost, and says of what."""
    run, now, moments = RunStatus(name="mv-a", timeout_seconds=600.0), 0.0, [0.0]
    while run.state is RunState.PLANNED:
        run, effects = back_off_launch(run, "No such image.", soonest=5.0, now=now)
        for effect in effects:
            assert isinstance(effect, CheckAgain)
            now = effect.until
            moments.append(now)
    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1], len(waits)) == (30.0, MAX_LAUNCH_BACKOFF_SECONDS, MAX_LAUNCH_TRIES - 1)
    assert 47 < now / 3600 < 49
    assert (run.state, run.why) == (RunState.LOST, "it could not be started in 300 tries: no such image")


def test_whoever_says_when_is_not_asked_before() -> None:
    """A registry's own pause counts where it is longer."""
    run, effects = back_off_launch(RunStatus(name="a", timeout_seconds=1.0), "Busy", soonest=120.0, now=5.0)
    assert (run.why, effects) == ("busy", (CheckAgain(until=125.0),))


def test_a_job_that_an_earlier_call_may_have_made_is_looked_for() -> None:
    """It takes time and four looks, as with every job that is given up, until nothing of it can be there."""
    run, stands = RunStatus(name="a", timeout_seconds=1.0), []
    for now in (0.0, 20.0, 40.0, 59.0, 60.0):
        run = launch_refused(run, repeated=True, now=now, timeouts=LAUNCH_TIMEOUTS)
        stands.append((run.missing_since, run.missing_looks))
    assert stands == [(0.0, 1), (0.0, 2), (0.0, 3), (0.0, 4), (None, 0)]
    late = replace(run, missing_since=0.0, missing_looks=2)
    assert launch_refused(late, repeated=True, now=1e6, timeouts=LAUNCH_TIMEOUTS).missing_looks == 3
    assert (
        launch_refused(
            replace(late, missing_looks=3), repeated=True, now=1e6, timeouts=LAUNCH_TIMEOUTS
        ).missing_since
        is None
    )


def test_a_job_that_no_call_was_made_for_is_not_looked_for() -> None:
    """Its first start was refused: nothing of it can be there."""
    run = RunStatus(name="a", timeout_seconds=1.0)
    assert launch_refused(run, repeated=False, now=5.0, timeouts=LAUNCH_TIMEOUTS) == run


def test_a_clock_that_was_ahead_frees_what_is_held_all_the_same() -> None:
    """A moment in the future counts as now."""
    ahead = RunStatus(name="a", timeout_seconds=1.0, missing_since=1e9, missing_looks=1)
    assert launch_refused(ahead, repeated=True, now=5.0, timeouts=LAUNCH_TIMEOUTS).missing_since == 5.0


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The image x is not there yet.", "the image x is not there yet"),
        ("A name", "a name"),
        ("XPK is away", "XPK is away"),
        ("xpk ended with 1", "xpk ended with 1"),
        ("", ""),
    ],
)
def test_a_sentence_becomes_a_clause(sentence: str, expected: str) -> None:
    """Names keep their capitals."""
    assert as_clause(sentence) == expected
