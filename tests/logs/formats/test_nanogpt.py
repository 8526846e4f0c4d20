"""The logs of nanoGPT, llm.c and modded-nanogpt."""

import pytest

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.llmc import llmc_console, llmc_log
from tests.log_writers.modded_nanogpt import modded_nanogpt_log
from tests.log_writers.nanogpt import nanogpt_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


def test_an_iteration_of_nanogpt_is_a_step_with_its_own_time() -> None:
    """A utilisation of -100 % is not known yet."""
    run = _run(nanogpt_log())
    assert ("nanogpt", OutcomeState.SUCCEEDED, 51) == (
        run.format,
        run.outcome.state,
        run.outcome.expected_steps,
    )
    assert [0, 10, 20, 30, 40, 50] == [step.step for step in run.steps]
    assert (0.12345, 10.9598, ()) == (run.steps[0].seconds, run.steps[0].loss, run.steps[0].extras)
    assert (("mfu", 12.34),) == run.steps[5].extras


def test_an_evaluation_of_nanogpt_is_a_mark() -> None:
    """Its line repeats an iteration's number."""
    marks = _run(nanogpt_log()).marks
    assert [(MarkKind.EVAL_ENDED, 0, 10.9698), (MarkKind.EVAL_ENDED, 30, 10.5784)] == [
        (mark.kind, mark.step, mark.loss) for mark in marks
    ]


def test_nanogpt_that_ends_early_is_incomplete() -> None:
    """It prints no end: the number of iterations is that of the command line, not of the file before it."""
    outcome = _run(nanogpt_log(last=2000)).outcome
    assert (OutcomeState.INCOMPLETE, 2001) == (outcome.state, outcome.expected_steps)


def test_a_line_of_llmc_is_a_step_without_a_time() -> None:
    """`tel` is an evaluation at the number of a step."""
    run = _run(llmc_log())
    assert ("llmc", 6, 5) == (run.format, len(run.steps), run.outcome.last_step)
    assert (None, None, 10.8556) == (run.steps[1].seconds, run.steps[1].time, run.steps[1].loss)
    assert (("lr", 2e-06), ("norm", 15.24)) == run.steps[1].extras
    assert [0, 3, 6] == [mark.step for mark in run.marks]
    assert () == run.warnings


def test_llmc_prints_a_time_and_an_average() -> None:
    """The average rate is no sample."""
    run = _run(llmc_console())
    assert (OutcomeState.SUCCEEDED, 6) == (run.outcome.state, run.outcome.expected_steps)
    assert (1, 3.00013, None) == (run.steps[0].step, run.steps[0].seconds, run.steps[0].tokens_per_device)
    assert 174000.0 == dict(run.steps[0].extras)["average_tokens_per_second"]


def test_the_python_twin_of_llmc_is_read_as_well() -> None:
    """Its times stand in brackets."""
    line = "step    1/2 | train loss 5.270099 | norm 30.1234 | lr 1.00e-04 | (4527.00 ms | 57 tok/s)\n"
    (step,) = _run(line).steps
    assert (5.270099, 4.527) == (step.loss, step.seconds)


def test_a_step_of_modded_nanogpt_took_the_difference() -> None:
    """Its time is that of all steps so far, its average that of all steps."""
    run = _run(modded_nanogpt_log())
    assert ("modded_nanogpt", OutcomeState.SUCCEEDED, 8) == (
        run.format,
        run.outcome.state,
        run.outcome.last_step,
    )
    assert [None, 0.028, 0.024, 0.036, 0.027, 0.036, 0.027, 0.035] == [step.seconds for step in run.steps]
    assert pytest.approx(0.213 / 7) == run.mean_seconds_after_first
    assert [(0, 10.8275), (4, 4.4709), (8, 4.4709)] == [(mark.step, mark.loss) for mark in run.marks]
    assert ("NVIDIA H100 80GB HBM3", 8) == (run.environment.device_kind, run.environment.devices)
    assert (30908.0, ()) == (run.max_allocated_mb, run.warnings)


def test_a_hole_in_modded_nanogpt_gives_no_time() -> None:
    """The difference over it is of several steps."""
    lines = modded_nanogpt_log().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("step:3/")]
    times = {step.step: step.seconds for step in _run("".join(kept)).steps}
    assert (None, 0.027) == (times[4], times[5])


@pytest.mark.parametrize(
    ("text", "last"), [(nanogpt_log(), 40), (llmc_log(), 5), (llmc_console(), 5), (modded_nanogpt_log(), 8)]
)
def test_a_cut_line_is_left_out(text: str, last: int) -> None:
    """A number that ends where the log ends may lack digits."""
    cut = text[: text.rstrip().rindex("\n") + 20]
    assert last == _run(cut).outcome.last_step
