"""The timing decision: its thresholds, the pooled baseline, the outlier guard, and coarse clocks."""

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs.facts import RunLog
from bot.logs.reader import read_log
from bot.verdict.compare import compare
from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import (
    BaselineSource,
    Margins,
    NoiseSource,
    RunsWanted,
    SteadyStepTime,
    StepClock,
    TimingDecision,
    TimingVerdict,
)
from bot.verdict.measure import measure
from bot.verdict.noise import select_history
from bot.verdict.thresholds import (
    LOOKS,
    LOOKS_WITH_HISTORY,
    LookShares,
    as_percent,
    flag_alpha,
    look_alpha,
)
from bot.verdict.timing_decision import decide_timing
from tests.log_writers.modded_nanogpt import modded_nanogpt_log
from tests.verdict.made_runs import Shape, decide_steady, normals, run, timings


def _steady_time(seconds: float, se: float = 0.0) -> SteadyStepTime:
    return SteadyStepTime(seconds=seconds, se=se, clock=StepClock.COMPLETION)


def _decide(
    change: float, *, cases: int = 1, se: float = 0.0, family: DeviceFamily | None = DeviceFamily.TPU
) -> TimingDecision:
    """Decide one run a side; `change` in percent."""
    return decide_steady(
        [_steady_time(1.0, se)], [_steady_time(1.0 + change / 100, se)], family=family, comparable_cases=cases
    ).decision


@pytest.mark.parametrize(("cases", "strict"), [(1, 1.32), (10, 1.76), (25, 1.91), (100, 2.13)])
def test_the_thresholds_of_one_run_a_side_on_a_tpu(cases: int, strict: float) -> None:
    """The screen's is the same for any report; the strict one widens with the number of cases, so that a
    comment of 100 cases is as reliable as one of 1."""
    found = decide_steady(
        [_steady_time(1.0)], [_steady_time(1.0)], family=DeviceFamily.TPU, comparable_cases=cases
    )
    assert found.test is not None
    assert round(as_percent(found.decision.threshold or 0), 2) == 1.07
    assert round(as_percent(found.test.strict), 2) == strict


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (0.0, TimingVerdict.SAME),
        (1.0, TimingVerdict.SAME),
        (1.2, TimingVerdict.CONFIRMING),
        (-1.2, TimingVerdict.CONFIRMING),
        (14.0, TimingVerdict.CONFIRMING),
        (16.0, TimingVerdict.SLOWER),
        (-14.0, TimingVerdict.FASTER),
    ],
)
def test_a_change_beyond_the_threshold_is_seen(change: float, verdict: TimingVerdict) -> None:
    """It is flagged by one run where no glitch explains it; within the threshold it is the same, for 5 % is
    ruled out."""
    assert _decide(change).verdict is verdict


@pytest.mark.parametrize(("change", "verdict"), [(1.5, TimingVerdict.SLOWER), (-1.5, TimingVerdict.FASTER)])
def test_two_more_runs_of_head_confirm_it(change: float, verdict: TimingVerdict) -> None:
    """And one more of base, where no runs of main stand beside it."""
    first = _decide(change)
    assert (first.confirms, first.confirm_runs) == (verdict, RunsWanted(base=1, head=2))
    side = [_steady_time(1.0 + change / 100)] * 3
    found = decide_steady([_steady_time(1.0)] * 2, side, family=DeviceFamily.TPU, look=2).decision
    assert (found.verdict, found.confirms, found.confirm_runs) == (verdict, None, RunsWanted())


def test_runs_of_one_submission_confirm_nothing() -> None:
    """Three of one slice count as one, and so do three of which nobody knows."""
    head = [_steady_time(1.02)] * 3
    for submission in ("slice 1", None):
        found = decide_timing(
            timings([_steady_time(1.0)] * 2), timings(head, submission), family=DeviceFamily.TPU, look=2
        ).decision
        assert (found.verdict, found.n, found.submissions) == (TimingVerdict.CONFIRMING, (2, 3), (2, 1))
        assert found.confirm_runs == RunsWanted(head=2)


