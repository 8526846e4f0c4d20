"""Logs that were saved as UTF-16 are shown, searched, cut and redacted as text."""

import pytest

from tests.verdict.made_runs import run as measured
from tests.web.site_under_test import SiteUnderTest

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

TEXT = "The first line\n" + "ä line of many 😀\n" * 3000 + f"the token is {SECRET}\nthe last line\n"


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_log_in_utf_16_is_text(encoding: str, *, zipped: bool, site: SiteUnderTest) -> None:
    """With its own line numbers, its words found, its secrets withheld from strangers: on the page, in the
    search, in the API and in what one downloads."""
    site.add_run("r", TEXT.encode(encoding), zipped=zipped, measured=measured())
    page = site.get("/runs/r/log").text
    assert "The first line" in page
    assert "ä line of many 😀" in page
    assert "\x00" not in page
    assert ["the last line"] == [
        line for line in site.get("/runs/r/log/raw").text.splitlines() if "last" in line
    ]
    hit = site.get("/api/v1/runs/r/log/search?q=last+line").json()["hits"][0]
    assert (3003, "the last line") == (hit["line"]["number"], hit["line"]["text"])
    lit = site.get("/runs/r/log?from=3003").text
    assert 'class=" lit" id="L3003"' in lit
    for path in (
        "/runs/r/log?from=3002",
        "/runs/r/log/raw",
        "/runs/r/log/search?q=token",
        "/api/v1/runs/r/log",
    ):
        assert SECRET not in site.get(path).text.replace("\x00", "")
