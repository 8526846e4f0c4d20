"""torchtitan's logs."""

import pytest

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.torchtitan import torchtitan_log

OUT_OF_MEMORY = """[rank0]:[rank0]: Traceback (most recent call last):
[rank0]:[rank0]:   File "/home/me/torchtitan/torchtitan/components/loss.py", line 333, in __call__
[rank0]:[rank0]:     chunk_loss.backward()
[rank0]:[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.45 GiB.
Traceback (most recent call last):
  File "/opt/conda/lib/python3.12/site-packages/torch/distributed/run.py", line 900, in run
    elastic_launch(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
"""  # noqa: W291 - as it is printed


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


@pytest.mark.parametrize("coloured", [False, True])
def test_a_metric_line_states_rates_loss_and_time(coloured: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """With separators of thousands, and with colours inside the line or without."""
    run = _run(torchtitan_log(coloured=coloured))
    assert ("torchtitan", OutcomeState.SUCCEEDED, 40, 40) == (
        run.format, run.outcome.state, run.outcome.last_step, run.outcome.expected_steps,
    )  # fmt: skip
    assert [1, 10, 20, 30, 40] == [step.step for step in run.steps]
    step = run.steps[1]
    assert (7.31813, 10240.0, 866.87, None) == (
        step.loss, step.tokens_per_device, step.tflops_per_device, step.seconds,
    )  # fmt: skip
    assert (("grad_norm", 21.125), ("memory_gib", 160.86), ("mfu", 38.53)) == step.extras
    assert 18.0 == pytest.approx((step.time or 0) - (run.steps[0].time or 0))


def test_the_set_up_is_read() -> None:
    """Device, mesh, parameters and the memory of the first line."""
    run = _run(torchtitan_log())
    assert ("NVIDIA B200", 8, (1, 1, 8, 1, 1, 1)) == (
        run.environment.device_kind, run.environment.devices, run.environment.mesh,
    )  # fmt: skip
    assert 14.7683072 == run.parameters_billion
    assert [(160.86, 90.19)] == [(device.used_gb, device.percent) for device in run.memory]


def test_a_utilisation_that_is_not_known_is_absent() -> None:
    """`mfu: N/A` is no number."""
    assert "mfu" not in dict(_run(torchtitan_log(mfu=False)).steps[0].extras)


def test_a_validation_repeats_a_step_and_is_none() -> None:
    """It is a mark with a loss."""
    run = _run(torchtitan_log(validated=True))
    assert [1, 10, 20, 30, 40] == [step.step for step in run.steps]
    assert [(MarkKind.EVAL_ENDED, 10, 7.31813)] == [(mark.kind, mark.step, mark.loss) for mark in run.marks][
        :1
    ]
    assert () == run.warnings


def test_ranks_are_distinguished() -> None:
    """All ranks print every line: rank 0 is measured."""
    run = _run(torchtitan_log(ranks=(1, 0, 3, 2)))
    assert (4, 0, 5) == (run.hosts, run.environment.process, len(run.steps))


def test_an_end_between_two_lines_is_an_end() -> None:
    """Of 45 steps the last logged one is the 40th."""
    assert OutcomeState.SUCCEEDED is _run(torchtitan_log(total=45)).outcome.state
    assert OutcomeState.STOPPED is _run(torchtitan_log(total=55)).outcome.state


def test_a_log_that_just_stops_is_incomplete() -> None:
    """Nothing says that training ended."""
    assert OutcomeState.INCOMPLETE is _run(torchtitan_log(total=45, ending=())).outcome.state


def test_an_orderly_end_without_steps_is_a_success() -> None:
    """A checkpoint was converted, say."""
    run = _run(torchtitan_log(losses=(), total=1, ending=("Process group destroyed",)))
    assert ("torchtitan", OutcomeState.SUCCEEDED, ()) == (run.format, run.outcome.state, run.steps)


def test_the_rank_that_failed_is_the_cause_and_not_the_launcher() -> None:
    """torchrun's own traceback only echoes."""
    run = _run(torchtitan_log(losses=(12.4,), ending=(), failure=OUT_OF_MEMORY))
    failure = run.outcome.failure
    assert failure is not None
    assert (OutcomeState.FAILED, "device_oom", "loss.py:333") == (
        run.outcome.state,
        failure.kind,
        failure.where,
    )


def test_a_cut_line_is_left_out() -> None:
    """The last line must come to its last number."""
    whole = torchtitan_log(ending=())
    cut = whole[: whole.rindex("tflops")]
    assert 30 == _run(cut).outcome.last_step
    assert any("cut off" in warning for warning in _run(cut).warnings)
