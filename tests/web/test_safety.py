"""Nothing that comes from outside can act on a page, and no page tells more than its visitor may know."""

import re
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from bot.logs.facts import OutcomeState
from bot.storage import runs
from bot.verdict.judgement import MeasuredRun
from bot.web.sanitize import sanitize
from tests.report import samples
from tests.report.sample_states import HOSTILE_TEXT, hostile
from tests.web.site_under_test import MEMBER, PRIVATE, PUBLIC, ParsedPage, SiteUnderTest

OURS = """
html head meta title link script noscript body a header nav ol li main footer p h1 h2 h3 h4 ul bdi div table
caption thead tbody tr th td time code strong span details summary section figure figcaption svg rect pre form
label input button i kbd mark q path br
"""

PULL = f"/{PUBLIC}/pull/4270"

CASE = "=<img src=x onerror=alert(1)> \u202e gs://lance-maxtext/secret"

NASTY = b"""<script>alert(1)</script> "quoted" 'single' &amp; {{ 7 * 7 }} <!-- x
\x1b[31mred\x1b[0m \x00 nul \xff\xfe bytes \xe2\x80\xae backwards
</li></ol><img src=x onerror=alert(1)>
gs://secret-bucket/path someone@example.com password = hunter2hunter
-----BEGIN RSA PRIVATE KEY-----
AAAAB3NzaC1yc2EAAAADAQABAAABAQ
-----END RSA PRIVATE KEY-----
the end
"""


def nasty_failure() -> MeasuredRun:
    """A run whose log tries to do something wherever it is shown."""
    failure = replace(samples.NNX_FAILURE, error=HOSTILE_TEXT, excerpt=NASTY.decode("utf-8", "replace"))
    run = samples.measured(None, end=samples.outcome(OutcomeState.FAILED, failure))
    return replace(run, log=replace(run.log, source="gs://secret-bucket/<b>.log", warnings=(HOSTILE_TEXT,)))


@pytest.fixture
def pages(site: SiteUnderTest) -> dict[str, str]:
    """Every kind of page, made of hostile texts."""
    site.add_report(hostile())
    site.add_pull(4270)
    site.add_run("r", NASTY, measured=nasty_failure())
    for n in range(3):
        record = replace(samples.record(CASE, "n|<i>x", samples.HEAD, n), branch="main", sha=f"{n}" * 40)
        measured = nasty_failure() if n == 1 else samples.measured(0.2 + n / 100, jax="<b>0.9")
        site.database.write_now(runs.save, record, now=1.0, measured=measured)
    asked = urlencode({"case": CASE, "variant": "n|<i>x"})
    paths = (
        "/",
        f"/{PUBLIC}",
        PULL,
        "/runs/r",
        "/runs/r/log",
        "/nothing/<script>alert(1)</script>",
        f"/{PUBLIC}/compare/main...{'1' * 12}",
        f"/{PUBLIC}/compare/{'2' * 12}...{'1' * 12}?{asked}",
        f"/{PUBLIC}/compare/main...<script>alert(1)</script>",
        f"/{PUBLIC}/compare/main...main?case=<script>",
        f"/{PUBLIC}/history",
        f"/{PUBLIC}/history?{asked}",
        f"/{PUBLIC}/history?case=<b>&metric=<b>",
        f"/{PUBLIC}/parity/main",
        f"/{PUBLIC}/parity/{'1' * 12}",
    )
    return {path: site.get(path).text for path in paths}


def test_foreign_text_makes_no_element(pages: dict[str, str]) -> None:
    """Hostile titles, cases, errors and log lines add no tag and no handler to a page."""
    for path, text in pages.items():
        page = ParsedPage(text)
        assert set() == {tag for tag, _ in page.tags} - {*OURS.split()}, path
        assert [] == [name for _, attributes in page.tags for name in attributes if name.startswith("on")], (
            path
        )


def test_links_lead_to_this_site_or_to_github(pages: dict[str, str]) -> None:
    """No text can become an address."""
    for path, text in pages.items():
        page = ParsedPage(text)
        links = [*page.values("href"), *page.values("src"), *page.values("action")]
        assert [] == [link for link in links if not re.match(r"/(?!/)|#|https://github\.com/", link)], path


def test_no_page_needs_inline_style_or_script(pages: dict[str, str]) -> None:
    """The policy forbids both, so none is there."""
    for path, text in pages.items():
        page = ParsedPage(text)
        assert [] == page.values("style"), path
        assert [] == [
            tag
            for tag, attributes in page.tags
            if tag == "style" or (tag == "script" and "src" not in attributes)
        ]


def test_hostile_text_is_shown_as_it_is(pages: dict[str, str]) -> None:
    """What a log says can be read, with signs for what cannot be seen."""
    text = ParsedPage(pages["/runs/r/log"]).text
    assert "<script>alert(1)</script> \"quoted\" 'single' &amp; {{ 7 * 7 }} <!-- x" in text
    assert "red ␀ nul \ufffd\ufffd bytes [U+202E RIGHT-TO-LEFT OVERRIDE] backwards" in text
    assert "</li></ol><img src=x onerror=alert(1)>" in text


def test_no_text_turns_its_neighbours_around(pages: dict[str, str]) -> None:
    """Direction overrides and controls arrive as signs, so that no title or error reads reversed."""
    for path, text in pages.items():
        assert sanitize(text) == text, path


