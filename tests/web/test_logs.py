"""The pages of a log, as a reader goes through it."""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot.logs.facts import Failure, State, Step
from bot.verdict.judgement import MeasuredRun
from tests.conftest import Accept
from tests.report import parts
from tests.web.shop import Page, Shop
from tests.web.test_pages import settled
from tests.writing import maxtext_log

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
    run = parts.measured(end=parts.outcome(State.FAILED, failure) if failure else None)
    steps = tuple(Step(step=n, offset=at) for n, at in enumerate(places))
    return replace(run, log=replace(run.log, steps=steps))


def marked(page: Page) -> list[str]:
    """The ids of the marks that the page shows."""
    return [name for name in page.values("id") if re.match(r"step-|error", name)]


def test_a_log_reads_as_its_golden_page(shop: Shop, accept: Accept) -> None:
    """Numbered lines, the error and the steps marked and linked."""
    shop.run("r", FAILED.encode(), measured=read(FAILED, "NotImplementedError"))
    accept("pages/log.html", settled(shop.get("/runs/r/log").text))


def test_lines_have_the_numbers_of_the_file(shop: Shop) -> None:
    """`#L120` is line 120."""
    shop.run("r", b"".join(b"line %d\n" % n for n in range(1, 501)))
    assert [f"L{n}" for n in range(1, 501)] == [
        i for i in Page(shop.get("/runs/r/log").text).values("id") if i[0] == "L"
    ]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_large_log_is_read_part_by_part(zipped: bool, shop: Shop) -> None:  # noqa: FBT001 - a parameter of the test
    """Following `next` from the start shows every line once, in its place, and each part is small."""
    text = b"".join(b"%d: %s\n" % (n, b"x" * (n % 180)) for n in range(1, 5_501))
    shop.run("r", text, zipped=zipped)
    address: str | None = "/runs/r/log"
    seen: list[str] = []
    while address:
        page = Page(shop.get(address).text)
        assert len(page.text) < 600_000
        seen += [name for name in page.values("id") if re.fullmatch(r"L\d+", name)]
        address = next((a["href"] for tag, a in page.tags if a.get("rel") == "next"), None)
    assert [f"L{n}" for n in range(1, 5_501)] == seen


def test_one_can_go_back(shop: Shop) -> None:
    """`previous` leads to the start."""
    shop.run("r", b"line\n" * 12_000)
    address, steps = "/runs/r/log?at=50000", 0
    while address:
        page = Page(shop.get(address).text)
        address = next((a["href"] for tag, a in page.tags if a.get("rel") == "prev"), "")
        steps += 1
    assert "L1" in page.values("id")
    assert steps < 9


def test_marks_of_other_parts_are_linked(shop: Shop) -> None:
    """The error at the end of a large log can be reached from its first page, and stands there marked."""
    text = maxtext_log(steps=3) * 200 + "ValueError: the end\n"
    shop.run("r", text.encode(), measured=read(text, "ValueError: the end"))
    first = Page(shop.get("/runs/r/log").text)
    there = next(link for link in first.values("href") if link.endswith("#error"))
    page = Page(shop.get(there).text)
    assert "error" in marked(page)
    assert "ValueError: the end" in page.text


def test_a_line_far_away_is_found_by_its_number(shop: Shop) -> None:
    """`?from=` shows the part that holds the line; a line that is not there is said."""
    shop.run("r", b"".join(b"line %d\n" % n for n in range(1, 60_001)))
    assert "L50000" in Page(shop.get("/runs/r/log?from=50000").text).values("id")
    assert "Line 999999 is not in this log" in shop.get("/runs/r/log?from=999999").text
    assert "L1" in Page(shop.get("/runs/r/log?from=0").text).values("id")


@pytest.mark.parametrize(
    "query",
    ["at=x", "at=-1", "at=" + "9" * 50, "from=x", "from=١", "from=&to=9", "from=1&to=-3", "at=&from="],
)
def test_nonsense_in_an_address_shows_a_part_of_the_log(query: str, shop: Shop) -> None:
    """No address makes an error of ours."""
    shop.run("r", b"only line\n")
    answer = shop.get(f"/runs/r/log?{query}")
    assert (200, True) == (answer.status_code, "only line" in answer.text)


def test_a_pasted_log_has_its_steps_apart(shop: Shop) -> None:
    """A log in one line is broken at its steps, each marked."""
    text = maxtext_log(steps=12, flat=True)
    shop.run("r", text.encode(), measured=read(text))
    page = Page(shop.get("/runs/r/log").text)
    assert [f"step-{n}" for n in range(12)] == marked(page)


def test_a_log_that_is_gone_is_one_clear_page(shop: Shop) -> None:
    """What is the matter and what to do; nothing of where it lay."""
    shop.run("r")
    for path, status in (("/runs/r/log", 404), ("/runs/r/log/raw", 404), ("/api/v1/runs/r/log", 404)):
        answer = shop.get(path)
        assert (status, True) == (answer.status_code, "This log is gone" in answer.text)
        assert str(shop.folder) not in answer.text
    assert 200 == shop.get("/runs/r").status_code


def test_a_store_that_is_away_is_one_clear_page(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """503, with the store's own reason and without its address."""
    shop.run("r", b"text\n")

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, mode, str(path))

    monkeypatch.setattr(Path, "open", refuse)
    for path in ("/runs/r/log", "/runs/r/log/raw", "/api/v1/runs/r/log"):
        answer = shop.get(path)
        assert (503, True) == (answer.status_code, "permission denied" in answer.text)
        assert (True, False) == ("retry-after" in answer.headers, str(shop.folder) in answer.text)


def test_a_run_without_a_log_says_so(shop: Shop) -> None:
    """A run that has not written anything has a page all the same."""
    shop.change(shop.run("r"), log_uri=None)
    assert "This run has no log yet" in shop.get("/runs/r/log").text
    assert "It has written no log yet" in shop.get("/runs/r").text


def test_an_empty_log_says_so(shop: Shop) -> None:
    """Nothing is not an error."""
    shop.run("r", b"")
    assert "The log is empty" in shop.get("/runs/r/log").text


@pytest.mark.parametrize("zipped", [False, True])
def test_the_download_is_the_whole_log(zipped: bool, shop: Shop) -> None:  # noqa: FBT001 - a parameter of the test
    """As text, under a safe name, inflated; asking with HEAD reads none of it."""
    text = maxtext_log(steps=5, bucket="gs://b/c").replace("gs://b/c", "/checkpoints").encode() * 20
    text = text.replace(b"-slice-job-0-0", b"")
    shop.run("r", text, zipped=zipped)
    answer = shop.get("/runs/r/log/raw?download=yes")
    assert text.decode() == answer.text
    assert "text/plain; charset=utf-8" == answer.headers["content-type"]
    assert 'attachment; filename="03_dropout-linen-r.log"' == answer.headers["content-disposition"]
    assert (200, "") == ((head := shop.get("/runs/r/log/raw", "HEAD")).status_code, head.text)


def test_a_damaged_gzip_is_told(shop: Shop) -> None:
    """Part of the page's job is to say what is wrong with a file."""
    content = gzip.compress(b"".join(b"%d\n" % (n * n) for n in range(50_000)))
    shop.run("r", content[:3000] + b"\x00" * 800 + content[3800:])
    answer = shop.get("/runs/r/log")
    assert (503, True) == (answer.status_code, "compressed, and damaged" in answer.text)
