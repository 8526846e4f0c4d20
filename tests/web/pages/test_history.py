"""The pages of histories: levels, changes, thinning, tables."""

import csv
import io
from math import inf, nan
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.storage.histories import AcknowledgedVerdict, HistoryPoint
from bot.web.answers import csv_text
from bot.web.charts.history import PLOT_HEIGHT, history_levels, history_plot, level_changes
from bot.web.charts.plots import MAX_BINS, WIDTH, thin_points
from tests.conftest import Accept
from tests.verdict.made_runs import normals
from tests.web.charts.test_plots import PLACE
from tests.web.filled_site import MAIN_RUNS, sha
from tests.web.pages.test_pages import settled
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest

HISTORY = f"/{PUBLIC}/history"


def _point(number: int, value: float | None, conditions: str = "TPU · 32") -> HistoryPoint:
    return HistoryPoint(
        run=f"r{number}",
        sha=f"{number:040x}",
        started=1e9 + 3600.0 * number,
        outcome="succeeded" if value is not None else "failed",
        conditions=conditions,
        value=value,
        found=True,
        keeps_pace=True,
    )


@pytest.mark.parametrize(
    ("name", "asked"), [("moved", "?case=04_int8"), ("failing", "?case=11_offload&variant=nnx"), ("all", "")]
)
def test_a_history_reads_as_its_golden_page(
    name: str, asked: str, filled_site: SiteUnderTest, accept: Accept
) -> None:
    """A change that somebody took note of, a case that always fails, and the list."""
    accept(f"pages/history_{name}.html", settled(filled_site.get(HISTORY + asked).text))


def test_a_change_names_its_commits_and_who_took_note(filled_site: SiteUnderTest) -> None:
    """By how much, between which commits, and whose acknowledgement it was."""
    (change,) = filled_site.get(f"/api/v1{HISTORY}?case=04_int8&variant=linen").json()["changes"]
    assert (sha(MAIN_RUNS // 2 - 1), sha(MAIN_RUNS // 2)) == (change["before"], change["at"])
    assert 3.0 == pytest.approx(change["change_percent"], abs=0.2)
    assert ("octocat", True) == (change["acknowledged"]["by"], change["acknowledged"]["certain"])
    page = ParsedPage(filled_site.get(f"{HISTORY}?case=04_int8&variant=linen").text)
    assert "acknowledged by octocat in #7: the new kernel is worth it" in page.text
    assert f"https://github.com/{PUBLIC}/compare/{change['before']}...{change['at']}" in page.values("href")


def test_an_acknowledgement_of_another_commit_is_only_perhaps_meant() -> None:
    """A like change that was acknowledged on a pull request shortly before main moved."""
    values = [0.2 * (1 + 0.0005 * z) for z in normals(24, 3)]
    points = [_point(n, value * (1.03 if n >= 12 else 1)) for n, value in enumerate(values)]
    one = AcknowledgedVerdict(
        number=7, verdict="slower", head_sha="f" * 40, by="x", reason="y", made=(points[12].started or 0) - 60
    )
    assert [(one, False)] == [(move.acknowledgement, move.certain) for move in level_changes(points, [one])]


def test_other_devices_are_another_level_and_no_change_of_the_code() -> None:
    """Where the versions change, the step is said to be theirs."""
    points = [_point(n, 0.2 + n * 1e-5) for n in range(8)]
    points += [_point(n, 0.1 + n * 1e-5, "TPU v7 · 32") for n in range(8, 16)]
    (move,) = level_changes(points, ())
    assert (8, ("TPU · 32", "TPU v7 · 32")) == (move.index, move.conditions)
    assert [(0, 7), (8, 15)] == [(level.first, level.last) for level in history_levels(points, [move])]


def test_ten_thousand_points_are_drawn_thinly_and_no_outlier_is_lost(site: SiteUnderTest) -> None:
    """At most two points a stretch; the one that stands out is one of them."""
    values = [0.2 * (1 + 0.001 * z) for z in normals(10_000, 5)]
    values[6789] = 0.9
    points = [_point(n, value) for n, value in enumerate(values)]
    drawn = history_plot(points, history_levels(points, ()), (), title="t", unit=" s")
    assert drawn is not None
    dots = next(stroke for stroke in drawn.strokes if stroke.style == "dots-head")
    places = PLACE.findall(dots.path)
    assert len(places) <= 2 * MAX_BINS
    assert min(float(y) for _, y in places) < 20
    assert len(drawn.hover_areas) <= 120


@given(st.lists(st.one_of(st.none(), st.floats(), st.floats(0.1, 1)), min_size=1, max_size=80))
@example([0.0, 1.7e308])
@example([-1.7e308, 1.7e308, 1.7e308, 1.7e308])
def test_any_history_can_be_drawn(values: list[float | None]) -> None:
    """Every place lies in the drawing, whatever the figures are."""
    points = [_point(n, value) for n, value in enumerate(values)]
    moved = level_changes(points, ())
    drawn = history_plot(points, history_levels(points, moved), moved, title="t", unit=" s")
    for stroke in drawn.strokes if drawn else ():
        assert "nan" not in stroke.path
        assert "inf" not in stroke.path
        for x, y in PLACE.findall(stroke.path):
            assert -1 <= float(x) <= WIDTH + 1
            assert 0 <= float(y) <= PLOT_HEIGHT


def test_thinning_keeps_the_lowest_and_the_highest() -> None:
    """Of every stretch."""
    known = [(n, float(n % 7)) for n in range(5000)]
    kept = thin_points(known, 0, 5000)
    assert {0.0, 6.0} == {value for _, value in kept}
    assert kept == sorted(kept)


def test_failures_stay_in_the_picture_and_in_the_table(filled_site: SiteUnderTest) -> None:
    """A run without a figure is a stroke at the foot, and its outcome stands in the table."""
    page = ParsedPage(filled_site.get(f"{HISTORY}?case=03_dropout&variant=linen").text)
    assert "5 did not end well" in page.text
    assert "run without a figure" in page.text


def test_the_csv_has_every_run_and_no_formula(filled_site: SiteUnderTest) -> None:
    """One line a run, numbers as numbers, under the unit."""
    answer = filled_site.get(f"{HISTORY}?case=04_int8&variant=linen&format=csv")
    header, *rows = csv.reader(io.StringIO(answer.text))
    assert ("text/csv; charset=utf-8", MAIN_RUNS) == (answer.headers["content-type"], len(rows))
    assert [
        "run",
        "commit",
        "started",
        "outcome",
        "origin",
        "conditions",
        "steady_step_seconds (s)",
    ] == header
    assert 0.229 == pytest.approx(float(rows[0][-1]), rel=0.01)
    assert (
        'attachment; filename="04_int8-linen-steady_step_seconds.csv"'
        == answer.headers["content-disposition"]
    )
    assert answer.text == filled_site.get(f"/api/v1{HISTORY}?case=04_int8&variant=linen&format=csv").text


@given(st.text(max_size=30))
def test_no_field_of_a_csv_begins_a_formula(text: str) -> None:
    """Whatever it says, and it comes back as it was but for the sign in front."""
    (row,) = list(csv.reader(io.StringIO(csv_text(("a",), [(text,)]).partition("\r\n")[2]))) or [[""]]
    shown = row[0] if row else ""
    assert not shown.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "|"))
    assert text.replace("\x00", "") in {shown, shown[1:]}


