"""The logs of neighbouring trainers: steps, losses, times, how they end."""

from collections.abc import Callable

import pytest

from bot.logs.facts import OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers import neighbours

LOSSES = list(neighbours.LOSSES)


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


Facts = tuple[str, list[int], float | None, int | None]

RUNS: dict[str, tuple[str, Facts]] = {
    "olmo": (neighbours.olmo_log(), ("olmo", [1, 2, 3, 4, 5, 6], None, 6)),
    "olmo-core": (neighbours.olmo_log(core=True), ("olmo", [1, 2, 3, 4, 5, 6], None, 6)),
    "nanochat": (neighbours.nanochat_log(), ("nanochat", [0, 1, 2, 3, 4, 5], 0.46178, 6)),
    "nanochat, old": (neighbours.nanochat_log(old=True), ("nanochat", [0, 1, 2, 3, 4, 5], 0.46178, 6)),
    "litgpt": (neighbours.litgpt_log(), ("litgpt", [1, 2, 3, 4, 5, 6], 0.106, None)),
    "lit-gpt": (neighbours.litgpt_log(old=True), ("litgpt", [1, 2, 3, 4, 5, 6], 0.106, None)),
    "lightning": (neighbours.lightning_log(), ("lightning", list(range(1, 13)), None, None)),
    "lightning, rich": (neighbours.lightning_log(rich=True), ("lightning", list(range(1, 13)), None, None)),
    "composer": (neighbours.composer_log(), ("composer", [1, 2, 3, 4, 5, 6], None, 6)),
    "composer, tokens": (neighbours.composer_log(tokens=True), ("composer", [1, 2, 3, 4, 5, 6], None, None)),
    "pax": (neighbours.pax_log(), ("pax", [10, 20, 30, 40, 50, 60], 1 / 0.506, 60)),
    "t5x": (neighbours.t5x_log(), ("t5x", [100, 200, 300, 400, 500, 600], 1 / 1.256, 600)),
    "keras": (neighbours.keras_log(), ("keras", [6, 12], 0.042, 12)),
    "keras, bar": (neighbours.keras_log(style="bar"), ("keras", list(range(1, 13)), 0.042, 12)),
    "keras 2": (neighbours.keras_log(style="old"), ("keras", list(range(1, 13)), 0.042, 12)),
    "ms-swift": (neighbours.ms_swift_log(), ("ms_swift", [5, 10, 15, 20, 25, 30], 2.0, 30)),
    "ms-swift, file": (neighbours.ms_swift_log(jsonl=True), ("ms_swift", [5, 10, 15, 20, 25, 30], 2.0, 30)),
    "axolotl": (neighbours.axolotl_log(), ("hugging_face", [1, 2, 3, 4, 5, 6], None, None)),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_whole_run_is_read_right(name: str) -> None:
    """Format, steps, the last step's time, the expected number of steps, and success."""
    text, (log_format, steps, seconds, expected) = RUNS[name]
    run = _run(text)
    assert log_format == run.format
    assert steps == [step.step for step in run.steps]
    assert LOSSES[-1] == pytest.approx(run.steps[-1].loss, abs=1e-3)
    assert seconds == (pytest.approx(run.steps[-1].seconds, rel=1e-3) if run.steps[-1].seconds else None)
    assert (OutcomeState.SUCCEEDED, expected) == (run.outcome.state, run.outcome.expected_steps)


UNFINISHED: dict[str, Callable[..., str]] = {
    "olmo": neighbours.olmo_log, "nanochat": neighbours.nanochat_log, "litgpt": neighbours.litgpt_log,
    "lightning": neighbours.lightning_log, "composer": neighbours.composer_log, "pax": neighbours.pax_log,
    "t5x": neighbours.t5x_log, "ms-swift": neighbours.ms_swift_log, "axolotl": neighbours.axolotl_log,
}  # fmt: skip

STATES_THE_END = {"olmo", "nanochat", "composer", "t5x", "ms-swift"}
"""Whose lines state how many steps there are: the last one is the end."""


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_run_without_its_end_is_incomplete(name: str) -> None:
    """Unless the lines state the number of steps, and the last one is there."""
    state = _run(UNFINISHED[name](ending=False)).outcome.state
    assert state is (OutcomeState.SUCCEEDED if name in STATES_THE_END else OutcomeState.INCOMPLETE)


@pytest.mark.parametrize("style", ["bar", "text", "json"])
def test_torchtune_has_its_steps(style: str) -> None:
    """In its bar and in both kinds of file; it says nothing of its end."""
    run = _run(neighbours.torchtune_log(style=style))
    assert ("torchtune", LOSSES) == (run.format, [step.loss for step in run.steps])
    assert [1, 2, 3, 4, 5, 6] == [step.step for step in run.steps]
    assert OutcomeState.INCOMPLETE is run.outcome.state


def test_what_else_the_lines_state() -> None:
    """Rates, memory, device, perplexity, means that a program states."""
    olmo, core = _run(neighbours.olmo_log()), _run(neighbours.olmo_log(core=True))
    assert (12345.0, 1234.0, 39813.0) == (
        olmo.steps[0].tokens_per_device, olmo.steps[0].perplexity, olmo.max_allocated_mb,
    )  # fmt: skip
    assert dict(core.steps[0].extras)["throughput/total tokens"] == pytest.approx(1.678e9)
    chat = _run(neighbours.nanochat_log())
    assert ("NVIDIA H100 80GB HBM3", 75422.02) == (chat.environment.device_kind, chat.max_allocated_mb)
    assert pytest.approx(0.05) == _run(neighbours.lightning_log()).stated_mean_seconds
    assert pytest.approx(10.0) == _run(neighbours.axolotl_log()).stated_mean_seconds


def test_the_speed_of_a_resumed_run_gives_no_step_time() -> None:
    """It counts from the step resumed at, which the line does not state."""
    text = neighbours.ms_swift_log().replace("/30'", "/930'")
    shifted = text
    for step in (5, 10, 15, 20, 25, 30):
        shifted = shifted.replace(f"'{step}/930'", f"'{900 + step}/930'")
    assert all(step.seconds is None for step in _run(shifted).steps)


def test_the_bars_rate_is_the_trainers_step_time() -> None:
    """Where no line has a time of its own."""
    bar = "  50%|█████     | 5/10 [00:10<00:10,  2.00s/it]"
    text = "\r\r{'loss': 2.0, 'grad_norm': 1.0, 'epoch': 0.5}\n\r" + bar + "\n"
    assert [2.0] == [step.seconds for step in _run(text).steps]
