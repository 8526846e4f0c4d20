"""How runs end: states, exit codes, the first cause."""

import pytest

from bot.logs.facts import Failure, OutcomeState, RunOutcome
from bot.logs.failures import FailureClass
from bot.logs.reader import read_log
from tests.log_writers.maxtext import TRACEBACK, maxtext_log

STEP = "completed step: {}, seconds: 0.100, loss: {}\n"

DIED = (
    "F0926 17:26:32.075587  157988 client.h:77] Terminating process because the JAX distributed service "
    "detected fatal errors. This most likely indicates that another task died; see the other task logs."
)

OOM = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of "
    "memory in memory space hbm. Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G."
)


def _outcome(text: str) -> RunOutcome:
    (run,) = read_log([text.encode()], "x")
    return run.outcome


def _failure(text: str) -> Failure:
    failure = _outcome(text).failure
    assert failure is not None
    return failure


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (maxtext_log(), OutcomeState.SUCCEEDED),
        (maxtext_log(save_interval=9), OutcomeState.SUCCEEDED),
        (maxtext_log(config=["Config param steps: 10"]), OutcomeState.SUCCEEDED),
        (maxtext_log(config=["python3 train.py base.yml steps=20 run_name=x"]), OutcomeState.STOPPED),
        (maxtext_log(exit_code=1), OutcomeState.FAILED),
        (maxtext_log(exit_code=137, failure="x"), OutcomeState.KILLED),
        (maxtext_log(exit_code=143, failure="x"), OutcomeState.KILLED),
        (maxtext_log(exit_code=None), OutcomeState.INCOMPLETE),
        (maxtext_log(exit_code=None, failure=OOM), OutcomeState.FAILED),
        (maxtext_log(losses=[9.0] * 9 + [float("nan")]), OutcomeState.FAILED),
        (maxtext_log(losses=[9.0] * 9 + [float("inf")]), OutcomeState.FAILED),
        (maxtext_log(framed=False, config=["Config param steps: 10"]), OutcomeState.SUCCEEDED),
        (maxtext_log(framed=False, config=["Config param steps: 11"]), OutcomeState.INCOMPLETE),
        (maxtext_log(exit_code=0, failure="Training stopped: Job received termination signal (SIGTERM)."),
         OutcomeState.STOPPED),
        (STEP.format(0, 2.0) + "EXIT_CODE=1\nXPK End: Tue Apr 21 10:19:24 UTC 2026\n", OutcomeState.FAILED),
        (STEP.format(0, 2.0) + "EXIT_CODE=0\nJob End: Thu Jul 31 09:48:56 UTC 2025\n",
         OutcomeState.SUCCEEDED),
        (STEP.format(0, 2.0) + "Last State: Terminated\n  Reason: OOMKilled\n", OutcomeState.KILLED),
        ("XPK Start: Tue Apr 21 10:19:24 UTC 2026\n" + TRACEBACK, OutcomeState.FAILED),
        ("XPK Start: Tue Apr 21 10:19:24 UTC 2026\nPulling the image\n", OutcomeState.INCOMPLETE),
    ],
)  # fmt: skip
def test_the_state_follows_the_end_of_the_log(text: str, state: OutcomeState) -> None:
    """Exit code, frame, last step and loss together decide."""
    assert state is _outcome(text).state


def test_the_save_on_completion_shows_how_many_steps_there_were() -> None:
    """A save off the interval's grid at the last step is the final one; one on the grid shows nothing."""
    assert 10 == _outcome(maxtext_log(save_interval=10)).expected_steps
    assert None is _outcome(maxtext_log(save_interval=9)).expected_steps
    assert None is _outcome(maxtext_log(checkpoints=False)).expected_steps


def test_a_preemption_save_is_no_save_on_completion() -> None:
    """A run that saved because it was told to go has not come to its last step."""
    preemption_save = "{'step': 9, 'event_type': 'save', 'reached_preemption': True, 'synchronous': False}"
    outcome = _outcome(maxtext_log(config=[preemption_save]))
    assert (OutcomeState.STOPPED, None) == (outcome.state, outcome.expected_steps)
    assert outcome.failure is not None
    assert FailureClass.PREEMPTED == outcome.failure.kind


@pytest.mark.parametrize(
    "options", [{}, {"flat": True}, {"prefix": "(f pid=1, ip=1.2.3.4) "}, {"crlf": True}]
)
def test_a_traceback_names_the_innermost_frame_of_the_project(options: dict[str, object]) -> None:
    """Neither the library's frame nor the interpreter's; on one line or many."""
    failure = _failure(maxtext_log(steps=0, exit_code=1, failure=TRACEBACK, **options))  # type: ignore[arg-type]  # one field of MaxText each
    assert ("code", "train_utils.py:217") == (failure.kind, failure.where)
    assert "NotImplementedError: Pure NNX support has not been implemented yet." == failure.error


def test_the_first_cause_is_taken_and_not_its_echo() -> None:
    """Other hosts only report that a task died, some of them earlier in the log."""
    failure = _failure(maxtext_log(exit_code=134, failure=f"{DIED}\n{OOM}\n{DIED}"))
    assert FailureClass.HBM_OOM == failure.kind
    assert FailureClass.PEER_DIED == _failure(maxtext_log(exit_code=134, failure=DIED)).kind


def test_a_traceback_that_training_survived_is_no_cause() -> None:
    """A library's caught exception before the steps did not end the run."""
    caught = TRACEBACK.replace("NotImplementedError", "KeyError")
    outcome = _outcome(maxtext_log(config=[caught], exit_code=1, failure=OOM))
    assert outcome.failure is not None
    assert FailureClass.HBM_OOM == outcome.failure.kind
    assert None is _outcome(maxtext_log(config=[caught])).failure


def test_cuda_errors_of_a_healthy_start_are_no_cause() -> None:
    """Every XPK log begins with CUDA's complaints."""
    noise = "2026-04-21 10:16:43: E cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: UNKNOWN"
    outcome = _outcome(maxtext_log(config=[noise], exit_code=1))
    assert outcome.failure is not None
    assert "" == outcome.failure.error


def test_a_kill_without_a_message_is_not_out_of_memory() -> None:
    """SIGKILL is also eviction, preemption and deletion; only a line about memory makes it one of memory."""
    unexplained, oom_killed = (
        _outcome(maxtext_log(exit_code=137, failure=text)) for text in ("", "Reason: OOMKilled")
    )
    assert (OutcomeState.KILLED, OutcomeState.KILLED) == (unexplained.state, oom_killed.state)
    assert unexplained.failure is not None
    assert oom_killed.failure is not None
    assert (FailureClass.TERMINATED, "") == (unexplained.failure.kind, unexplained.failure.error)
    assert (FailureClass.HOST_OOM, "Reason: OOMKilled") == (oom_killed.failure.kind, oom_killed.failure.error)


def test_the_step_of_a_loss_that_is_not_finite_is_named() -> None:
    """The first of them counts, whatever the exit code."""
    failure = _failure(maxtext_log(losses=[9.0, 8.0, float("nan"), float("nan"), *[8.0] * 6]))
    assert (FailureClass.NOT_FINITE, "loss is nan at step 2") == (failure.kind, failure.error)


def test_chained_exceptions_begin_with_the_first() -> None:
    """What was raised while handling it is its echo."""
    second = TRACEBACK.replace("Pure NNX support has not been implemented yet.", "second")
    text = f"{TRACEBACK}\n\nDuring handling of the above exception, another exception occurred:\n\n{second}"
    assert _failure(maxtext_log(steps=0, exit_code=1, failure=text)).error.startswith(
        "NotImplementedError: Pure"
    )
