"""Logs that were saved as UTF-16 are shown, searched, cut and redacted as text."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.log_viewer import seekable as log_recoded
from bot.web.log_viewer.seekable import RecodedText
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


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=2, max_size=300),
    size=st.integers(1, 40),
    start=st.integers(0, 700),
)
def test_any_place_is_reached_as_from_the_start(text: str, size: int, start: int) -> None:
    """However the stored bytes are cut, and whichever places were remembered on the way."""
    stored = ("ab" + text).encode("utf-16")

    def pieces(at: int) -> Iterator[bytes]:
        for cut in range(at, len(stored), size):
            yield stored[cut : cut + size]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_recoded, "RECODED_SPACING", 16)
        recoded = RecodedText(pieces)
        whole = b"".join(recoded.pieces_from(0))
        assert ("ab" + text).encode() == whole
        assert len(whole) == recoded.size
        assert whole[start:] == b"".join(recoded.pieces_from(start))
