"""Signing in with GitHub: who may read a repository there may read its pages, and nobody learns more."""

import asyncio
import html
import re
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.github.stand_in import StandInGitHub
from bot.github.sign_in import PUBLIC_API, SignInClient
from bot.storage.database import Database
from bot.web.auth.sign_in import local_path
from bot.web.auth.visitor import GRANT_CACHE_SECONDS, MAX_BAD_TOKENS, REFUSAL_CACHE_SECONDS
from tests.github.plain_history import PlainHistory
from tests.web.site_under_test import PRIVATE, PUBLIC, URL, ParsedPage, SiteUnderTest
from tests.web.test_safety import private_pages

CLIENT_ID, CLIENT_SECRET = "Iv23client", "a client secret"
PAGE = f"/{PRIVATE}"


class Browser:
    """One browser at the site, with its cookies."""

    def __init__(self, site: SiteUnderTest) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}
        self.set: list[str] = []

    def go(self, path: str, method: str = "GET", body: str = "", **headers: str) -> httpx.Response:
        """One request; no redirect is followed."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.site.app)
            async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
                return await client.request(method, path, headers=sent, content=body)

        answer = asyncio.run(ask())
        for line in answer.headers.get_list("set-cookie"):
            self.set.append(line)
            ((name, morsel),) = SimpleCookie(line).items()
            self.cookies.pop(name, None)
            if morsel.value and morsel["max-age"] != "0":
                self.cookies[name] = morsel.value
        return answer

    def sign_in(self, github: StandInGitHub, login: str, where: str = PAGE) -> httpx.Response:
        """From a page, over GitHub, back to it."""
        first = self.go(where + ("&" if "?" in where else "?") + "sign-in=github")
        begun = self.go(first.headers["location"])
        return self.go(github.agree_to_sign_in(begun.headers["location"], login))


@pytest.fixture
def github() -> StandInGitHub:
    """Alice may read the private repository, mallory may not."""
    stand_in = StandInGitHub(
        PlainHistory(), PRIVATE, None, "a secret", 42, client_id=CLIENT_ID, client_secret=CLIENT_SECRET
    )
    stand_in.state.readable = {"alice": {PRIVATE, PUBLIC}, "mallory": {PUBLIC}}
    return stand_in


@pytest.fixture
def sign_in_site(tmp_path: Path, github: StandInGitHub) -> Iterator[SiteUnderTest]:
    """A site at which one can sign in."""
    database = Database(f"sqlite:///{tmp_path}/maxview.sqlite")
    database.migrate()
    people = SignInClient(
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        api_url=PUBLIC_API,
        now=lambda: 0.0,
        transport=httpx.ASGITransport(github.application),
    )
    yield SiteUnderTest(folder=tmp_path, database=database, identity_provider=people)
    database.close()


def test_who_may_read_the_repository_may_read_its_pages(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """Every page of it, after one sign-in, and back at the place one came from."""
    pages = private_pages(sign_in_site)
    browser = Browser(sign_in_site)
    back = browser.sign_in(github, "alice", f"{PAGE}/pull/4270?head=abc1")
    assert (303, f"{PAGE}/pull/4270?head=abc1") == (back.status_code, back.headers["location"])
    for path in pages:
        answer = browser.go(path)
        assert (200, "private, no-cache") == (answer.status_code, answer.headers["cache-control"]), path
        assert "key=" not in answer.text
    assert "alice" in ParsedPage(browser.go(PAGE).text).text


def test_a_stranger_who_is_signed_in_sees_what_nobody_sees(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """Byte for byte, header for header, and with as many questions to GitHub: private and absent are one."""
    pages = private_pages(sign_in_site)
    browser = Browser(sign_in_site)
    browser.sign_in(github, "mallory")
    for number, path in enumerate(pages):
        missing = path.replace("secret", f"nothing{number}").replace("/runs/p", f"/runs/q{number}")
        github.state.requests.clear()
        hidden, asked_for_hidden = browser.go(path), len(github.state.requests)
        github.state.requests.clear()
        absent, asked_for_absent = browser.go(missing), len(github.state.requests)
        assert (404, absent.content) == (hidden.status_code, hidden.content), path
        assert dict(absent.headers) == dict(hidden.headers), path
        sign_in_site.now += REFUSAL_CACHE_SECONDS + 1
        assert asked_for_hidden == asked_for_absent == 1, path


def test_the_answer_of_github_is_kept_for_minutes_and_not_longer(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """Who loses the right to read the repository loses its pages."""
    browser = Browser(sign_in_site)
    browser.sign_in(github, "alice")
    github.state.requests.clear()
    assert [200, 200] == [browser.go(PAGE).status_code for _ in range(2)]
    assert [f"GET /repos/{PRIVATE}"] == github.state.requests
    github.state.readable["alice"].clear()
    sign_in_site.now += GRANT_CACHE_SECONDS - 1
    assert 200 == browser.go(PAGE).status_code
    sign_in_site.now += 2
    assert 404 == browser.go(PAGE).status_code
    github.state.readable["alice"].add(PRIVATE)
    sign_in_site.now += REFUSAL_CACHE_SECONDS + 1
    assert 200 == browser.go(PAGE).status_code


def test_a_session_ends_with_its_day_and_with_its_token(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """After eight hours, or when GitHub says that the token does."""
    browser = Browser(sign_in_site)
    github.state.user_token_seconds = 3600
    browser.sign_in(github, "alice")
    sign_in_site.now += 3599
    assert 200 == browser.go(PAGE).status_code
    sign_in_site.now += 2
    assert 404 == browser.go(PAGE).status_code
    github.state.user_tokens.clear()
    browser.sign_in(github, "alice")
    github.state.user_tokens.clear()
    assert 404 == browser.go(PAGE).status_code


def test_signing_out_ends_the_session_everywhere(sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """A copy of the cookie is worth nothing then, and GitHub forgets the token."""
    browser, copy = Browser(sign_in_site), Browser(sign_in_site)
    browser.sign_in(github, "alice")
    copy.cookies |= browser.cookies
    proof = re.search(r'name="proof" value="(\w+)"', browser.go(PAGE).text)
    assert proof
    answer = browser.go("/sign-out", "POST", f"proof={proof[1]}")
    assert (303, "/") == (answer.status_code, answer.headers["location"])
    assert {} == browser.cookies
    assert {} == github.state.user_tokens
    assert 404 == copy.go(PAGE).status_code


@pytest.mark.parametrize("body", ["", "proof=", "proof=0123456789abcdef0123456789abcdef", "proof=é"])
def test_no_other_page_can_sign_somebody_out(
    body: str, sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """The form of another site lacks the proof; a link cannot post."""
    browser = Browser(sign_in_site)
    browser.sign_in(github, "alice")
    browser.go("/sign-out", "POST", body)
    assert 200 == browser.go(PAGE).status_code
    assert 404 == browser.go("/sign-out").status_code


def test_a_sign_in_belongs_to_the_browser_that_began_it(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """A link to the end of somebody else's sign-in signs nobody in; neither does a second use of one."""
    mallory, victim = Browser(sign_in_site), Browser(sign_in_site)
    begun = mallory.go("/sign-in?next=/")
    end = github.agree_to_sign_in(begun.headers["location"], "mallory")
    assert (400, "was not begun here") == (
        (answer := victim.go(end)).status_code,
        _page_with(answer, "was not begun here"),
    )
    assert {} == victim.cookies
    victim.go("/sign-in?next=/")
    assert 400 == victim.go(end).status_code
    used = dict(mallory.cookies)
    assert 303 == mallory.go(end).status_code
    mallory.cookies = used
    assert (400, {}) == (
        mallory.go(end).status_code,
        {k: v for k, v in mallory.cookies.items() if "session" in k},
    )