def test_one_run_that_was_off_does_not_carry_the_others() -> None:
    """The mean of three is off, and one of them is not."""
    found = _decide_on_gpu(_steady_times(0), _steady_times(4.5, 4.4, 0.4), MAIN_HISTORY, look=2)
    assert found.verdict is TimingVerdict.INCONCLUSIVE
    assert found.reason.startswith("only 2 of head's 3 runs are slower than base's by ")


@pytest.mark.parametrize("family", [None, DeviceFamily.GPU, DeviceFamily.TPU])
def test_a_step_twice_as_long_is_slower_on_any_device(family: DeviceFamily | None) -> None:
    """One run a side, and nobody knows the noise: no glitch explains it."""
    assert _decide(100, family=family, cases=25).verdict is TimingVerdict.SLOWER
    assert _decide(-60, family=family, cases=25).verdict is TimingVerdict.FASTER


@pytest.mark.parametrize("family", [None, DeviceFamily.GPU])
def test_what_a_glitch_of_a_gpu_explains_is_not_flagged_by_one_run(family: DeviceFamily | None) -> None:
    """One of 20 repeats was 22 % off; a device that is not named may be a GPU."""
    assert _decide(22, family=family, cases=25).verdict is not TimingVerdict.SLOWER


def test_on_a_cpu_it_takes_three_times_as_long() -> None:
    """Equal runs differed by a factor of 2.8."""
    verdicts = [_decide(change, family=DeviceFamily.CPU).verdict for change in (180, 220)]
    assert verdicts == [TimingVerdict.INCONCLUSIVE, TimingVerdict.SLOWER]


def test_noise_that_cannot_rule_out_five_percent_is_inconclusive() -> None:
    """The reason says how many runs would settle it."""
    found = _decide(1.4, se=0.02)
    assert (found.verdict, found.more_runs) == (TimingVerdict.INCONCLUSIVE, 6)
    assert found.reason == (
        "inside the band of ±5.6 %, but the noise is too large to rule out a change of 5 %: "
        "6 more runs a side would settle it"
    )


def test_the_further_runs_settle_it() -> None:
    """With that many more, under the same noise, at the next look."""
    found = _decide(1.4, se=0.02)
    sides = [[_steady_time(value, 0.02)] * (1 + (found.more_runs or 0)) for value in (1.0, 1.014)]
    again = decide_steady(*sides, family=DeviceFamily.TPU, look=2).decision
    assert again.noise_source is NoiseSource.MEASURED
    assert again.verdict is not TimingVerdict.INCONCLUSIVE


def test_a_cpu_needs_its_own_measure_of_noise() -> None:
    """Two more runs a side give the four degrees of freedom."""
    found = _decide(0.0, family=DeviceFamily.CPU)
    assert (found.verdict, found.more_runs, found.threshold) == (TimingVerdict.INCONCLUSIVE, 2, None)
    assert found.change == 0.0
    assert found.reason.endswith("2 more runs a side would measure it")


def test_too_much_noise_asks_for_no_runs() -> None:
    """More than ten further runs a side cost more than the answer is worth."""
    assert _decide(3.0, se=0.3).more_runs is None


def test_a_side_without_a_steady_time_says_why() -> None:
    """The figures of the other side are kept."""
    found = decide_steady(
        [_steady_time(0.1)], [SteadyStepTime(problem="too few clean steps")], family=DeviceFamily.TPU
    ).decision
    assert (found.verdict, found.n, found.more_runs) == (TimingVerdict.INCONCLUSIVE, (1, 0), None)
    assert found.base_seconds == pytest.approx(0.1)
    assert found.reason == "no steady step time on head: too few clean steps"


