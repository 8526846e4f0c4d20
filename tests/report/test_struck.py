"""A comment says how many values were struck out and why, and nothing where none were."""

from dataclasses import replace

from bot.render import Renderer
from bot.report.comment import comment_body
from bot.report.model import Report
from bot.report.struck import spoiled_words, struck_words
from bot.verdict.implausible import Implausible, Why
from tests.report import parts, samples

RENDER = Renderer().render
ODD = (
    Implausible(step=7, field="tflops_per_device", value=2094.2, why=Why.ABOVE_PEAK, text="2094.2 TFLOP/s"),
    Implausible(step=8, field="seconds", value=0.0, why=Why.NOT_POSITIVE, text="0 s"),
)


def _report(*odd: Implausible) -> Report:
    run = parts.measured()
    head = replace(run, measurements=replace(run.measurements, implausible=odd))
    made = samples.report(samples.same("03_dropout"))
    (row,) = made.rows
    assert row.comparison is not None
    return replace(made, rows=(replace(row, comparison=replace(row.comparison, head=(head,))),))


def test_the_method_counts_what_was_struck_out_with_the_reason() -> None:
    """Below the folds of method and of the page's own figures, in one line each."""
    body = comment_body(_report(*ODD), public_url="https://maxview.example", render=RENDER)
    reasons = "a time or rate that is not above zero (1); TFLOP/s above the device's peak (1)."
    assert f"* 2 implausible values are struck out of every figure but the page's own: {reasons}" in body
    assert f"The step lines hold 2 implausible values: {reasons}" in body
    assert "2094" not in body


def test_where_all_is_believed_nothing_is_said() -> None:
    """No line about what did not happen."""
    body = comment_body(_report(), public_url="https://maxview.example", render=RENDER)
    assert "implausible" not in body
    assert (struck_words([parts.measured()]), spoiled_words([parts.measured()])) == ("", "")


def test_one_value_is_one_value() -> None:
    """Singular."""
    (row,) = _report(ODD[0]).rows
    assert row.comparison is not None
    assert struck_words(row.comparison.head) == (
        "1 implausible value is struck out of every figure but the page's own: "
        "TFLOP/s above the device's peak (1)."
    )
