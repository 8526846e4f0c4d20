"""MLPerf's lines, and NeMo's own."""

import pytest

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.mlperf import mlperf_log
from tests.log_writers.nemo import nemo_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


def test_a_timed_step_is_numbered_by_its_tokens() -> None:
    """The counter of 4194304 tokens a step becomes 1, 2, 3 …"""
    run = _run(mlperf_log())
    assert ("mlperf", OutcomeState.SUCCEEDED, 24) == (run.format, run.outcome.state, len(run.steps))
    assert list(range(1, 25)) == [step.step for step in run.steps]
    assert {(11.05, None)} == {(step.seconds, step.loss) for step in run.steps}
    assert 11.05 == pytest.approx((run.steps[1].time or 0) - (run.steps[0].time or 0))
    assert "DGX-H100" == run.environment.device_kind
    assert () == run.warnings


def test_eval_accuracy_is_a_loss() -> None:
    """It is above one: no accuracy is."""
    ended = [mark.loss for mark in _run(mlperf_log()).marks if mark.kind is MarkKind.EVAL_ENDED]
    assert [2.7511, 2.7392] == ended


@pytest.mark.parametrize("bracketed", [False, True])
def test_where_only_blocks_are_timed_a_block_is_a_step_line(bracketed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A step's seconds are its block's, shared evenly; a warning says so."""
    run = _run(mlperf_log(timed=False, bracketed=bracketed))
    assert [(12, 2.7511), (24, 2.7392)] == [(step.step, step.loss) for step in run.steps]
    assert [11.05, 11.05] == pytest.approx([step.seconds for step in run.steps])
    assert any("blocks of steps" in warning for warning in run.warnings)


def test_lines_that_a_reader_prints_once_more_are_not_counted() -> None:
    """They stand behind the run and out of order."""
    once, twice = _run(mlperf_log(timed=False)), _run(mlperf_log(timed=False, repeated=True))
    assert once == twice


def test_a_run_that_was_aborted_says_so() -> None:
    """The status of its last event."""
    assert OutcomeState.STOPPED is _run(mlperf_log(status="aborted")).outcome.state


def test_without_an_end_it_is_incomplete() -> None:
    """The last event is missing."""
    text = mlperf_log()
    assert OutcomeState.INCOMPLETE is _run(text[: text.index("run_stop") - 200]).outcome.state


@pytest.mark.parametrize("version", [1, 2])
def test_nemo_prints_steps_with_times_and_losses(version: int) -> None:
    """As lines, or as a bar that is drawn again and again."""
    run = _run(nemo_log(version=version))
    assert ("nemo", OutcomeState.SUCCEEDED, 3) == (run.format, run.outcome.state, run.outcome.expected_steps)
    assert [(0, 11.03, 23.1), (1, 10.9, 23.11), (2, 10.8, 23.12)] == [
        (step.step, step.loss, step.seconds) for step in run.steps
    ]


def test_broken_json_is_skipped() -> None:
    """Whatever stands behind the literal."""
    assert (
        OutcomeState.NOT_A_TRAINING_LOG
        is _run(':::MLLOG {"key": [[[\n:::MLLOG {}}\n:::MLLOG {"a"').outcome.state
    )