def test_public_places_are_redacted(site: SiteUnderTest, pages: dict[str, str]) -> None:
    """Secrets and internal names of a public repository's logs are in none of its pages, files or JSON."""
    paths = (
        "/runs/r/log/raw",
        "/api/v1/runs/r",
        "/api/v1/runs/r/log",
        "/api/v1/runs/r/log?at=300&length=60",
    )
    shown = [*pages.values(), *(site.get(path).text for path in paths)]
    for text in shown:
        for secret in ("secret-bucket", "hunter2", "someone@example", "AAAAB3NzaC1yc2E", str(site.folder)):
            assert secret not in text
    assert 8 == pages["/runs/r/log"].count('<li id="L') + pages["/runs/r/log"].count('class="marked')


def test_every_answer_carries_the_headers_of_safety(site: SiteUnderTest, pages: dict[str, str]) -> None:
    """Pages, files, JSON, refusals: all of them."""
    style = next(link for link in ParsedPage(pages["/"]).values("href") if link.endswith(".css"))
    paths = [
        *pages,
        style,
        "/runs/r/log/raw",
        "/api/v1/",
        "/api/v1/none",
        "/static/none.css",
        "/runs/none/log",
    ]
    for path in paths:
        headers = site.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "unsafe" not in policy, path
        assert "frame-ancestors 'none'" in policy, path
        assert ("nosniff", "no-referrer") == (
            headers["x-content-type-options"],
            headers["referrer-policy"],
        ), path


def private_pages(site: SiteUnderTest) -> list[str]:
    """Addresses of a private repository."""
    made = replace(samples.mixed(), repository=PRIVATE)
    site.add_report(made)
    site.add_pull(4270, PRIVATE)
    site.add_run("p", NASTY, measured=samples.measured(), repository=PRIVATE)
    return [f"/{PRIVATE}", f"/{PRIVATE}/pull/4270", "/runs/p", "/runs/p/log", "/runs/p/log/raw",
            f"/api/v1/{PRIVATE}", "/api/v1/runs/p", "/api/v1/runs/p/log"]  # fmt: skip


def test_a_stranger_cannot_tell_private_from_absent(site: SiteUnderTest) -> None:
    """Without the key, or with another's, the answer is byte for byte that for what does not exist."""
    for path in private_pages(site):
        absent = site.get(path.replace("secret", "nothing").replace("/p", "/q"))
        for key in ("", "?key=", f"?key={site.key(PRIVATE)[:-1]}", "?key=é"):
            answer = site.get(path + key)
            assert (404, absent.content) == (answer.status_code, answer.content), path + key
            assert dict(absent.headers) == dict(answer.headers), path + key


@pytest.mark.parametrize(
    ("asked", "aim"),
    [
        (f"/{PUBLIC}/", f"/{PUBLIC}"),
        (f"/{PUBLIC}/history/?case=a%20b", f"/{PUBLIC}/history?case=a%20b"),
        (f"/{PRIVATE}/", f"/{PRIVATE}"),
        ("/octo/none/", "/octo/none"),
        ("/api/v1/runs/x/", "/api/v1/runs/x"),
        ("//evil.example/", "/evil.example"),
        ("/%5Cevil.example/", "/%5Cevil.example"),
        ("/%2F/evil.example//", "/evil.example"),
    ],
)
def test_a_slash_too_many_leads_to_the_page_on_this_site(asked: str, aim: str, site: SiteUnderTest) -> None:
    """Whether there is such a page is said there and not here."""
    answer = site.get(f"{site.url}{asked}")
    assert (308, aim) == (answer.status_code, answer.headers["location"])


@pytest.mark.parametrize("path", [f"/{PUBLIC}/parity/a%0Ab", f"/{PRIVATE}/parity/a%0Ab", "/a%0D%0Ab"])
def test_no_address_holds_a_line_break(path: str, site: SiteUnderTest) -> None:
    """The one clear page, as for every other address that there is not; in JSON for programs."""
    assert site.get("/none").text == site.get(path).text
    assert site.get("/api/v1/none").json() == site.get(f"/api/v1{path}").json()


def test_pages_of_a_private_repository_stay_in_the_readers_browser(site: SiteUnderTest) -> None:
    """And no link of theirs carries a key."""
    for path in private_pages(site):
        answer = site.get(path, authorization=MEMBER)
        assert (200, "private, no-cache") == (answer.status_code, answer.headers["cache-control"]), path
        assert "key=" not in answer.text


def test_a_private_log_is_shown_to_its_readers_as_it_is(site: SiteUnderTest) -> None:
    """Who may read the repository may read its bucket's name."""
    private_pages(site)
    assert "gs://secret-bucket/path" in site.get("/runs/p/log", authorization=MEMBER).text


def test_home_does_not_name_private_repositories(site: SiteUnderTest) -> None:
    """Neither the page nor the JSON, with or without a key."""
    private_pages(site)
    for path in ("/", "/api/v1/", "/?head=1"):
        assert "secret" not in site.get(path, authorization=MEMBER).text


def test_a_repository_nobody_told_us_of_is_private(site: SiteUnderTest) -> None:
    """What is not known to be public is not shown."""
    site.add_run("lost", b"x\n", repository="octo/unknown")
    assert 404 == site.get("/runs/lost").status_code
    assert 404 == site.get("/runs/lost", authorization=MEMBER).status_code
