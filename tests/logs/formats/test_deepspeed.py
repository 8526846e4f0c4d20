"""DeepSpeed's lines, and what stands in no step line: Levanter, MaxText's reinforcement learning."""

import pytest

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.deepspeed import deepspeed_chat_log, deepspeed_lines, deepspeed_log
from tests.log_writers.megatron import megatron_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


def test_a_rate_is_no_time_and_an_average_no_sample() -> None:
    """Both are extras: how many samples a step has is not printed."""
    run = _run(deepspeed_log())
    assert ("deepspeed", OutcomeState.SUCCEEDED, 0) == (run.format, run.outcome.state, run.outcome.exit_code)
    assert [10, 20, 30, 40, 50, 60] == [step.step for step in run.steps]
    step = run.steps[0]
    assert (None, None, None) == (step.seconds, step.tokens_per_device, step.loss)
    assert ["samples_per_second", "average_samples_per_second"] == [name for name, _ in step.extras]
    assert 7.46 == pytest.approx((run.steps[1].time or 0) - (step.time or 0))
    assert 23500.8 == pytest.approx(run.max_allocated_mb)
    assert [MarkKind.EVAL_STARTED, MarkKind.EVAL_ENDED] == [mark.kind for mark in run.marks]


def test_reinforcement_learning_has_three_losses_and_none_that_is_the_loss() -> None:
    """DeepSpeed's own lines between, which count otherwise, are not steps of it."""
    run = _run(deepspeed_chat_log())
    assert ("deepspeed_chat", OutcomeState.SUCCEEDED, 12) == (run.format, run.outcome.state, len(run.steps))
    assert list(range(12)) == [step.step for step in run.steps]
    assert (3.89, None, -0.01) == (run.steps[9].seconds, run.steps[9].loss, run.steps[9].extras[0][1])
    assert ["act_loss", "cri_loss", "unsuper_loss"] == [name for name, _ in run.steps[9].extras]


@pytest.mark.parametrize(
    ("code", "state"), [(1, OutcomeState.FAILED), (-9, OutcomeState.KILLED), (-15, OutcomeState.KILLED)]
)
def test_a_process_that_did_not_end_well_is_the_runs_end(code: int, state: OutcomeState) -> None:
    """Its launcher names the code, of a signal the negative number."""
    ending = (
        f"[2023-04-18 09:18:15,594] [ERROR] [launch.py:434:main] Process 7 exits with return code = {code}"
    )
    assert state is _run(deepspeed_log(ending=(ending,))).outcome.state


def test_a_trainers_own_lines_come_before_the_librarys() -> None:
    """Megatron-DeepSpeed's log holds both."""
    run = _run("\n".join(deepspeed_lines(steps=100)) + "\n" + megatron_log())
    assert ("megatron", 5) == (run.format, len(run.steps))


def test_a_start_of_levanter_is_a_run_without_steps() -> None:
    """It prints none."""
    text = "INFO:levanter.distributed:Initialized jax.distributed with 8 devices, 1 processes\n"
    run = _run(text + "INFO:levanter.trainer:Setting run id to 8eyi8adv\n")
    assert ("levanter", OutcomeState.INCOMPLETE, 0) == (run.format, run.outcome.state, len(run.steps))
    assert ("8eyi8adv", 8) == (run.environment.run_name, run.environment.devices)


def test_reinforcement_learning_of_maxtext_ends_with_its_word() -> None:
    """Evaluations are marks, and there are no step lines."""
    text = (
        "Pre RL Training: corr=3, total=10, accuracy=30.0%, mean_reward=0.1234\n"
        "Intermediate Eval (step=5): corr=4, total=10, accuracy=40.0%\n"
        "Post RL Training: corr=5, total=10, accuracy=50.0%, mean_reward=0.2\n"
        "RL Training Completed Successfully!\n"
    )
    run = _run(text)
    assert ("maxtext", OutcomeState.SUCCEEDED, 0) == (run.format, run.outcome.state, len(run.steps))
    assert [None, 5, None] == [mark.step for mark in run.marks]


def test_a_start_of_megatron_that_came_to_no_iteration_is_one() -> None:
    """It says how many there were to be."""
    run = _run("setting training iterations to 171661\n")
    assert ("megatron", OutcomeState.INCOMPLETE, 171661) == (
        run.format,
        run.outcome.state,
        run.outcome.expected_steps,
    )


def test_distillation_of_maxtext_ends_with_its_word() -> None:
    """Its step lines have a form of their own, and count no steps to come."""
    lines = [
        f"step {n} | step_time=1.2{n}s | TFLOPs/s/device: 45.60 (student=30.00, teacher=15.60)"
        for n in (1, 2)
    ]
    run = _run("\n".join([*lines, "Distillation Complete.", ""]))
    assert ("maxtext", OutcomeState.SUCCEEDED) == (run.format, run.outcome.state)
    assert [(1, 1.21, 45.6), (2, 1.22, 45.6)] == [
        (step.step, step.seconds, step.tflops_per_device) for step in run.steps
    ]


def test_a_line_of_maxtexts_training_engine_is_a_step() -> None:
    """It begins with a capital and has no `seconds`."""
    (step,) = _run(
        "Completed step: 3, learning_rate: 0.001, loss: 2.134, step_time: 1.234, tflops: 45.600\n"
    ).steps
    assert (3, 1.234, 45.6, 2.134) == (step.step, step.seconds, step.tflops_per_device, step.loss)
