"""Several runs in one file, and one run that was resumed."""

import pytest

from bot.logs.facts import OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers import neighbours
from tests.log_writers.megatron import megatron_log
from tests.log_writers.nanogpt import nanogpt_log


def _runs(text: str) -> tuple[RunLog, ...]:
    return read_log([text.encode()], "x")


def test_megatrons_runs_in_one_file_are_several() -> None:
    """Each with its own steps, times and end."""
    first, second = (
        megatron_log(),
        megatron_log(milliseconds=(4000.0, 900.0, 901.0), start="2025-06-29T10:00:00"),
    )
    one, other = _runs(first + second)
    assert ([1, 2, 3, 4, 5], [1, 2, 3]) == ([s.step for s in one.steps], [s.step for s in other.steps])
    assert (0.8099, 0.901) == (one.steps[-1].seconds, other.steps[-1].seconds)
    assert {OutcomeState.SUCCEEDED} == {one.outcome.state, other.outcome.state}


def test_a_run_that_died_at_once_is_one_of_them() -> None:
    """It was started anew from its first iteration."""
    dead = megatron_log(total=20, ending="Traceback (most recent call last):\nKeyError: 1")
    one, other = _runs(dead + megatron_log())
    assert (OutcomeState.FAILED, OutcomeState.SUCCEEDED) == (one.outcome.state, other.outcome.state)


def test_a_run_that_goes_on_from_its_checkpoint_is_one() -> None:
    """The second start begins behind the first one's first iteration."""
    text = megatron_log(total=20, ending="Killed")
    later = megatron_log(total=20, ending="")
    for n in range(5, 0, -1):
        later = later.replace(f"iteration {n:8d}/", f"iteration {n + 3:8d}/")
    (run,) = _runs(text + later)
    assert (8, 20) == (run.outcome.last_step, run.outcome.expected_steps)
    assert OutcomeState.INCOMPLETE is run.outcome.state


def test_ranks_that_print_the_banner_together_are_one_run() -> None:
    """Before the first iteration."""
    banner = "using world size: 8, data-parallel size: 1\n"
    (run,) = _runs(banner * 8 + megatron_log())
    assert 5 == len(run.steps)


@pytest.mark.parametrize(
    "log",
    [nanogpt_log(), neighbours.nanochat_log(), neighbours.olmo_log()],
    ids=["nanogpt", "nanochat", "olmo"],
)
def test_whole_runs_behind_each_other_are_several(log: str) -> None:
    """Without a banner: the first step again, behind a run that came to its end."""
    one, other = _runs(log + log)
    assert [step.loss for step in one.steps] == [step.loss for step in other.steps]
    assert {OutcomeState.SUCCEEDED} == {one.outcome.state, other.outcome.state}
