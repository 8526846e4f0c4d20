"""What head is held against, and which flags main's own runs put in doubt."""

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.verdict.decide import decide
from bot.verdict.judgement import Clock, Steady, Timing, TimingVerdict
from bot.verdict.noise import sift
from bot.verdict.peaks import Family
from bot.verdict.standing import Standing
from bot.verdict.threshold import percent
from tests.verdict.samples import normals

SD = 0.0078
"""Of 20-step windows on a GPU."""

PAST = [exp(SD * z) for z in normals(20, 5)]


def _runs(*percents: float) -> list[Steady]:
    return [Steady(seconds=1 + one / 100, se=0.0, clock=Clock.COMPLETION) for one in percents]


def _decide(base: list[Steady], head: list[Steady], history: list[float], look: int = 1) -> Timing:
    return decide(base, head, family=Family.GPU, history=history, comparable_cases=25, look=look)


def test_mains_runs_stand_beside_a_base_that_agrees_with_them() -> None:
    """Next to nothing of the error is base's any more, so that 5 % is seen with one run a side."""
    found = _decide(_runs(0.2), _runs(5), PAST)
    assert (found.standing, found.main_runs, found.n) == (Standing.MAIN, 20, (1, 1))
    assert found.base_seconds == pytest.approx(exp(sum(map(log, [1.002, *PAST])) / 21))
    assert found.se == pytest.approx(SD * (1 + 1 / 21) ** 0.5, rel=0.3)
    assert found.verdict is TimingVerdict.SLOWER


def test_a_base_run_among_mains_counts_once() -> None:
    """It is the newest of the twenty."""
    past = [PAST[-1], *PAST[:-1]]
    found = _decide([Steady(seconds=past[-1], se=0.0)], _runs(0), past)
    assert (found.standing, found.main_runs, found.history) == (Standing.MAIN, 19, 20)


def test_what_main_became_after_base_says_nothing_of_base() -> None:
    """Only the runs up to base are its level; the noise is of all."""
    found = _decide([Steady(seconds=PAST[12], se=0.0)], _runs(0), PAST)
    assert (found.main_runs, found.history, found.degrees_of_freedom) == (12, 20, 19)


@pytest.mark.parametrize("place", [0, 4])
def test_too_few_runs_up_to_base_are_no_level(place: int) -> None:
    """Then base stands alone, as without history."""
    found = _decide([Steady(seconds=PAST[place], se=0.0)], _runs(0), PAST)
    assert (found.standing, found.main_runs) == (Standing.BASE, 0)


def test_without_history_base_stands_alone() -> None:
    """VERDICT.md to the letter."""
    found = _decide(_runs(0), _runs(0), PAST[:14])
    assert (found.standing, found.main_runs, found.history) == (Standing.BASE, 0, 0)


def test_where_main_moved_with_base_head_is_not_blamed() -> None:
    """Base is 6 % off main's runs and head with it: the same, held against base alone."""
    found = _decide(_runs(6), _runs(6.1), PAST)
    assert (found.standing, found.main_runs) == (Standing.DISPUTED, 0)
    assert found.base_seconds == pytest.approx(1.06)
    assert found.verdict is TimingVerdict.SAME


def test_a_base_run_that_was_off_makes_no_head_faster() -> None:
    """Against main head is as ever: another run of base tells."""
    found = _decide(_runs(8), _runs(0), PAST)
    assert (found.verdict, found.more_runs) == (TimingVerdict.INCONCLUSIVE, 1)
    assert found.reason == (
        f"the only run of base is {percent(log(1.08) - sum(map(log, PAST)) / 20):.2g} % slower than main's "
        "runs before it, and against those head is not faster: another run of base tells whether main moved "
        "or it was off"
    )


def test_two_runs_of_base_are_believed_against_main() -> None:
    """Main moved: head, which is where main was, is faster."""
    found = _decide(_runs(8, 8.1), _runs(0), PAST)
    assert (found.standing, found.verdict) == (Standing.DISPUTED, TimingVerdict.FASTER)


def test_a_head_slower_than_base_and_main_is_slower() -> None:
    """Whatever the matter with base is."""
    assert _decide(_runs(3), _runs(12), PAST).verdict is TimingVerdict.SLOWER


GLITCHED = [*PAST[:9], 1.09, *PAST[10:]]


def test_one_run_as_far_off_as_a_glitch_of_main_is_no_news() -> None:
    """A second one is."""
    found = _decide(_runs(0), _runs(8), GLITCHED)
    assert (found.verdict, found.more_runs) == (TimingVerdict.INCONCLUSIVE, 1)
    assert found.reason.startswith("one of main's runs was 9.1 % slower than the others without a change, ")
    assert _decide(_runs(0), _runs(8, 8.1), GLITCHED, look=2).verdict is TimingVerdict.SLOWER


def test_a_glitch_beside_a_good_run_of_head_is_doubted() -> None:
    """One of two far off may be a glitch as well."""
    found = _decide(_runs(0), _runs(0.1, 14), GLITCHED)
    assert found.verdict is TimingVerdict.INCONCLUSIVE


def test_a_slow_glitch_excuses_nothing_faster_and_nothing_far_slower() -> None:
    """It shows what a slow machine costs, no more."""
    assert _decide(_runs(0), _runs(-6), GLITCHED).verdict is TimingVerdict.FASTER
    assert _decide(_runs(0), _runs(20), GLITCHED).verdict is TimingVerdict.SLOWER


def test_an_honest_history_hardly_ever_loses_a_run() -> None:
    """Grubbs at 0.1 %: of 300 histories of noise at most two do."""
    series = ([exp(SD * z) for z in normals(20, seed)] for seed in range(300))
    assert sum(bool(sift(one).glitches) for one in series) <= 2


times = st.floats(0.9, 1.1)


@given(st.lists(times, min_size=1, max_size=3), st.lists(times, min_size=1, max_size=3), st.integers(0, 40))
def test_main_never_makes_a_flag_against_every_run_at_hand(
    base: list[float], head: list[float], seed: int
) -> None:
    """A head called slower has a run slower than one of base's, and the other way round."""
    past = [exp(SD * z) for z in normals(20, seed)]
    found = _decide([Steady(seconds=one) for one in base], [Steady(seconds=one) for one in head], past)
    if found.verdict is TimingVerdict.SLOWER:
        assert max(head) > min(base)
    if found.verdict is TimingVerdict.FASTER:
        assert min(head) < max(base)
