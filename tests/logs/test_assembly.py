"""Hosts that print into one log without a label, runs that start again, logs of many runs."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs import assembly
from bot.logs.assembly import is_interleaved
from bot.logs.facts import RunLog, Step
from bot.logs.reader import read_log
from bot.logs.segments import LogSegment

START = 1_776_765_600.0


def _numbered(*numbers: int) -> tuple[Step, ...]:
    return tuple(Step(step=number) for number in numbers)


def _blocks(size: int, count: int = 20) -> list[int]:
    return list(chain.from_iterable([*range(at, at + size)] * 2 for at in range(0, count, size)))


@pytest.mark.parametrize(
    "numbers",
    [
        [place // 2 for place in range(40)],
        [place // 3 for place in range(60)],
        [0, *chain.from_iterable((place, place - 1) for place in range(1, 20)), 19],
        _blocks(5),
        [*_blocks(4), 20, 21],
    ],
    ids=["in turns", "three", "a step apart", "five lines at once", "one ends early"],
)
def test_several_hosts_are_recognised(numbers: list[int]) -> None:
    """Nearly every step is printed once per host, and each return goes to a later step."""
    assert is_interleaved(_numbered(*numbers))


@pytest.mark.parametrize(
    "numbers",
    [
        [*range(10), *range(5, 20)],
        [*range(10), *range(10)],
        [*range(6)] * 6,
        [*range(9), *range(5, 15), *range(10, 19), *range(15, 20)],
        [*range(20)],
    ],
    ids=["restart", "twice", "crash loop", "elastic", "none"],
)
def test_runs_that_start_again_are_one_host(numbers: list[int]) -> None:
    """They repeat only the lost steps, or all of them from the same step on."""
    assert not is_interleaved(_numbered(*numbers))


def test_a_slow_return_to_an_earlier_step_is_a_restart() -> None:
    """A job that is preempted often repeats nearly every step as well, but has to compile."""
    numbers = list(chain.from_iterable(range(at, at + 4) for at in range(0, 60, 2)))
    assert is_interleaved(_numbered(*numbers))
    times, now = [], START
    for before, number in zip([-1, *numbers], numbers, strict=False):
        now += 0.2 if number > before else 40.0
        times.append(now)
    dated = tuple(Step(step=number, time=time) for number, time in zip(numbers, times, strict=True))
    assert not is_interleaved(dated)


@given(st.lists(st.integers(0, 30), max_size=8), st.integers(1, 6))
def test_restarts_from_checkpoints_are_never_hosts(lifetimes: list[int], period: int) -> None:
    """Whatever the lifetime of each attempt: a start takes longer than a step."""
    steps, at, now = [], 0, START
    for lifetime in lifetimes:
        now += 30
        for number in range(at, at + lifetime):
            now += 0.2
            steps.append(Step(step=number, time=now))
        at = max(0, (at + lifetime) // period * period - period)
    assert not is_interleaved(tuple(steps))


def _bare(step: int, *, loss: float, host: int) -> str:
    seconds = 0.2 + 0.0001 * host
    return (
        f"completed step: {step}, seconds: {seconds:.4f}, TFLOP/s/device: 67.9, "
        f"Tokens/s/device: {2048 / seconds:.3f}, total_weights: 65536, loss: {loss:.3f}\n"
    )


def _read(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "two.log")
    return run


def test_two_hosts_with_losses_of_their_own_are_one_run_without_restarts() -> None:
    """The first line of each step is used, and a warning names several hosts."""
    lines = [_bare(step, loss=9 - step / 10 + host / 7, host=host) for step in range(20) for host in (0, 1)]
    run = _read("".join(lines))
    assert [step.step for step in run.steps] == list(range(20))
    assert run.steps_seen == 20
    assert [step.loss for step in run.steps] == [round(9 - step / 10, 3) for step in range(20)]
    assert len([text for text in run.warnings if "several hosts print into this log" in text]) == 1
    assert not any("goes back" in text for text in run.warnings)


def test_a_host_that_lags_is_no_restart() -> None:
    """One host two steps ahead of the other, the loss the same on both."""
    pairs = [(step, 0) for step in range(2)]
    for step in range(18):
        pairs += [(step, 1), (step + 2, 0)]
    pairs += [(18, 1), (19, 1)]
    run = _read("".join(_bare(step, loss=9 - step / 10, host=host) for step, host in pairs))
    assert [step.step for step in run.steps] == list(range(20))


def test_a_restart_is_still_a_restart() -> None:
    """The warning about it stays."""
    numbers = [*range(12), *range(10, 20)]
    run = _read("".join(_bare(step, loss=9 - step / 10, host=0) for step in numbers))
    assert any("goes back from 11 to 10" in text for text in run.warnings)


def test_a_log_of_many_starts_is_sorted_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of each start are read once. It is an attempt of the run that shares one of them."""
    asked: list[LogSegment] = []
    names = assembly._run_names

    def counted(segment: LogSegment) -> assembly.RunNames:
        asked.append(segment)
        return names(segment)

    monkeypatch.setattr(assembly, "_run_names", counted)
    run = (
        "XPK Start: Tue Apr {day} 10:16:19 UTC 2026\nConfig param run_name: run_{n}\n"
        "completed step: 0, seconds: 0.2, loss: 3.0\nXPK End: Tue Apr {day} 10:17:19 UTC 2026\nEXIT_CODE=0\n"
    )
    text = "".join(run.format(day=day, n=n) for day in (21, 22) for n in range(300))
    found = read_log([text.encode()], "x")
    assert ([2] * 300, 600) == ([run.attempts for run in found], len(asked))
