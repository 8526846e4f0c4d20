"""One case in full: its figures agree with its verdict and each other, it says why, and what its runs
cost."""

import pytest
from msgspec.structs import replace

from bot.domain.run import RunRecord
from bot.report.model import Report
from bot.verdict.compare import compare
from bot.verdict.judgement import MetricRow, TimingDecision, TimingVerdict
from bot.verdict.measure import measure
from bot.web.addresses import Links
from bot.web.auth.access import Access
from bot.web.pages.case import figure_line, figure_lines, run_lines
from tests.report import samples
from tests.report.samples import HEAD, measured, record, slower, unsure
from tests.verdict.real_runs import DROPOUT_BRANCH, DROPOUT_MAIN
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest


def _line(key: str, base: float | str | None, head: float | str | None) -> tuple[str, str, str]:
    diff = head - base if isinstance(base, float) and isinstance(head, float) else None
    line = figure_line(
        MetricRow(key=key, base=base, head=head, diff=diff), TimingDecision(verdict=TimingVerdict.WITHHELD)
    )
    return line.base, line.head, line.diff


@pytest.mark.parametrize(("hours", "shown"), [(0.0018, "0.0018"), (0.35, "0.35"), (6.431, "6.43")])
def test_a_run_of_a_small_price_is_not_free(hours: float, shown: str) -> None:
    """In the table of a case's runs."""
    its = measured()
    run = replace(its, measurements=replace(its.measurements, chip_hours=hours))
    visit = Access(repository="octo/maxtext", private=False, links=Links())
    (line,) = run_lines((record("04_int8", "linen", HEAD, 0),), visit, (run,))
    assert shown == line.chip_hours


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (("parameters_billion", 1.104, 1.104), ("1.104", "1.104", "0.000")),
        (("parameters_billion", 0.0000421, 0.0000421), ("0.000042", "0.000042", "0.000")),
        (("chip_hours", 0.0, 0.00094), ("0.00", "0.00094", "+0.00094")),
        (("chip_hours", 0.0, 0.0), ("0.00", "0.00", "0.00")),
        (("final_loss", None, 8.174), ("–", "8.1740", "–")),
        (("jax", "0.9.2", None), ("0.9.2", "–", "–")),
    ],
)
def test_a_figure_that_is_not_zero_does_not_read_as_zero(
    row: tuple[str, float | str | None, float | str | None], shown: tuple[str, str, str]
) -> None:
    """By its metric's digits, else by its own; what is not stated is a dash."""
    assert shown == _line(*row)


def test_the_step_times_are_those_that_were_held_against_each_other() -> None:
    """As in the overview and the comment, though the median of the runs may be another."""
    timing = TimingDecision(
        verdict=TimingVerdict.SLOWER, change=0.7, threshold=0.2, base_seconds=0.0201, head_seconds=0.0408
    )
    line = figure_line(MetricRow(key="steady_step_seconds", base=0.0214, head=0.0409, diff=0.0195), timing)
    assert ("0.02010", "0.04080", "+0.02070") == (line.base, line.head, line.diff)


def test_what_is_judged_stands_first_and_says_what_was_found() -> None:
    """A change, the same, or that it cannot be told; the rest is information."""
    found = slower().comparison
    assert found is not None
    judged = [line.judged for line in figure_lines(found)]
    assert sorted(judged, reverse=True) == judged
    assert {"same"} == {line.word for line in figure_lines(found) if line.judged and not line.moved}
    unclear = unsure().comparison
    assert unclear is not None
    row = MetricRow(key="steady_step_seconds", base=0.229, head=0.233, diff=0.004)
    assert "inconclusive" == figure_line(row, unclear.timing).word


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


def test_a_case_says_why_below_a_fold(site: SiteUnderTest) -> None:
    """Samples with their reasons, the arithmetic with its numbers, the tolerance of the loss."""
    site.add_report(_report())
    page = ParsedPage(site.get(PULL).text)
    for part in (
        "Why: samples, noise, arithmetic",
        "kept: steps 3, 7–8, from 0.0478 to 0.107 s",
        "4, 6 (a stall, longer than 1.5 medians)",
        "= 0.0272: ±2.76 %",
        "else same if |r| + 1.645 SE",
        "where 0.1 % is tolerated",
    ):
        assert part in page.text


def test_its_samples_are_links_into_the_logs(site: SiteUnderTest) -> None:
    """The first and the last kept step of each side."""
    site.add_report(_report())
    links = ParsedPage(site.get(PULL).text).values("href")
    assert [link for link in links if "#step-" in link] == [
        "/runs/main-1/log#step-3",
        "/runs/main-1/log#step-8",
        "/runs/head-1/log#step-3",
        "/runs/head-1/log#step-8",
    ]


def test_each_run_has_its_price(site: SiteUnderTest) -> None:
    """32 chips for 166 s and for 175 s."""
    site.add_report(_report())
    text = site.get(PULL).text
    assert [price in text for price in ('<td class="right">1.48</td>', '<td class="right">1.56</td>')] == [
        True,
        True,
    ]


def test_a_runs_page_marks_what_cannot_be_true(site: SiteUnderTest) -> None:
    """Beside the step, and beside the figures that the old page makes of it."""
    log = replace(
        DROPOUT_MAIN,
        steps=tuple(replace(one, seconds=0.0) if one.step == 5 else one for one in DROPOUT_MAIN.steps),
    )
    site.add_run("odd", b"a log\n", measured=measure(log))
    text = ParsedPage(site.get("/runs/odd").text).text
    assert "✗ struck out: 0 s is no step time" in text
    assert (
        text.count("The step lines hold 1 implausible value: a time or rate that is not above zero (1).") == 3
    )