def test_numbers_in_a_csv_stay_numbers() -> None:
    """A negative one is no formula; none is an empty field."""
    assert "a,b,c\r\n-1.5,,x\r\n" == csv_text(("a", "b", "c"), [(-1.5, None, "x")])


WRONG = {
    "?case=04_int": "Did you mean 04_int8?",
    "?case=04_int8&variant=nxn": "Did you mean linen or nnx?",
    "?case=04_int8&metric=final_los": "Did you mean final_loss",
    "?case=04_int8&branch=mian": "No measured run of the branch mian",
    "?case=%00": "No measured run",
}


@pytest.mark.parametrize("asked", WRONG)
def test_a_wrong_name_is_one_sentence_with_what_was_meant(asked: str, filled_site: SiteUnderTest) -> None:
    """404, in words, as a page and as JSON, where a metric that is none is 400: the API lists them."""
    page, document = filled_site.get(HISTORY + asked), filled_site.get(f"/api/v1{HISTORY}{asked}")
    assert (404, 400 if "metric" in asked else 404) == (page.status_code, document.status_code)
    assert WRONG[asked] in ParsedPage(page.text).text
    assert WRONG[asked] in document.json()["error"]


def test_odd_figures_are_no_levels() -> None:
    """Infinite, negative and absent values are drawn or left out, and never averaged."""
    points = [_point(n, value) for n, value in enumerate([0.2, inf, nan, -1.0, None, 0.2, 0.2, 0.2])]
    (level,) = history_levels(points, level_changes(points, ()))
    assert (0.2, 0.0) == (level.median, level.half_band)


def test_a_small_image_stands_alone(filled_site: SiteUnderTest) -> None:
    """Well-formed, with its words, kept for minutes, and shown by other sites; what is unknown is 404."""
    answer = filled_site.get(f"{HISTORY}/spark.svg?case=04_int8&variant=linen")
    root = ElementTree.fromstring(answer.text)  # noqa: S314 - our own image
    assert "{http://www.w3.org/2000/svg}svg" == root.tag
    assert root.attrib["aria-label"].startswith("04_int8 · linen: 24 newest runs, newest level 0.23")
    assert ("image/svg+xml", "public, max-age=300", "cross-origin") == tuple(
        answer.headers[name] for name in ("content-type", "cache-control", "cross-origin-resource-policy")
    )
    same = filled_site.get(f"{HISTORY}/spark.svg?case=04_int8", if_none_match=answer.headers["etag"])
    assert 304 == same.status_code
    assert 404 == filled_site.get(f"{HISTORY}/spark.svg?case=nothing").status_code
