"""What a command is decided on (`CommandContext`), and what it results in (`CommandResult`)."""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from bot.commands import grammar, scope
from bot.commands.active_requests import launches_runs, suite_keys
from bot.commands.fork_approval import ApprovalNeeded, RunAllowed, check_approval
from bot.commands.intents import CommandIntent
from bot.commands.permission import PermissionDecision
from bot.config import Suite
from bot.domain.case_key import CaseKey, combine_keys
from bot.domain.command import origin_name
from bot.domain.forge import Forge
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Repository
from bot.domain.run_request import Approval, Cancellation, RunRequest
from bot.errors import NotFound
from bot.report.model import Acknowledgement, CaseReport
from bot.storage import reports, requests
from bot.storage.database import Database


class CommandContext(Struct, frozen=True, kw_only=True):
    """What a command is decided on. `tree` is the hash of the head's files, `rows` are the newest report of
    this head, `baselines` has the commit that each `baseline` command means, None if the base has none."""

    permission: PermissionDecision
    pull: PullRequest
    suite: Suite | None
    tree: str | None = None
    fork_approval: RunAllowed | ApprovalNeeded = field(default_factory=RunAllowed)
    rows: tuple[CaseReport, ...] = ()
    baselines: Mapping[str | None, str | None] = {}


class CommandResult(Struct, frozen=True, kw_only=True):
    """What one command results in: a sentence for people, and what to store."""

    result: str
    refused: bool = False
    requests: tuple[RunRequest | Cancellation, ...] = ()
    baseline: RunRequest | None = None
    approval: Approval | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()
    rotates_links: bool = False


class CommandCall(Struct, frozen=True):
    """One command, its position in the comment, and what it is decided on."""

    command: grammar.Command | grammar.ParseError
    intent: CommandIntent
    position: int
    context: CommandContext

    @property
    def name(self) -> str:
        """Unique among commands; names of later commands sort behind."""
        return f"{origin_name(self.intent.origin)}:{self.position:02}"


def refuse(result: str) -> CommandResult:
    """A refusal, as one sentence."""
    return CommandResult(result=result, refused=True)


NO_LAUNCH_SECTION = "This repository starts no runs: its .github/maxview.yml has no launch section."


def no_launch_reason(suite: Suite) -> str:
    """Why no runs start here; empty if they do."""
    return "" if launches_runs(suite) else NO_LAUNCH_SECTION


def selected_keys(resolved: scope.ResolvedScope) -> frozenset[CaseKey]:
    """Every selected case in every selected variant."""
    return frozenset(combine_keys(resolved.cases, resolved.variants))


MAX_CASES_SHOWN = 5  # cases named in a result


def describe_keys(keys: frozenset[CaseKey], suite: Suite) -> str:
    """`All cases`, or their names in the suite's order, with the variants unless all are selected."""
    known = keys & suite_keys(suite)
    selected_cases, selected_variants = {key.case for key in known}, {key.variant for key in known}
    cases = [case for case in suite.case_names if case in selected_cases]
    variants = [variant for variant in suite.variant_names if variant in selected_variants]
    if len(cases) == len(suite.case_names):
        shown = "All cases"
    else:
        shown = ", ".join(cases[:MAX_CASES_SHOWN]) + (
            f" and {len(cases) - MAX_CASES_SHOWN} more" if len(cases) > MAX_CASES_SHOWN else ""
        )
    return shown if len(variants) == len(suite.variant_names) else f"{shown} ({', '.join(variants)})"


class ContextLoader(Struct, frozen=True, kw_only=True):
    """Loads from GitHub and the database what these commands need, and no more."""

    database: Database
    forge: Forge

    async def load(self, context: CommandContext, intent: CommandIntent) -> CommandContext:
        """The context, with what these commands need to know."""
        repository, pull = intent.repository, context.pull
        if pull.from_fork:
            tree = await self._tree(repository, pull.head_sha)
            approval = await self.database.read(requests.newest_approval, pull.repository, pull.number)
            context = replace(context, tree=tree, fork_approval=check_approval(pull, tree, approval))
        if any(isinstance(one, grammar.RerunCommand | grammar.AcknowledgeCommand) for one in intent.commands):
            report = await self.database.read(reports.newest, pull.repository, pull.number, pull.head_sha)
            context = replace(context, rows=report.rows if report else ())
        refs = {one.ref for one in intent.commands if isinstance(one, grammar.BaselineCommand)}
        return replace(context, baselines={ref: await self._baseline(repository, pull, ref) for ref in refs})

    async def _tree(self, repository: Repository, sha: str) -> str | None:
        try:
            commits = await self.forge.ancestors(repository, sha, 1)
        except NotFound:
            return None
        return commits[0].tree if commits and commits[0].sha == sha else None

    async def _baseline(self, repository: Repository, pull: PullRequest, ref: str | None) -> str | None:
        """The commit that is meant, if the base branch holds it: what others push is no baseline."""
        try:
            if ref is None:
                return (await self.forge.merge_base(repository, pull.base_branch, pull.head_sha)).sha
            commits = await self.forge.ancestors(repository, ref, 1)
            if not commits:
                return None
            base = await self.forge.merge_base(repository, pull.base_branch, commits[0].sha)
        except NotFound:
            return None
        return base.sha if base.sha == commits[0].sha else None
