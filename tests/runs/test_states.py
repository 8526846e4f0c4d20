"""What is decided about a launched run, one decision at a time."""

from dataclasses import replace

import pytest

from bot.runs.clusters.port import Fault, JobState, Observation
from bot.runs.effects import Collect, Delete, Keep, Launch, Settle, Wait
from bot.runs.records import RunState
from bot.runs.standing import TERMINAL, Pace, RunStanding
from bot.runs.states import Wish, decide, held_back, orphans

NOW = 1_000_000.0
PACE = Pace(poll=10, unseen=60, queue=3600, overdue=100, looks=3, stuck=50, attempts=3, again=20)
ABSENT = Observation(state=JobState.ABSENT)
QUEUED = Observation(state=JobState.QUEUED)
RUNNING = Observation(state=JobState.RUNNING, last_step=4)
ENDED = Observation(state=JobState.ENDED, exit_code=0, log_uri="file:///a.log")


def standing(state: RunState, since: float = NOW) -> RunStanding:
    """A run that came into a state at a moment."""
    return RunStanding(name="mv-a", timeout_seconds=600, state=state, since=since)


def test_a_planned_run_is_launched() -> None:
    """The first thing that happens to a wanted run is its launch."""
    run, effects = decide(standing(RunState.PLANNED), ABSENT, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.LAUNCHED
    assert effects == (Launch(), Wait(until=NOW + 10))


def test_a_launched_job_is_looked_for_from_its_launch_on() -> None:
    """What was missed before, while its start was refused, does not make it missing sooner."""
    refused = replace(standing(RunState.PLANNED), missing_since=NOW - 50, missing_looks=2)
    run, _ = decide(refused, ABSENT, Wish.WANTED, NOW, PACE)
    assert (run.state, run.missing_since, run.missing_looks) == (RunState.LAUNCHED, None, 0)


def test_a_job_that_is_there_already_is_adopted_without_a_launch() -> None:
    """After a crash between the launch and our note of it, the job is found and kept."""
    run, effects = decide(standing(RunState.PLANNED), RUNNING, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.RUNNING
    assert effects == (Wait(until=NOW + 10),)
    assert run.last_step == 4


def test_a_lost_launch_call_is_repeated() -> None:
    """A job that was never seen is launched again; its name keeps that harmless."""
    run, effects = decide(standing(RunState.LAUNCHED), ABSENT, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.LAUNCHED
    assert effects == (Launch(), Wait(until=NOW + 10))


def test_a_job_that_was_seen_is_never_launched_again() -> None:
    """A job that vanished may have ended; it is waited for, not repeated."""
    _, effects = decide(standing(RunState.RUNNING), ABSENT, Wish.WANTED, NOW, PACE)
    assert effects == (Wait(until=NOW + 10),)


def test_a_job_that_stays_away_is_lost_and_deleted() -> None:
    """It takes both time and several looks to give a job up."""
    run = standing(RunState.RUNNING)
    for look in range(3):
        assert (run.state, run.given_up) == (RunState.RUNNING, "")
        run, effects = decide(run, ABSENT, Wish.WANTED, NOW + 50 * look, PACE)
    assert (run.given_up, effects) == ("its cluster no longer knows of it", (Keep(), Wait(until=NOW + 100)))
    run, effects = decide(run, ABSENT, Wish.WANTED, NOW + 100, PACE)
    assert run.state is RunState.LOST
    assert run.why == "its cluster no longer knows of it"
    assert effects == (Delete(), Settle())


def test_a_job_that_was_only_overlooked_goes_on() -> None:
    """Seen again at the last look, it is not given up after all."""
    missing = replace(standing(RunState.RUNNING), given_up="gone", missing_since=NOW - 60, missing_looks=3)
    run, effects = decide(missing, RUNNING, Wish.WANTED, NOW, PACE)
    assert (run.state, run.given_up, run.missing_looks) == (RunState.RUNNING, "", 0)
    assert effects == (Wait(until=NOW + 10),)


def test_a_jump_of_the_clock_alone_loses_nothing() -> None:
    """One missing look is not believed, however late the clock says it is."""
    run, _ = decide(standing(RunState.RUNNING), ABSENT, Wish.WANTED, NOW, PACE)
    run, _ = decide(run, ABSENT, Wish.WANTED, NOW + 1e6, PACE)
    assert (run.state, run.given_up) == (RunState.RUNNING, "")


@pytest.mark.parametrize(("state", "seen"), [(RunState.RUNNING, RUNNING), (RunState.QUEUED, QUEUED)])
def test_time_that_nobody_looked_on_ends_nothing(state: RunState, seen: Observation) -> None:
    """A machine that slept for a week finds its jobs as it left them: one gap counts as 900 s at the most."""
    pace = replace(PACE, overdue=1000)
    run, _ = decide(replace(standing(state), looked=NOW), seen, Wish.WANTED, NOW + 7 * 86400, pace)
    assert (run.state, run.spent) == (state, 900)


def test_a_run_has_run_since_it_was_first_seen_running() -> None:
    """What it is charged for begins there, however often it is looked at."""
    run, _ = decide(standing(RunState.QUEUED), RUNNING, Wish.WANTED, NOW, PACE)
    run, _ = decide(run, RUNNING, Wish.WANTED, NOW + 100, PACE)
    assert (run.began, run.since) == (NOW, NOW)


def test_a_state_since_tomorrow_is_one_since_now() -> None:
    """People read how long a run has stood where it stands."""
    run, _ = decide(standing(RunState.RUNNING, since=NOW + 1e5), RUNNING, Wish.WANTED, NOW, PACE)
    assert run.since == NOW


def test_a_clock_that_was_ahead_does_not_stop_ours() -> None:
    """A moment in the future counts as now, so that the limit passes from there."""
    ahead = replace(standing(RunState.RUNNING, since=NOW + 1e9), looked=NOW + 1e9)
    run, _ = decide(ahead, RUNNING, Wish.WANTED, NOW, PACE)
    run, _ = decide(run, RUNNING, Wish.WANTED, NOW + 700, PACE)
    assert run.given_up == "it was ended at its time limit of 10 min"


def test_a_job_that_runs_on_past_its_limit_is_ended() -> None:
    """A cluster that does not keep the time limit is not trusted to end the job either."""
    looked_on = replace(standing(RunState.RUNNING), looked=NOW)
    run, effects = decide(looked_on, RUNNING, Wish.WANTED, NOW + 700, PACE)
    assert (run.given_up, effects) == (
        "it was ended at its time limit of 10 min",
        (Keep(), Wait(until=NOW + 700)),
    )
    run, effects = decide(run, ABSENT, Wish.WANTED, NOW + 700, PACE)
    assert run.state is RunState.LOST
    assert run.why == "it was ended at its time limit of 10 min"
    assert effects == (Delete(), Settle())


def test_an_old_answer_does_not_move_a_run_back() -> None:
    """A `queued` that was asked for before the job started arrives late and changes nothing."""
    run, _ = decide(standing(RunState.RUNNING), QUEUED, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.RUNNING


def test_an_ended_job_is_collected() -> None:
    """The log is read before the end is written down."""
    run, effects = decide(standing(RunState.RUNNING), ENDED, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.ENDED
    assert (run.exit_code, run.log_uri, run.last_step) == (0, "file:///a.log", None)
    assert effects == (Collect(), Settle())


def test_an_unwanted_job_is_deleted_until_it_is_gone() -> None:
    """A deletion that got lost is repeated with the next look."""
    run, effects = decide(standing(RunState.RUNNING), RUNNING, Wish.UNWANTED, NOW, PACE)
    assert effects == (Wait(until=NOW),)
    for _ in range(2):
        run, effects = decide(run, RUNNING, Wish.UNWANTED, NOW, PACE)
        assert run.state is RunState.RUNNING
        assert effects == (Delete(), Wait(until=NOW + 10))
    run, effects = decide(run, ABSENT, Wish.UNWANTED, NOW + 10, PACE)
    assert run.state is RunState.CANCELLED
    assert effects == (Delete(), Settle())


def test_a_job_that_is_being_deleted_is_not_taken_for_lost_when_it_is_wanted_again() -> None:
    """It is cancelled all the same, and planned anew by those who want it."""
    run, _ = decide(standing(RunState.RUNNING), RUNNING, Wish.UNWANTED, NOW, PACE)
    run, effects = decide(run, RUNNING, Wish.WANTED, NOW, PACE)
    assert effects == (Delete(), Wait(until=NOW + 10))
    run, _ = decide(run, ABSENT, Wish.WANTED, NOW + 10, PACE)
    assert run.state is RunState.CANCELLED


def test_an_unwanted_job_that_ended_anyway_is_kept() -> None:
    """What has been paid for is measured."""
    run, effects = decide(standing(RunState.RUNNING), ENDED, Wish.UNWANTED, NOW, PACE)
    assert run.state is RunState.ENDED
    assert effects == (Collect(), Settle())


def test_terminal_runs_have_no_effects() -> None:
    """Whatever is seen and wished, what is over stays as it is."""
    for state in TERMINAL:
        for seen in (ABSENT, QUEUED, RUNNING, ENDED):
            for wish in Wish:
                run = standing(state)
                assert decide(run, seen, wish, NOW, PACE) == (run, ())


def test_jobs_that_no_open_run_stands_for_are_orphans() -> None:
    """Ended runs and unknown names are swept; open runs are not."""
    open_run = standing(RunState.RUNNING)
    over = replace(standing(RunState.ENDED), name="mv-b")
    assert orphans(["mv-a", "mv-b", "mv-c"], [open_run, over]) == frozenset({"mv-b", "mv-c"})


def faulty(state: JobState, fault: Fault, exit_code: int | None = None, note: str = "") -> Observation:
    """A job that the cluster failed."""
    return Observation(state=state, fault=fault, exit_code=exit_code, note=note)


@pytest.mark.parametrize("fault", Fault)
def test_what_the_cluster_failed_is_tried_again_under_another_name(fault: Fault) -> None:
    """The old job is deleted and settled, the new attempt waits for its turn, and the reason is kept."""
    before = replace(standing(RunState.RUNNING), name="mv-a-0123", began=NOW - 50, last_step=3)
    seen = faulty(JobState.ENDED, fault, 143, "by another")
    noted, effects = decide(before, seen, Wish.WANTED, NOW, PACE)
    assert (noted.state, noted.attempt, effects) == (RunState.RUNNING, 1, (Keep(), Wait(until=NOW)))
    run, effects = decide(noted, ABSENT, Wish.WANTED, NOW, PACE)
    assert (run.state, run.attempt, run.name) == (RunState.PLANNED, 2, "mv-a-0123-2")
    assert effects == (Delete(), Settle(), Wait(until=NOW + 20))
    over = run.past[0]
    assert (over.number, over.name, over.began, over.ended) == (1, "mv-a-0123", NOW - 50, NOW)
    assert (over.note, over.last_step) == ("by another", 3)
    assert run.names == {"mv-a-0123", "mv-a-0123-2"}


def test_attempts_are_spaced_and_counted() -> None:
    """The pause grows, the names count on, and after the last attempt the run is lost with the reason."""
    run, now, pauses = standing(RunState.RUNNING), NOW, []
    for _ in range(2):
        run, _ = decide(run, faulty(JobState.ENDED, Fault.PREEMPTED), Wish.WANTED, now, PACE)
        run, effects = decide(run, ABSENT, Wish.WANTED, now, PACE)
        assert isinstance(effects[-1], Wait)
        pauses.append(effects[-1].until - now)
        early, effects = decide(run, ABSENT, Wish.WANTED, now + 1, PACE)
        assert (early.state, effects) == (RunState.PLANNED, (Wait(until=now + pauses[-1]),))
        now += pauses[-1]
        run, effects = decide(run, ABSENT, Wish.WANTED, now, PACE)
        assert effects == (Launch(), Wait(until=now + 10))
    assert pauses == [20, 80]
    assert run.name == "mv-a-3"
    run, _ = decide(run, faulty(JobState.ENDED, Fault.EVICTED), Wish.WANTED, now, PACE)
    run, effects = decide(run, ABSENT, Wish.WANTED, now, PACE)
    assert run.state is RunState.LOST
    assert run.why == "the cluster failed all 3 attempts, the last because it was evicted"
    assert effects == (Delete(), Settle())


@pytest.mark.parametrize("exit_code", [0, 1, 124, 137, 139])
def test_the_changes_own_failure_is_never_tried_again(exit_code: int) -> None:
    """An exit code without a fault of the cluster, out of memory included, is the change's answer."""
    ended = Observation(state=JobState.ENDED, exit_code=exit_code, log_uri="file:///a.log")
    run, effects = decide(standing(RunState.RUNNING), ended, Wish.WANTED, NOW, PACE)
    assert (run.state, run.attempt) == (RunState.ENDED, 1)
    assert effects == (Collect(), Settle())


def test_a_run_that_did_its_work_is_measured_whatever_happened_to_its_node() -> None:
    """Exit code 0 outweighs a preemption that came a moment later."""
    run, _ = decide(standing(RunState.RUNNING), faulty(JobState.ENDED, Fault.PREEMPTED, 0), Wish.WANTED, NOW)
    assert run.state is RunState.ENDED


def test_a_job_that_went_back_into_the_queue_after_it_ran_is_started_anew() -> None:
    """It would go on from its own checkpoint; before it ran, it just waits on."""
    evicted = faulty(JobState.QUEUED, Fault.EVICTED)
    ran = replace(standing(RunState.RUNNING), began=NOW - 5)
    assert decide(ran, evicted, Wish.WANTED, NOW, PACE)[0].again
    waits, _ = decide(standing(RunState.QUEUED), evicted, Wish.WANTED, NOW, PACE)
    assert (waits.state, waits.given_up) == (RunState.QUEUED, "")


def test_a_fault_of_a_living_job_counts_when_it_lasts() -> None:
    """An image that cannot be pulled for a moment is waited for; time alone, or looks alone, do not do."""
    stuck, run = faulty(JobState.QUEUED, Fault.IMAGE_PULL), standing(RunState.QUEUED)
    run, _ = decide(run, stuck, Wish.WANTED, NOW, PACE)
    run, _ = decide(run, stuck, Wish.WANTED, NOW + 1e6, PACE)
    assert not run.given_up
    healed, _ = decide(run, QUEUED, Wish.WANTED, NOW + 1e6, PACE)
    assert (healed.faulty_since, healed.faulty_looks) == (None, 0)
    run, _ = decide(run, stuck, Wish.WANTED, NOW + 1e6, PACE)
    assert (run.given_up, run.again) == ("its image could not be pulled", True)


def test_a_launch_that_the_cluster_never_showed_is_the_clusters_fault() -> None:
    """What was accepted and never seen is started once more; what was refused is lost with the refusal."""
    run = standing(RunState.LAUNCHED)
    refused = replace(run, why="there is no such commit")
    for look in range(4):
        run, _ = decide(run, ABSENT, Wish.WANTED, NOW + 50 * look, PACE)
        refused, _ = decide(refused, ABSENT, Wish.WANTED, NOW + 50 * look, PACE)
    assert (run.state, run.attempt) == (RunState.PLANNED, 2)
    assert (refused.state, refused.why) == (RunState.LOST, "there is no such commit")


def test_a_launch_that_is_not_admitted_leaves_the_run_planned() -> None:
    """It says what it waits for, and asks again."""
    planned = standing(RunState.PLANNED)
    run, effects = held_back(planned, until=NOW + 30, why="4 of 4 runs on the cluster")
    assert (run.state, run.why) == (RunState.PLANNED, "4 of 4 runs on the cluster")
    assert effects == (Wait(until=NOW + 30),)
    launched, _ = decide(run, ABSENT, Wish.WANTED, NOW + 30, PACE)
    assert (launched.state, launched.why) == (RunState.LAUNCHED, "")


def test_a_pause_before_an_attempt_survives_a_clock_that_was_ahead() -> None:
    """A moment far in the future is no longer away than the pause is long."""
    ahead = replace(standing(RunState.PLANNED), attempt=2, not_before=NOW + 1e9)
    run, effects = decide(ahead, ABSENT, Wish.WANTED, NOW, PACE)
    assert effects == (Wait(until=NOW + 20),)
    assert run.not_before == NOW + 20


def test_steps_are_noted_with_the_moment_they_were_written() -> None:
    """Only later steps count, a clock ahead of ours is now, and few are kept."""
    run = standing(RunState.RUNNING)
    for step in (0, 0, 1, 1, *range(2, 30)):
        seen = Observation(state=JobState.RUNNING, last_step=step, heard=NOW + step)
        run, _ = decide(run, seen, Wish.WANTED, NOW + 20, PACE)
    assert [(one.step, one.at - NOW) for one in run.sightings] == [(n, min(n, 20)) for n in range(18, 30)]


def test_what_the_cluster_said_is_dropped_when_it_no_longer_says_so() -> None:
    """An image that could be pulled after all is not spoken of; what was said of a job that is gone stays."""
    said = replace(QUEUED, note="the image is not there")
    run, _ = decide(standing(RunState.QUEUED), said, Wish.WANTED, NOW, PACE)
    gone, _ = decide(run, ABSENT, Wish.WANTED, NOW, PACE)
    runs_now, _ = decide(run, RUNNING, Wish.WANTED, NOW, PACE)
    assert (run.note, gone.note, runs_now.note) == ("the image is not there", "the image is not there", "")
