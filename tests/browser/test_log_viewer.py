"""The log viewer and its neighbours as people use them."""

import re

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Open
from tests.web.site_under_test import PUBLIC

pytestmark = pytest.mark.xdist_group("browser")  # one browser for all of them


def _lit(page: Page) -> list[str]:
    return [line.get_attribute("id") or "" for line in page.locator("li.lit").all()]


def test_a_link_to_lines_lights_them_wherever_they_stand(look: Open) -> None:
    """`#L120-L130` on the page; lines of another part are fetched; without script `?from=&to=` does it."""
    wanted = [f"L{n}" for n in range(15_000, 15_004)]
    found = look("/runs/long/log#L15000-L15003")
    found.page.wait_for_url("**from=15000**")
    assert wanted == _lit(found.page)
    assert found.page.locator("#L15000").is_visible()
    assert wanted == _lit(look("/runs/long/log?from=15000&to=15003", script=False).page)
    assert [] == found.complaints


def test_a_click_names_a_line_and_shift_names_several(look: Open) -> None:
    """The address follows, so that it can be sent to somebody."""
    page = look("/runs/failed/log").page
    page.locator("#L3 a.n").click()
    assert page.url.endswith("#L3")
    page.locator("#L6 a.n").click(modifiers=["Shift"])
    assert page.url.endswith("#L3-L6")
    assert ["L3", "L4", "L5", "L6"] == _lit(page)


def test_n_and_p_go_from_place_to_place(look: Open) -> None:
    """Forwards, backwards, and on to the next part, where a place stands there; not while one types."""
    page = look("/runs/long/log").page
    page.keyboard.press("n")
    first = page.locator("li.here").get_attribute("id")
    page.keyboard.press("n")
    assert first != page.locator("li.here").get_attribute("id")
    page.keyboard.press("p")
    assert first == page.locator("li.here").get_attribute("id")
    for _ in range(page.locator("li.marked").count()):
        page.keyboard.press("n")
    page.wait_for_url(re.compile(r"at=\d+"))
    assert page.locator("li.marked").count()
    page.keyboard.press("/")
    assert "q" == page.evaluate("document.activeElement.name")
    page.keyboard.type("np")
    assert 0 == page.locator("li.here").count()


def test_scrolling_takes_the_next_part_in(look: Open) -> None:
    """The log goes on as one scrolls, with its numbers, and what lies far above makes way."""
    page = look("/runs/long/log").page
    for _ in range(6):
        before = page.locator("ol.log[data-line] li[id^=L]").last.get_attribute("id")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_function(
            "last => [...document.querySelectorAll('ol.log[data-line] li[id^=L]')].pop().id !== last"
            " || ![...document.querySelectorAll('nav.paging')].pop().querySelector('a[rel=next]')",
            arg=before,
        )
    numbers = page.evaluate(
        "[...document.querySelectorAll('ol.log[data-line] li[id^=L]')].map(li => Number(li.id.slice(1)))"
    )
    assert list(range(numbers[0], numbers[-1] + 1)) == numbers
    assert numbers[-1] > 10_000
    assert 5 * 5000 > len(numbers)


def test_chatter_is_folded_and_opens(look: Open) -> None:
    """With how many lines, what about, and their mask; a link to a line inside opens it."""
    page = look("/runs/failed/log").page
    fold = page.locator("li.fold summary", has_text="60 lines of sharding chatter")
    assert 1 == fold.count()
    inside = page.locator("li.fold", has_text="60 lines of sharding chatter").locator("ol li").nth(5)
    name = inside.get_attribute("id")
    assert not inside.is_visible()
    page.goto(f"/runs/failed/log#{name}")
    assert page.locator(f"#{name}").is_visible()


def test_a_hostile_log_does_nothing(look: Open) -> None:
    """No script runs, no dialog opens, no picture is fetched, no link leads out."""
    found = look("/runs/failed/log")
    found.page.wait_for_timeout(50)
    assert [] == found.complaints
    assert "<script>alert(1)</script><img src=x" in (
        found.page.locator("ol.log[data-line]").text_content() or ""
    )
    outside = [
        link
        for link in found.page.locator("a").all()
        if not (link.get_attribute("href") or "").startswith(("/", "#"))
    ]
    assert [] == outside


def test_colours_are_drawn_by_the_stylesheet(look: Open) -> None:
    """Red is red by light and by dark, in shades of the page; bold is bold."""
    shades = []
    for scheme in ("light", "dark"):
        page = look("/runs/failed/log", scheme=scheme).page
        red = page.locator(".c-0").first
        shades.append(red.evaluate("one => getComputedStyle(one).color"))
    assert ["rgb(190, 21, 21)", "rgb(241, 133, 133)"] == shades


def test_a_search_leads_to_the_line(look: Open) -> None:
    """From the form to the hit to its place in the log."""
    page = look("/runs/long/log", script=False).page
    page.fill("input[type=search]", "completed step: 2")
    page.get_by_role("button", name="Search").click()
    assert 2 == page.locator("mark").count()
    page.locator("li.lit a.n").first.click()
    assert "completed step: 2" in (page.locator("li.lit").text_content() or "")


def test_two_logs_stand_side_by_side(look: Open) -> None:
    """What is apart is open, on a phone one below the other."""
    page = look(f"/{PUBLIC}/compare-logs?base=base&head=head").page
    assert "another" in page.locator("tr.apart").inner_text()
    boxes = [page.locator("tr.apart td.words").nth(n).bounding_box() for n in (0, 1)]
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"]
    page.set_viewport_size({"width": 360, "height": 800})
    boxes = [page.locator("tr.apart td.words").nth(n).bounding_box() for n in (0, 1)]
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["y"] < boxes[1]["y"]
