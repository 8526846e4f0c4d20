"""Joining the logs of several processes, however their bytes come in pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.runs.clusters.progress import expected_steps, last_step
from bot.runs.clusters.xpk.lines import Completeness, marked

MARK = "[pod/p/jax-tpu] "
LINES = st.lists(
    st.sampled_from(["", "a", "XPK Start: now", "XPK End: now", "EXIT_CODE=0", "BENCH_META {}", "é" * 50])
)


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    """The text in pieces."""
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


@given(lines=LINES, cuts=st.lists(st.integers(0, 500), max_size=8))
def test_every_line_is_marked_but_the_frame(lines: list[str], cuts: list[int]) -> None:
    """Where the pieces are cut makes no difference."""
    text = "".join(line + "\n" for line in lines)
    expected = "".join(
        f"{MARK}{line}\n" for line in lines if not line.startswith(("XPK ", "EXIT_CODE=", "BENCH_META "))
    )
    assert expected == b"".join(marked(pieces(text.encode(), cuts), "p", "jax-tpu")).decode()


def test_a_line_without_an_end_gets_one_and_a_long_one_one_mark() -> None:
    """A killed process leaves half a line; a progress bar leaves one of megabytes."""
    assert list(marked([b"a"], "p", "jax-tpu")) == [b"[pod/p/jax-tpu] a\n"]
    long = b"".join(marked([b"x" * 50_000] * 4 + [b"\nb\n"], "p", "jax-tpu")).decode()
    assert long == f"{MARK}{'x' * 200_000}\n{MARK}b\n"


@given(
    steps=st.lists(st.integers(0, 30), max_size=12),
    cuts=st.lists(st.integers(0, 900), max_size=8),
    noise=st.sampled_from(["", "noise\n" * 40]),
)
def test_a_log_is_whole_where_no_step_is_left_out(steps: list[int], cuts: list[int], noise: str) -> None:
    """Steps that repeat or go back are a restart, not a hole; none at all is no log of steps."""
    text = "".join(f"I0418 x] completed step: {number}, seconds: 1\n{noise}" for number in steps).encode()
    seen = Completeness()
    assert text == b"".join(seen.watch(pieces(text, cuts)))
    holes = any(after > before + 1 for before, after in pairwise(steps))
    assert seen.whole is (bool(steps) and not holes)


def test_a_process_that_fell_with_another_does_not_tell_all() -> None:
    """The cause stands in the other one's log."""
    seen = Completeness()
    fell = b"completed step: 0, s\nbecause the JAX distributed service detected fatal errors.\n"
    list(seen.watch([fell[:40], fell[40:]]))
    assert not seen.whole


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("python3 -m train steps=30 run_name=x", 30),
        ("train --steps 30", 30),
        ("train --steps=30'", 30),
        ("train eval_steps=30", None),
        ("train steps=30 && train steps=40", None),
        ("train steps=30 && train steps=30", 30),
        ("train steps=0", None),
        ("train warmup.steps=3", None),
        ("train steps=3.5", None),
        ("", None),
    ],
)
def test_the_expected_steps_are_the_commands(command: str, steps: int | None) -> None:
    """Said once and plainly, or not known."""
    assert steps == expected_steps(command)


def test_the_newest_step_is_the_last_that_is_named() -> None:
    """A step further up is older."""
    assert last_step(b"completed step: 6, x\ncompleted step: 7, y\nnoise") == 7
    assert last_step(b"noise") is None
