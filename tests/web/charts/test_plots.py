"""Curves on the pages: what is drawn is what was measured, and it is said in words too."""

import re

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from bot.web.charts.plots import MAX_BINS, WIDTH, loss_plot, plots, step_plot
from tests.verdict.made_runs import Shape, losses, run_log

NAN = float("nan")

PLACE = re.compile(r"[ML](?P<x>[\d.]+) (?P<y>[\d.]+)(?:h0)?")


def _run(**shape: object) -> MeasuredRun:
    return measure(run_log(Shape(**shape)))  # type: ignore[arg-type]  # single fields of it


def test_both_curves_and_their_difference_are_drawn_and_said() -> None:
    """One path a side, one for the difference; the largest difference is named with its step."""
    changed = [loss * (1.001 if step == 7 else 1) for step, loss in enumerate(losses(20))]
    drawn = loss_plot({"main": _run(), "this change": _run(losses=changed)})
    assert drawn is not None
    assert [stroke.name for stroke in drawn.strokes] == ["main", "this change", "relative difference"]
    assert [len(PLACE.findall(stroke.path)) for stroke in drawn.strokes] == [20, 20, 20]
    assert drawn.notes[-1].startswith("Largest relative difference 0.")
    assert drawn.notes[-1].endswith(" % at step 7.")
    assert "main: 10.87 at step 0" in drawn.words


def test_curves_that_are_equal_have_no_difference() -> None:
    """Nothing is drawn larger than it is: no difference is a flat line, and is said."""
    drawn = loss_plot({"main": _run(), "this change": _run(seed=5)})
    assert drawn is not None
    assert drawn.notes[-1] == "Relative difference: none at any common step."
    assert {y for _, y in PLACE.findall(drawn.strokes[-1].path)} == {"207.0"}


def test_what_is_no_number_interrupts_the_line() -> None:
    """The line begins anew behind it, and the words name the step."""
    bad = losses(20)
    bad[8] = NAN
    drawn = loss_plot({"this run": _run(losses=bad)})
    assert drawn is not None
    assert drawn.strokes[0].path.count("M") == 2
    assert "nan" not in drawn.strokes[0].path
    assert "not a number at step 8" in drawn.words


def test_kept_steps_are_dots_and_stalls_stay_at_the_edge() -> None:
    """The scale is the window that steps are kept in; what lies outside is counted."""
    run = _run(stalls={9: 20.0})
    drawn = step_plot({"this run": run})
    assert drawn is not None
    line, dots, rings, holes = drawn.strokes
    assert ("rings-head", "holes", rings.path) == (rings.style, holes.style, holes.path)
    assert len(PLACE.findall(dots.path)) == len(run.measurements.steady.kept_steps)
    assert {float(y) for _, y in PLACE.findall(line.path)} <= {y / 10 for y in range(80, 1501)}
    assert "outside the drawing, down to 0.0090 s and up to" in drawn.notes[-1]


def test_little_is_not_drawn() -> None:
    """One step is no curve, and a run without steps has none."""
    bare = run_log()
    empty = measure(replace(bare, steps=(), steps_seen=0))
    assert plots({"this run": empty}) == ()
    assert plots({}) == ()
    one = measure(replace(bare, steps=bare.steps[:1]))
    assert plots({"this run": one}) == ()


def test_a_long_run_is_thinned_without_losing_its_spike() -> None:
    """Of ten thousand steps the one that jumps is still drawn."""
    curve = [2.0 + step / 1e6 for step in range(10_000)]
    curve[6789] = 9.0
    drawn = loss_plot({"this run": _run(steps=10_000, losses=curve)})
    assert drawn is not None
    places = PLACE.findall(drawn.strokes[0].path)
    assert len(places) <= 2 * MAX_BINS
    assert min(float(y) for _, y in places) < 15


def test_a_side_without_steps_is_not_drawn() -> None:
    """Where the head failed before its first step, the base's curves stand alone, as the base's."""
    bare = run_log()
    failed = measure(replace(bare, steps=(), steps_seen=0))
    for sides in ({"main": _run(), "this change": failed}, {"main": failed, "this change": _run()}):
        drawn = plots(sides)
        expected = "line-base" if sides["this change"] is failed else "line-head"
        assert [one.strokes[0].style for one in drawn] == [expected, expected]
        assert not any("difference" in one.words for one in drawn)


@given(st.lists(st.one_of(st.floats(), st.floats(0, 20)), min_size=2, max_size=60))
@example([0.0, 1.7e308])
@example([-1.7e308, 1.7e308])
@example([0.0, 1.0, 8.9e307, 0.0])
def test_any_losses_can_be_drawn(values: list[float]) -> None:
    """Every place lies in the drawing, whatever the numbers are."""
    run = _run(steps=len(values), losses=values, perplexity=False)
    turned = _run(steps=len(values), losses=values[::-1], perplexity=False)
    for drawn in (loss_plot({"this run": run}), loss_plot({"main": run, "this change": turned})):
        for stroke in drawn.strokes if drawn else ():
            for x, y in PLACE.findall(stroke.path):
                assert 0 <= float(x) <= WIDTH
                assert 0 <= float(y) <= 240
            assert "nan" not in stroke.path
            assert "inf" not in stroke.path
