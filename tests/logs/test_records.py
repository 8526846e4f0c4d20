"""Binary records of metrics: TensorBoard's event files and W&B's offline runs."""

import gzip
import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.facts import OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_corpus import CORPUS
from tests.log_writers.records import tensorboard_file, wandb_file

LOSSES = [3.0, 2.5, 2.25, 2.0]


def _run(content: bytes) -> RunLog:
    (run,) = read_log([content], "x")
    return run


@pytest.mark.parametrize("tensor", [False, True])
def test_an_event_file_has_its_steps(tensor: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """All scalars of a step are one step, whose time is the one that was written."""
    run = _run(tensorboard_file(LOSSES, tensor=tensor))
    assert ("tensorboard", LOSSES) == (run.format, [step.loss for step in run.steps])
    assert [0, 1, 2, 3] == [step.step for step in run.steps]
    assert 2.0 == (run.steps[1].time or 0) - (run.steps[0].time or 0)
    assert dict(run.steps[0].extras)["lr"] == pytest.approx(1e-3)


def test_an_event_file_that_torch_wrote_is_read() -> None:
    """Twelve steps by its SummaryWriter, two seconds apart, some with an evaluation."""
    run = _run((CORPUS / "made" / "tensorboard_ok.tfevents").read_bytes())
    assert (12, 11) == (len(run.steps), run.outcome.last_step)
    assert 1.9 == pytest.approx(run.steps[-1].loss)
    assert 2 == len(run.marks)


@pytest.mark.parametrize(("code", "state"), [(0, "succeeded"), (1, "failed"), (None, "incomplete")])
@pytest.mark.parametrize("padding", [0, 20_000])
def test_an_offline_run_has_its_steps_and_its_end(code: int | None, state: str, padding: int) -> None:
    """Records cross blocks."""
    run = _run(wandb_file(LOSSES, exit_code=code, padding=padding))
    assert ("wandb", LOSSES, state) == (run.format, [step.loss for step in run.steps], run.outcome.state)


def test_an_offline_run_may_diverge() -> None:
    """NaN is a number of JSON to it."""
    outcome = _run(wandb_file([3.0, math.nan])).outcome
    assert OutcomeState.FAILED is outcome.state
    assert outcome.failure is not None
    assert "loss is nan at step 1" == outcome.failure.error


def _cut(content: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield content[at : at + size]
        at += size
    yield content[at:]


FILES = st.sampled_from([tensorboard_file(LOSSES), wandb_file(LOSSES, padding=30_000), wandb_file(LOSSES)])


@given(FILES, st.lists(st.integers(0, 400), max_size=30))
@settings(max_examples=60, deadline=None)
def test_the_answer_does_not_depend_on_the_chunks(content: bytes, sizes: list[int]) -> None:
    """However the file is cut, or packed."""
    whole = repr(read_log([content], "x"))
    assert whole == repr(read_log(_cut(content, sizes), "x"))
    assert whole == repr(read_log([gzip.compress(content)], "x"))


@given(FILES, st.integers(0, 2000), st.binary(max_size=40), st.integers(0, 2000))
@settings(max_examples=150, deadline=None)
def test_damage_raises_nothing(content: bytes, at: int, junk: bytes, end: int) -> None:
    """Bytes that were changed, and an end that is missing."""
    damaged = (content[:at] + junk + content[at + len(junk) :])[: max(end, 50)]
    assert read_log([damaged], "x")


def test_text_that_is_no_record_is_left_alone() -> None:
    """A short log, and one that only names W&B."""
    assert OutcomeState.NOT_A_TRAINING_LOG is _run(b":W&").outcome.state
    assert ["completed"] == [
        word for word in ("completed",) if _run(b"completed step: 1, seconds: 0.1, loss: 2.0\n").steps
    ]
