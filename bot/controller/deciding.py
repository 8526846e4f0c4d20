"""The decisions about one pull request: whether to speak, what to look for, when to look again.

In:  what the row remembers, what GitHub says, and the suite. Out: answers; nothing is done here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bot.config import Compare, Suite
from bot.controller.facts import HeadFacts
from bot.controller.suites import ReadSuite
from bot.intake.pull import Pull
from bot.report.material import Request
from bot.report.model import LastCommand, Report, RowState
from bot.runs.asks import Ask, Source
from bot.runs.collect import Sought
from bot.runs.pattern import slug
from bot.storage.pulls import CommandRecord, PullRow

BASELINE_SECONDS = 60 * 86_400.0
"""How far behind the merge base main's runs are listed: enough for the noise history."""

LISTED_COMMITS = 30
"""Commits of main that are listed one by one where the runs' names tell the commit and no branch."""

DAY = 86_400.0

SETTLED_SECONDS = 900.0
"""How often a finished pull request is looked at: repeats may be added to a bucket at any time."""

UNFINISHED = {RowState.NO_RUN, RowState.NO_BASELINE, RowState.QUEUED, RowState.RUNNING, RowState.RETRYING}


QUIET_SECONDS = 5.0
"""How long a head that replaced another must stand before its runs are started: a branch that is pushed to
again and again costs the runs of its last push."""


def starts_runs(suite: Suite) -> bool:
    """Whether this program starts runs for the suite."""
    return suite.launch is not None


def is_settled(row: PullRow, asks: Iterable[Ask], now: float) -> bool:
    """Whether runs of this head may be started: at once for the first head and where somebody asked since,
    else once no other push has followed for a while."""
    if row.head_seen is None or not 0 <= now - row.head_seen < QUIET_SECONDS:
        return True
    # GitHub's times are whole seconds.
    return any(ask.source is Source.COMMAND and ask.made > row.head_seen - 1 for ask in asks)


def wants_words(read: ReadSuite, row: PullRow, pull: Pull, changed_paths: Sequence[str]) -> bool:
    """Whether there is anything to say where the pull request leaves the configuration alone."""
    if read.suite is None:
        return read.problem is not None or bool(row.commands)
    return speaks(read.suite, row, pull, changed_paths)


def speaks(suite: Suite, row: PullRow, pull: Pull, changed_paths: Sequence[str]) -> bool:
    """Whether there is anything to say: somebody asked, we spoke before, or the change touches a case."""
    if row.comment_id is not None or row.commands:
        return True
    triggers = suite.triggers
    if pull.is_branch:
        return triggers.watches(pull.head_branch) and suite.touched_by(changed_paths)
    if not triggers.pull_request or (pull.draft and not triggers.drafts):
        return False
    return suite.touched_by(changed_paths)


def unmeasured(suite: Suite, pull: Pull) -> str | None:
    """Why nothing is measured where nothing is said; None where a check would be of no use: a draft cannot be
    merged, and a branch has nobody who waits."""
    if pull.is_branch or (pull.draft and not suite.triggers.drafts):
        return None
    if not suite.triggers.pull_request:
        return "Not measured: nobody has asked for it"
    return "Not measured: the change touches no case"


def on_this_head(row: PullRow, pull: Pull, now: float) -> PullRow:
    """The row as it concerns the head that GitHub names: looks at other heads do not count."""
    if row.head_sha == pull.head_sha:
        return row
    heard_late = row.head_seen if row.head_sha is None else now
    return replace(row, head_sha=pull.head_sha, head_seen=heard_late, looks={})


def sought(pull: Pull, facts: HeadFacts, suite: Suite) -> tuple[Sought, ...]:
    """What to look for in the store: the head's branch, and the base's since some time before the fork."""
    head = Sought(
        slug=slug(pull.head_branch),
        shas=(pull.head_sha,),
        variants=suite.variant_names,
        cases=suite.case_names,
    )
    since = facts.merge_base.committed_at - BASELINE_SECONDS
    base = replace(head, slug=slug(pull.base_branch), shas=facts.ancestors[:LISTED_COMMITS], since=since)
    return head, base


def next_look(row: PullRow, report: Report, poll_seconds: float) -> float:
    """When to look again without being asked: often at first, then in a twentieth of what has passed."""
    waiting = any(line.state in UNFINISHED for line in report.rows) or report.problem is not None
    passed = report.made_at - (row.head_seen or report.made_at)
    patience = min(max(poll_seconds, passed / 20), SETTLED_SECONDS) if waiting else SETTLED_SECONDS
    unsettled = report.launches and row.head_seen is not None and 0 <= passed < QUIET_SECONDS
    return report.made_at + (min(patience, QUIET_SECONDS - passed) if unsettled else patience)


def known(pull: Pull) -> dict[str, Any]:
    """What the row remembers of the pull request itself."""
    return {
        "open": pull.open,
        "title": pull.title,
        "head_sha": pull.head_sha,
        "head_branch": pull.head_branch,
        "from_fork": pull.from_fork,
    }


def request(row: PullRow, pull: Pull, *, suite: Suite | None, problem: str | None, now: float) -> Request:
    """What a report of this pull request is made for and with; its merge base is not known yet."""
    asked = Request(
        pull=pull,
        merge_base=None,
        made_at=now,
        problem=problem,
        commands=commands_of(row),
    )
    if suite is None:
        return asked
    return replace(
        asked,
        margins=suite.margins,
        variants=suite.variant_names,
        compares_variants=Compare.VARIANT in suite.compare,
        launches=starts_runs(suite),
        old_after_seconds=suite.baseline.old_after_days * DAY,
    )


def commands_of(row: PullRow) -> tuple[LastCommand, ...]:
    """What was asked on the pull request, as its report says it."""
    return tuple(map(_command, row.commands))


def _command(record: CommandRecord) -> LastCommand:
    return LastCommand(
        text=record.text, by=record.by, at=record.at, result=record.result, refused=record.refused
    )
