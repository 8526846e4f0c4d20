"""Move a pull request, or a watched branch, one step: read it anew, save its report, publish it.

The step reads everything again; a delivery only makes the row due. When a pull request takes over a watched
branch, or gives it back, the branch becomes due too.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bot.commands.labels import LabelMaker
from bot.config import CONFIG_PATH, NO_CHECKS, CheckConfig, Suite
from bot.config.loader import LoadedSuite, SuiteLoader
from bot.domain.case_key import CaseKey
from bot.domain.head import HeadFacts
from bot.domain.pull_request import Branch, Subject, SubjectKind
from bot.domain.repository import Repository
from bot.errors import InternalError, NotFound, NotGranted, UserError
from bot.ingest.importer import RunImporter
from bot.ingest.report_runs import ChosenRuns, choose_runs
from bot.policy.gate import Permissions
from bot.publish.lease_fence import Fence, LeaseFence
from bot.publish.publisher import (
    Content,
    NewReport,
    NotMeasured,
    Publication,
    Publisher,
    PublishResult,
    PullClosed,
)
from bot.report.assess import closed_report, headline
from bot.report.build import BuiltReport, build_report
from bot.report.wording import unreadable_runs_words
from bot.storage import pull_requests, reports, runs
from bot.storage.database import Database
from bot.storage.pull_requests import InterimAnalyses, PullRow
from bot.storage.queue import Claim
from bot.worker.launch_grants import granted_suite
from bot.worker.pull_decisions import (
    FoundProblem,
    ReportLimits,
    at_current_head,
    import_queries,
    joined_limits,
    last_commands,
    load_conversation,
    next_due,
    not_measured_reason,
    pull_values,
    report_request,
    should_comment,
    with_conversation,
)
from bot.worker.pull_loader import HeadLoader, PullLoader
from bot.worker.run_planner import RunPlanner


async def branch_with_new_owner(
    database: Database, suites: SuiteLoader, repository: Repository, row: PullRow, pull: Subject
) -> str | None:
    """The watched branch that the pull request took over or gives back: its own runs are cancelled then, or
    wanted again. None if nothing changed, or nobody watches the branch."""
    began = pull.open and (row.head_branch != pull.head_branch or not row.open)
    ceased = row.open and not pull.open
    if isinstance(pull, Branch) or pull.from_fork or not (began or ceased):
        return None
    if await database.read(pull_requests.branch_number, pull.repository, pull.head_branch) is not None:
        return pull.head_branch
    if began or pull.merged:
        return None
    # It was never pushed to without a pull request; from now on it is watched for itself.
    suite = (await suites.read(repository)).suite
    return pull.head_branch if suite and suite.triggers.watches(pull.head_branch) else None


NO_CONFIGURATION = "The default branch has no .github/maxview.yml, so there is nothing to run or to compare."

LOG = logging.getLogger(__name__)


class _CurrentPull(Struct, frozen=True, kw_only=True):
    """One pull request or branch during one step."""

    repository: Repository
    row: PullRow
    pull: Subject
    fence: Fence


class _StepResult(Struct, frozen=True, kw_only=True):
    """When to look again, and the values to store with the row."""

    due: float | None
    values: Mapping[str, Any]


class PullStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a pull request or a watched branch."""

    database: Database
    pulls: PullLoader
    heads: HeadLoader
    suites: SuiteLoader
    importer: RunImporter
    planner: RunPlanner
    permissions: Permissions
    labels: LabelMaker
    publisher: Publisher
    poll_seconds: float
    now: Callable[[], float]

    async def __call__(self, claim: Claim) -> None:
        """Load, import, plan, report, publish, release."""
        row = pull_requests.pull_row(claim.row)
        repository = Repository(full_name=row.repository, installation=row.installation)
        fence = LeaseFence(database=self.database, claim=claim, now=self.now)
        try:
            pull = await self.pulls.load(repository, row)
        except NotFound as error:
            LOG.warning("%s#%s is let go of: %s", row.repository, row.number, error.text)
            await fence()
            await self.database.write(runs.drop_wants, repository=row.repository, number=row.number)
            await self._release(claim, None, {"open": False} if row.kind is SubjectKind.BRANCH else {})
            return
        current = _CurrentPull(repository=repository, row=row, pull=pull, fence=fence)
        if not pull.open:
            published = await self._close(current)
            await self._release(claim, None, {**pull_values(pull), **published.values}, pull)
            return
        current = replace(current, row=at_current_head(row, pull, self.now()))
        result = await self._update(current)
        values = {**pull_values(pull), "head_seen": current.row.head_seen, **result.values}
        await self._release(claim, result.due, values, pull)

    async def _close(self, current: _CurrentPull) -> PublishResult:
        """Cancel the runs of a closed pull request, leave nothing pending on it, and answer commands that
        were given on it after all."""
        row = current.row
        await current.fence()
        await self.database.write(runs.drop_wants, repository=row.repository, number=row.number)
        last = await self.database.read(reports.newest, row.repository, row.number, current.pull.head_sha)
        final = replace(closed_report(last) or last, commands=last_commands(row)) if last else None
        if final is None or final == last:
            return await self._publish(current, PullClosed(), NO_CHECKS)
        await self.database.write(reports.save, final, headline=headline(final))
        return await self._publish(current, PullClosed(final), NO_CHECKS)

    async def _update(self, current: _CurrentPull) -> _StepResult:
        """Make the report and publish it."""
        loaded = await self.suites.read(current.repository)
        facts = await self.heads.load(current.repository, current.pull)
        edits_config = CONFIG_PATH in facts.changed_paths
        if edits_config or should_comment(loaded, current.row, current.pull, facts.changed_paths):
            built = await self._build(current, facts, loaded)
            if edits_config:
                preview = await self.suites.preview(current.repository, current.pull.head_sha)
                built = replace(built, report=replace(built.report, preview=preview))
            config = loaded.suite.checks if loaded.suite else NO_CHECKS
            result = await self._publish_report(current, built, config, facts.changed_paths)
        else:
            result = await self._skip(current, loaded.suite)
        return _StepResult(due=result.due, values={**result.values, "head_tree": facts.tree})

    async def _skip(self, current: _CurrentPull, suite: Suite | None) -> _StepResult:
        """No comment if there is nothing to say; a check, which may be required, is concluded."""
        reason = not_measured_reason(suite, current.pull) if suite else None
        if suite is None or reason is None:
            return _StepResult(due=None, values={})
        content = NotMeasured(head_sha=current.pull.head_sha, reason=reason)
        result = await self._publish(current, content, suite.checks)
        return _StepResult(due=result.due(self.now(), None), values=result.values)

    async def _build(self, current: _CurrentPull, facts: HeadFacts, loaded: LoadedSuite) -> BuiltReport:
        suite = loaded.suite
        if suite is None:
            problem = loaded.problem or NO_CONFIGURATION
            request = report_request(current.row, current.pull, suite=None, problem=problem, now=self.now())
            return build_report(request, (), {})
        # Before anything slow: what a push made stale holds a cluster. A process that lost the row meanwhile
        # no longer knows what is stale, here and below.
        await current.fence()
        await self.planner.supersede(current.pull, facts)
        granted = await granted_suite(self.permissions, current.pull.repository, suite, current.pull.head_sha)
        found = await self._import_runs(current, facts, suite)
        limits = joined_limits(suite, found, granted.refusal)
        suite = granted.suite
        trees = {current.pull.head_sha: facts.tree, facts.merge_base.sha: facts.merge_base.tree}
        await self.database.write(runs.save_trees, current.pull.repository, trees)
        built = await self._choose_runs(current, facts, suite, limits)
        await current.fence()
        current = await self._keep_looks(current, built)
        outcome = await self.planner.plan(current.row, current.pull, facts, suite, built)
        if outcome.new_runs:
            built = await self._choose_runs(current, facts, suite, limits)
        built = replace(built, report=replace(outcome.add_to(built.report), refusal=limits.notice))
        await self.labels.create(current.repository, suite)
        return built

    async def _keep_looks(self, current: _CurrentPull, built: BuiltReport) -> _CurrentPull:
        """Store the looks at the data before the runs that follow from them are planned: a process that dies
        in between must not get them for nothing."""
        looks = _analyses(built)
        if looks != current.row.interim_analyses:
            await self.database.write(
                pull_requests.save_interim_analyses,
                repository=current.row.repository,
                number=current.row.number,
                head_sha=current.pull.head_sha,
                analyses=looks,
            )
        return replace(current, row=replace(current.row, interim_analyses=looks))

    async def _import_runs(self, current: _CurrentPull, facts: HeadFacts, suite: Suite) -> FoundProblem:
        """Import new runs; the problem if the store may not or cannot be read, which the report then says."""
        if suite.runs is None:
            return FoundProblem()
        try:
            await self.importer.import_runs(
                current.pull.repository, suite.runs, import_queries(current.pull, facts, suite)
            )
        except NotGranted as error:
            return FoundProblem(refused=error.text)
        except (UserError, InternalError) as error:
            LOG.warning("%s#%s: %s", current.row.repository, current.row.number, error)
            return FoundProblem(unreadable=unreadable_runs_words(error))
        return FoundProblem()

    async def _choose_runs(
        self, current: _CurrentPull, facts: HeadFacts, suite: Suite, limits: ReportLimits
    ) -> BuiltReport:
        chosen: ChosenRuns = await self.database.read(
            choose_runs, row=current.row, pull=current.pull, facts=facts, suite=suite, now=self.now()
        )
        request = report_request(
            current.row, current.pull, suite=suite, problem=limits.problem, now=self.now()
        )
        request = replace(
            request,
            problem_kind=limits.kind,
            merge_base=facts.merge_base.sha,
            pull_failures=chosen.elsewhere,
        )
        conversation = await load_conversation(self.database, current.pull, facts)
        request = with_conversation(request, conversation, facts=facts, suite=suite)
        return build_report(request, chosen.cases, chosen.measured)

    async def _publish_report(
        self, current: _CurrentPull, built: BuiltReport, config: CheckConfig, changed_paths: Sequence[str]
    ) -> _StepResult:
        report = replace(built.report, trouble=current.row.trouble or "")
        await current.fence()
        # Before the comment, so that its links lead somewhere from its first moment on.
        await self.database.write(reports.supersede, report)
        await self.database.write(reports.save, report, headline=headline(report))
        result = await self._publish(current, NewReport(report=report, changed_paths=changed_paths), config)
        due = result.due(self.now(), next_due(current.row, report, self.poll_seconds))
        if result.head_moved:
            return _StepResult(due=due, values=result.values)
        looks = pull_requests.analyses_json(_analyses(built))
        return _StepResult(due=due, values={**result.values, "interim_analyses": looks})

    async def _publish(self, current: _CurrentPull, content: Content, config: CheckConfig) -> PublishResult:
        return await self.publisher.publish(
            Publication(
                repository=current.repository,
                row=current.row,
                content=content,
                fence=current.fence,
                checks=config,
            )
        )

    async def _release(
        self, claim: Claim, due: float | None, values: Mapping[str, Any], pull: Subject | None = None
    ) -> None:
        row = pull_requests.pull_row(claim.row)
        repository = Repository(full_name=row.repository, installation=row.installation)
        branch = (
            await branch_with_new_owner(self.database, self.suites, repository, row, pull) if pull else None
        )
        if not await self.database.write(
            pull_requests.release_and_watch, claim, now=self.now(), due=due, values=values, branch=branch
        ):
            LOG.info("a pull request was taken over by another process; nothing was written")


def _analyses(built: BuiltReport) -> dict[CaseKey, InterimAnalyses]:
    return {
        key: InterimAnalyses(look=one.look, runs=one.runs, base=one.base, head=one.head)
        for key, one in built.looks.items()
    }
