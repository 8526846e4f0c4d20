"""The plan, its price, and the other folded parts of the comment."""

import pytest
from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.domain.price import Price, PriceBasis
from bot.report.assess import change_digest
from bot.report.cells import carried_words
from bot.report.comment import DETAIL_LEVELS, comment_body, footer_line
from bot.report.documents import report_document
from bot.report.folds import chip_hours_words, plan_fold, price_words
from bot.report.model import CaseReport, Plan, PlannedRuns, Report, SkippedCase, WaitingCases
from bot.report.text.pieces import markdown
from bot.templating import Renderer
from tests.report.samples import HEAD, HOUR, NOW, OLDER, record, report, same, slower

ABOUT = Price(usual=12.8, least=12.2, most=14.0, basis=PriceBasis.MEASURED, runs=12)

BOUND = Price(usual=24.0, least=24.0, most=24.0, basis=PriceBasis.LIMIT)

BUDGET = "chip_hours_per_day: 200 does not cover 198.4 + at most 6.4; it resets at 00:00 UTC"

PLAN = Plan(
    runs=(
        PlannedRuns(case="04_int8", variant="linen", base=0, head=2, price=ABOUT),
        PlannedRuns(case="05_new", variant="nnx", base=1, head=1, price=BOUND),
    ),
    price=Price(usual=36.8, least=36.2, most=38.0, basis=PriceBasis.LIMIT),
    reused=3,
    saved_chip_hours=19.2,
    waiting=(
        WaitingCases(keys=(CaseKey("04_int8", "linen"),), why=BUDGET, budget="chip_hours_per_day"),
        WaitingCases(keys=(CaseKey("05_new", "nnx"),), why="concurrent_runs: 4 of 4 runs are on p/z/c"),
    ),
)


def _body(made: Report) -> str:
    return comment_body(made, public_url="https://maxview.example", render=Renderer().render)


def _fold(plan: Plan) -> str:
    fold = plan_fold(report(slower(), plan=plan), DETAIL_LEVELS[0])
    return markdown(fold.summary) if fold else ""


def test_a_plan_states_its_runs_and_their_price() -> None:
    """The number of runs, their price with its range, what is reused, and what a budget holds."""
    assert _fold(PLAN) == (
        "Plan: 4 runs to come, at most 38.0 chip-hours · 3 runs reused, 19.2 chip-hours saved · "
        "1 case held by a budget"
    )
    body = _body(report(slower(), plan=PLAN))
    assert "| 04_int8 | 0 | 2 | about 12.8 (12.2 to 14.0) |" in body
    assert "| 05_new · nnx | 1 | 1 | at most 24.0 |" in body


def test_a_budget_that_holds_runs_is_noted_before_the_table() -> None:
    """A person may have to act; a wait for a free place needs nobody."""
    before, _, after = _body(report(slower(), plan=PLAN)).partition("| Case | Verdict |")
    assert f"⏸ 1 case waits: {BUDGET}." in before
    assert "p/z/c" not in before
    assert "p/z/c" in after


def test_a_requested_plan_is_open_and_starts_nothing() -> None:
    """It is shown even where nothing is to come, and says how the runs are started."""
    asked = replace(PLAN, asked=True, proposed=True)
    fold = plan_fold(report(slower(), plan=asked), DETAIL_LEVELS[0])
    assert fold is not None
    assert (fold.opened, markdown(fold.items[0])) == (
        True,
        "Nobody asked for these runs yet: `/benchmark run` starts them.",
    )
    fork = plan_fold(report(slower(), plan=asked, approval="/benchmark approve a"), DETAIL_LEVELS[0])
    assert fork is not None
    assert markdown(fork.items[0]) == "Nothing of a fork is started before its head is approved."
    assert markdown(fold.summary).startswith("Plan: would start 4 runs, at most 38.0 chip-hours")
    assert _fold(Plan(asked=True)) == "Plan: no runs to start"
    assert plan_fold(report(slower(), plan=Plan(reused=3)), DETAIL_LEVELS[0]) is None
    assert plan_fold(report(slower()), DETAIL_LEVELS[0]) is None


def test_an_unknown_price_is_not_zero() -> None:
    """Neither a zero nor a total that leaves it out."""
    one = PlannedRuns(case="04_int8", variant="linen", base=1, head=1)
    assert _fold(Plan(runs=(one,), unpriced=2)) == "Plan: 2 runs to come, price not known"
    some = Plan(runs=(one,), price=ABOUT, unpriced=1)
    assert _fold(some).endswith("about 12.8 (12.2 to 14.0) chip-hours and 1 run of unknown price")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0123, "0.012"), (0.4, "0.40"), (0.99999, "1.0"), (6.44, "6.4"), (12345.6, "12 345.6")],
)
def test_chip_hours_have_two_digits_or_more(value: float, expected: str) -> None:
    """A small price is not rounded to nothing."""
    assert expected == chip_hours_words(value)


