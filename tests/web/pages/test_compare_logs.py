"""Two logs side by side: aligned by what happened, with what belongs to one run left out."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs.reader import LogReader
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from bot.web.log_viewer.comparison import (
    RowKind,
    SideLine,
    fold_equal_rows,
    log_sections,
    pair_lines,
    pair_sections,
)
from bot.web.log_viewer.masks import mask, names_pattern, printed_at, without_volatile
from tests.conftest import Accept
from tests.web.pages.test_pages import settled
from tests.web.site_under_test import MEMBER, PRIVATE, PUBLIC, ParsedPage, SiteUnderTest

BASE = """XPK Start: Tue Apr 21 10:16:19 UTC 2026
I0421 10:16:30.100000 1366 pyconfig.py:511] Config param dropout_rate: 0.0
I0421 10:16:30.100001 1366 pyconfig.py:511] Config param run_name: linen_main_20260421_101600
I0421 10:16:30.100002 1366 pyconfig.py:511] Config param steps: 3
I0421 10:16:31.000000 1366 max_utils.py:800] System Information: Jax Version: 0.9.2
I0421 10:16:40.500000 1366 checkpointing.py:12] Restoring from /dev/shm/abc/checkpoints at 0x7f00aa
I0421 10:17:39.824857 1366 metric_logger.py:196] completed step: 0, seconds: 14.272, loss: 10.872
I0421 10:17:40.112233 1366 metric_logger.py:196] completed step: 1, seconds: 0.229, loss: 10.641
I0421 10:17:40.312233 1366 train.py:90] a line that only base has
I0421 10:17:40.412233 1366 metric_logger.py:196] completed step: 2, seconds: 0.229, loss: 10.501
XPK End: Tue Apr 21 10:17:50 UTC 2026
EXIT_CODE=0
"""

HEAD = (
    BASE.replace("0421 10:", "0422 11:")
    .replace("Apr 21 10:", "Apr 22 11:")
    .replace("Tue Apr 22", "Wed Apr 22")
    .replace(" 1366 ", " 2999 ")
    .replace("dropout_rate: 0.0", "dropout_rate: 0.1")
    .replace("linen_main_20260421_101600", "linen_feat_20260422_111600")
    .replace("/dev/shm/abc", "/dev/shm/xyz")  # noqa: S108 - a path that a log tells
    .replace("0x7f00aa", "0x7f00bb")
    .replace("a line that only base has", "<b>another</b> line from gs://secret-bucket/x")
    .replace("seconds: 0.229, loss: 10.641", "seconds: 0.241, loss: 10.641")
)


def read(text: str) -> MeasuredRun:
    """What is measured from a log."""
    reader = LogReader("a.log")
    reader.feed(text.encode())
    return measure(reader.close()[-1])


def both(site: SiteUnderTest, base: str = BASE, head: str = HEAD, repository: str = PUBLIC) -> str:
    """Keep two runs; the address of their logs side by side."""
    site.add_run("b", base.encode(), measured=read(base), repository=repository)
    site.add_run("h", head.encode(), measured=read(head), repository=repository)
    return f"/{repository}/compare-logs?base=b&head=h"


def test_two_logs_read_as_their_golden_page(site: SiteUnderTest, accept: Accept) -> None:
    """Settings that differ first, then the sections, those that are apart open."""
    accept("pages/compare_logs.html", settled(site.get(both(site)).text))


def test_what_belongs_to_one_run_is_no_difference(site: SiteUnderTest) -> None:
    """Only the setting, the other line and the figures of a step are told."""
    text = ParsedPage(site.get(both(site)).text).text
    settings = re.findall(r'<th scope="row"><code>([^<]+)</code>', site.get(both(site)).text)
    assert ["dropout_rate"] == settings
    assert 1 == text.count("line apart")
    assert "secret-bucket" not in text


def test_each_line_stands_in_one_section(site: SiteUnderTest) -> None:
    """With the whole of what it says, and without a word about more where there is none."""
    text = ParsedPage(site.get(both(site)).text).text
    assert 2 == text.count("metric_logger.py:196] completed step: 2, seconds: 0.229, loss: 10.501")
    assert "goes on in the logs" not in text


def test_a_log_beside_itself_is_the_same(site: SiteUnderTest) -> None:
    """No section is apart, no setting differs."""
    text = ParsedPage(site.get(both(site, BASE, BASE)).text).text
    assert "Both logs state the same versions, devices and settings." in text
    assert ([], []) == (re.findall("lines? apart", text), re.findall("other figures", text))


def test_an_event_of_one_side_stands_alone(site: SiteUnderTest) -> None:
    """A run that failed has no later steps; the page says which side has them."""
    cut = HEAD[: HEAD.index("I0422 11:17:40.412233")] + "ValueError: no\nEXIT_CODE=1\n"
    assert "only in base" in ParsedPage(site.get(both(site, BASE, cut)).text).text


def test_long_logs_are_compared_page_by_page(site: SiteUnderTest) -> None:
    """Every step of both is met once on the way."""
    steps = "".join(
        f"I0421 10:{20 + n // 60:02}:{n % 60:02}.000000 1366 metric_logger.py:196] completed step: {n}, "
        f"seconds: 0.200, loss: 9.{n:03}\n" + "I0421 10:20:00.1 1366 noise.py:1] chatter\n" * 5
        for n in range(200)
    )
    address: str | None = both(site, "XPK Start: Tue Apr 21 10:16:19 UTC 2026\n" + steps, steps)
    seen: list[str] = []
    while address:
        page = ParsedPage(site.get(address).text)
        seen += re.findall(r"^step (\d+) ", page.text, re.MULTILINE)
        address = next((a["href"] for tag, a in page.tags if a.get("rel") == "next"), None)
    assert [str(n) for n in range(200)] == seen


@pytest.mark.parametrize(
    "asked", ["", "?base=b", "?base=b&head=none", "?base=p&head=h", "?base=%00&head=h", "?base=b&head=p"]
)
def test_only_runs_of_the_repository_are_compared(asked: str, site: SiteUnderTest) -> None:
    """A run of another repository is not there, whoever may see it."""
    both(site)
    site.add_run("p", b"x\n", repository=PRIVATE, measured=read(BASE))
    answer = site.get(f"/{PUBLIC}/compare-logs{asked}")
    assert (404, site.get("/no/such").content) == (answer.status_code, answer.content)


def test_a_run_that_was_not_read_cannot_be_compared(site: SiteUnderTest) -> None:
    """That is said, and what can be done."""
    both(site)
    site.add_run("u", b"text\n")
    answer = site.get(f"/{PUBLIC}/compare-logs?base=b&head=u")
    assert (404, True) == (answer.status_code, "has not been read yet" in answer.text)


def test_thousands_of_lines_alike_take_a_moment(site: SiteUnderTest) -> None:
    """Only the first of a section are compared, and that more follows is said."""
    began = time.monotonic()
    answer = site.get(both(site, BASE + "\n" * 40_000, HEAD + "x\n" * 20_000))
    assert "goes on in the logs" in answer.text
    assert time.monotonic() - began < 20


def test_a_private_repository_needs_a_reader(site: SiteUnderTest) -> None:
    """As every page of it."""
    address = both(site, repository=PRIVATE)
    assert 404 == site.get(address).status_code
    assert "gs://secret-bucket/x" in site.get(address, authorization=MEMBER).text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("at 0x7f00aa", "at 0x99bb", True),
        ("pid=12 begins", "pid=977 begins", True),
        ("wrote /tmp/a1/x", "wrote /var/tmp/zz", True),
        ("on Tue Apr 21 10:16:19 UTC 2026", "on Wed Apr 22 01:02:03 UTC 2026", True),
        ("commit 3f2a9c41d0", "commit 77aa01bc22", True),
        ("run mine_20260421_101600", "run mine_20260422_111600", True),
        ("run mine done", "run yours done", True),
        ("10.1.2.3:8476", "10.9.9.9:1", True),
        ("batch 32", "batch 64", False),
        ("mesh (1, 32)", "mesh (32, 1)", False),
        ("loss: 8.174", "loss: 8.175", False),
    ],
)
def test_what_is_volatile(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Addresses, processes, paths, dates, hashes and names; figures are none of them."""
    names = names_pattern("mine", "yours")
    assert same == (without_volatile(one, names) == without_volatile(other, names))


