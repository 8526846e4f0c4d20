"""The timing decision, by its table of figures and its three outcomes."""

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.verdict.decide import decide
from bot.verdict.judgement import Clock, Margins, Spread, Steady, Timing, TimingVerdict
from bot.verdict.peaks import Family
from bot.verdict.threshold import level, percent
from tests.verdict.samples import normals


def _steady(seconds: float, se: float = 0.0) -> Steady:
    return Steady(seconds=seconds, se=se, clock=Clock.COMPLETION)


def _decide(change: float, *, cases: int = 1, se: float = 0.0, family: Family | None = Family.TPU) -> Timing:
    """Decide one run a side; `change` in percent."""
    return decide(
        [_steady(1.0, se)], [_steady(1.0 + change / 100, se)], family=family, comparable_cases=cases
    )


@pytest.mark.parametrize(("cases", "band"), [(1, 1.11), (10, 1.60), (25, 1.76), (100, 1.99)])
def test_the_band_of_one_run_a_side_on_a_tpu(cases: int, band: float) -> None:
    """It widens with the number of cases, so that a comment of 100 cases is as reliable as one of 1."""
    assert round(percent(_decide(0, cases=cases).band or 0), 2) == band


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (0.0, TimingVerdict.SAME),
        (1.0, TimingVerdict.SAME),
        (1.2, TimingVerdict.SLOWER),
        (-1.2, TimingVerdict.FASTER),
        (40.0, TimingVerdict.SLOWER),
    ],
)
def test_a_change_beyond_the_band_is_called(change: float, verdict: TimingVerdict) -> None:
    """And one within it is the same, for 5 % is ruled out."""
    assert _decide(change).verdict is verdict


def test_noise_that_cannot_rule_out_five_percent_is_inconclusive() -> None:
    """The reader is told how many runs would settle it."""
    found = _decide(1.4, se=0.02)
    assert (found.verdict, found.more_runs) == (TimingVerdict.INCONCLUSIVE, 6)
    assert found.reason == (
        "inside the band of ±5.8 %, but the noise is too large to rule out a change of 5 %: "
        "6 more runs a side would settle it"
    )


def test_the_runs_asked_for_do_settle_it() -> None:
    """With that many more, under the same noise, at the next look."""
    found = _decide(1.4, se=0.02)
    sides = [[_steady(value, 0.02)] * (1 + (found.more_runs or 0)) for value in (1.0, 1.014)]
    again = decide(*sides, family=Family.TPU, look=2)
    assert again.spread is Spread.MEASURED
    assert again.verdict is not TimingVerdict.INCONCLUSIVE


def test_a_cpu_needs_its_own_measure_of_noise() -> None:
    """Two more runs a side give the four degrees of freedom."""
    found = _decide(0.0, family=Family.CPU)
    assert (found.verdict, found.more_runs, found.band) == (TimingVerdict.INCONCLUSIVE, 2, None)
    assert found.change == 0.0
    assert found.reason.endswith("2 more runs a side would measure it")


def test_hopeless_noise_asks_for_no_runs() -> None:
    """Past ten more runs a side the answer is not worth its price."""
    assert _decide(3.0, se=0.3).more_runs is None


def test_a_side_without_a_steady_time_says_why() -> None:
    """The figures of the other side are kept."""
    found = decide([_steady(0.1)], [Steady(problem="too few clean steps")], family=Family.TPU)
    assert (found.verdict, found.n, found.more_runs) == (TimingVerdict.INCONCLUSIVE, (1, 0), None)
    assert found.base_seconds == pytest.approx(0.1)
    assert found.reason == "no steady step time on head: too few clean steps"


def test_measured_noise_already_holds_the_noise_within_runs() -> None:
    """Unless that dwarfs it, which shows that these runs were noisier than the past."""
    past = [exp(0.0015 * z) for z in normals(20, 5)]
    quiet, noisy = (
        decide([_steady(1.0, se)], [_steady(1.0, se)], family=Family.TPU, history=past)
        for se in (0.002, 0.02)
    )
    assert quiet.se == pytest.approx(0.0015 * (1 + 1 / 21) ** 0.5, rel=0.3)
    assert noisy.se == pytest.approx(0.02, rel=0.01)  # head's run alone: 20 runs stand beside base's


def test_margins_raise_the_thresholds() -> None:
    """A repository may care for less."""
    found = decide(
        [_steady(1.0)],
        [_steady(1.04)],
        family=Family.TPU,
        margins=Margins(practical_percent=5, equivalence_percent=8),
    )
    assert (found.verdict, round(percent(found.band or 0), 6)) == (TimingVerdict.SAME, 5.0)


def test_all_later_looks_spend_one_point_together() -> None:
    """Re-running until a colour appears does not work."""
    spent = [level(0.05, look) for look in range(1, 40)]
    assert spent[:3] == pytest.approx([0.05, 0.005, 0.0025])
    assert sum(spent[1:]) == pytest.approx(0.01)


def test_a_later_look_needs_more() -> None:
    """A change that the first look would call is not called by the second."""
    first, second = (
        decide([_steady(1.0)], [_steady(1.013)], family=Family.TPU, look=look) for look in (1, 2)
    )
    assert (first.verdict, second.verdict) == (TimingVerdict.SLOWER, TimingVerdict.SAME)
    assert (second.band or 0) > (first.band or 0)


runs = st.lists(
    st.builds(_steady, st.floats(0.05, 0.5), st.floats(0, 0.05)) | st.just(Steady(problem="none")), max_size=5
)
families = st.sampled_from([*Family, None])
MIRROR = {TimingVerdict.SLOWER: TimingVerdict.FASTER, TimingVerdict.FASTER: TimingVerdict.SLOWER}


@given(runs, runs, families, st.integers(1, 60), st.integers(1, 4))
def test_swapping_the_sides_mirrors_the_decision(
    base: list[Steady], head: list[Steady], family: Family | None, cases: int, look: int
) -> None:
    """Slower one way is faster the other, by the negated change, in the same band."""
    there = decide(base, head, family=family, comparable_cases=cases, look=look)
    back = decide(head, base, family=family, comparable_cases=cases, look=look)
    assert back.verdict is MIRROR.get(there.verdict, there.verdict)
    assert (back.change is None) == (there.change is None)
    assert (back.change or 0) == pytest.approx(-(there.change or 0), abs=1e-12)
    assert (back.band or 0) == pytest.approx(there.band or 0)


@given(runs, runs, families, st.floats(0.01, 100))
def test_scaling_both_sides_changes_nothing(
    base: list[Steady], head: list[Steady], family: Family | None, factor: float
) -> None:
    """A model ten times as slow is judged by the same shares."""
    scaled = [
        [Steady(seconds=one.seconds and one.seconds * factor, se=one.se, problem=one.problem) for one in side]
        for side in (base, head)
    ]
    there, again = decide(base, head, family=family), decide(*scaled, family=family)
    assert (again.change or 0) == pytest.approx(there.change or 0, abs=1e-9)
    if (
        there.band is None
        or min(abs(abs(there.change or 0) - edge) for edge in (there.band, log(1.05))) > 1e-6
    ):
        assert again.verdict is there.verdict


@given(runs, runs, families)
def test_same_is_never_said_without_evidence(
    base: list[Steady], head: list[Steady], family: Family | None
) -> None:
    """It takes a time on both sides, a known noise, and a change whose bound is below 5 %."""
    found = decide(base, head, family=family)
    if found.verdict is TimingVerdict.SAME:
        assert min(found.n) >= 1
        assert found.se is not None
        assert abs(found.change or 0) + 1.64 * found.se <= log(1.05)
