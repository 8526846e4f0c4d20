"""Each rule does what its documentation says, on figures that can be checked by hand."""

import pytest

from tests.verdictbench.rivals import (
    Call,
    Shown,
    any_difference,
    bencher,
    benchstat,
    codspeed,
    codspeed_strict,
    conbench,
    pinpoint,
    rustc_perf,
)

WAVE = [100.0, 101.0, 100.0, 99.0] * 8  # adjacent changes of about 1 %; mean 100, SD 0.72


def _one(head: float, history: list[float] | None = None) -> Shown:
    return Shown(base=[100.0], head=[head], history=WAVE[:30] if history is None else history)


@pytest.mark.parametrize(("head", "call"), [(100.9, Call.SAME), (101.1, Call.SLOWER), (98.9, Call.FASTER)])
def test_rustc_perf_fences_the_changes_between_commits(head: float, call: Call) -> None:
    """Q3 is 1.01 %, Q1 0.99 %: the fence stands at 1.06 %."""
    assert rustc_perf(_one(head)) is call


@pytest.mark.parametrize(("head", "call"), [(100.1, Call.SAME), (100.3, Call.SLOWER)])
def test_rustc_perf_without_history_takes_0_2_percent(head: float, call: Call) -> None:
    """Its default threshold."""
    assert rustc_perf(_one(head, [])) is call


@pytest.mark.parametrize(("head", "call"), [(101.6, Call.SAME), (101.9, Call.SLOWER), (98.0, Call.FASTER)])
def test_bencher_draws_a_prediction_interval(head: float, call: Call) -> None:
    """t(0.99, 30) = 2.457, SD 0.72, n = 31: 1.8."""
    assert bencher(_one(head)) is call


@pytest.mark.parametrize(("head", "call"), [(103.4, Call.SAME), (103.8, Call.SLOWER), (96.2, Call.FASTER)])
def test_conbench_asks_for_five_standard_deviations(head: float, call: Call) -> None:
    """5 x 0.72 = 3.6."""
    assert conbench(_one(head)) is call


@pytest.mark.parametrize(("head", "calls"), [(104.0, "ss"), (106.0, "sS"), (111.0, "SS"), (89.0, "FF")])
def test_codspeed_is_a_flat_percentage(head: float, calls: str) -> None:
    """10 %, and 5 % where people set it so."""
    words = {"s": Call.SAME, "S": Call.SLOWER, "F": Call.FASTER}
    assert [words[c] for c in calls] == [codspeed(_one(head)), codspeed_strict(_one(head))]


def test_the_page_colours_whatever_differs() -> None:
    """A thousandth is a difference."""
    heads = [100.0, 100.001, 99.999]
    assert [Call.SAME, Call.SLOWER, Call.FASTER] == [any_difference(_one(head)) for head in heads]


def test_benchstat_needs_four_runs_a_side() -> None:
    """With three the smallest possible p is 0.1."""
    three, four = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]
    assert benchstat(Shown(base=three, head=[11.0, 12.0, 13.0])) is Call.INCONCLUSIVE
    assert benchstat(Shown(base=four, head=[11.0, 12.0, 13.0, 14.0])) is Call.SLOWER
    assert benchstat(Shown(base=four, head=[1.5, 2.5, 3.5, 4.5])) is Call.SAME


def test_pinpoint_runs_more_while_it_does_not_know() -> None:
    """Ten clear ones settle it; a suspicious ten are not enough where there are no more."""
    low = [float(n) for n in range(40)]
    assert pinpoint(Shown(base=low, head=[value + 100 for value in low])) is Call.SLOWER
    assert pinpoint(Shown(base=low, head=[value - 100 for value in low])) is Call.FASTER
    assert pinpoint(Shown(base=low, head=[value + 0.5 for value in low])) is Call.SAME
    suspicious = Shown(base=low[:10], head=[value + 2.5 for value in low[:10]])
    assert pinpoint(suspicious) is Call.INCONCLUSIVE
