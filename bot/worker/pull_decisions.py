"""Decisions about one pull request: whether to comment, which runs to import, when to look again.

Pure, but for `load_conversation` and `current_approval`, which read the database.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import replace

from bot.commands.active_requests import (
    RequestLog,
    cancellations,
    launches_runs,
    requests_in_force,
    runs_automatically,
)
from bot.commands.fork_approval import ApprovalNeeded, check_approval
from bot.config import CompareMode, Suite
from bot.config.loader import LoadedSuite
from bot.domain.command import CommandVerb
from bot.domain.head import HeadFacts
from bot.domain.published import DirtyComment, PostedComment
from bot.domain.pull_request import Branch, Subject, branch_slug
from bot.domain.run_request import Approval, RequestSource, RunRequest
from bot.ingest.collect import ImportQuery
from bot.report.model import Acknowledgement, ProblemKind, Report, ReportedCommand, ReportRequest, RowState
from bot.storage import requests
from bot.storage.database import Database
from bot.storage.pull_requests import CommandRecord, PullRow

BASELINE_WINDOW_SECONDS = 60 * 86_400.0
"""How far behind the merge base main's runs are listed: enough for the noise history."""

LISTED_COMMITS = 30
"""Commits of main that are listed one by one where run names contain the commit and no branch."""

DAY_SECONDS = 86_400.0

FINISHED_POLL_SECONDS = 900.0
"""How often a finished pull request is looked at: repeats may be added to a bucket at any time."""

UNFINISHED_ROWS = {
    RowState.NO_RUN,
    RowState.NO_BASELINE,
    RowState.QUEUED,
    RowState.RUNNING,
    RowState.RETRYING,
    RowState.CONFIRMING,
}

DEBOUNCE_SECONDS = 5.0
"""How long after a push its runs start, if no other push follows: a series of pushes costs the runs of the
last one."""


def may_start_runs(row: PullRow, run_requests: Iterable[RunRequest], now: float) -> bool:
    """Whether runs of this head may start: at once for the first head and after a command, else once no
    other push has followed for `DEBOUNCE_SECONDS`."""
    if row.head_seen is None or not 0 <= now - row.head_seen < DEBOUNCE_SECONDS:
        return True
    # GitHub's times are whole seconds.
    return any(
        request.source is RequestSource.COMMAND and request.made > row.head_seen - 1
        for request in run_requests
    )


def should_comment(loaded: LoadedSuite, row: PullRow, pull: Subject, changed_paths: Sequence[str]) -> bool:
    """Whether a push that does not edit the configuration gets a comment, with or without a valid suite."""
    if loaded.suite is None:
        return loaded.problem is not None or bool(row.commands)
    return wants_comment(loaded.suite, row, pull, changed_paths)


def wants_comment(suite: Suite, row: PullRow, pull: Subject, changed_paths: Sequence[str]) -> bool:
    """Whether there is anything to say with this suite: somebody asked, there is a comment, or the push runs
    automatically."""
    if isinstance(row.comment, PostedComment | DirtyComment) or row.commands:
        return True
    return runs_automatically(pull, suite, changed_paths)


def not_measured_reason(suite: Suite, pull: Subject) -> str | None:
    """Why nothing is measured if there is nothing to say. None if a check would be of no use: a draft cannot
    be merged, and nobody waits for a branch."""
    if isinstance(pull, Branch) or (pull.draft and not suite.triggers.drafts):
        return None
    if not suite.triggers.pull_request:
        return "Not measured: nobody has asked for it"
    return "Not measured: the change touches no case"


def at_current_head(row: PullRow, pull: Subject, now: float) -> PullRow:
    """The row as it concerns the head that GitHub names: looks at other heads do not count."""
    if row.head_sha == pull.head_sha:
        return row
    first_seen = row.head_seen if row.head_sha is None else now
    return replace(row, head_sha=pull.head_sha, head_seen=first_seen, interim_analyses={})


def import_queries(pull: Subject, facts: HeadFacts, suite: Suite) -> tuple[ImportQuery, ...]:
    """What to look for in the store: the head's branch, and the base's since some time before the fork."""
    head = ImportQuery(
        slug=branch_slug(pull.head_branch),
        shas=(pull.head_sha,),
        variants=suite.variant_names,
        cases=suite.case_names,
    )
    since = facts.merge_base.committed_at - BASELINE_WINDOW_SECONDS
    base = structs.replace(
        head, slug=branch_slug(pull.base_branch), shas=facts.ancestors[:LISTED_COMMITS], since=since
    )
    return head, base


class FoundProblem(Struct, frozen=True, kw_only=True):
    """Why found runs are missing: the policy does not allow reading them, or their store cannot be read."""

    refused: str = ""
    unreadable: str = ""


class ReportLimits(Struct, frozen=True, kw_only=True):
    """What keeps a report from its verdict, and who ends that; and what it says without being kept."""

    problem: str | None = None
    kind: ProblemKind = ProblemKind.PASSES
    notice: str = ""


