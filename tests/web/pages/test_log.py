"""The pages of a log, as a reader goes through it."""

import gzip
import re
import shutil
import zlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.artifacts import folder
from bot.domain.run import RunState
from bot.logs.facts import Failure, OutcomeState, Step
from bot.storage import queue, runs
from bot.storage.tables import KEPT_LOG
from bot.verdict.judgement import MeasuredRun
from bot.web.log_viewer.source import Logs, LogUnavailable
from tests.conftest import Accept
from tests.log_writers.maxtext import maxtext_log
from tests.report import samples
from tests.web.pages.test_pages import settled
from tests.web.site_under_test import MEMBER, PRIVATE, PUBLIC, ParsedPage, SiteUnderTest

FAILED = """XPK Start: Tue Apr 21 10:16:19 UTC 2026
I0421 10:17:39.824857 1366 metric_logger.py:196] completed step: 0, seconds: 14.272, loss: 10.872
I0421 10:17:40.112233 1366 metric_logger.py:196] completed step: 1, seconds: 0.229, loss: 10.641
Traceback (most recent call last):
  File "/deps/src/maxtext/utils/train_utils.py", line 217, in setup_train_loop
NotImplementedError: <Pure NNX> support has not been implemented yet.
Saving to gs://runs/linen/checkpoints
EXIT_CODE=1
"""


def read(text: str, error: str | None = None) -> MeasuredRun:
    """A run whose marks stand where the log has them."""
    places = [found.start() for found in re.finditer("completed step: ", text)]
    failure = Failure(kind="python_exception", error=error, offset=text.index(error)) if error else None
    run = samples.measured(end=samples.outcome(OutcomeState.FAILED, failure) if failure else None)
    steps = tuple(Step(step=n, offset=at) for n, at in enumerate(places))
    return replace(run, log=replace(run.log, steps=steps))


def marked(page: ParsedPage) -> list[str]:
    """The ids of the marks that the page shows."""
    return [name for name in page.values("id") if re.match(r"step-|error", name)]


def test_a_log_reads_as_its_golden_page(site: SiteUnderTest, accept: Accept) -> None:
    """Numbered lines, the error and the steps marked and linked."""
    site.add_run("r", FAILED.encode(), measured=read(FAILED, "NotImplementedError"))
    accept("pages/log.html", settled(site.get("/runs/r/log").text))


def test_lines_have_the_numbers_of_the_file(site: SiteUnderTest) -> None:
    """`#L120` is line 120."""
    site.add_run("r", b"".join(b"line %d\n" % n for n in range(1, 501)))
    assert [f"L{n}" for n in range(1, 501)] == [
        i for i in ParsedPage(site.get("/runs/r/log").text).values("id") if i[0] == "L"
    ]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_large_log_is_read_part_by_part(zipped: bool, site: SiteUnderTest) -> None:  # noqa: FBT001 - a parameter of the test
    """Following `next` from the start shows every line once, in its place, and each part is small."""
    text = b"".join(b"%d: %s\n" % (n, b"x" * (n % 180)) for n in range(1, 5_501))
    site.add_run("r", text, zipped=zipped)
    address: str | None = "/runs/r/log"
    seen: list[str] = []
    while address:
        page = ParsedPage(site.get(address).text)
        assert len(page.text) < 600_000
        seen += [name for name in page.values("id") if re.fullmatch(r"L\d+", name)]
        address = next((a["href"] for tag, a in page.tags if a.get("rel") == "next"), None)
    assert [f"L{n}" for n in range(1, 5_501)] == seen


def test_one_can_go_back(site: SiteUnderTest) -> None:
    """`previous` leads to the start."""
    site.add_run("r", b"line\n" * 12_000)
    address, steps = "/runs/r/log?at=50000", 0
    while address:
        page = ParsedPage(site.get(address).text)
        address = next((a["href"] for tag, a in page.tags if a.get("rel") == "prev"), "")
        steps += 1
    assert "L1" in page.values("id")
    assert steps < 9


