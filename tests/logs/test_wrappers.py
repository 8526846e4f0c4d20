"""What shells, nodes and containers make of a program's output: the same facts, and the time they add."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs import grouping
from bot.logs.encoding import NOTE
from bot.logs.episode import Episode
from bot.logs.facts import RunLog, State
from bot.logs.read import LogReader, read_log
from bot.logs.statement import BROKEN
from tests.writing import maxtext_log

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
def test_the_moment_that_a_wrapper_adds_is_the_lines_own(wrap: Callable[[datetime, str], str]) -> None:
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
    assert BROKEN in run.warnings


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


def test_machines_of_one_journal_are_told_apart() -> None:
    """Their names are in front of the program's."""
    wraps = (
        lambda at, text, n=n: f"{at:%Y-%m-%dT%H:%M:%S.%f}+0000 tpu-vm-{n} python3[8812]: {text}"
        for n in (0, 1)
    )
    both = [_lines(wrap).splitlines() for wrap in wraps]
    text = "\n".join(line for pair in zip(*both, strict=True) for line in pair)
    (run,) = read_log([text.encode()], "x")
    assert (2, len(STEPS)) == (run.hosts, run.steps_seen)


WIDE: dict[str, Callable[[str], bytes]] = {
    "PowerShell's": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "the other way round": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "without a mark": lambda text: text.encode("utf-16-le"),
    "the other way round, without a mark": lambda text: text.encode("utf-16-be"),
    "compressed": lambda text: gzip.compress(b"\xff\xfe" + text.encode("utf-16-le")),
}


@pytest.mark.parametrize("form", WIDE)
@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_utf_16_says_what_utf_8_said(form: str, size: int) -> None:
    """A log that PowerShell redirected is a log; that its places are counted in UTF-8 is said."""
    text = maxtext_log(crlf=True)
    content = WIDE[form](text)
    (plain,) = read_log([text.encode()], "x")
    (wide,) = read_log([content[n : n + size] for n in range(0, len(content), size)], "x")
    assert (plain.steps, plain.outcome, plain.environment) == (wide.steps, wide.outcome, wide.environment)
    assert (NOTE, *plain.warnings) == wide.warnings


@given(st.binary(max_size=40), st.integers(1, 7), st.sampled_from([b"\xff\xfe", b"\xfe\xff", b"a\0b\0", b""]))
@settings(max_examples=80, deadline=None)
def test_broken_utf_16_is_an_answer_too(content: bytes, size: int, head: bytes) -> None:
    """Half characters, lone surrogates, marks of other encodings: one run without a step, however cut."""
    whole = head + content
    cut = read_log([whole[n : n + size] for n in range(0, len(whole), size)], "x")
    (run,) = cut
    assert (read_log([whole], "x"), 0, None) == (cut, run.steps_seen, run.format)


def test_utf_32_is_not_taken_for_utf_16() -> None:
    """Its mark begins with that of UTF-16."""
    (run,) = read_log([maxtext_log().encode("utf-32")], "x")
    assert (State.NOT_A_TRAINING_LOG, ("This is binary data, not a log.",)) == (
        run.outcome.state,
        run.warnings,
    )


def _read_with_care(text: str) -> int:
    reader = LogReader("x")
    reader.feed(text.encode())
    reader.close()
    return reader.careful


@pytest.mark.parametrize(
    "words", ["OOMKilled\n", "RESOURCE_EXHAUSTED: ", "Traceback (most recent call last)\n"]
)
def test_an_error_that_is_repeated_without_end_is_read_in_places(words: str) -> None:
    """After two hundred of them, one in 2 KB: a gigabyte of them would take hours."""
    assert _read_with_care(words * 20_000) < 300 + len(words) * 20_000 / 2_000


def test_errors_that_are_apart_are_all_read() -> None:
    """A thousand hosts' logs in one file, one behind the other."""
    trace = (
        'Traceback (most recent call last):\n  File "/deps/maxtext/train.py", line 5, in f\nValueError: 1\n'
    )
    assert _read_with_care((trace + "." * 4_000 + "\n") * 1_000) >= 1_000


def test_words_that_meant_nothing_ten_thousand_times_are_passed_over() -> None:
    """Where they stand glued; the next real line is read."""
    glued = "GiB(" * 100_000
    (run,) = read_log([(glued + "\n" + maxtext_log()).encode()], "x")
    assert (10, State.SUCCEEDED) == (run.steps_seen, run.outcome.state)
    assert _read_with_care(glued) < 11_000


def test_a_log_of_many_starts_is_sorted_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start is asked for its names once, and is an attempt of the run that shares one."""
    asked: list[Episode] = []
    names = grouping._names

    def counted(episode: Episode) -> grouping.Names:
        asked.append(episode)
        return names(episode)

    monkeypatch.setattr(grouping, "_names", counted)
    run = (
        "XPK Start: Tue Apr {day} 10:16:19 UTC 2026\nConfig param run_name: run_{n}\n"
        "completed step: 0, seconds: 0.2, loss: 3.0\nXPK End: Tue Apr {day} 10:17:19 UTC 2026\nEXIT_CODE=0\n"
    )
    text = "".join(run.format(day=day, n=n) for day in (21, 22) for n in range(300))
    found = read_log([text.encode()], "x")
    assert ([2] * 300, 600) == ([run.attempts for run in found], len(asked))
