"""The matrix of cases and variants, and how main stands."""

import csv
import io

from tests.conftest import Accept
from tests.web.filled_site import NNX_ERROR
from tests.web.pages.test_pages import settled
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest


def test_parity_reads_as_its_golden_page(filled_site: SiteUnderTest, accept: Accept) -> None:
    """Of a head commit with what became of each case, and of main by itself."""
    accept("pages/parity_head.html", settled(filled_site.get(f"/{PUBLIC}/parity/cdc765a").text))
    accept("pages/parity_main.html", settled(filled_site.get(f"/{PUBLIC}/parity/main").text))


def test_every_cell_says_what_became_of_it(filled_site: SiteUnderTest) -> None:
    """fail → pass, fails the same, and nothing where nothing changed."""
    document = filled_site.get(f"/api/v1/{PUBLIC}/parity/pr/12").json()
    assert ["linen", "nnx"] == document["variants"]
    cells = {
        (row["case"], cell["variant"]): (cell["standing"], cell["transition"])
        for row in document["rows"]
        for cell in row["cells"]
    }
    assert {
        ("03_dropout", "linen"): ("passes", "fail_to_pass"),
        ("03_dropout", "nnx"): ("passes", "fail_to_pass"),
        ("04_int8", "linen"): ("passes", "still_passes"),
        ("04_int8", "nnx"): ("passes", "still_passes"),
        ("11_offload", "linen"): ("passes", "still_passes"),
        ("11_offload", "nnx"): ("fails", "fails_the_same"),
    } == cells


def test_the_tally_is_of_the_same_cases(filled_site: SiteUnderTest) -> None:
    """So many pass, and so many of those that main has too."""
    text = ParsedPage(filled_site.get(f"/{PUBLIC}/parity/pr/12").text).text
    assert "linen: 3 of 3 pass (2 → 3 of the 3 that main has too)" in text
    assert "nnx: 2 of 3 pass (1 → 2 of the 3 that main has too)" in text


def test_parity_as_csv(filled_site: SiteUnderTest) -> None:
    """One line a cell."""
    rows = list(csv.DictReader(io.StringIO(filled_site.get(f"/{PUBLIC}/parity/pr/12?format=csv").text)))
    assert 6 == len(rows)
    assert [NNX_ERROR] == [row["error"] for row in rows if row["standing"] == "fails"]


def test_an_unknown_name_is_said(filled_site: SiteUnderTest) -> None:
    """With what was meant."""
    answer = filled_site.get(f"/{PUBLIC}/parity/mian")
    assert (404, True) == (answer.status_code, "Did you mean main?" in answer.text)


def test_a_repository_says_how_main_stands(filled_site: SiteUnderTest, accept: Accept) -> None:
    """What has had no good run for days stands first, with the age of every newest run."""
    accept("pages/repository_health.html", settled(filled_site.get(f"/{PUBLIC}").text))
    text = ParsedPage(filled_site.get(f"/{PUBLIC}").text).text
    assert "main has had no good run of 03_dropout · linen for 6 days" in text
    assert "main has had no good run of 11_offload · nnx in its 24 runs" in text
    health = filled_site.get(f"/api/v1/{PUBLIC}").json()["health"]
    by_case = {(one["case"], one["variant"]): one for one in health}
    assert "03_dropout-linen-m18" == by_case["03_dropout", "linen"]["last_good"]["run"]
    assert by_case["11_offload", "nnx"]["last_good"] is None
