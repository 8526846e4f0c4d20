"""Every page for everybody: by keyboard, on a phone, in the dark, without script, and to a screen reader."""

import pytest

from tests.browser.chromium import NARROW, WIDE
from tests.browser.conftest import Open
from tests.browser.filled_site import PAGES
from tests.web.site_under_test import PUBLIC

pytestmark = pytest.mark.xdist_group("browser")  # one browser for all of them


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(path: str, look: Open) -> None:
    """On a wide screen by light and on a phone in the dark, where nothing but what has a frame of its own
    scrolls sideways; and the console is silent all the while."""
    found = look(path)
    assert [] == found.violations()
    found.page.set_viewport_size({"width": NARROW, "height": 800})
    found.page.emulate_media(color_scheme="dark")
    assert [] == found.violations()
    assert NARROW == found.width()
    assert [] == _unexpected(path, found.complaints)


@pytest.mark.parametrize("path", PAGES)
def test_nothing_needs_script_to_be_read(path: str, look: Open) -> None:
    """The words are the same with and without."""
    with_script, without = look(path), look(path, script=False)
    texts = [one.page.locator("main").text_content() or "" for one in (with_script, without)]
    assert texts[1].strip()
    assert set(texts[1].split()) <= set(texts[0].split())


@pytest.mark.parametrize("path", PAGES)
def test_the_keyboard_gets_everywhere(path: str, look: Open) -> None:
    """The first stop skips to the content; every stop can be seen, and none is a trap."""
    page = look(path).page
    page.keyboard.press("Tab")
    assert "Skip to the content" == page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert "page:main" == page.evaluate("document.activeElement.id")
    stops: list[str] = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            "() => { const at = document.activeElement; if (at === document.body) return 'end';"
            " at.dataset.stop = at.dataset.stop || String(Math.random());"
            " return getComputedStyle(at).outlineStyle === 'none' ? 'unseen ' + at.outerHTML.slice(0, 90)"
            " : at.dataset.stop; }"
        )
        assert not seen.startswith("unseen")
        if seen == "end":
            break
        stops.append(seen)
    assert len(stops) == len(set(stops))


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_no_scale_hides_a_part_of_its_drawing(width: int, look: Open) -> None:
    """What stands at the edges of a drawing stands beside it."""
    page = look(f"/{PUBLIC}/compare/main...test_1?case=04_int8&variant=linen", width=width).page
    hidden = page.evaluate(
        "() => [...document.querySelectorAll('.drawn')].flatMap(drawn => {"
        " const its = drawn.querySelector('svg').getBoundingClientRect();"
        " return [...drawn.querySelectorAll('.edge')].map(one => one.getBoundingClientRect())"
        " .map(one => one.right > its.left && one.left < its.right && one.bottom > its.top"
        " && one.top < its.bottom); })"
    )
    assert [False] * 8 == hidden


def _unexpected(path: str, complaints: list[str]) -> list[str]:
    """A browser itself notes that a page is not there."""
    absent = path in {"/runs/none/log", "/no/such", "/sign-in"}
    return [said for said in complaints if not (absent and "404" in said)]
