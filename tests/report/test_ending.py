"""Reports on which nothing will follow."""

from dataclasses import replace

from bot.render import Renderer
from bot.report.comment import comment_body
from bot.report.ending import closed, superseded
from bot.report.model import Progress, RowState
from bot.report.plan import Plan, PlannedRuns
from tests.report.samples import case, report, same, slower

GOING = (
    case("13_pp", RowState.RUNNING, progress=Progress(step=6, steps=10), note="retried once"),
    case("14_gpipe", RowState.QUEUED),
    case("15_ring", RowState.WAITING_FOR_APPROVAL),
)
PLAN = Plan(runs=(PlannedRuns(case="13_pp", variant="linen", base=1, head=1),))


def test_a_head_that_was_pushed_over_is_superseded_where_it_was_not_done() -> None:
    """What was measured stays; what was pending says which commit took its place."""
    ended = superseded(report(slower(), *GOING, plan=PLAN), "abc1234" + "0" * 33)
    assert ended is not None
    assert [row.state for row in ended.rows] == [RowState.SLOWER, *[RowState.SUPERSEDED] * 3]
    assert ended.rows[1].note == "superseded by abc1234 before its runs had ended; retried once"
    assert (ended.plan, ended.rows[1].progress) == (None, None)


def test_a_closed_pull_request_says_what_was_not_measured() -> None:
    """And asks nobody to do anything about it."""
    ended = closed(report(same("04_int8"), *GOING))
    assert ended is not None
    assert [row.state for row in ended.rows] == [RowState.SAME, *[RowState.CANCELLED] * 3]
    body = comment_body(ended, public_url="https://x.example", render=Renderer().render)
    assert (
        "`13_pp`, `14_gpipe`, `15_ring`: not measured to the end, since the pull request was closed." in body
    )


def test_a_report_that_was_done_stays_as_it_is() -> None:
    """Nothing is written anew where nothing was pending."""
    done = report(slower(), same("05_x"))
    assert (closed(done), superseded(done, "a" * 40)) == (None, None)
    assert closed(replace(done, rows=())) is None
