"""Hugging Face Trainer's logs."""

import pytest

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.hugging_face import hugging_face_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


@pytest.mark.parametrize("style", ["stamped", "bar"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_step_number_comes_from_the_bar_or_from_the_epoch(style: str, quoted: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The line itself carries an epoch only."""
    run = _run(hugging_face_log(style=style, quoted=quoted))
    assert "hugging_face" == run.format
    assert [(5, 2.2818), (10, 2.2647), (15, 2.1045)] == [(s.step, s.loss) for s in run.steps[:3]]
    assert (OutcomeState.SUCCEEDED, 30, 34) == (
        run.outcome.state, run.outcome.last_step, run.outcome.expected_steps,
    )  # fmt: skip
    assert any("no step number" in warning for warning in run.warnings)


def test_epochs_of_two_decimals_tell_steps_apart_for_long() -> None:
    """Rounding does not add up: 400 lines of every fifth step."""
    run = _run(hugging_face_log(losses=[2.0 - n / 1000 for n in range(400)], epochs=1000))
    assert [5 * n for n in range(1, 401)] == [step.step for step in run.steps]


def test_a_line_of_an_unknown_epoch_counts() -> None:
    """Without bars or an opening, lines are counted and times are those of the stamps, if there are any."""
    run = _run(hugging_face_log(style="bare"))
    assert [1, 2, 3, 4, 5, 6] == [step.step for step in run.steps]
    assert (OutcomeState.SUCCEEDED, None) == (run.outcome.state, run.outcome.expected_steps)


def test_training_that_ends_in_order_before_its_last_step_was_stopped() -> None:
    """Somebody pressed stop, or training stopped early."""
    run = _run(hugging_face_log(epochs=10))
    assert (OutcomeState.STOPPED, 170) == (run.outcome.state, run.outcome.expected_steps)


def test_without_an_end_it_is_incomplete() -> None:
    """The log stops."""
    assert OutcomeState.INCOMPLETE is _run(hugging_face_log(ending=False)).outcome.state


def test_times_are_those_of_the_stamps() -> None:
    """To a second."""
    steps = _run(hugging_face_log()).steps
    assert 100.0 == (steps[1].time or 0) - (steps[0].time or 0)


def test_a_line_printed_twice_is_one() -> None:
    """By the Trainer and by a callback, which rounds differently."""
    text = "{'loss': 2.2818, 'grad_norm': 1.5, 'learning_rate': 2.5e-06, 'epoch': 0.29}\n"
    again = "{'loss': 2.2818, 'learning_rate': 2.5001e-06, 'epoch': 0.29}\n"
    other = "{'loss': 2.1, 'learning_rate': 5e-06, 'epoch': 0.59}\n"
    assert [2.2818, 2.1] == [step.loss for step in _run(text + again + other).steps]


def test_an_evaluation_is_a_mark() -> None:
    """With its loss."""
    marks = _run(hugging_face_log(evaluated=True)).marks
    assert [(MarkKind.EVAL_STARTED, None), (MarkKind.EVAL_ENDED, 2.1045)] == [(m.kind, m.loss) for m in marks]


def test_values_that_are_no_numbers_are_skipped() -> None:
    """Text, lists and None."""
    text = "{'loss': 2.0, 'note': 'a b', 'lrs': [1, 2], 'best': None, 'epoch': 0.5}\n"
    assert (("epoch", 0.5),) == _run(text).steps[0].extras


def test_a_program_called_wrongly_failed_and_says_so() -> None:
    """Of several starts in one file the last one counts."""
    usage = "usage: train.py [-h]\ntrain.py: error: argument --{}: invalid choice: 'x'\n"
    run = _run(usage.format("stage") + usage.format("fp16"))
    failure = run.outcome.failure
    assert failure is not None
    assert (None, OutcomeState.FAILED, "config") == (run.format, run.outcome.state, failure.kind)
    assert "train.py: error: argument --fp16: invalid choice: 'x'" == failure.error
