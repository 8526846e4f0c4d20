"""Searching a whole log: every line that holds the words is found once, with its number."""

import re
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.artifacts import log_archive
from bot.artifacts.log_archive import LogArchive, open_archive
from bot.ingest.read_log import redact_archive
from bot.web.log_viewer import search as log_search
from bot.web.log_viewer.search import (
    MAX_QUERY_LENGTH,
    InvalidQuery,
    LogPlace,
    LogQuery,
    SearchResult,
    compile_pattern,
    search_log,
)
from tests.artifacts.test_log_archive import archived
from tests.web.site_under_test import MEMBER, PRIVATE, ParsedPage, SiteUnderTest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the examples."""
    return tmp_path_factory.mktemp("searched")


def stored(folder: Path, content: bytes, *, redacts: bool = False) -> LogArchive:
    """A log as it is stored, or its redacted form."""
    archive = archived(folder, content)
    if not redacts:
        return archive
    redact_archive(archive).keep(archive.store, "redacted.mvlog")
    return open_archive(archive.store, "redacted.mvlog")


def everything(source: LogArchive, query: LogQuery) -> list[int]:
    """The numbers of the lines that are found, going on to the end."""
    numbers, place = [], LogPlace()
    while True:
        found = search_log(source, query, place)
        numbers += [hit.line.number for hit in found.hits]
        if found.following is None:
            return numbers
        assert found.following.offset > place.offset
        place = found.following


@given(
    lines=st.lists(
        st.sampled_from(["", "a", "needle", "x" * 90, "Needle two needle", "é needle"]), max_size=60
    )
)
@settings(deadline=None)
def test_every_line_with_the_words_is_found_once(folder: Path, lines: list[str]) -> None:
    """Whatever the blocks, as a search through the lines would."""
    text = "\n".join(lines)
    expected = [n for n, line in enumerate(lines, 1) if "needle" in line]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_archive, "BLOCK_BYTES", 300)
        source = stored(folder, text.encode())
    assert expected == everything(source, LogQuery(words="needle", cased=True))


def test_a_large_log_is_searched_to_its_end(tmp_path: Path) -> None:
    """Over the edges of the blocks that are read, page after page."""
    lines = [
        f"line {n} " + "y" * (n % 211) + (" the Needle" if n % 997 == 0 else "") for n in range(1, 150_001)
    ]
    content = "\n".join(lines).encode()
    source = stored(tmp_path, content)
    expected = [n for n in range(1, 150_001) if n % 997 == 0]
    assert expected == everything(source, LogQuery(words="the needle", cased=False))
    assert [] == everything(source, LogQuery(words="the needle", cased=True))


def test_one_request_ends_in_time_and_says_where_to_go_on(tmp_path: Path) -> None:
    """A slow store costs a page, never a hanging one."""
    source = stored(tmp_path, b"nothing here\n" * 2_000_000)
    ticks = count(step=log_search.MAX_SECONDS)
    found = search_log(source, LogQuery(words="absent", cased=True), LogPlace(), clock=lambda: next(ticks))
    assert found.following is not None
    assert found.following.line - 1 == found.following.offset // len(b"nothing here\n")


def test_what_is_hidden_costs_no_more_time(tmp_path: Path) -> None:
    """What is hidden is not there to be searched: a log full of it is passed block by block."""
    source = stored(tmp_path, b"password=hunter2hunter2\n" * 20_000, redacts=True)
    ticks: list[float] = []

    def clock() -> float:
        ticks.append(0.0)
        return 0.0

    found = search_log(source, LogQuery(words="hunter2", cased=True), LogPlace(), clock=clock)
    assert ((), None, True) == (found.hits, found.following, len(ticks) < 10)


def test_a_hit_shows_the_lines_around_it(tmp_path: Path) -> None:
    """Two on either side, with their numbers."""
    source = stored(tmp_path, b"".join(b"line %d\n" % n for n in range(1, 100)))
    (hit,) = search_log(source, LogQuery(words="line 50", cased=True), LogPlace()).hits
    shown = [line.text for line in (*hit.before, hit.line, *hit.after)]
    assert [f"line {n}" for n in (48, 49, 50, 51, 52)] == shown
    assert ((True, "line 50"),) == hit.text_parts


def test_a_line_of_megabytes_is_searched_in_pieces(tmp_path: Path) -> None:
    """Each place is found, with some words around it."""
    source = stored(tmp_path, (b"word " * 5000 + b"needle ") * 400)
    found: SearchResult = search_log(source, LogQuery(words="needle", cased=True), LogPlace())
    assert log_search.MAX_HITS == len(found.hits)
    assert all(len(hit.line.text) < 2000 for hit in found.hits)
    assert 400 == len(everything(source, LogQuery(words="needle", cased=True)))


HIDDEN = b"""start
password=hunter2hunter
-----BEGIN RSA PRIVATE KEY-----
MIIEabc AAAAB3NzaC1yc2E
-----END RSA PRIVATE KEY-----
token: \x1b[33mabc123def456\x1b[0m
"""


@pytest.mark.parametrize("words", ["hunter2", "hunt", "password=h", "MIIEabc", "AAAAB3NzaC1yc2E", "c123d"])
def test_what_is_hidden_cannot_be_guessed(words: str, site: SiteUnderTest) -> None:
    """A search in a public log finds what its page shows, and so tells nothing more."""
    site.add_run("r", HIDDEN)
    assert "Nothing with" in ParsedPage(site.get(f"/runs/r/log/search?q={words}").text).text
    assert "1 place with" in ParsedPage(site.get("/runs/r/log/search?q=password=").text).text


def test_a_private_log_is_searched_as_it_is(site: SiteUnderTest) -> None:
    """Its readers see the secrets."""
    site.add_run("p", b"password=hunter2hunter\n", repository=PRIVATE)
    answer = site.get("/runs/p/log/search?q=hunter2", authorization=MEMBER)
    assert "1 place with" in ParsedPage(answer.text).text


@pytest.mark.parametrize(
    "query", ["", "q=", "q=%00", "q=" + "a" * 5000, "q=a&at=x&line=y", "q=a&at=999999999"]
)
def test_any_question_has_an_answer(query: str, site: SiteUnderTest) -> None:
    """No address makes an error of ours."""
    site.add_run("r", b"only line with a\n")
    assert 200 == site.get(f"/runs/r/log/search?{query}").status_code


def test_hostile_words_and_lines_stay_text(site: SiteUnderTest) -> None:
    """What is looked for and what is found are shown as they are."""
    site.add_run("r", b"<script>alert(1)</script>\n")
    text = site.get("/runs/r/log/search?q=%3Cscript%3Ealert(1)").text
    assert "<script>alert" not in text
    assert "<mark>&lt;script&gt;alert(1)</mark>&lt;/script&gt;" in text


PATTERNS = ("ne+dle", "^a", "x{3}$", "[^b]+c", "(?i)NEEDLE", "é.n", r"\bb\b", "a|b c")


@given(
    lines=st.lists(
        st.sampled_from(["", "a", "b c", "needle", "xxx", "Needle b", "é needle", "a\tb"]), max_size=40
    ),
    pattern=st.sampled_from(PATTERNS),
    stride=st.integers(min_value=4, max_value=40),
)
@settings(deadline=None)
def test_every_line_with_an_expression_is_found_once(
    folder: Path, lines: list[str], pattern: str, stride: int
) -> None:
    """As Python's own expressions find them line by line, wherever the stretches end."""
    text = "\n".join(lines).encode()
    query = LogQuery(words=pattern, cased=True, regular=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_search, "SEARCH_STRIDE", stride)
        patch.setattr(log_archive, "BLOCK_BYTES", 100)
        hits = search_log(stored(folder, text), query, LogPlace()).hits
    expected = [n for n, line in enumerate(lines, 1) if re.search(pattern, line)]
    assert expected == [one.line.number for one in hits]
    assert all(any(marked for marked, _ in one.text_parts) for one in hits)


def test_an_expression_is_found_over_the_edges_of_blocks(tmp_path: Path) -> None:
    """Page after page, each line once."""
    lines = [
        f"line {n} " + "y" * (n % 211) + (f" loss: {n}.5" if n % 997 == 0 else "") for n in range(1, 100_001)
    ]
    source = stored(tmp_path, "\n".join(lines).encode())
    query = LogQuery(words=r"LOSS: \d+\.5$", cased=False, regular=True)
    assert [n for n in range(1, 100_001) if n % 997 == 0] == everything(source, query)


@pytest.mark.parametrize(
    "words", ["(a+)+$", "(a|a)*b", "(.*)*x", "(a?){40}a{40}", "((a{1,30}){1,9}){1,3}b", "(x+x+)+y"]
)
def test_no_expression_takes_for_ever(words: str, tmp_path: Path) -> None:
    """What brings a backtracking machine to its knees is searched as fast as anything, or refused."""
    source = stored(tmp_path, (b"a" * 4_000 + b"!\n") * 1_000)
    began = time.process_time()
    with suppress(InvalidQuery):
        search_log(source, LogQuery(words=words, cased=True, regular=True), LogPlace())
    assert time.process_time() - began < 10 * log_search.MAX_SECONDS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("(", "missing )"),
        ("[a", "missing ]"),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a*", "found everywhere"),
        (r"\b", "where no letter stands"),
        ("((a{99}){99}){99}", "repetition"),
    ],
)
def test_what_is_no_expression_is_said_in_one_sentence(words: str, said: str, site: SiteUnderTest) -> None:
    """On the page beside the form, as 400 of the API; the words alone are still found."""
    site.add_run("r", f"some {words} there\n".encode())
    asked = f"/runs/r/log/search?{urlencode({'q': words, 'regex': 'yes'})}"
    page = site.get(asked)
    assert (200, True) == (page.status_code, said in ParsedPage(page.text).text)
    answer = site.get(f"/api/v1{asked}")
    assert (400, True) == (answer.status_code, said in answer.json()["error"])
    assert 1 == len(site.get(f"/api/v1/runs/r/log/search?{urlencode({'q': words})}").json()["hits"])


