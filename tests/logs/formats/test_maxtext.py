"""Step lines: every form, what is glued to them, what is cut off, and very many of them."""

import re

import pytest
from msgspec.structs import replace

from bot.logs.facts import MarkKind, OutcomeState, RunLog, Step, StepKind
from bot.logs.reader import read_log
from tests.log_writers.maxtext import maxtext_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "test.log")
    return run


def _lines(*lines: str) -> tuple[Step, ...]:
    return tuple(replace(step, offset=0) for step in _run("\n".join((*lines, ""))).steps)


LINES = {
    "completed step: 7, seconds: 2.167, TFLOP/s: 36.722, loss 2.191":
        Step(step=7, seconds=2.167, tflops_per_device=36.722, loss=2.191),
    "completed step: 7, seconds: 2.167, TFLOP/s/device: 36.722, Tokens/s/device: 7.500, loss: 2.191":
        Step(step=7, seconds=2.167, tflops_per_device=36.722, tokens_per_device=7.5, loss=2.191),
    "completed step: 7, seconds: 0.100, live slice count: 2, loss: nan, moe_lb_loss: 0.012345":
        Step(step=7, seconds=0.1, loss=float("nan"),
             extras=(("live slice count", 2.0), ("moe_lb_loss", 0.012345))),
    "[Rampup Batch Size Phase], completed step: 7, seconds: 0.100, total_weights: 4096, loss: 2.000":
        Step(step=7, seconds=0.1, total_weights=4096.0, loss=2.0, kind=StepKind.RAMP_UP),
    "[Rampup Batch Size Phase]: completed step: 7, seconds: 0.100, loss: 2.000":
        Step(step=7, seconds=0.1, loss=2.0, kind=StepKind.RAMP_UP),
    "completed profiler activation/deactivation step: 7, total_weights: 4096, loss: 2.000":
        Step(step=7, total_weights=4096.0, loss=2.0, kind=StepKind.PROFILED),
    "completed step: 7, loss: 0.693, lm_loss: 0.000, perplexity: 0.000, reward_accuracy: 0.500":
        Step(step=7, loss=0.693, extras=(("reward_accuracy", 0.5),)),
    "completed step: 7, seconds: 0.100, loss: 2.000, indexer_loss: 0.12345678901":
        Step(step=7, seconds=0.1, loss=2.0, extras=(("indexer_loss", 0.12345678901),)),
    "Completed step: 7, learning_rate: 0.001, loss: 2.000, step_time: 0.500, tflops: 9.000":
        Step(step=7, seconds=0.5, tflops_per_device=9.0, loss=2.0, extras=(("learning_rate", 0.001),)),
    "step 7 | step_time=1.23s | TFLOPs/s/device: 45.60 (student=30.00, teacher=15.60)":
        Step(step=7, seconds=1.23, tflops_per_device=45.6),
    "completed 7, per-step scalar metrics {'learning/loss': 2.5, 'perf/step_time_seconds': 0.25}":
        Step(step=7, seconds=0.25, loss=2.5),
    '{"step": 7.0, "perf/step_time_seconds": 0.25, "learning/loss": 2.5, "learning/grad_norm": 1.5}':
        Step(step=7, seconds=0.25, loss=2.5, extras=(("learning/grad_norm", 1.5),)),
    "completed step: 7, seconds: 0.100, loss: 2.0002026-04-18 00:54:48.104797: E external": # a glued date
        Step(step=7, seconds=0.1, loss=2.0),
    "completed step: 7, seconds: 0.100, loss: 2.0003: completed":
        Step(step=7, seconds=0.1, loss=2.0),
    "completed step: 7, seconds: 37.835,  TFLOP/s/device: 5.000 [repeated 9x across cluster]":
        Step(step=7, seconds=37.835, tflops_per_device=5.0),
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES.items())
def test_every_form_of_the_step_line_is_read(line: str, expected: Step) -> None:
    """The forms since 2022, their siblings, and what gets glued to them."""
    assert [repr(expected)] == [repr(step) for step in _lines(line)]


def test_two_records_on_one_line_are_two_steps() -> None:
    """A missing line break loses nothing."""
    line = "completed step: 1, seconds: 0.100, loss: 2.000completed step: 2, seconds: 0.200, loss: 1.000\n"
    assert [(1, 0.1, 2.0), (2, 0.2, 1.0)] == [(s.step, s.seconds, s.loss) for s in _run(line).steps]


def test_a_number_cut_by_the_end_of_the_log_is_not_a_fact() -> None:
    """However far the last record is cut, no plausible number comes of it."""
    whole = maxtext_log(exit_code=None, framed=False)
    start = whole.rindex("completed step: 9")
    for end in range(start + 1, len(whole) - 1):
        run = _run(whole[:end])
        assert 8 == run.outcome.last_step, whole[start:end]
    assert 9 == _run(whole[: len(whole) - 1]).outcome.last_step
    assert 9 == _run(whole).outcome.last_step