def test_marks_of_other_parts_are_linked(site: SiteUnderTest) -> None:
    """The error at the end of a large log can be reached from its first page, and stands there marked."""
    text = maxtext_log(steps=3) * 200 + "ValueError: the end\n"
    site.add_run("r", text.encode(), measured=read(text, "ValueError: the end"))
    first = ParsedPage(site.get("/runs/r/log").text)
    there = next(link for link in first.values("href") if link.endswith("#error"))
    page = ParsedPage(site.get(there).text)
    assert "error" in marked(page)
    assert "ValueError: the end" in page.text


def test_a_line_far_away_is_found_by_its_number(site: SiteUnderTest) -> None:
    """`?from=` shows the part that holds the line; a line that is not there is said."""
    site.add_run("r", b"".join(b"line %d\n" % n for n in range(1, 60_001)))
    assert "L50000" in ParsedPage(site.get("/runs/r/log?from=50000").text).values("id")
    assert "Line 999999 is not in this log" in site.get("/runs/r/log?from=999999").text
    assert "L1" in ParsedPage(site.get("/runs/r/log?from=0").text).values("id")


@pytest.mark.parametrize(
    "query",
    ["at=x", "at=-1", "at=" + "9" * 50, "from=x", "from=١", "from=&to=9", "from=1&to=-3", "at=&from="],
)
def test_nonsense_in_an_address_shows_a_part_of_the_log(query: str, site: SiteUnderTest) -> None:
    """No address makes an error of ours."""
    site.add_run("r", b"only line\n")
    answer = site.get(f"/runs/r/log?{query}")
    assert (200, True) == (answer.status_code, "only line" in answer.text)


def test_a_pasted_log_has_its_steps_apart(site: SiteUnderTest) -> None:
    """A log in one line is broken at its steps, each marked."""
    text = maxtext_log(steps=12, flat=True)
    site.add_run("r", text.encode(), measured=read(text))
    page = ParsedPage(site.get("/runs/r/log").text)
    assert [f"step-{n}" for n in range(12)] == marked(page)


def test_a_log_that_is_gone_is_one_clear_page(site: SiteUnderTest) -> None:
    """What is the matter and what to do; nothing of where it lay."""
    site.add_run("r")
    for path, status in (("/runs/r/log", 404), ("/runs/r/log/raw", 404), ("/api/v1/runs/r/log", 404)):
        answer = site.get(path)
        assert (status, True) == (answer.status_code, "This log is gone" in answer.text)
        assert str(site.folder) not in answer.text
    assert 200 == site.get("/runs/r").status_code


def test_a_store_that_is_away_is_one_clear_page(site: SiteUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """503, with the store's own reason and without its address."""
    site.add_run("r", b"text\n")

    def refuse(path: Path, _flags: int) -> None:
        raise PermissionError(13, "refused", str(path))

    monkeypatch.setattr(folder, "_opened_in_place", refuse)
    for path in ("/runs/r/log", "/runs/r/log/raw", "/api/v1/runs/r/log"):
        answer = site.get(path)
        assert (503, True) == (answer.status_code, "permission denied" in answer.text)
        assert (True, False) == ("retry-after" in answer.headers, str(site.folder) in answer.text)


def test_a_run_without_a_log_says_so(site: SiteUnderTest) -> None:
    """A run that has not written anything has a page all the same, whether it still may or not."""
    run = site.add_run("r")
    site.update_run(run, log_uri=None)
    assert "This run has no log yet" in site.get("/runs/r/log").text
    assert "It left no log." in site.get("/runs/r").text
    site.update_run(run, log_uri=None, started=None, state=RunState.QUEUED)
    assert "not begun yet, found. It has written no log yet." in site.get("/runs/r").text


def test_an_empty_log_says_so(site: SiteUnderTest) -> None:
    """Nothing is not an error."""
    site.add_run("r", b"")
    assert "The log is empty" in site.get("/runs/r/log").text


@pytest.mark.parametrize("zipped", [False, True])
def test_the_download_is_the_whole_log(zipped: bool, site: SiteUnderTest) -> None:  # noqa: FBT001 - a parameter of the test
    """As text, under a safe name, inflated; asking with HEAD reads none of it."""
    text = maxtext_log(steps=5, bucket="gs://b/c").replace("gs://b/c", "/checkpoints").encode() * 20
    text = text.replace(b"-slice-job-0-0", b"")
    site.add_run("r", text, zipped=zipped)
    answer = site.get("/runs/r/log/raw?download=yes")
    assert text.decode() == answer.text
    assert "text/plain; charset=utf-8" == answer.headers["content-type"]
    assert 'attachment; filename="03_dropout-linen-r.log"' == answer.headers["content-disposition"]
    assert (200, "") == ((head := site.get("/runs/r/log/raw", "HEAD")).status_code, head.text)


def test_a_damaged_gzip_is_told(site: SiteUnderTest) -> None:
    """Part of the page's job is to say what is wrong with a file, beside what can be read of it."""
    content = gzip.compress(b"".join(b"%d\n" % (n * n) for n in range(50_000)))
    site.add_run("r", content[:3000] + b"\x00" * 800 + content[3800:])
    page = ParsedPage(site.get("/runs/r/log").text)
    assert "The gzip data is corrupt: the log was read up to where that shows" in page.text
    assert "L10" in page.values("id")


def damaged(text: bytes, place: str) -> bytes:
    """A gzip unreadable behind this text: its checksum is another, or an impossible block follows."""
    if place == "checksum":
        return gzip.compress(text)[:-8] + b"\xff" * 8
    deflate = zlib.compressobj(wbits=31)
    return deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH) + b"\x07" * 2_000


