"""How far the runs of a case are, and when all of them will have ended."""

from msgspec.structs import replace

from bot.domain.run import RunRecord, RunState
from bot.ingest.progress import ProgressFacts, case_progress
from bot.report.model import CaseProgress
from bot.runs.eta import DurationRange
from bot.runs.run_status import PastAttempt, RunStatus
from tests.worker.fake_cluster import planned_run

NOW = 1_000_000.0

KEY = ("04_int8", "linen")

PAST = PastAttempt(number=1, name="mv-a", ended=NOW, why="it was preempted")


def _run(key: str, state: RunState, **standing: object) -> tuple[RunRecord, RunStatus]:
    record = replace(planned_run(key=key).record, state=state)
    begun = RunStatus(name=f"mv-{key}", timeout_seconds=600, state=state)
    return record, replace(begun, **standing)


def _progress(
    *runs: tuple[RunRecord, RunStatus], here: tuple[str, ...] = (), took: tuple[float, ...] = ()
) -> CaseProgress:
    records = [record for record, _ in runs]
    known = ProgressFacts(
        statuses={record.id: standing for record, standing in runs},
        local_queue=here,
        durations={KEY: took},
        now=NOW,
    )
    found = case_progress(records, records, known)
    assert found is not None
    return found


def test_a_case_without_launched_runs_has_no_progress() -> None:
    """What was found in a bucket is done."""
    assert case_progress([], [], ProgressFacts(statuses={}, local_queue=(), durations={}, now=NOW)) is None


def test_the_run_that_is_farthest_speaks_for_its_case() -> None:
    """One of three has ended, two run."""
    said = _progress(
        _run("a", RunState.ENDED),
        _run("b", RunState.RUNNING, last_step=2, expected_steps=10),
        _run("c", RunState.RUNNING, last_step=6, expected_steps=10),
    )
    assert (said.runs_done, said.runs_wanted) == (1, 3)
    assert (said.step, said.steps, said.words) == (6, 10, "step 6 of 10")


def test_silence_is_told_before_anything_else() -> None:
    """One run of two has stopped talking."""
    said = _progress(
        _run("a", RunState.RUNNING, last_step=9, expected_steps=10, last_output=NOW),
        _run("b", RunState.RUNNING, last_step=1, expected_steps=10, last_output=NOW - 840),
    )
    assert said.words == "silent for 14 min, last step 1 of 10"


def test_a_run_that_is_tried_again_makes_its_case_one() -> None:
    """With the reason; once it runs again, it runs."""
    waits = _progress(_run("a", RunState.QUEUED, past=(PAST,), attempt=2, note="by prod"))
    assert (waits.retrying, waits.words, waits.note) == (True, "attempt 2, since it was preempted", "by prod")
    runs = _progress(_run("a", RunState.RUNNING, past=(PAST,), attempt=2, last_step=1))
    assert (runs.retrying, runs.words) == (False, "step 1")


def test_a_lost_run_says_how_it_was_lost() -> None:
    """Where nothing is under way any more."""
    assert _progress(_run("a", RunState.LOST, why="it left no log")).words == "it left no log"


def test_runs_of_this_machine_follow_one_another() -> None:
    """The one that runs, then those in turn before it: their times add up."""
    runs = [
        _run("a", RunState.RUNNING, began=NOW - 40),
        _run("b", RunState.QUEUED),
        _run("c", RunState.QUEUED),
    ]
    ids = tuple(record.id for record, _ in runs)
    assert _progress(*runs, here=ids, took=(100, 120)).left == DurationRange(low=60 + 200, high=80 + 240)


def test_another_pull_requests_run_before_ours_takes_nobody_knows_how_long() -> None:
    """Then there is no time."""
    run = _run("b", RunState.QUEUED)
    assert _progress(run, here=("other", run[0].id), took=(100,)).left is None


def test_a_shared_cluster_lets_a_run_wait_nobody_knows_how_long() -> None:
    """A time is there once all runs of the case run, the longest of them."""
    running = _run("a", RunState.RUNNING, began=NOW - 40)
    assert _progress(running, _run("b", RunState.QUEUED), took=(100,)).left is None
    both = _progress(running, _run("b", RunState.RUNNING, began=NOW - 10), took=(100,))
    assert both.left == DurationRange(low=90, high=90)
