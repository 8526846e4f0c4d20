"""The page of a pull request can say why, and what its runs cost."""

from dataclasses import replace

from bot.report.model import Report
from bot.runs.records import RunRecord
from bot.verdict.compare import compare
from bot.verdict.measure import measure
from tests.report import samples
from tests.verdict.seeds import DROPOUT_BRANCH, DROPOUT_MAIN
from tests.web.shop import PUBLIC, Page, Shop

PULL = f"/{PUBLIC}/pull/4270"


def _record(name: str) -> RunRecord:
    return RunRecord(
        id=name,
        repository=PUBLIC,
        case="03_dropout",
        variant="linen",
        branch="main",
        sha=samples.BASE,
        started=samples.NOW,
        log_uri=f"file:{name}.log",
        generation="1",
    )


def _report() -> Report:
    """One case of two real runs, each with its record."""
    found = compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)])
    report = samples.report(samples.same("03_dropout"))
    row = replace(
        report.rows[0], comparison=found, base_runs=(_record("main-1"),), head_runs=(_record("head-1"),)
    )
    return replace(report, rows=(row,))


def test_a_case_says_why_below_a_fold(shop: Shop) -> None:
    """Samples with their reasons, the arithmetic with its numbers, the tolerance of the loss."""
    shop.report(_report())
    page = Page(shop.get(PULL).text)
    for part in (
        "Why: samples, noise, arithmetic",
        "kept: steps 3, 7–8, from 0.0478 to 0.107 s",
        "4, 6 (a stall, longer than 1.5 medians)",
        "= 0.0283: ±2.87 %",
        "else same if |r| + 1.645 SE",
        "where 0.1 % is tolerated",
    ):
        assert part in page.text


def test_its_samples_are_links_into_the_logs(shop: Shop) -> None:
    """The first and the last kept step of each side."""
    shop.report(_report())
    links = Page(shop.get(PULL).text).values("href")
    assert [link for link in links if "#step-" in link] == [
        "/runs/main-1/log#step-3",
        "/runs/main-1/log#step-8",
        "/runs/head-1/log#step-3",
        "/runs/head-1/log#step-8",
    ]


def test_each_run_has_its_price(shop: Shop) -> None:
    """32 chips for 166 s and for 175 s."""
    shop.report(_report())
    text = shop.get(PULL).text
    assert [price in text for price in ('<td class="right">1.48</td>', '<td class="right">1.56</td>')] == [
        True,
        True,
    ]


def test_a_runs_page_marks_what_cannot_be_true(shop: Shop) -> None:
    """Beside the step, and beside the figures that the old page makes of it."""
    log = replace(
        DROPOUT_MAIN,
        steps=tuple(replace(one, seconds=0.0) if one.step == 5 else one for one in DROPOUT_MAIN.steps),
    )
    shop.run("odd", b"a log\n", measured=measure(log))
    text = Page(shop.get("/runs/odd").text).text
    assert "✗ struck out: 0 s is no step time" in text
    assert (
        text.count("The step lines hold 1 implausible value: a time or rate that is not above zero (1).") == 3
    )