@pytest.mark.parametrize("repository", [PUBLIC, PRIVATE])
@pytest.mark.parametrize("place", ["checksum", "block"])
def test_a_damaged_gzip_is_sent_as_far_as_it_can_be_read(
    repository: str, place: str, site: SiteUnderTest
) -> None:
    """Every byte before the damage, and a last line that says so to the reader."""
    text = b"".join(b"%d\n" % (n * n) for n in range(50_000))
    site.add_run("r", damaged(text, place), repository=repository)
    answer = site.get("/runs/r/log/raw", authorization=MEMBER if repository == PRIVATE else "")
    sent, _, said = answer.content.rpartition(b"\n[MaxView: ")
    assert text == sent
    assert said.startswith(
        b"the text ends here. The gzip data is corrupt: the log was read up to where that "
    )


@pytest.mark.parametrize(
    ("asked", "status", "sent", "header"),
    [
        ("bytes=2-5", 206, b"2345", "bytes 2-5/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=5-2", 416, b"", "bytes */10"),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
    ],
)
def test_a_part_of_a_private_log_can_be_fetched(
    asked: str, status: int, sent: bytes, header: str | None, site: SiteUnderTest
) -> None:
    """As RFC 9110 has it; a download that broke off goes on where it did."""
    site.add_run("p", b"0123456789", repository=PRIVATE)
    answer = site.get("/runs/p/log/raw", range=asked, authorization=MEMBER)
    assert (status, sent, header) == (answer.status_code, answer.content, answer.headers.get("content-range"))
    assert str(len(sent)) == answer.headers["content-length"]


def test_a_public_log_is_sent_whole(site: SiteUnderTest) -> None:
    """What is taken out of it moves every byte behind it, so no part can be asked for."""
    site.add_run("r", b"password=hunter2hunter\n")
    answer = site.get("/runs/r/log/raw", range="bytes=9-12")
    assert (200, "none", "password=[secret]\n") == (
        answer.status_code,
        answer.headers["accept-ranges"],
        answer.text,
    )


def test_raw_is_read_in_the_browser_and_a_download_is_kept(site: SiteUnderTest) -> None:
    """Both under the same safe name; nothing in it can act, since it is text and nothing else."""
    site.add_run("r", b"<script>alert(1)</script>\n")
    for query, how in (("", "inline"), ("?download=yes", "attachment")):
        answer = site.get(f"/runs/r/log/raw{query}")
        assert f'{how}; filename="03_dropout-linen-r.log"' == answer.headers["content-disposition"]
        assert ("text/plain; charset=utf-8", "nosniff") == (
            answer.headers["content-type"],
            answer.headers["x-content-type-options"],
        )


SECRET = "password=hunter2hunter"


