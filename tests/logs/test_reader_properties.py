"""What holds for every log: properties of the reader."""

import gzip
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.logs.facts import RunLog
from bot.logs.ledger import time_ledger
from bot.logs.reader import LogReader, read_log
from bot.logs.scanner import BLOCK_BYTES, BYTES_AFTER, BYTES_BEFORE
from tests.log_writers.maxtext import TRACEBACK, maxtext_log
from tests.log_writers.megatron import megatron_log

MAXTEXT_RUNS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "steps": st.integers(0, 14),
        "step_seconds": st.floats(0.004, 30),
        "hosts": st.integers(1, 3),
        "clock": st.sampled_from(["dispatch", "flush"]),
        "checkpoints": st.booleans(),
        "exit_code": st.sampled_from([None, 0, 1, 137]),
        "failure": st.sampled_from([None, TRACEBACK]),
        "eval_after": st.sampled_from([None, 4]),
        "lm_loss": st.booleans(),
        "framed": st.booleans(),
        "seed": st.integers(0, 99),
    }
)

LOGS = st.one_of(
    MAXTEXT_RUNS.map(lambda options: maxtext_log(**options)), st.just(megatron_log(fork="primus"))
)

FRAGMENTS = st.sampled_from(
    [
        "completed step: 3, seconds: 0.1", "XPK Start: ", "EXIT_CODE=",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 1, in f\n', "I0421 10:17:39.824857 1 a.py:1] ", "number parameters: 1",
        "Using (GB) ", '{"perf/step_time_seconds"', "| consumed samples: 3", "\x1b[", "\0", "9" * 5000,
        "Sat Apr 31 25:61:99 UTC 2026", "2026-13-45T99:99:99Z ", "\r\n", "}", '"',
        "I9999 99:99:99.9 1 a.py:1] completed step: 1, seconds: 1.000\n",
    ]
)  # fmt: skip

GARBLED = st.lists(st.one_of(FRAGMENTS.map(str.encode), st.binary(max_size=40)), max_size=30).map(b"".join)


def _cut(content: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield content[at : at + size]
        at += size
    yield content[at:]


def _without_offsets(runs: tuple[RunLog, ...]) -> list[str]:
    """The runs without offsets and excerpts, as text, because NaN equals nothing."""
    found = []
    for run in runs:
        failure = run.outcome.failure and replace(run.outcome.failure, offset=0, excerpt="")
        steps = tuple(replace(step, offset=0) for step in run.steps)
        marks = tuple(replace(mark, offset=0) for mark in run.marks)
        memory = tuple(replace(device, offset=0) for device in run.memory)
        outcome = replace(run.outcome, failure=failure)
        found.append(repr(replace(run, steps=steps, marks=marks, memory=memory, outcome=outcome)))
    return found


@given(LOGS, st.lists(st.integers(0, 5000), max_size=20))
@settings(max_examples=40, deadline=None)
def test_the_answer_does_not_depend_on_the_chunks(log: str, sizes: list[int]) -> None:
    """However the stream is cut, the same runs come out."""
    whole = read_log([log.encode()], "x")
    assert repr(whole) == repr(read_log(_cut(log.encode(), sizes), "x"))


@given(st.integers(0, BYTES_BEFORE + BYTES_AFTER + 5000), st.integers(1, 300_000))
@settings(max_examples=10, deadline=None)
def test_the_answer_does_not_depend_on_where_the_buffer_ends(lead: int, size: int) -> None:
    """Noise of any length in front moves the log over every border of the buffer."""
    noise = b"x" * (BLOCK_BYTES - 3000 + lead) + b"\n"
    content = noise + maxtext_log(eval_after=4).encode()
    pieces = [content[n : n + size] for n in range(0, len(content), size)]
    plain = _without_offsets(read_log([maxtext_log(eval_after=4).encode()], "x"))
    assert plain == _without_offsets(read_log(pieces, "x"))


@given(LOGS)
@settings(max_examples=30, deadline=None)
def test_gzip_changes_nothing(log: str) -> None:
    """A packed log says what the plain one says."""
    assert repr(read_log([log.encode()], "x")) == repr(read_log([gzip.compress(log.encode())], "x"))


@given(MAXTEXT_RUNS)
@settings(max_examples=40, deadline=None)
def test_a_log_pasted_on_one_line_gives_the_same_facts(options: dict[str, Any]) -> None:
    """Line breaks that became blanks, or that a terminal doubled, lose nothing."""
    many = _without_offsets(read_log([maxtext_log(**options).encode()], "x"))
    assert many == _without_offsets(read_log([maxtext_log(**options, crlf=True).encode()], "x"))
    flat = _without_offsets(read_log([maxtext_log(**options, flat=True).encode()], "x"))
    assert many == flat


@given(GARBLED, st.lists(st.integers(0, 200), max_size=5))
@settings(max_examples=150, deadline=None)
def test_no_bytes_raise(content: bytes, sizes: list[int]) -> None:
    """Anything can be fed; one answer at least comes out, and its ledger can be drawn."""
    runs = read_log(_cut(content, sizes), "x")
    assert runs
    assert repr(runs) == repr(read_log([content], "x"))
    for run in runs:
        time_ledger(run, 0.1, (3,))


@given(st.binary(max_size=400))
@settings(max_examples=60, deadline=None)
def test_no_gzip_raises(content: bytes) -> None:
    """Data that only begins like gzip is damaged gzip."""
    assert read_log([b"\x1f\x8b\x08\x00", content], "x")


@given(MAXTEXT_RUNS, st.floats(0.01, 5), st.sets(st.integers(0, 12)))
@settings(max_examples=60, deadline=None)
def test_the_ledger_adds_up_to_the_wall_time(options: dict[str, Any], steady: float, kept: set[int]) -> None:
    """Every second of the run is in exactly one phase, and none is negative."""
    (run,) = read_log([maxtext_log(**options | {"framed": True}).encode()], "x")[:1]
    phases = time_ledger(run, steady, tuple(sorted(kept)))
    times = [mark.time for mark in run.marks if mark.time is not None]
    times += [step.time for step in run.steps if step.time is not None]
    if phases:
        assert abs(sum(phase.seconds for phase in phases) - (max(times) - min(times))) < 1e-6
        assert all(phase.seconds > -1e-6 for phase in phases)
        assert "residual" == phases[-1].name


def test_the_work_is_linear_in_the_size_of_the_log() -> None:
    """No byte is searched twice but a margin, whatever the size of the chunks, on one line or many."""
    for size in (1000, 65_536, 1_000_000):
        reader = LogReader("x")
        total = 0
        while total < 5_000_000:
            reader.feed(b"a completed stop, no step" * (size // 25))
            total += size // 25 * 25
        reader.close()
        assert reader.searched < 1.2 * total
