"""The site of the browser tests: every kind of page, in a state with much on it.

`PAGES` are the paths worth looking at.
"""

from msgspec.structs import replace

from bot.logs.reader import LogReader
from bot.storage import pull_requests
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.log_writers.maxtext import maxtext_log
from tests.report import samples
from tests.web.filled_site import fill
from tests.web.pages.test_compare_logs import BASE, HEAD
from tests.web.site_under_test import PUBLIC, SiteUnderTest

PAGES = (
    "/",
    f"/{PUBLIC}",
    f"/{PUBLIC}/pull/4270",
    f"/{PUBLIC}/branch/feat/%C3%BCber/everything-that-takes-long",
    f"/{PUBLIC}/compare/main...test_1",
    f"/{PUBLIC}/compare/main...test_1?case=04_int8&variant=linen",
    f"/{PUBLIC}/history",
    f"/{PUBLIC}/history?case=04_int8&variant=linen",
    f"/{PUBLIC}/parity/main",
    "/runs/04_int8-linen-m3",
    "/runs/failed",
    "/runs/failed/log",
    "/runs/oneline/log",
    "/runs/long/log/search?q=completed",
    f"/{PUBLIC}/compare-logs?base=base&head=head",
    "/runs/none/log",
    "/no/such",
    "/sign-in",
)

BRANCH = "feat/über/everything-that-takes-long"

CHATTER = "".join(
    f"I0421 10:17:{n % 60:02}.{n:06} 1366 nnx_wrappers.py:437] Unknown Logical: bfloat16[{n}] ('embed').\n"
    for n in range(60)
)

HOSTILE = (
    "</span></li><script>alert(1)</script><img src=x onerror=alert(2)>\n"
    "javascript:alert(3) \x1b]8;;javascript:alert(4)\x07link\x1b]8;;\x07 \u202eesrever \x00\x01\x02\n"
)

COLOURS = "".join(
    f"\x1b[{code}mcolour {code}\x1b[0m "
    for code in (*range(30, 38), *range(40, 48), *range(90, 98), 1, 2, 3, 4, 7, 9)
) + "".join(f"\x1b[38;5;{n}m{n} \x1b[48;5;{255 - n}m{255 - n}\x1b[0m " for n in range(16, 256, 7))


def fill_every_page(web_site: SiteUnderTest) -> None:
    """Fill it."""
    fill(web_site)
    web_site.add_report(samples.mixed())
    web_site.add_pull(4270)
    number = web_site.database.write_now(
        pull_requests.watch_branch,
        repository=PUBLIC,
        branch=BRANCH,
        installation=1,
        sha=samples.HEAD,
        now=samples.NOW,
    )
    web_site.add_report(replace(samples.report(samples.failing()), number=number, head_branch=BRANCH))
    failed = maxtext_log(steps=6) + CHATTER + HOSTILE + COLOURS + "\nValueError: the cause\nEXIT_CODE=1\n"
    _keep(web_site, "failed", failed)
    long = "".join(
        f"I0421 10:20:00.{n % 1_000_000:06} 1366 loop.py:{n % 977}] item {n * 7919 % 10007} of many\n"
        for n in range(20_000)
    )
    _keep(web_site, "long", maxtext_log(steps=8) + long + maxtext_log(steps=3))
    _keep(web_site, "oneline", maxtext_log(steps=40, flat=True) + " word" * 60_000)
    _keep(web_site, "base", BASE)
    _keep(web_site, "head", HEAD)


def _keep(web_site: SiteUnderTest, name: str, text: str) -> None:
    web_site.add_run(name, text.encode(), measured=_read(text))


def _read(text: str) -> MeasuredRun:
    reader = LogReader("a.log")
    reader.feed(text.encode())
    return measure(reader.close()[-1])