def test_a_log_outlives_the_place_where_it_was_found(site: SiteUnderTest) -> None:
    """Once stored, it is shown, searched and sent whatever becomes of the bucket."""
    site.add_run("r", b"the first line\nthe last line\n")
    assert 200 == site.get("/runs/r/log").status_code
    shutil.rmtree(site.folder / "r")
    for path in ("/runs/r/log", "/runs/r/log/raw", "/api/v1/runs/r/log", "/runs/r/log/search?q=last"):
        answer = site.get(path)
        assert (200, True) == (answer.status_code, "last" in ParsedPage(answer.text).text)


def test_a_public_page_opens_the_redacted_form_alone(
    site: SiteUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text itself is not even read for a stranger; a member sees it."""
    for name, repository in (("r", PUBLIC), ("p", PRIVATE)):
        site.add_run(name, f"start\n{SECRET}\nend\n".encode(), repository=repository, measured=read(FAILED))
    paths = ("log", "log/raw", "log?from=2", "log/search?q=password", "log/search?q=pass.*&regex=yes")
    for path in paths:
        site.get(f"/runs/r/{path}")
    opened: list[str] = []
    real = folder.FolderStore.read_range

    def noted(store: folder.FolderStore, name: str, start: int, length: int) -> bytes:
        opened.append(name)
        return real(store, name, start, length)

    monkeypatch.setattr(folder.FolderStore, "read_range", noted)
    for path in paths:
        assert "hunter2" not in site.get(f"/runs/r/{path}").text
    assert opened
    assert all(".redacted-" in name for name in opened)
    for path in paths:
        assert "hunter2" in site.get(f"/runs/p/{path}", authorization=MEMBER).text


def test_a_repository_that_becomes_public_shows_nothing_unredacted(site: SiteUnderTest) -> None:
    """Its logs were stored as they are; the redacted form is made before the first stranger reads."""
    site.add_run("p", f"start\n{SECRET}\n".encode(), repository=PRIVATE)
    assert "hunter2" in site.get("/runs/p/log", authorization=MEMBER).text
    site.add_repository(PRIVATE, private=False, number=site.numbers[1])
    text = ParsedPage(site.get("/runs/p/log").text).text
    assert (True, False) == ("password=[secret]" in text, "hunter2" in text)


def test_a_log_that_is_being_prepared_says_so(site: SiteUnderTest) -> None:
    """Until the worker has made the redacted form, a page asks to come back, and shows nothing."""
    site.add_run("r", f"start\n{SECRET}\n".encode())
    logs = Logs(site.database, folder.FolderStore(site.folder / "artifacts"), patience=0.2)
    record = site.database.read_here(runs.by_id, "r")
    assert record is not None
    with pytest.raises(LogUnavailable, match="This log is being prepared") as caught:
        logs.open(record, redacted=True)
    assert 503 == caught.value.status
    claim = site.database.write_now(queue.claim, KEPT_LOG, owner="x", now=1.0, lease=9.0)
    assert claim is not None
    assert "r" == claim.row["run"]


def test_an_archive_that_vanished_is_gone(site: SiteUnderTest) -> None:
    """An operator may delete our artifacts: one clear page."""
    site.add_run("r", b"line\n")
    assert 200 == site.get("/runs/r/log").status_code
    shutil.rmtree(site.folder / "artifacts")
    again = SiteUnderTest(folder=site.folder, database=site.database)
    answer = again.get("/runs/r/log")
    assert (404, True) == (answer.status_code, "This log is gone" in answer.text)


def test_a_line_cut_for_storage_is_one_line(site: SiteUnderTest) -> None:
    """Its pieces continue it, have an address each, and the line behind it has the next number."""
    site.add_run("r", b"first\n" + b"word " * 60_000 + b"\nlast\n")
    page = ParsedPage(site.get("/runs/r/log?at=299000").text)
    assert "L3" in page.values("id")
    assert [] == [name for name in page.values("id") if name == "L4"]
    pieces = [int(name[1:]) for name in page.values("id") if re.fullmatch(r"B\d+", name)]
    assert pieces == sorted(set(pieces))
    assert b"first\n" + b"word " * 60_000 + b"\nlast\n" == site.get("/runs/r/log/raw").content
