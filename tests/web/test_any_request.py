"""Whatever is asked for, there is an answer, and it is never the server's own failure."""

from urllib.parse import quote, urlencode

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.site_under_test import PUBLIC, SiteUnderTest

ODD = st.one_of(
    st.sampled_from(
        [
            "main",
            "main...main",
            "pr/12",
            "main:linen",
            "cdc765a",
            "04_int8",
            "...",
            "..",
            "%",
            "/",
            ":",
            "'",
            "0",
        ]
    ),
    st.text(max_size=20),
)

PAGES = st.sampled_from(
    ["compare", "parity", "history", "history/spark.svg", "pull", "compare/main...pr/12", "parity/main", "x"]
)

ASKED = st.dictionaries(
    st.sampled_from(["case", "variant", "metric", "branch", "format", "head", "key"]), ODD, max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120, deadline=None)
@given(page=PAGES, rest=st.lists(ODD, max_size=2), asked=ASKED, above=st.sampled_from(["", "/api/v1"]))
def test_any_address_has_an_answer(
    page: str,
    rest: list[str],
    asked: dict[str, str],
    above: str,
    filled_site: SiteUnderTest,
) -> None:
    """200, 304 or 404: odd names, odd questions, as a page and as JSON, where an impossible one is 400; or
    the way to the address without its last slash. What is not there is said in one clear page of ours."""
    path = "/".join([f"{above}/{PUBLIC}", page, *(_quoted(part) for part in rest)])
    answer = filled_site.get(f"{path}?{urlencode(asked, errors='surrogatepass')}")
    assert answer.status_code in {200, 304, 308, 404, *([400] if above else [])}, path
    assert answer.status_code != 404 or answer.headers["cache-control"] == "no-store", path


def _quoted(part: str) -> str:
    return quote(part, safe="/:.", errors="surrogatepass")
