"""Megatron-LM's lines and those of its forks."""

import pytest

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.megatron import megatron_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


@pytest.mark.parametrize("flat", [False, True])
def test_iterations_are_steps_that_count_from_one(flat: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Milliseconds become seconds; the other numbers are kept under their names."""
    text = megatron_log(milliseconds=(4493.2, 812.5), losses=(10.9, 10.8), total=2)
    run = _run(text.replace("\n", " ") if flat else text)
    assert ("megatron", OutcomeState.SUCCEEDED, 2) == (
        run.format,
        run.outcome.state,
        run.outcome.expected_steps,
    )
    assert [(1, 4.4932, 10.9), (2, 0.8125, 10.8)] == [(s.step, s.seconds, s.loss) for s in run.steps]
    assert (0.91, 7706.13916015625) == (run.parameters_billion, run.max_allocated_mb)
    assert {"consumed_samples": 16.0, "global_batch_size": 16.0, "loss_scale": 1.0}.items() <= dict(
        run.steps[0].extras
    ).items()


def test_iterations_printed_twice_are_counted_once() -> None:
    """Two loggers of a fork print the same line."""
    assert [1, 2, 3, 4, 5] == [step.step for step in _run(megatron_log(fork="primus")).steps]


def test_a_running_average_is_no_sample() -> None:
    """The first two lines of a fork with current/average pairs state only an average."""
    run = _run(megatron_log(fork="primus"))
    assert [None, None, 0.8101, 0.8118, 0.8099] == [step.seconds for step in run.steps]
    assert run.mean_seconds_after_first == pytest.approx((0.8101 + 0.8118 + 0.8099) / 3)


def test_a_log_that_stops_before_its_last_iteration_is_incomplete() -> None:
    """It says how many iterations were to come."""
    outcome = _run(megatron_log(total=20, ending="")).outcome
    assert (OutcomeState.INCOMPLETE, 5, 20) == (outcome.state, outcome.last_step, outcome.expected_steps)


def test_the_launchers_exit_code_is_the_runs() -> None:
    """Whatever the last iteration was."""
    outcome = _run(megatron_log(ending="primus launcher exited with code 1")).outcome
    assert (OutcomeState.FAILED, 1) == (outcome.state, outcome.exit_code)


def test_validation_is_a_mark_and_no_iteration() -> None:
    """Its line names an iteration and a loss, too."""
    text = " validation loss at iteration 5 | lm loss value: 9.661073E+00 | lm loss PPL: 1.569461E+04 |\n"
    run = _run(megatron_log(ending=text))
    assert (5, [(MarkKind.EVAL_ENDED, 5)]) == (len(run.steps), [(m.kind, m.step) for m in run.marks])


def test_a_cut_iteration_is_left_out() -> None:
    """The last record must close with its bar."""
    whole = megatron_log(ending="")
    cut = whole[: whole.rindex("loss scale")]
    assert 4 == _run(cut).outcome.last_step
    assert any("cut off" in warning for warning in _run(cut).warnings)