def test_measured_noise_already_holds_the_noise_within_runs() -> None:
    """Unless head's is larger than base's, which shows that its runs are noisier than the past."""
    past = [exp(0.0015 * z) for z in normals(20, 5)]
    quiet, both, noisy = (
        decide_steady(
            [_steady_time(1.0, base)], [_steady_time(1.0, head)], family=DeviceFamily.TPU, history=past
        ).decision
        for base, head in ((0.002, 0.002), (0.02, 0.02), (0.0, 0.02))
    )
    assert quiet.se == both.se == pytest.approx(0.0015 * (1 + 1 / 21) ** 0.5, rel=0.3)
    assert noisy.se == pytest.approx(0.02, rel=0.01)  # head's run alone: 20 runs stand beside base's


def test_margins_raise_the_thresholds() -> None:
    """A repository may ignore smaller changes."""
    found = decide_steady(
        [_steady_time(1.0)],
        [_steady_time(1.04)],
        family=DeviceFamily.TPU,
        margins=Margins(practical_percent=5, equivalence_percent=8),
    ).decision
    assert (found.verdict, round(as_percent(found.threshold or 0), 6)) == (TimingVerdict.SAME, 5.0)


def test_all_later_looks_spend_one_point_together() -> None:
    """Re-running until a colour appears does not work."""
    spent = [look_alpha(0.05, look) for look in range(1, 40)]
    assert spent[:3] == pytest.approx([0.05, 0.005, 0.0025])
    assert sum(spent[1:]) == pytest.approx(0.01)


@pytest.mark.parametrize("shares", [LOOKS, LOOKS_WITH_HISTORY])
def test_all_looks_spend_the_level_and_a_point(shares: LookShares) -> None:
    """The first two the level, all others together no more than their share."""
    spent = [flag_alpha(0.05, look, shares) for look in range(1, 60)]
    assert sum(spent[:2]) == pytest.approx(0.05)
    assert sum(spent[2:]) == pytest.approx(0.05 * shares.later)


def test_a_later_look_needs_more() -> None:
    """The second look flags a change that the fourth does not."""
    sides = [[_steady_time(value)] * 3 for value in (1.0, 1.0125)]
    second, fourth = (
        decide_timing(
            timings(sides[0]),
            timings(sides[1]),
            family=DeviceFamily.TPU,
            history=[exp(0.005 * z) for z in normals(20, 5)],
            look=look,
        ).decision
        for look in (2, 4)
    )
    assert second.verdict is TimingVerdict.SLOWER
    assert (fourth.threshold or 0) > (second.threshold or 0)


timed_runs = st.lists(
    st.builds(_steady_time, st.floats(0.05, 0.5), st.floats(0, 0.05))
    | st.just(SteadyStepTime(problem="none")),
    max_size=5,
)

device_families = st.sampled_from([*DeviceFamily, None])

MIRROR = {TimingVerdict.SLOWER: TimingVerdict.FASTER, TimingVerdict.FASTER: TimingVerdict.SLOWER}


@given(timed_runs, timed_runs, device_families, st.integers(1, 60), st.integers(1, 4))
def test_swapping_the_sides_mirrors_the_decision(
    base: list[SteadyStepTime], head: list[SteadyStepTime], family: DeviceFamily | None, cases: int, look: int
) -> None:
    """Slower one way is faster the other, by the negated change, in the same band."""
    there = decide_steady(base, head, family=family, comparable_cases=cases, look=look).decision
    back = decide_steady(head, base, family=family, comparable_cases=cases, look=look).decision
    assert back.verdict is MIRROR.get(there.verdict, there.verdict)
    assert (back.change is None) == (there.change is None)
    assert (back.change or 0) == pytest.approx(-(there.change or 0), abs=1e-12)
    assert (back.threshold or 0) == pytest.approx(there.threshold or 0)