@pytest.mark.parametrize("words", ["password=h[a-z0-9]+", "MIIE.*", "^MII", "c1.3d", "token: .*123"])
def test_what_is_hidden_cannot_be_guessed_by_an_expression(words: str, site: SiteUnderTest) -> None:
    """Only what readers are shown counts as a hit."""
    site.add_run("r", HIDDEN)
    asked = urlencode({"q": words, "regex": "yes"})
    assert [] == site.get(f"/api/v1/runs/r/log/search?{asked}").json()["hits"]


@pytest.mark.parametrize("begin", ["h", "x"])
@pytest.mark.parametrize(
    "guess", [r"password=(h.*|\[)", r"h.*zebra|zebra", r"password=[^h].*zebra|\[password"]
)
def test_a_guess_beside_what_is_shown_tells_nothing(begin: str, guess: str, tmp_path: Path) -> None:
    """What is found in a public log is the same whatever the secret is that was taken out."""
    letters = f"start\npassword={begin}unter2hunter2 zebra\nend\n".encode()
    source = stored(tmp_path, letters, redacts=True)
    found = search_log(source, LogQuery(words=guess, cased=True, regular=True), LogPlace())
    assert [2] == [hit.line.number for hit in found.hits]


def test_an_expression_is_found_in_a_public_log_as_in_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the edges of stretches and blocks, each line once, with its number and its neighbours."""
    monkeypatch.setattr(log_archive, "BLOCK_BYTES", 16 << 10)
    lines = [
        f"line {n} " + "y" * (n % 211) + (f" loss: {n}.5" if n % 7 == 0 else "") for n in range(1, 5_001)
    ]
    source = stored(tmp_path, "\n".join(lines).encode(), redacts=True)
    query = LogQuery(words=r"loss: \d+\.5$", cased=True, regular=True)
    expected = [n for n in range(1, 5_001) if n % 7 == 0]
    assert expected == everything(source, query)
    for hit in search_log(source, query, LogPlace()).hits:
        near = range(hit.line.number - 2, hit.line.number + 3)
        shown = (*hit.before, hit.line, *hit.after)
        assert [(n, lines[n - 1]) for n in near] == [(line.number, line.text) for line in shown]


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("redacts", [False, True])
def test_a_hit_on_the_edge_of_a_block_does_not_move_the_numbers(
    regular: bool,  # noqa: FBT001 - a parameter of the test
    redacts: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line that goes on behind the edge is found once, and the lines behind it keep their numbers."""
    monkeypatch.setattr(log_archive, "BLOCK_BYTES", 16 << 10)
    lines = ["needle " + "y" * 400 + " needle"] * 300
    source = stored(tmp_path, "\n".join(lines).encode(), redacts=redacts)
    query = LogQuery(words="needle", cased=True, regular=regular)
    monkeypatch.setattr(log_search, "MAX_HITS", 1_000)
    assert [*range(1, 301)] == everything(source, query)