def test_a_price_without_a_range_names_none() -> None:
    """One run, or runs that took the same."""
    flat = Price(usual=6.4, least=6.4, most=6.4, basis=PriceBasis.MEASURED, runs=1)
    assert price_words(flat) == "about 6.4"


def test_the_footer_states_what_was_used_and_saved() -> None:
    """Beside the commits, in chip-hours."""
    footer = footer_line(report(chip_hours_used=0.012, chip_hours_saved=11.2), public_url="https://x.example")
    assert "0.012 chip-hours used · 11.2 chip-hours saved by reuse" in markdown(footer)


def _carried(carried: int, own: int) -> CaseReport:
    of_others = tuple(record("04_int8", "linen", OLDER, n, age=2) for n in range(carried))
    return same("04_int8", head_runs=(*of_others, *(record("04_int8", "linen", HEAD, n) for n in range(own))))


def test_carried_results_name_their_commit_and_date() -> None:
    """With the commit that was measured, and when; never as if they were fresh."""
    said = "carried from `e4e574c`, measured 2026-04-21 09:13 UTC"
    assert NOW - 2 * HOUR == _carried(1, 0).head_runs[0].started
    assert markdown(carried_words(report(), _carried(2, 0))) == said
    assert markdown(carried_words(report(), _carried(2, 1))) == f"2 of 3 runs {said}"
    assert carried_words(report(), same("04_int8")) == ()
    body = _body(report(_carried(2, 0), same("05_x")))
    assert f"* 04_int8: {said}, whose files are the same" in body
    assert "Coverage: 2 of 2 cases run · 1 carried over" in body


def test_a_carried_result_is_marked_in_the_verdict_cell() -> None:
    """A reader who opens nothing still sees it."""
    row = replace(slower(), head_runs=_carried(3, 0).head_runs)
    assert "🔴 slower<br>↩️ carried from `e4e574c`" in _body(report(row))


def test_the_json_has_the_plan_and_the_carried_runs() -> None:
    """For whoever reads it by program."""
    document = report_document(report(_carried(1, 0), plan=PLAN))
    assert document["plan"] == {
        "runs": [
            {
                "case": "04_int8",
                "variant": "linen",
                "base": 0,
                "head": 2,
                "chip_hours": {"usual": 12.8, "least": 12.2, "most": 14.0, "basis": "measured", "runs": 12},
            },
            {
                "case": "05_new",
                "variant": "nnx",
                "base": 1,
                "head": 1,
                "chip_hours": {"usual": 24.0, "least": 24.0, "most": 24.0, "basis": "limit", "runs": 0},
            },
        ],
        "chip_hours": {"usual": 36.8, "least": 36.2, "most": 38.0, "basis": "limit", "runs": 0},
        "runs_without_a_price": 0,
        "confirming": None,
        "reused_runs": 3,
        "waiting": [
            {"keys": ["04_int8/linen"], "why": BUDGET},
            {"keys": ["05_new/nnx"], "why": "concurrent_runs: 4 of 4 runs are on p/z/c"},
        ],
        "proposed": False,
    }
    assert document["rows"][0]["carried"] == [_carried(1, 0).head_runs[0].id]  # type: ignore[index]
    assert report_document(report())["plan"] is None


def test_without_a_request_the_command_to_ask_is_named() -> None:
    """First, since the comment says nothing else."""
    skipped = (SkippedCase(case="04_int8", variant="linen", why="nobody asked"),)
    body = _body(report(skipped=skipped, launches=True))
    assert (
        "## ⚪ MaxView: nothing asked for\n`/benchmark run` measures 1 case; `/benchmark plan` says" in body
    )
    assert "nothing to measure here" in _body(report(skipped=skipped))


def test_a_used_up_budget_changes_the_digest() -> None:
    """How much of it is used is progress, as a place in a queue is."""
    none, more = change_digest(report(plan=Plan())), BUDGET.replace("198.4", "199.9")
    held = change_digest(report(plan=PLAN))
    assert held != none
    waiting = WaitingCases(keys=(CaseKey("x", "linen"),), why=more, budget="chip_hours_per_day")
    assert held == change_digest(report(plan=Plan(waiting=(waiting,))))
    assert none == change_digest(report(plan=Plan(waiting=PLAN.waiting[1:])))