@given(timed_runs, timed_runs, device_families, st.floats(0.01, 100))
def test_scaling_both_sides_changes_nothing(
    base: list[SteadyStepTime], head: list[SteadyStepTime], family: DeviceFamily | None, factor: float
) -> None:
    """A model ten times as slow is judged by the same shares."""
    scaled = [
        [
            SteadyStepTime(seconds=one.seconds and one.seconds * factor, se=one.se, problem=one.problem)
            for one in side
        ]
        for side in (base, head)
    ]
    there, again = (
        decide_steady(base, head, family=family).decision,
        decide_steady(*scaled, family=family).decision,
    )
    assert (again.change or 0) == pytest.approx(there.change or 0, abs=1e-9)
    if (
        there.threshold is None
        or min(abs(abs(there.change or 0) - edge) for edge in (there.threshold, log(1.05))) > 1e-6
    ):
        assert again.verdict is there.verdict


@given(timed_runs, timed_runs, device_families)
def test_same_is_never_said_without_evidence(
    base: list[SteadyStepTime], head: list[SteadyStepTime], family: DeviceFamily | None
) -> None:
    """It takes a time on both sides, a known noise, and a change whose bound is below 5 %."""
    found = decide_steady(base, head, family=family).decision
    if found.verdict is TimingVerdict.SAME:
        assert min(found.n) >= 1
        assert found.se is not None
        assert abs(found.change or 0) + 1.64 * found.se <= log(1.05)


GPU_NOISE = 0.0078
"""Of 20-step windows on a GPU."""

MAIN_HISTORY = [exp(GPU_NOISE * z) for z in normals(20, 5)]


def _steady_times(*percents: float) -> list[SteadyStepTime]:
    return [SteadyStepTime(seconds=1 + one / 100, se=0.0, clock=StepClock.COMPLETION) for one in percents]


def _decide_on_gpu(
    base: list[SteadyStepTime], head: list[SteadyStepTime], history: list[float], look: int = 1
) -> TimingDecision:
    return decide_steady(
        base, head, family=DeviceFamily.GPU, history=history, comparable_cases=25, look=look
    ).decision


def test_main_runs_are_pooled_with_a_base_that_agrees() -> None:
    """Hardly any of the error is base's then, so one run a side detects 5 %."""
    found = _decide_on_gpu(_steady_times(0.2), _steady_times(5), MAIN_HISTORY)
    assert (found.baseline_source, found.main_runs, found.n) == (BaselineSource.MAIN, 20, (1, 1))
    assert found.base_seconds == pytest.approx(exp(sum(map(log, [1.002, *MAIN_HISTORY])) / 21))
    assert found.se == pytest.approx(GPU_NOISE * (1 + 1 / 21) ** 0.5, rel=0.3)
    assert (found.verdict, found.confirm_runs) == (TimingVerdict.CONFIRMING, RunsWanted(head=2))
    again = _decide_on_gpu(_steady_times(0.2), _steady_times(5, 4.8, 5.1), MAIN_HISTORY, look=2)
    assert again.verdict is TimingVerdict.SLOWER


def test_a_base_run_among_mains_counts_once() -> None:
    """Base is the newest of the twenty main runs."""
    past = [MAIN_HISTORY[-1], *MAIN_HISTORY[:-1]]
    found = _decide_on_gpu([SteadyStepTime(seconds=past[-1], se=0.0)], _steady_times(0), past)
    assert (found.baseline_source, found.main_runs, found.history) == (BaselineSource.MAIN, 19, 20)


def test_main_runs_after_base_are_not_pooled() -> None:
    """The level comes from the runs up to base, the noise from all runs."""
    found = _decide_on_gpu([SteadyStepTime(seconds=MAIN_HISTORY[12], se=0.0)], _steady_times(0), MAIN_HISTORY)
    assert (found.main_runs, found.history, found.degrees_of_freedom) == (12, 20, 19)


@pytest.mark.parametrize("place", [0, 4])
def test_too_few_main_runs_before_base_are_not_pooled(place: int) -> None:
    """Base is used alone, as without history."""
    found = _decide_on_gpu(
        [SteadyStepTime(seconds=MAIN_HISTORY[place], se=0.0)], _steady_times(0), MAIN_HISTORY
    )
    assert (found.baseline_source, found.main_runs) == (BaselineSource.BASE, 0)