def joined_limits(suite: Suite, found: FoundProblem, launch_refused: str) -> ReportLimits:
    """Where found runs may be read, or runs launched, what is refused is a notice beside their verdict."""
    if found.unreadable:
        return ReportLimits(problem=found.unreadable, notice=launch_refused)
    refusals = "; ".join(filter(None, (found.refused, launch_refused)))
    reads, launches = suite.runs is not None and not found.refused, suite.launch and not launch_refused
    if not refusals or reads or launches:
        return ReportLimits(notice=refusals)
    return ReportLimits(problem=refusals, kind=ProblemKind.REFUSED)


def next_due(row: PullRow, report: Report, poll_seconds: float) -> float:
    """When to look again without being asked: often at first, then in a twentieth of what has passed."""
    waiting = any(one.state in UNFINISHED_ROWS for one in report.rows) or report.problem is not None
    age = report.made_at - (row.head_seen or report.made_at)
    interval = min(max(poll_seconds, age / 20), FINISHED_POLL_SECONDS) if waiting else FINISHED_POLL_SECONDS
    debounced = report.launches and row.head_seen is not None and 0 <= age < DEBOUNCE_SECONDS
    return report.made_at + (min(interval, DEBOUNCE_SECONDS - age) if debounced else interval)


def pull_values(pull: Subject) -> dict[str, Any]:
    """What the row remembers of the pull request itself."""
    return {
        "open": pull.open,
        "title": pull.title,
        "head_sha": pull.head_sha,
        "head_branch": pull.head_branch,
        "from_fork": pull.from_fork,
    }


def report_request(
    row: PullRow, pull: Subject, *, suite: Suite | None, problem: str | None, now: float
) -> ReportRequest:
    """What a report of this pull request is made for and with; its merge base is not known yet."""
    request = ReportRequest(
        pull=pull,
        merge_base=None,
        made_at=now,
        problem=problem,
        commands=last_commands(row),
    )
    if suite is None:
        return request
    return structs.replace(
        request,
        problem_kind=ProblemKind.PASSES,
        margins=suite.margins,
        variants=suite.variant_names,
        compares_variants=CompareMode.VARIANT in suite.compare,
        launches=launches_runs(suite),
        old_after_seconds=suite.baseline.old_after_days * DAY_SECONDS,
    )


def last_commands(row: PullRow) -> tuple[ReportedCommand, ...]:
    """What was asked on the pull request, as its report says it."""
    return tuple(map(_last_command, row.commands))


def _last_command(record: CommandRecord) -> ReportedCommand:
    return ReportedCommand(
        text=record.text,
        by=record.by,
        at=record.at,
        result=record.result,
        refused=record.refused,
        asks_for_help=record.verb is CommandVerb.HELP,
    )


class Conversation(Struct, frozen=True, kw_only=True):
    """What people requested and cancelled, approved and accepted."""

    log: RequestLog = ()
    approval: Approval | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()


async def current_approval(database: Database, pull: Subject, facts: HeadFacts) -> Approval | None:
    """The newest approval. An approval of other files is dropped, so that a later push of its commit needs
    another one; not so an approval newer than our view of the head, which may be for the next head."""
    approval = await database.read(requests.newest_approval, pull.repository, pull.row_number)
    if approval is None or facts.tree is None or approval.tree == facts.tree:
        return approval
    if approval.made > pull.updated_at:
        return approval
    until = pull.updated_at  # later ones may be for a head that we have not seen
    await database.write(
        requests.drop_approvals, pull.repository, pull.row_number, but_tree=facts.tree, until=until
    )
    return approval


async def load_conversation(database: Database, pull: Subject, facts: HeadFacts) -> Conversation:
    """Load the conversation of a pull request."""
    key = (pull.repository, pull.row_number)
    return Conversation(
        log=await database.read(requests.run_requests, *key),
        approval=await current_approval(database, pull, facts),
        acknowledgements=await database.read(requests.list_acknowledgements, *key),
    )


def with_conversation(
    request: ReportRequest, conversation: Conversation, *, facts: HeadFacts, suite: Suite
) -> ReportRequest:
    """The report's request, with what people asked and what it waits for."""
    pull, log, paths = request.pull, conversation.log, facts.changed_paths
    request = structs.replace(
        request, acknowledgements=conversation.acknowledgements, labels=tuple(suite.triggers.labels)
    )
    if not launches_runs(suite):
        return request
    request = structs.replace(
        request,
        cancelled_by={key: one.by for key, one in cancellations(log, pull, suite, paths).items()},
    )
    approval_state = check_approval(pull, facts.tree, conversation.approval)
    if not isinstance(approval_state, ApprovalNeeded):
        return request
    requested = frozenset(key for one in requests_in_force(log, pull, suite, paths) for key in one.keys)
    return structs.replace(request, waiting=requested, approval=approval_state.command if requested else "")