def test_a_long_run_keeps_its_start_and_its_end() -> None:
    """Memory is bounded; a warning counts the dropped steps."""
    line = "completed step: {}, seconds: 0.500, loss: 2.000\n"
    run = read_log((line.format(n).encode() for n in range(60_000)), "long")[0]
    assert (60_000, 51_000) == (run.steps_seen, len(run.steps))
    assert (0, 999, 10_000, 59_999) == tuple(run.steps[n].step for n in (0, 999, 1000, -1))
    assert run.mean_seconds_after_first == pytest.approx(0.5)
    assert any("9000 of 60000 step lines" in warning for warning in run.warnings)


def test_a_rewind_keeps_all_steps_in_order() -> None:
    """An elastic run goes back to its checkpoint; both passes are there, and the restore is marked."""
    line = "completed step: {}, seconds: 0.100, loss: 2.000\n"
    text = (
        line.format(9)
        + line.format(10)
        + "Restoring checkpoint from gs://b/checkpoints/8.\n"
        + line.format(9)
    )
    run = _run(text)
    assert [9, 10, 9] == [step.step for step in run.steps]
    assert [(MarkKind.RESTORED, 8)] == [(mark.kind, mark.step) for mark in run.marks]
    assert any("goes back from 10 to 9" in warning for warning in run.warnings)


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("20", 20),
        ("999999999", 999_999_999),
        ("1000000000", None),
        ("1000000000000002", None),
        ("9" * 200, None),
    ],
)
def test_the_number_of_steps_is_read_whole_or_not_at_all(digits: str, expected: int | None) -> None:
    """A number that was cut to fit is one that the log does not state."""
    text = maxtext_log(config=[f"Config param steps: {digits}"], checkpoints=False)
    assert _run(text).outcome.expected_steps == expected


def test_a_step_number_that_no_training_has_is_left_out_with_a_warning() -> None:
    """The lines around it are read."""
    line = "completed step: {}, seconds: 0.100, loss: 2.000\n"
    run = _run(line.format(0) + line.format("9" * 5000) + line.format(1) + line.format(2))
    assert [0, 1, 2] == [step.step for step in run.steps]
    assert (
        "A step line whose step number has more than 12 digits was left out: no training has as many steps.",
    ) == run.warnings


@pytest.mark.parametrize("slices", ["2", "16", "{0, 1}", "[0, 1]", "None"])
def test_an_elastic_runs_rates_are_read_behind_its_slices(slices: str) -> None:
    """Whatever stands between the seconds and the rates."""
    plain = maxtext_log(steps=12)
    elastic = re.sub(r"(ompleted step: \d+, seconds: [\d.]+)", rf"\1, live slice count: {slices}", plain)
    (one,), (other,) = read_log([plain.encode()], "x"), read_log([elastic.encode()], "x")
    assert [(s.seconds, s.tflops_per_device, s.tokens_per_device, s.loss) for s in one.steps] == [
        (s.seconds, s.tflops_per_device, s.tokens_per_device, s.loss) for s in other.steps
    ]


def _metrics(steps: int, *files: tuple[int, int], period: int | None = None) -> str:
    """JSON lines of metrics, and what the program says of the files that it wrote."""
    record = '{{"learning/loss": {}, "perf/step_time_seconds": 0.5, "step": {}.0, "run_name": "x"}}\n'
    lines = [record.format(9.0 - 0.1 * n, n) for n in range(steps)]
    lines += [
        f"File metrics_step_{first:06}_to_step_{last:06}.txt moved successfully!\n" for first, last in files
    ]
    return (f"Config param log_period: {period}\n" if period else "") + "".join(lines)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (_metrics(10), OutcomeState.INCOMPLETE),
        (_metrics(10, (0, 9), period=100), OutcomeState.SUCCEEDED),
        (_metrics(10, (0, 9), period=10), OutcomeState.INCOMPLETE),
        (_metrics(13, (0, 4), (5, 9), (10, 12)), OutcomeState.SUCCEEDED),
        (_metrics(10, (0, 4), (5, 9)), OutcomeState.INCOMPLETE),
        (_metrics(9, (0, 9), period=100), OutcomeState.INCOMPLETE),
    ],
)
def test_metrics_are_complete_where_a_file_ends_before_its_period(text: str, state: OutcomeState) -> None:
    """MaxText writes one at the end of every period, and one at the last step."""
    (run,) = read_log([text.encode()], "x")
    assert state is run.outcome.state