def test_a_long_match_of_a_private_log_is_shown_as_far_as_there_is_room(tmp_path: Path) -> None:
    """A match of thousands of letters is one hit, and costs no more room than any."""
    source = stored(tmp_path, b"begin " + b"x " * 20_000 + b"end\n")
    (hit, *_) = search_log(source, LogQuery(words="begin.*end", cased=True, regular=True), LogPlace()).hits
    assert hit.line.number == 1
    assert sum(len(text) for _, text in hit.text_parts) < 10_000


def test_the_form_keeps_what_was_asked(site: SiteUnderTest) -> None:
    """Plain words are the default; the way on keeps the expression."""
    site.add_run("r", b"step 12\n" * 60)
    plain = ParsedPage(site.get("/runs/r/log").text)
    assert [{}] == [
        {key: value for key, value in found.items() if key == "checked"}
        for tag, found in plain.tags
        if tag == "input" and found.get("name") == "regex"
    ]
    page = ParsedPage(site.get(f"/runs/r/log/search?{urlencode({'q': 'st.p', 'regex': 'yes'})}").text)
    assert any(
        "checked" in found for tag, found in page.tags if tag == "input" and found.get("name") == "regex"
    )
    further = next(found["href"] for tag, found in page.tags if found.get("rel") == "next")
    assert "regex=yes" in further
    assert 10 == site.get(further).text.count("<mark>")


def test_the_longest_words_may_be_an_expression() -> None:
    """An ordinary expression of that length has a machine of a size that is taken."""
    assert compile_pattern("[a-z]?" * (MAX_QUERY_LENGTH // 6 - 1) + "x", cased=True)


def test_hits_that_stand_together_are_one_block(site: SiteUnderTest) -> None:
    """Each line is shown once, in its order, and every hit of it is marked."""
    lines = [f"line {n}" + (" needle" if n in {10, 12, 14, 30} else "") for n in range(1, 60)]
    site.add_run("r", "\n".join(lines).encode())
    page = ParsedPage(site.get("/runs/r/log/search?q=needle").text)
    numbers = [found["href"].rpartition("#L")[2] for tag, found in page.tags if found.get("class") == "n"]
    assert [*map(str, range(8, 17)), *map(str, range(28, 33))] == numbers
    assert ["Lines 8 to 16", "Lines 28 to 32"] == [
        found["aria-label"] for tag, found in page.tags if tag == "ol" and found.get("class") == "log"
    ]
    assert 4 == sum(tag == "mark" for tag, _ in page.tags)
