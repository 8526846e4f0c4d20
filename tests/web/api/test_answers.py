"""The pages as JSON."""

import pytest
from msgspec.structs import replace

from tests.report import samples
from tests.web.site_under_test import MEMBER, PRIVATE, PUBLIC, URL, SiteUnderTest


def test_the_root_lists_public_repositories(site: SiteUnderTest) -> None:
    """Each with its address."""
    assert {
        "schema": 1,
        "repositories": [{"repository": PUBLIC, "url": f"{URL}/api/v1/{PUBLIC}"}],
    } == site.get("/api/v1/").json()


def test_a_repository_lists_its_pull_requests(site: SiteUnderTest) -> None:
    """With the headline of each, and where to read on."""
    site.add_report(samples.mixed())
    site.add_pull(4270)
    site.add_pull(4271)
    document = site.get(f"/api/v1/{PUBLIC}").json()
    assert [4271, 4270] == [pull["number"] for pull in document["pull_requests"]]
    assert f"{URL}/{PUBLIC}/pull/4270" == document["pull_requests"][1]["page"]
    assert "1 slower" in document["pull_requests"][1]["headline"]


def test_a_pull_request_is_its_report(site: SiteUnderTest) -> None:
    """The same report as comment and page."""
    site.add_report(samples.mixed())
    document = site.get(f"/api/v1/{PUBLIC}/pull/4270").json()
    assert (PUBLIC, 4270, samples.HEAD) == (
        document["repository"],
        document["number"],
        document["head"]["sha"],
    )


def test_a_run_is_its_document(site: SiteUnderTest) -> None:
    """What the log says, and the record beside it."""
    site.add_run("r", b"x\n", measured=samples.measured())
    document = site.get("/api/v1/runs/r").json()
    assert 0.22943 == document["measurements"]["steady_step_seconds"]
    assert ("r", samples.BASE, f"{URL}/runs/r/log/raw") == tuple(
        document["record"][k] for k in ("id", "sha", "log")
    )


def test_a_log_is_read_in_parts(site: SiteUnderTest) -> None:
    """Whole lines from the one that holds the byte; the next part is linked."""
    log = "".join(f"line {n}\n" for n in range(2000))
    site.add_run("r", log.encode())
    part = site.get("/api/v1/runs/r/log?at=8&length=30")
    assert ("line 1\nline 2\nline 3\nline 4\n", "7", "35") == (
        part.text, part.headers["x-log-from"], part.headers["x-log-to"],
    )  # fmt: skip
    address, seen = "/api/v1/runs/r/log?length=500", ""
    while address:
        answer = site.get(address)
        seen += answer.text
        address = answer.links["next"]["url"] if "link" in answer.headers else ""
    assert log == seen


def test_what_did_not_change_is_not_sent_again(site: SiteUnderTest) -> None:
    """Every document has a tag."""
    site.add_run("r", b"x\n", measured=samples.measured())
    for path in ("/api/v1/", f"/api/v1/{PUBLIC}", "/api/v1/runs/r", "/api/v1/runs/r/log"):
        answer = site.get(path)
        again = site.get(path, if_none_match=f'W/{answer.headers["etag"]}, "other"')
        assert (304, b"", "no-cache") == (again.status_code, again.content, again.headers["cache-control"])


@pytest.mark.parametrize(
    "path",
    ["/api/v1/nothing", "/api/v2", f"/api/v1/{PUBLIC}/pull/1", "/api/v1/runs/none", f"/api/v1/{PRIVATE}"],
)
def test_what_does_not_exist_is_said_in_json(path: str, site: SiteUnderTest) -> None:
    """One sentence, and 404."""
    answer = site.get(path)
    assert 404 == answer.status_code
    assert answer.json()["error"].startswith("There is no such page.")


def test_links_of_a_private_repository_carry_no_key(site: SiteUnderTest) -> None:
    """Who was let in follows them with their own cookie or token."""
    site.add_report(replace(samples.mixed(), repository=PRIVATE))
    site.add_run("p", b"x\n", repository=PRIVATE)
    record = site.get("/api/v1/runs/p", authorization=MEMBER).json()["record"]
    assert f"{URL}/runs/p" == record["page"]
    report = site.get(f"/api/v1/{PRIVATE}/pull/4270", authorization=MEMBER).json()
    assert f"/{PRIVATE}/pull/4270" == report["links"]["page"]
    assert f"/{PRIVATE}/pull/4270#04_int8-linen" == report["rows"][0]["links"]["page"]


def test_who_asks_for_the_head_alone_is_not_told_of_an_empty_body(site: SiteUnderTest) -> None:
    """Its length is that of the body, or is not said where the body is not made for it."""
    site.add_report(samples.mixed())
    site.add_pull(4270)
    site.add_run("r", b"a line\n")
    for path in (
        "/",
        f"/{PUBLIC}/pull/4270",
        "/runs/r/log",
        "/runs/r/log/raw",
        f"/api/v1/{PUBLIC}/pull/4270",
    ):
        head, whole = site.get(path, "HEAD"), site.get(path)
        told = head.headers.get("content-length", str(len(whole.content)))
        assert (200, b"", str(len(whole.content))) == (head.status_code, head.content, told), path
        assert head.headers.get("etag") == whole.headers.get("etag")
