"""What was printed in milliseconds cannot be judged more finely, whatever the format and the clock."""

from math import log

import pytest

from bot.logs.facts import RunLog
from bot.logs.read import read_log
from bot.verdict.compare import compare
from bot.verdict.decide import decide
from bot.verdict.judgement import Steady, TimingVerdict
from bot.verdict.measure import measure
from bot.verdict.peaks import Family
from bot.verdict.threshold import percent
from tests.verdict.samples import Shape, run
from tests.writing_nanogpt import modded_nanogpt_log


def _modded(milliseconds: float) -> RunLog:
    (found,) = read_log([modded_nanogpt_log(milliseconds=[milliseconds] * 40, every=20).encode()], "m.log")
    return found


def test_a_median_of_milliseconds_is_known_to_half_a_millisecond() -> None:
    """modded-nanogpt prints the time of all steps so far in whole milliseconds."""
    steady = measure(_modded(31.4)).measurements.steady
    assert steady.seconds == pytest.approx(0.0314, abs=0.0005)
    assert steady.resolution == pytest.approx(0.001 / (steady.seconds or 1))


def test_the_band_is_never_below_the_last_digits() -> None:
    """One millisecond of 31: half a digit on either side is 3.2 %, and no history makes it less."""
    sides = [[Steady(seconds=seconds, se=0.0, resolution=0.001 / seconds)] for seconds in (0.031, 0.032)]
    found = decide(*sides, family=Family.GPU, history=[0.031] * 20)
    assert percent(found.band or 0) == pytest.approx(percent(0.0005 / 0.031 + 0.0005 / 0.032))
    assert found.verdict is TimingVerdict.INCONCLUSIVE or abs(found.change or 0) < log(1.05)
    assert found.verdict is not TimingVerdict.SLOWER


def test_the_explanation_says_so() -> None:
    """A band that digits make is no noise."""
    found = compare([measure(_modded(31.4))], [measure(_modded(31.6))])
    work = found.explanation.arithmetic if found.explanation else None
    assert work is not None
    assert work.rounding == pytest.approx(0.001 / 0.0314, rel=0.05)
    assert work.band >= work.rounding


def test_stamps_to_the_microsecond_bound_nothing() -> None:
    """MaxText's lines."""
    assert (run(Shape()).measurements.steady.resolution) < 1e-4