def test_without_history_base_is_used_alone() -> None:
    """The rule without any of main's runs."""
    found = _decide_on_gpu(_steady_times(0), _steady_times(0), MAIN_HISTORY[:14])
    assert (found.baseline_source, found.main_runs, found.history) == (BaselineSource.BASE, 0, 0)


def test_where_main_moved_with_base_head_is_not_blamed() -> None:
    """Base is 6 % off main's runs and head with it: unchanged against base alone."""
    found = _decide_on_gpu(_steady_times(6), _steady_times(6.1), MAIN_HISTORY)
    assert (found.baseline_source, found.main_runs) == (BaselineSource.DISPUTED, 0)
    assert found.base_seconds == pytest.approx(1.06)
    assert found.verdict is TimingVerdict.SAME


def test_a_base_run_that_was_off_makes_no_head_faster() -> None:
    """Head agrees with main: another run of base settles it."""
    found = _decide_on_gpu(_steady_times(8), _steady_times(0), MAIN_HISTORY)
    slower = as_percent(log(1.08) - sum(map(log, MAIN_HISTORY)) / 20)
    assert (found.verdict, found.more_runs) == (TimingVerdict.INCONCLUSIVE, 1)
    assert found.reason == (
        f"the only run of base is {slower:.2g} % slower than main's "
        "runs before it, and against those head is not faster: another run of base tells whether main moved "
        "or it was off"
    )


def test_two_runs_of_base_are_believed_against_main() -> None:
    """Main moved: head, which is where main was, is faster."""
    found = _decide_on_gpu(_steady_times(8, 8.1), _steady_times(0, 0.1, -0.1), MAIN_HISTORY)
    assert (found.baseline_source, found.verdict) == (BaselineSource.DISPUTED, TimingVerdict.FASTER)


def test_a_head_slower_than_base_and_main_is_slower() -> None:
    """However far base is from main."""
    found = _decide_on_gpu(_steady_times(3), _steady_times(12), MAIN_HISTORY)
    assert (found.confirms, found.confirm_runs) == (TimingVerdict.SLOWER, RunsWanted(head=2))
    again = _decide_on_gpu(_steady_times(3), _steady_times(12, 11.5, 12), MAIN_HISTORY, look=2)
    assert again.verdict is TimingVerdict.SLOWER


HISTORY_WITH_GLITCH = [*MAIN_HISTORY[:9], 1.09, *MAIN_HISTORY[10:]]


def test_one_run_as_far_off_as_a_glitch_of_main_is_not_flagged() -> None:
    """Two more runs as far off are."""
    found = _decide_on_gpu(_steady_times(0), _steady_times(8), HISTORY_WITH_GLITCH)
    assert (found.verdict, found.confirm_runs) == (TimingVerdict.CONFIRMING, RunsWanted(head=2))
    assert (
        _decide_on_gpu(_steady_times(0), _steady_times(8, 8.1, 7.9), HISTORY_WITH_GLITCH, look=2).verdict
        is TimingVerdict.SLOWER
    )


def test_a_far_run_beside_a_good_one_is_not_flagged() -> None:
    """One of two runs that is far off may be a glitch, and of three."""
    two, three = (_steady_times(0.1, 14), _steady_times(0.1, 14, 9))
    found = _decide_on_gpu(_steady_times(0), two, HISTORY_WITH_GLITCH)
    assert (found.verdict, found.confirm_runs) == (TimingVerdict.CONFIRMING, RunsWanted(head=1))
    found = _decide_on_gpu(_steady_times(0), three, HISTORY_WITH_GLITCH)
    assert found.verdict is TimingVerdict.INCONCLUSIVE


