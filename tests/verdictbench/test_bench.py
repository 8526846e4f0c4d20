"""A small run of the benchmark, with fixed seeds: who is quieter, who sees more, what patience gains."""

from functools import lru_cache

import pytest

from tests.verdictbench.page import document, summary
from tests.verdictbench.results import Results, claims, figure
from tests.verdictbench.rivals import Call
from tests.verdictbench.rules import RULES, RuleOwner
from tests.verdictbench.running import Amount, alone
from tests.verdictbench.trials import Share, Tally

pytestmark = pytest.mark.xdist_group("verdictbench")  # the trials are run once

SMALL = Amount(
    targets=6,
    others=3,
    repeats=3,
    adversary=3,
    chunk=6,
    target_effects=5,
    repeats_kinds=("gpu",),
    adversary_kinds=("gpu",),
    kinds=("tpu", "gpu", "cpu"),
)


@lru_cache(maxsize=1)
def _results() -> Results:
    return alone(SMALL)


def _single(kind: str, rule: str) -> Tally:
    return _results().single[kind][rule]


def _seen(kind: str, rule: str, effect: float) -> float:
    return _single(kind, rule).share(effect, Call.SLOWER).percent


@pytest.mark.parametrize("kind", ["tpu", "gpu", "cpu"])
def test_ours_hardly_ever_cries_wolf(kind: str) -> None:
    """Below 3 % of comparisons, on every kind of noise tried here."""
    assert _single(kind, "ours").false_flags.percent < 3


def test_the_page_always_cries_wolf() -> None:
    """Whatever differs is coloured, so that nearly everything is, half of it in the wrong direction."""
    assert _single("tpu", "page/mean").false_flags.percent > 90
    assert _single("tpu", "page/mean").wrong_direction.percent > 25


def test_ours_sees_five_percent_on_a_tpu() -> None:
    """In nine of ten comparisons and more, and never calls it faster."""
    assert _seen("tpu", "ours", 5.0) > 90
    assert _single("tpu", "ours").wrong_direction.hits == 0


def test_on_what_the_log_prints_no_rival_comes_near() -> None:
    """Fed Avg s/step, nobody sees 5 % in more than half of the comparisons."""
    fed = [rule.key for rule in RULES if rule.key.endswith("/mean") and not rule.key.startswith("page")]
    assert len(fed) >= 5
    assert all(_seen("tpu", key, 5.0) < 50 for key in fed)


def test_an_uncorrected_interval_flags_most_reports() -> None:
    """1 % a side in each of 25 cases: ours flags far fewer."""
    assert _single("tpu", "bencher/steady").flagged >= 2 + _single("tpu", "ours").flagged


def test_a_flat_ten_percent_misses_five() -> None:
    """Even on our steady time."""
    assert _seen("tpu", "codspeed/steady", 5.0) < 10


def test_nothing_is_green_on_a_noisy_cpu() -> None:
    """Ours says that it does not know; a flat percentage says one thing or the other."""
    assert _single("cpu", "ours").share(5.0, Call.SAME).percent < 5
    assert _single("cpu", "ours").share(0.0, Call.INCONCLUSIVE).percent > 90
    assert _single("cpu", "codspeed/steady").false_flags.percent > 15


def test_repeats_see_more_and_stay_quiet() -> None:
    """Ten runs a side on GPU-like noise: 2 % is seen; uncorrected tests flag more at no change."""
    found = _results().repeats["gpu"]
    assert found["ours"].share(2.0, Call.SLOWER).percent > 70
    flags = {key: tally.false_flags.percent for key, tally in found.items()}
    assert flags["ours"] < 2
    assert max(flags["benchstat/steady"], flags["pinpoint/steady"]) > flags["ours"]


def test_patience_does_not_pay_against_ours() -> None:
    """Ten looks: hardly a point against ours, many against rules that do not count them."""
    found = _results().adversary["gpu"]

    def gain(rule: str, wish: str) -> float:
        first, ever = (found[rule].share(wish, patient=patient).percent for patient in (False, True))
        return ever - first

    assert max(gain("adds", wish) for wish in ("red", "green")) <= 2
    assert max(gain("replaces", wish) for wish in ("red", "green")) <= 4
    assert gain("codspeed5/steady", "green") > 20
    assert gain("bencher/steady", "red") > 5


def test_the_page_of_results_holds_every_rule_and_claim() -> None:
    """One row a rule and kind; every claim says met or missed."""
    page = document(_results(), SMALL)
    assert all(page.count(rule.name) >= 3 for rule in RULES)
    assert page.count("**missed**") == sum(not claim.met for claim in claims(_results()))
    assert "{" not in page
    assert "## TPU-like" in summary(_results())


def test_ours_comes_first() -> None:
    """Then rivals, so that the tables read in one order."""
    order = [rule.whose for rule in RULES]
    assert order == sorted(order, key=[RuleOwner.OURS, RuleOwner.RIVAL].index)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Share(hits=0, tries=600), "0 (< 0.64)"),
        (Share(hits=50, tries=1000), "5.00 ± 1.36"),
        (Share(hits=500, tries=1000), "50.0 ± 3.1"),
        (Share(hits=100, tries=100), "100 (> 96.3)"),
    ],
)
def test_figures_carry_their_errors(share: Share, text: str) -> None:
    """Wilson's interval; where nothing was hit, its bound."""
    assert text == figure(share)
