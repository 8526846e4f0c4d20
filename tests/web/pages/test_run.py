"""What the page of a launched run says of its life."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, update

from bot.domain.run import RunState
from bot.runs.run_status import PastAttempt, RunStatus
from bot.storage import runs
from bot.storage.tables import RUN
from tests.report.samples import NOW
from tests.web.site_under_test import PUBLIC, SiteUnderTest
from tests.worker.fake_cluster import planned_run

FIRST = replace(planned_run(), record=replace(planned_run().record, repository=PUBLIC))

PAST = PastAttempt(
    number=1,
    name="mv-04-int8-0123456789abcdef",
    began=NOW,
    ended=NOW + 90,
    last_step=4,
    why="it was preempted",
    note="by <script>alert(1)</script> in ns",
)


def _run_page(site: SiteUnderTest, status: RunStatus) -> str:
    """The page of a run that stands so."""

    def put(connection: Connection) -> None:
        runs.plan_runs(connection, [FIRST], repository=PUBLIC, number=7, now=NOW)
        written = msgspec.json.encode(status).decode()
        connection.execute(update(RUN).values(status=written, state=status.state))

    site.database.write_now(put)
    answer = site.get(f"/runs/{FIRST.record.id}")
    assert answer.status_code == 200
    return str(answer.text)


def test_a_run_that_is_tried_again_shows_its_past_attempts(site: SiteUnderTest) -> None:
    """When, how far, why, and what the cluster said: as text, whatever it holds."""
    status = RunStatus(
        name=f"{PAST.name}-2", timeout_seconds=600, state=RunState.QUEUED, attempt=2, past=(PAST,)
    )
    page = _run_page(site, status)
    assert "queued: attempt 2, since it was preempted" in page
    assert "Attempts before this one" in page
    assert "by &lt;script&gt;alert(1)&lt;/script&gt; in ns" in page
    assert "90 s" in page
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {
                "state": RunState.RUNNING,
                "last_step": 6,
                "expected_steps": 10,
                "last_output": NOW + 7200 - 840,
            },
            "running: silent for 14 min, last step 6 of 10",
        ),
        ({"why": "4 of 4 runs on the cluster"}, "planned: waits: 4 of 4 runs on the cluster"),
        (
            {"state": RunState.LOST, "why": "it was ended at its time limit of 45 min"},
            "lost: it was ended at its time limit of 45 min",
        ),
    ],
)
def test_the_page_says_how_a_run_stands_now(
    site: SiteUnderTest, changes: dict[str, object], words: str
) -> None:
    """Read when it is asked for, whatever the comment said last."""
    status = RunStatus(name="mv-a", timeout_seconds=600)
    page = _run_page(site, replace(status, **changes))
    assert words in page


def test_a_found_run_has_no_life(site: SiteUnderTest, tmp_path: Path) -> None:
    """Nothing is said of attempts where we started nothing."""
    site.add_run("good", b"a log\n")
    assert "Attempts before" not in site.get("/runs/good").text
