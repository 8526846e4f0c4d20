"""The open world in small: a few seeded reports and logs of each property; the page is made from many."""

import pytest

from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import TimingVerdict, Verdict
from tests.verdictbench.open_world import (
    GPU,
    TPU,
    Law,
    Regime,
    beside_rivals,
    heavy_tailed,
    normal,
    play,
    play_logs,
    shaped,
    slow_slices,
)
from tests.verdictbench.simulation import BY_NAME, Burst, Shape

REPORTS = 12


@pytest.mark.parametrize(
    "law", [normal(GPU), heavy_tailed(GPU), slow_slices(GPU, 0.15)], ids=["normal", "t", "slow slices"]
)
def test_harmless_reports_are_quiet(law: Law) -> None:
    """At most one of a dozen is flagged, and the screen costs little."""
    found = play(Regime(name="small", law=law), REPORTS)
    assert found.flagged.hits <= 1
    assert found.extra <= 0.25


@pytest.mark.parametrize(
    ("sd", "family", "effect", "least"),
    [
        (GPU, DeviceFamily.GPU, 0.05, 96.0),
        (GPU, DeviceFamily.GPU, 0.03, 80.0),
        (TPU, DeviceFamily.TPU, 0.02, 97.0),
        (TPU, DeviceFamily.TPU, 0.05, 99.0),
    ],
)
def test_two_stages_see_what_one_does_not(
    sd: float, family: DeviceFamily, effect: float, least: float
) -> None:
    """300 cases each."""
    found = play(Regime(name="small", law=normal(sd), family=family, effect=effect), REPORTS)
    assert found.share(TimingVerdict.SLOWER).percent >= least


@pytest.mark.parametrize("repeats", [3, 5])
def test_repeats_that_share_a_submission_flag_nothing(repeats: int) -> None:
    """0.6 % between submissions, 0.05 % within."""
    regime = Regime(name="small", law=normal(0.006), repeats=repeats, within=0.0005)
    assert play(regime, REPORTS).flagged.hits <= 1


@pytest.mark.parametrize("burst", [burst for burst in Burst if burst is not Burst.NONE])
def test_time_lost_in_bursts_is_never_unchanged(burst: Burst) -> None:
    """Where the logs show 5 % more time."""
    assert play_logs(BY_NAME["tpu"], 5, burst=burst).missed == 0


@pytest.mark.parametrize("shape", list(Shape))
def test_ten_percent_is_seen_in_every_shape(shape: Shape) -> None:
    """On both sides alike; and a harmless change is not flagged."""
    kind = shaped(BY_NAME["tpu"], shape)
    assert play_logs(kind, 6, factor=1.1).calls[Verdict.SLOWER] >= 5
    quiet = play_logs(kind, 6).calls
    assert quiet[Verdict.SLOWER] == quiet[Verdict.FASTER] == 0


def test_rivals_with_our_floor_are_shown_beside_it() -> None:
    """Four on each of three kinds of noise."""
    rows = beside_rivals(1)
    assert len(rows) == 15
    assert len({row.kind for row in rows}) == 3
