"""What shells, nodes and containers add to a program's output: the same facts, and the time they add."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from bot.logs.facts import RunLog
from bot.logs.reader import read_log
from bot.logs.rules import LINES_BROKEN
from tests.log_writers.maxtext import maxtext_log

START = datetime(2026, 5, 9, 23, 59, 58, tzinfo=UTC)

STEPS = [0.25, 0.26, 0.24, 0.25, 9.5, 0.25]


def _lines(wrap: Callable[[datetime, str], str]) -> str:
    """Bare step lines, each wrapped with the moment of its step."""
    at, lines = START, []
    for step, took in enumerate(STEPS):
        at += timedelta(seconds=took)
        lines.append(
            wrap(at, f"completed step: {step}, seconds: {took:.3f}, TFLOP/s/device: 3.500, loss: 9.100")
        )
    return "\n".join(lines) + "\n"


def _gaps(run: RunLog) -> list[float]:
    times = [step.time for step in run.steps if step.time is not None]
    return [round(after - before, 6) for before, after in pairwise(times)]


def _docker(at: datetime, text: str) -> str:
    return json.dumps({"log": text + "\n", "stream": "stderr", "time": f"{at:%Y-%m-%dT%H:%M:%S.%f}1Z"})


@pytest.mark.parametrize(
    "wrap",
    [
        lambda at, text: f"{at:%Y-%m-%dT%H:%M:%S.%f}321Z stderr F {text}",
        lambda at, text: f"{at:%Y-%m-%dT%H:%M:%S.%f}321Z stdout P {text}",
        lambda at, text: f"{at:%Y-%m-%dT%H:%M:%S.%f}+0000 tpu-vm-3 python3[8812]: {text}",
        _docker,
        lambda at, text: f"{at:%Y-%m-%dT%H:%M:%S.%f}Z {text}",
        lambda at, text: f'time={at:%Y-%m-%dT%H:%M:%S.%f}Z level=info msg="{text}"',
        lambda at, text: f'level=INFO ts="{at:%Y-%m-%d %H:%M:%S.%f}" caller=a.go:7 message="{text}" pod=b',
        lambda at, text: f'{at:%Y-%m-%dT%H:%M:%S.%f}Z,INFO,"{text}"',
        lambda at, text: f'"1qmzk2f8","train, rank 0: {text}",INFO,"{at:%Y-%m-%dT%H:%M:%S.%f}Z",a',
    ],
    ids=[
        "node", "node, a part", "journal", "docker", "kubectl",
        "logfmt", "logfmt, quoted", "csv", "csv, last",
    ],
)  # fmt: skip
def test_the_time_that_a_wrapper_adds_is_the_time_of_the_line(wrap: Callable[[datetime, str], str]) -> None:
    """Without it only the printed seconds would be left, which belong to other steps."""
    (run,) = read_log([_lines(wrap).encode()], "x")
    assert (STEPS[1:], 1) == (_gaps(run), run.hosts)


@pytest.mark.parametrize("width", [80, 81, *range(84, 170, 3)])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_log_broken_at_a_terminals_width_gives_no_wrong_number(width: int, ending: str) -> None:
    """What stands in front of the break is true, what was cut is absent, and a warning says so."""
    lines = maxtext_log(steps=12).splitlines()
    text = ending.join(line[at : at + width] for line in lines for at in range(0, len(line) or 1, width))
    (whole,), (run,) = (read_log([content.encode()], "x") for content in ("\n".join(lines), text))
    known = {step.step: step for step in whole.steps}
    for step in run.steps:
        for name in ("seconds", "tflops_per_device", "tokens_per_device", "total_weights", "loss"):
            assert getattr(step, name) in {None, getattr(known[step.step], name)}, (step, name)
    assert LINES_BROKEN in run.warnings


@pytest.mark.parametrize(
    "line",
    [
        'note="seen 2026-05-09T23:59:58Z" msg="{text}"',
        'msg="since ts=2026-05-09T23:59:58Z on, {text}"',
        '1,"see 2026-05-09T23:59:58Z, {text}",2',
        '1,"{text}","from 2026-05-09T23:59:58Z on",2',
        '"{text}"\n1,2026-05-09T23:59:58Z',
        '2026-05-09T23:59:58Z,1\n2,"{text}"',
    ],
)
def test_a_date_that_is_no_cell_of_its_own_dates_nothing(line: str) -> None:
    """One within a message, or of another line, is somebody's words."""
    text = "\n".join(line.format(text=f"completed step: {n}, seconds: 0.250, loss: 9.1") for n in range(4))
    (run,) = read_log([text.encode()], "x")
    assert [None] * 4 == [step.time for step in run.steps]


def test_hosts_in_one_journal_are_distinguished() -> None:
    """Their names are in front of the program's."""
    wraps = (
        lambda at, text, n=n: f"{at:%Y-%m-%dT%H:%M:%S.%f}+0000 tpu-vm-{n} python3[8812]: {text}"
        for n in (0, 1)
    )
    both = [_lines(wrap).splitlines() for wrap in wraps]
    text = "\n".join(line for pair in zip(*both, strict=True) for line in pair)
    (run,) = read_log([text.encode()], "x")
    assert (2, len(STEPS)) == (run.hosts, run.steps_seen)
