"""A run's status is stored under names that stay, whatever its fields are called."""

import msgspec

from bot.domain.run import RunState
from bot.runs.run_status import ObservedStep, PastAttempt, RunStatus

STORED = {
    "name": "mv-a-2",
    "timeout_seconds": 600.0,
    "state": "running",
    "since": 5.0,
    "spent": 3.0,
    "looked": 8.0,
    "missing_since": None,
    "missing_looks": 0,
    "exit_code": None,
    "log_uri": None,
    "last_step": 4,
    "expected_steps": 10,
    "heard": 7.0,
    "queue_place": 2,
    "note": "waits",
    "why": "",
    "began": 6.0,
    "not_before": None,
    "fault": None,
    "faulty_since": None,
    "faulty_looks": 0,
    "given_up": "a node failed",
    "again": True,
    "withdrawn": True,
    "kept": "gs://b/a.log",
    "hindered": 3,
    "sightings": [{"step": 4, "at": 7.0}],
    "attempt": 2,
    "past": [
        {
            "number": 1,
            "name": "mv-a",
            "ended": 4.0,
            "why": "it was preempted",
            "began": 2.0,
            "last_step": 1,
            "note": "",
            "kept": "gs://b/1.log",
        }
    ],
}
"""A status as every program so far has stored it."""

STATUS = RunStatus(
    name="mv-a-2",
    timeout_seconds=600.0,
    state=RunState.RUNNING,
    since=5.0,
    watched_seconds=3.0,
    last_look=8.0,
    last_step=4,
    expected_steps=10,
    last_output=7.0,
    queue_position=2,
    note="waits",
    began=6.0,
    give_up_reason="a node failed",
    retry=True,
    cancelled=True,
    kept_log="gs://b/a.log",
    launch_tries=3,
    sightings=(ObservedStep(step=4, at=7.0),),
    attempt=2,
    past=(
        PastAttempt(
            number=1,
            name="mv-a",
            ended=4.0,
            why="it was preempted",
            began=2.0,
            last_step=1,
            kept_log="gs://b/1.log",
        ),
    ),
)


def test_a_status_is_written_under_its_stored_names() -> None:
    """In their order too."""
    assert msgspec.json.decode(msgspec.json.encode(STATUS)) == STORED
    assert list(msgspec.to_builtins(STATUS)) == list(STORED)


def test_a_stored_status_is_read() -> None:
    """What an older program wrote."""
    assert msgspec.json.decode(msgspec.json.encode(STORED), type=RunStatus) == STATUS