@given(st.text(max_size=300))
def test_any_line_has_a_mask(text: str) -> None:
    """Whatever stands in a log; and masking a mask changes nothing."""
    assert isinstance(printed_at(text, 2026), float | None)
    assert mask(mask(text)) == mask(mask(mask(text)))


LINES = st.lists(st.sampled_from(["a", "b", "c", "step 1", "step 2", ""]), max_size=30)


@given(LINES, LINES)
def test_every_line_of_both_stands_in_its_order(base: list[str], head: list[str]) -> None:
    """Nothing is lost or moved; what is called the same is the same; folding hides only that."""
    left, right = (
        [SideLine(text=text, compared=text, number=n, seconds=None) for n, text in enumerate(one, 1)]
        for one in (base, head)
    )
    found = pair_lines(left, right)
    assert left == [row.base for row in found if row.base]
    assert right == [row.head for row in found if row.head]
    assert all(
        row.base and row.head and row.base.compared == row.head.compared
        for row in found
        if row.kind is RowKind.SAME
    )
    shown = fold_equal_rows(found)
    assert len(found) == sum(row.same or 1 for row in shown)
    assert [row for row in found if row.kind is not RowKind.SAME] == [
        row for row in shown if row.kind is not RowKind.SAME
    ]


def test_a_repeated_step_is_another_event() -> None:
    """After a restart steps come again; each keeps its own section."""
    text = BASE.replace("completed step: 2", "completed step: 1")
    words = [one.words for one in log_sections(read(text))]
    assert ("step 1" in words, "step 1 (again, 2)" in words) == (True, True)
    assert len(words) == len(pair_sections(log_sections(read(text)), log_sections(read(text))))
