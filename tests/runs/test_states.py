"""What happens to a launched run: single decisions, and a world in which everything goes wrong."""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.runs.clusters.port import JobState, Observation
from bot.runs.records import RunState
from bot.runs.states import (
    TERMINAL,
    Collect,
    Delete,
    Effect,
    Launch,
    Pace,
    RunStanding,
    Wait,
    Wish,
    decide,
    orphans,
)

NOW = 1_000_000.0
PACE = Pace(poll=10, unseen=60, queue=3600, overdue=100, looks=3)
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
        assert run.state is RunState.RUNNING
        run, effects = decide(run, ABSENT, Wish.WANTED, NOW + 50 * look, PACE)
    assert run.state is RunState.LOST
    assert effects == (Delete(),)


def test_a_jump_of_the_clock_alone_loses_nothing() -> None:
    """One missing look is not believed, however late the clock says it is."""
    run, _ = decide(standing(RunState.RUNNING), ABSENT, Wish.WANTED, NOW, PACE)
    run, _ = decide(run, ABSENT, Wish.WANTED, NOW + 1e6, PACE)
    assert run.state is RunState.RUNNING


def test_a_clock_that_was_ahead_does_not_stop_ours() -> None:
    """A moment in the future counts as now, so that the limit passes from there."""
    run, _ = decide(standing(RunState.RUNNING, since=NOW + 1e9), RUNNING, Wish.WANTED, NOW, PACE)
    run, effects = decide(run, RUNNING, Wish.WANTED, NOW + 700, PACE)
    assert run.state is RunState.LOST
    assert effects == (Delete(),)


def test_a_job_that_runs_on_past_its_limit_is_ended() -> None:
    """A cluster that does not keep the time limit is not trusted to end the job either."""
    run, effects = decide(standing(RunState.RUNNING), RUNNING, Wish.WANTED, NOW + 700, PACE)
    assert run.state is RunState.LOST
    assert effects == (Delete(),)


def test_an_old_answer_does_not_move_a_run_back() -> None:
    """A `queued` that was asked for before the job started arrives late and changes nothing."""
    run, _ = decide(standing(RunState.RUNNING), QUEUED, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.RUNNING


def test_an_ended_job_is_collected() -> None:
    """The log is read before the end is written down."""
    run, effects = decide(standing(RunState.RUNNING), ENDED, Wish.WANTED, NOW, PACE)
    assert run.state is RunState.ENDED
    assert (run.exit_code, run.log_uri, run.last_step) == (0, "file:///a.log", None)
    assert effects == (Collect(),)


def test_an_unwanted_job_is_deleted_until_it_is_gone() -> None:
    """A deletion that got lost is repeated with the next look."""
    run, effects = decide(standing(RunState.RUNNING), RUNNING, Wish.UNWANTED, NOW, PACE)
    assert run.state is RunState.RUNNING
    assert effects == (Delete(), Wait(until=NOW + 10))
    run, effects = decide(run, ABSENT, Wish.UNWANTED, NOW + 10, PACE)
    assert run.state is RunState.CANCELLED
    assert effects == (Delete(),)


def test_an_unwanted_job_that_ended_anyway_is_kept() -> None:
    """What has been paid for is measured."""
    run, effects = decide(standing(RunState.RUNNING), ENDED, Wish.UNWANTED, NOW, PACE)
    assert run.state is RunState.ENDED
    assert effects == (Collect(), Delete())


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


class Cluster:
    """A cluster with one name: counts how many jobs of it live, and how often one was started."""

    def __init__(self) -> None:
        self.state = JobState.ABSENT
        self.live = 0
        self.started = 0

    def launch(self) -> None:
        """Start the job, unless the name is known."""
        if self.state is JobState.ABSENT:
            self.state = JobState.QUEUED
            self.live += 1
            self.started += 1

    def delete(self) -> None:
        """End the job and forget the name."""
        self.state = JobState.ABSENT
        self.live = 0

    def look(self) -> Observation:
        """Say how the name stands."""
        return Observation(state=self.state, exit_code=0 if self.state is JobState.ENDED else None)


class World(RuleBasedStateMachine):
    """One run through crashes, lost calls, old answers, clock jumps and changes of mind."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.run = RunStanding(name="mv-a", timeout_seconds=600, since=NOW)
        self.wish = Wish.WANTED
        self.now = NOW
        self.answers = [self.cluster.look()]
        self.collected = 0

    def perform(self, effect: Effect) -> None:
        """Do what was decided."""
        match effect:
            case Launch():
                self.cluster.launch()
            case Delete():
                self.cluster.delete()
            case Collect():
                self.collected += 1
            case Wait():
                pass

    def step(self, observation: Observation, *, performed: int | None = None) -> None:
        """Decide and act; where `performed` is given, the process dies after that many effects."""
        run, effects = decide(self.run, observation, self.wish, self.now, PACE)
        for effect in effects[:performed]:
            self.perform(effect)
        if performed is None:
            self.run = run

    @rule(seconds=st.floats(0, 100))
    def look_and_act(self, seconds: float) -> None:
        """The ordinary case."""
        self.now += seconds
        self.answers.append(self.cluster.look())
        self.step(self.answers[-1])

    @rule(performed=st.integers(0, 2))
    def crash_in_the_middle(self, performed: int) -> None:
        """Some effects happen, the standing is never written."""
        self.step(self.cluster.look(), performed=performed)

    @rule(which=st.integers(0, 3))
    def hear_an_old_answer(self, which: int) -> None:
        """An observation arrives after newer ones."""
        self.step(self.answers[-1 - which % len(self.answers)])

    @rule(jump=st.floats(-1e6, 1e6))
    def jump_the_clock(self, jump: float) -> None:
        """The machine's clock is put right, or wrong."""
        self.now += jump

    @rule()
    def lose_the_launch(self) -> None:
        """The cluster says yes and forgets."""
        if self.cluster.state is JobState.QUEUED:
            self.cluster.delete()

    @precondition(lambda self: self.cluster.state is JobState.QUEUED)
    @rule()
    def start(self) -> None:
        """The job's turn comes."""
        self.cluster.state = JobState.RUNNING

    @precondition(lambda self: self.cluster.state is JobState.RUNNING)
    @rule()
    def end(self) -> None:
        """The job ends by itself."""
        self.cluster.state = JobState.ENDED
        self.cluster.live = 0

    @rule()
    def repeat_a_launch_late(self) -> None:
        """A process that decided to launch long ago wakes up, if one ever did."""
        if self.run.state is not RunState.PLANNED:
            self.cluster.launch()

    @rule(wish=st.sampled_from(Wish))
    def change_the_wish(self, wish: Wish) -> None:
        """A push, a cancel, another push."""
        self.wish = wish

    @invariant()
    def at_most_one_job_lives(self) -> None:
        """Whatever happened, a key has one live job at most."""
        assert self.cluster.live <= 1

    @invariant()
    def an_end_was_collected(self) -> None:
        """A run is not written down as ended before its log was read."""
        assert self.run.state is not RunState.ENDED or self.collected >= 1

    def teardown(self) -> None:
        """When the trouble stops, the run comes to an end and nothing lives that nobody wants."""
        for _ in range(60):
            if self.cluster.state is JobState.QUEUED:
                self.cluster.state = JobState.RUNNING
            self.now += 60
            self.step(self.cluster.look())
            if orphans(["mv-a"], [self.run]):
                self.cluster.delete()
        assert self.run.state in TERMINAL
        assert self.cluster.live == 0


World.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestWorld = World.TestCase