@pytest.mark.parametrize("end", ["", "?state=x", "?code=x", "?code=x&state=é", "?error=access_denied"])
def test_a_broken_return_from_github_is_one_clear_page(
    end: str, sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """Whatever stands in it."""
    browser = Browser(sign_in_site)
    browser.go("/sign-in")
    assert 400 == browser.go(f"/sign-in/callback{end}").status_code


def test_who_refuses_at_github_is_told_so(sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """And may go on reading what is open."""
    browser = Browser(sign_in_site)
    begun = browser.go("/sign-in")
    state = re.search(r"state=([\w-]+)", begun.headers["location"])
    assert state
    answer = browser.go(f"/sign-in/callback?error=access_denied&state={state[1]}")
    assert (400, True) == (answer.status_code, "You are not signed in" in answer.text)
    assert {} == browser.cookies


def test_cookies_are_for_this_host_and_for_no_script(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """`__Host-`, HttpOnly, Secure, SameSite=Lax; the token stands in none of them as it is."""
    browser = Browser(sign_in_site)
    browser.sign_in(github, "alice")
    assert 3 == len(browser.set)
    for line in browser.set:
        assert line.startswith("__Host-maxview-")
        assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/"} <= {part.strip() for part in line.split(";")}
        assert not any(token in line for token in github.state.user_tokens)


def test_the_database_holds_no_token_and_no_name_of_a_session(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """Who reads the file cannot enter with it."""
    browser = Browser(sign_in_site)
    browser.sign_in(github, "alice")
    stored = b"".join(path.read_bytes() for path in sign_in_site.folder.glob("maxview.sqlite*"))
    assert b"alice" in stored
    assert not any(token.encode() in stored for token in github.state.user_tokens)


CHANGES: dict[str, Callable[[str], str]] = {
    "end": lambda value: value[:-3] + "AAA",
    "cut": lambda value: value[:40],
    "other": lambda value: "x" * len(value),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_cookie_is_nobodys(change: str, sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """Only what we sealed opens."""
    browser = Browser(sign_in_site)
    browser.sign_in(github, "alice")
    browser.cookies = {name: CHANGES[change](value) for name, value in browser.cookies.items()}
    assert 404 == browser.go(PAGE).status_code


def test_a_token_opens_what_its_owner_may_read(sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """`Authorization: Bearer`, for programs; one for mallory, one that is none, and one that is no word."""
    private_pages(sign_in_site)
    path = f"/api/v1/{PRIVATE}/pull/4270"
    statuses = [
        Browser(sign_in_site).go(path, authorization=f"Bearer {token}").status_code
        for token in (
            github.create_user_token("alice"),
            github.create_user_token("mallory"),
            "ghp_" + "x" * 36,
            "hello",
            "",
        )
    ]
    assert [200, 404, 404, 404, 404] == statuses


def test_bad_tokens_are_not_tried_for_ever(sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """GitHub shuts out who goes on with bad ones: after sixty in a minute none is sent, and that is said."""
    statuses = [
        Browser(sign_in_site).go(PAGE, authorization=f"Bearer ghp_{n:036d}").status_code
        for n in range(MAX_BAD_TOKENS + 2)
    ]
    assert [404] * MAX_BAD_TOKENS + [503, 503] == statuses
    assert MAX_BAD_TOKENS == len(github.state.requests)
    sign_in_site.now += 61
    assert 404 == Browser(sign_in_site).go(PAGE, authorization="Bearer ghp_" + "y" * 36).status_code


def test_where_github_is_away_public_pages_stay_open(
    sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """And the rest says so alike, for what is there and what is not."""
    browser = Browser(sign_in_site)
    browser.sign_in(github, "alice")
    github.state.away = True
    answers = [browser.go(path) for path in (PAGE, "/octo/nothing", "/runs/nothing", f"/api/v1/{PRIVATE}")]
    assert [503] * 4 == [answer.status_code for answer in answers]
    assert answers[0].content == answers[1].content
    assert 200 == browser.go(f"/{PUBLIC}").status_code
    assert 503 == browser.sign_in(github, "alice").status_code


def test_pages_for_one_are_not_kept_for_others(sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """A public page with somebody's name on it is private, and every page varies with who asks."""
    browser = Browser(sign_in_site)
    before = browser.go(f"/{PUBLIC}")
    browser.sign_in(github, "alice")
    after = browser.go(f"/{PUBLIC}")
    assert ("no-cache", "private, no-cache") == (
        before.headers["cache-control"],
        after.headers["cache-control"],
    )
    assert "Cookie, Authorization" == before.headers["vary"]
    assert before.headers["etag"] != after.headers["etag"]


def test_browsers_stay_on_https(sign_in_site: SiteUnderTest) -> None:
    """Every answer says so, where the pages are reached over it."""
    for path in ("/", "/nothing/there", "/static/none.css", "/sign-in"):
        assert "max-age=31536000" == Browser(sign_in_site).go(path).headers["strict-transport-security"]


@pytest.mark.parametrize(
    "aim",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", "/a b", "",
     "\\\\evil.example", "/%0a\r\nSet-Cookie: a=b", "evil.example", "/" + "a" * 3000, "/é"],
)  # fmt: skip
def test_nobody_is_sent_elsewhere(aim: str, sign_in_site: SiteUnderTest, github: StandInGitHub) -> None:
    """Only paths of this site are gone back to."""
    browser = Browser(sign_in_site)
    begun = browser.go(httpx.URL(URL + "/sign-in").copy_merge_params({"next": aim}).raw_path.decode())
    end = browser.go(github.agree_to_sign_in(begun.headers["location"], "alice"))
    assert "/" == end.headers["location"]


@pytest.mark.parametrize(
    "place", [f"/{PRIVATE}/branch/feat/%C3%BC%20x", f"/{PRIVATE}/history?case=a%2Bb%26c"]
)
def test_signing_in_leads_back_to_the_very_page(
    place: str, sign_in_site: SiteUnderTest, github: StandInGitHub
) -> None:
    """Also where its address holds other letters than those of English."""
    end = Browser(sign_in_site).sign_in(github, "alice", place)
    assert place == end.headers["location"]


@given(st.text(max_size=60))
def test_a_place_to_go_back_to_is_on_this_site(asked: str) -> None:
    """Whatever is asked for, as a browser reads it."""
    joined = httpx.URL("https://maxview.example/sign-in").join(local_path(asked))
    assert "maxview.example" == joined.host


def test_without_its_settings_signing_in_says_what_to_do(site: SiteUnderTest) -> None:
    """The links of the comments open private pages, as they did; the operator learns what to set."""
    answer = site.get("/sign-in")
    assert (404, True) == (answer.status_code, "GITHUB_CLIENT_ID" in answer.text)
    assert "Sign in" not in ParsedPage(site.get("/").text).text
    assert 404 == site.get("/nothing?sign-in=github").status_code


def test_a_page_that_is_not_there_offers_to_sign_in(sign_in_site: SiteUnderTest) -> None:
    """With a link that is the same on all of them."""
    page = ParsedPage(Browser(sign_in_site).go("/no/such").text)
    assert "?sign-in=github" in page.values("href")


def _page_with(answer: httpx.Response, words: str) -> str:
    return words if words in html.unescape(answer.text) else answer.text