@pytest.mark.parametrize("glitch", [1.45, 1.8])
def test_a_glitch_of_main_as_large_takes_back_what_one_run_shows(glitch: float) -> None:
    """Without it, 70 % is beyond any glitch."""
    past = [*MAIN_HISTORY[:9], glitch, *MAIN_HISTORY[10:]]
    found = [_decide_on_gpu(_steady_times(0), _steady_times(70), one) for one in (MAIN_HISTORY, past)]
    said = TimingVerdict.CONFIRMING if glitch > 1.7 else TimingVerdict.SLOWER
    assert [one.verdict for one in found] == [TimingVerdict.SLOWER, said]


def test_a_slow_glitch_excuses_nothing_faster_and_nothing_far_slower() -> None:
    """It shows how much a slow machine costs and no more."""
    for head, verdict in (
        (_steady_times(-6, -6.1, -5.8), TimingVerdict.FASTER),
        (_steady_times(20, 19, 21), TimingVerdict.SLOWER),
    ):
        assert _decide_on_gpu(_steady_times(0), head, HISTORY_WITH_GLITCH, look=2).verdict is verdict


def test_an_honest_history_hardly_ever_loses_a_run() -> None:
    """Grubbs at 0.1 %: at most two of 300 histories of pure noise lose one."""
    series = ([exp(GPU_NOISE * z) for z in normals(20, seed)] for seed in range(300))
    assert sum(bool(select_history(one).glitches) for one in series) <= 2


step_times = st.floats(0.9, 1.1)


@given(
    st.lists(step_times, min_size=1, max_size=3),
    st.lists(step_times, min_size=1, max_size=3),
    st.integers(0, 40),
)
def test_main_never_makes_a_flag_against_every_run_at_hand(
    base: list[float], head: list[float], seed: int
) -> None:
    """A head called slower has a run slower than one of base's, and the other way round."""
    past = [exp(GPU_NOISE * z) for z in normals(20, seed)]
    found = _decide_on_gpu(
        [SteadyStepTime(seconds=one) for one in base], [SteadyStepTime(seconds=one) for one in head], past
    )
    if found.verdict is TimingVerdict.SLOWER:
        assert max(head) > min(base)
    if found.verdict is TimingVerdict.FASTER:
        assert min(head) < max(base)


def _nanogpt_run(milliseconds: float) -> RunLog:
    (found,) = read_log([modded_nanogpt_log(milliseconds=[milliseconds] * 40, every=20).encode()], "m.log")
    return found


def test_a_median_of_milliseconds_is_known_to_half_a_millisecond() -> None:
    """modded-nanogpt prints the time of all steps so far in whole milliseconds."""
    steady = measure(_nanogpt_run(31.4)).measurements.steady
    assert steady.seconds == pytest.approx(0.0314, abs=0.0005)
    assert steady.resolution == pytest.approx(0.001 / (steady.seconds or 1))


def test_the_threshold_is_never_below_the_last_digits() -> None:
    """One millisecond of 31: half a digit on either side is 3.2 %, whatever the history."""
    sides = [
        [SteadyStepTime(seconds=seconds, se=0.0, resolution=0.001 / seconds)] for seconds in (0.031, 0.032)
    ]
    found = decide_steady(*sides, family=DeviceFamily.GPU, history=[0.031] * 20).decision
    assert as_percent(found.threshold or 0) == pytest.approx(as_percent(0.0005 / 0.031 + 0.0005 / 0.032))
    assert found.verdict is TimingVerdict.INCONCLUSIVE or abs(found.change or 0) < log(1.05)
    assert found.verdict is not TimingVerdict.SLOWER


def test_the_explanation_says_so() -> None:
    """The threshold comes from the digits, not from noise."""
    found = compare([measure(_nanogpt_run(31.4))], [measure(_nanogpt_run(31.6))])
    work = found.explanation.arithmetic if found.explanation else None
    assert work is not None
    assert work.rounding == pytest.approx(0.001 / 0.0314, rel=0.05)
    assert work.band >= work.rounding


def test_microsecond_timestamps_add_no_rounding() -> None:
    """As MaxText prints them."""
    assert (run(Shape()).measurements.steady.resolution) < 1e-4
