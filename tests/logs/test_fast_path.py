"""The fast path gives what the slow path gives, and reads most of a long log."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.logs.fast_path import FastPath, line_opening
from bot.logs.reader import LogReader, read_log
from tests.log_writers.maxtext import maxtext_log

Mutation = Callable[[list[str], int], None]


def _replace(old: str, new: str) -> Mutation:
    def change(lines: list[str], at: int) -> None:
        lines[at] = lines[at].replace(old, new, 1)

    return change


def _insert(line: str) -> Mutation:
    def change(lines: list[str], at: int) -> None:
        lines.insert(at, line)

    return change


def _cut(lines: list[str], at: int) -> None:
    lines[at] = lines[at][: len(lines[at]) // 2]


def _glue(lines: list[str], at: int) -> None:
    lines[at] += lines[at // 2]


def _again(lines: list[str], at: int) -> None:
    lines.insert(at, lines[at // 2])


MUTATIONS: list[Mutation] = [
    _cut,
    _glue,
    _again,
    _replace(" ", " \x1b[36m"),
    _replace(": ", ":\0 "),
    _replace("I0421", "I1231"),
    _replace("I0421", "I0101"),
    _replace("loss: ", "loss: -"),
    _insert("I0421 10:17:39.824857 77 a.py:1]"),
    _insert('"message": "'),
    _insert("12: "),
    _insert("147168c3a  ·  main_20260417_235819  ·  full log"),
    _insert("main (574ad3fb9) vs feat/M (574ad3fb8)"),
    _insert("XPK Start: Fri Jan 1 10:16:19 UTC 2027"),
    _insert("I0101 00:00:00.000001 136682829195072 a.py:2] [process=3] hello"),
    _insert("\x1b]8;;http://x"),
]

MAXTEXT_RUNS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "steps": st.sampled_from([3, 14, 30]),
        "hosts": st.integers(1, 3),
        "checkpoints": st.booleans(),
        "lm_loss": st.booleans(),
        "framed": st.booleans(),
        "crlf": st.booleans(),
        "absl": st.booleans(),
        "start": st.sampled_from(["2026-04-21T10:16:19", "2026-12-31T23:58:30"]),
        "host_prefix": st.sampled_from(
            ["", "[pod/mt-04-slice-job-0-{host}-abcde/jax-tpu] ", "{host}: ", "worker-{host}  | ",
             "2026-07-30T19:22:14.580032463Z ", "[rank{host}]: "]
        ),
    }
)  # fmt: skip

CHANGES = st.lists(st.tuples(st.sampled_from(MUTATIONS), st.integers(0, 10_000)), max_size=8)


@given(st.lists(MAXTEXT_RUNS, min_size=1, max_size=2), CHANGES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_fast_path_gives_what_the_slow_path_gives(
    monkeypatch: pytest.MonkeyPatch, scenes: list[dict[str, Any]], changes: list[tuple[Mutation, int]]
) -> None:
    """Logs of several hosts, years and runs, damaged anywhere, read with and without the fast path."""
    lines = "".join(maxtext_log(**options) for options in scenes).split("\n")
    for change, place in changes:
        change(lines, place % len(lines))
    content = "\n".join(lines).encode()
    fast = read_log([content], "x")
    with monkeypatch.context() as patched:
        patched.setattr(FastPath, "skippers", lambda _: {})
        careful = read_log([content], "x")
    assert repr(careful) == repr(fast)


@given(st.lists(st.sampled_from([0.0, 1.5, float("nan"), 8.125]), min_size=3, max_size=20))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_zero_and_nan_losses_are_read_alike_on_both_paths(
    monkeypatch: pytest.MonkeyPatch, losses: list[float]
) -> None:
    """Some fields print zero for an absent value; NaN has no digits."""
    content = maxtext_log(steps=len(losses), losses=losses, lm_loss=True).encode()
    fast = read_log([content], "x")
    with monkeypatch.context() as patched:
        patched.setattr(FastPath, "skippers", lambda _: {})
        careful = read_log([content], "x")
    assert repr(careful) == repr(fast)


def _slow_path_count(content: str) -> int:
    reader = LogReader("x")
    reader.feed(content.encode())
    reader.close()
    return reader.slow_path_matches


@pytest.mark.parametrize("host_prefix", ["", "[pod/mt-04-slice-job-0-{host}-abcde/jax-tpu] ", "{host}: "])
def test_step_lines_take_the_slow_path_once_per_host(host_prefix: str) -> None:
    """Nine hundred more step lines on each of two hosts take the fast path."""
    few = _slow_path_count(maxtext_log(steps=100, hosts=2, host_prefix=host_prefix, checkpoints=False))
    many = _slow_path_count(maxtext_log(steps=1_000, hosts=2, host_prefix=host_prefix, checkpoints=False))
    assert few == many


def test_a_run_that_diverged_is_read_as_fast_as_another() -> None:
    """A loss that is no number has a place in the layout of a line."""
    few, many = (
        _slow_path_count(maxtext_log(steps=steps, losses=[float("nan")] * steps, checkpoints=False))
        for steps in (100, 1_000)
    )
    assert few == many


@pytest.mark.parametrize("framed", [True, False])
def test_a_line_without_a_loss_that_is_printed_twice_is_one_step(*, framed: bool) -> None:
    """A loss that is no number equals itself here: the second line is no restart."""
    log = maxtext_log(steps=12, losses=[float("nan")] * 12, framed=framed)
    twice = "".join(line * (1 + ("completed step" in line)) for line in log.splitlines(keepends=True))
    (once,), (doubled,) = (read_log([text.encode()], "x") for text in (log, twice))
    assert (once.steps_seen, once.attempts, once.warnings, once.outcome) == (
        doubled.steps_seen,
        doubled.attempts,
        doubled.warnings,
        doubled.outcome,
    )


@pytest.mark.parametrize(
    "fact",
    [
        "EXIT_CODE=1\n",
        "Total number of parameters in billions: 0.91\n",
        "Per train step, total TFLOPs will be 41.15\n",
        "number parameters: 1.104 billion\n",
        "peak memory allocated: 30908 MiB\n",
    ],
)
def test_a_fact_that_is_repeated_without_end_is_read_once(fact: str) -> None:
    """The run has the same facts as without the repetition."""
    content, often = (("\n" + maxtext_log(framed=False) + fact * times).encode() for times in (10, 5_000))
    assert read_log([content], "x") == read_log([often], "x")
    assert _slow_path_count(often.decode()) == _slow_path_count(content.decode())


def test_known_facts_are_not_read_again() -> None:
    """Lines of the checkpoint library on one thread tell its process and the run once."""
    noise = (
        "I0421 10:17:{second:02}.100000 136676547327744 store.py:203] [process=0][thread=handler] Wrote 39 "
        "metadata to gs://runs/linen_xpk_main/checkpoints/0/items\n"
        "I0421 10:17:{second:02}.200000 136682829195072 nnx.py:437] Logical: bfloat16[32]: ('embed').\n"
    )
    log = maxtext_log()
    few = _slow_path_count(log + "".join(noise.format(second=second) for second in range(10)))
    many = _slow_path_count(log + "".join(noise.format(second=second) for second in range(60)))
    assert few == many


def test_the_opening_of_a_line_leaves_the_clock_out() -> None:
    """Two lines of one place begin alike; the clock is handed out beside it, a date in front is kept."""
    stamped = b"x\nI0421 10:17:39.824857 77 a.py:1] hit"
    later = b"x\nI0421 23:59:00.000001 77 a.py:1] hit"
    dated = b"x\n2026-04-21T10:17:39.824857123Z I0421 10:17:39.824857 77 a.py:1] hit"
    words = b"I0421  77 a.py:1] hit"
    assert (words, b"I0421 10:17:", b"39.824857") == line_opening(stamped, len(stamped) - 3, len(stamped))
    assert (words, b"I0421 23:59:", b"00.000001") == line_opening(later, len(later) - 3, len(later))
    found = line_opening(dated, len(dated) - 3, len(dated))
    assert (b"2026-04-21TZ " + words, b"I0421 10:17:", b"39.824857") == found


def test_a_line_whose_meaning_depends_on_the_line_before_has_no_opening() -> None:
    """A stamp alone on its line, the start of an entry, no line at all."""
    assert line_opening(b"x I0421 hit", 8, 11) is None
    for before in (b"a.py:1]", b'"message": "', b"blank "):
        assert line_opening(before + b"\nhit", len(before) + 1, len(before) + 4) is None
    assert (b"hit", b"", b"") == line_opening(b"done\r\nhit", 6, 9)


def test_an_empty_line_does_not_lend_its_label() -> None:
    """srun labels empty lines too; the next line's label is its own host's."""
    log = maxtext_log(hosts=2, host_prefix="{host}: ", absl=False, checkpoints=False)
    (plain,) = read_log([log.encode()], "x")
    (mixed,) = read_log([log.replace("\n0: completed", "\n1: \n0: completed").encode()], "x")
    assert (plain.hosts, plain.steps_seen) == (mixed.hosts, mixed.steps_seen)
