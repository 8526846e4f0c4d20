"""Move a pull request, or a watched branch, one step: read it anew, save its report, publish it.

The step reads everything again; a delivery only makes the row due. When a pull request takes over a watched
branch, or gives it back, the branch becomes due too.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from msgspec import structs

from bot.commands.labels import LabelMaker
from bot.config import CONFIG_PATH, NO_CHECKS, CheckConfig, Suite
from bot.config.loader import SuiteLoader
from bot.domain.head import HeadFacts
from bot.domain.pull_request import Branch, Subject, SubjectKind
from bot.domain.repository import Repository
from bot.errors import InternalError, NotFound, UserError
from bot.ingest.importer import RunImporter
from bot.ingest.report_runs import ChosenRuns, choose_runs
from bot.publish.lease_fence import Fence, LeaseFence
from bot.publish.publisher import Publisher
from bot.report.assess import closed_report, headline
from bot.report.build import BuiltReport, build_report
from bot.report.wording import unreadable_runs_words
from bot.storage import pull_requests, reports, runs
from bot.storage.database import Database
from bot.storage.pull_requests import InterimAnalyses, PullRow
from bot.storage.queue import Claim
from bot.worker.pull_decisions import (
    at_current_head,
    has_something_to_say,
    import_queries,
    last_commands,
    load_conversation,
    next_due,
    not_measured_reason,
    pull_values,
    report_request,
    with_conversation,
)
from bot.worker.pull_loader import HeadLoader, PullLoader
from bot.worker.run_planner import PlanOutcome


async def branch_with_new_owner(
    database: Database, suites: SuiteLoader, repository: Repository, row: PullRow, pull: Subject
) -> str | None:
    """The branch that the pull request took over, or gives back: its own runs are withdrawn then, or wanted
    again. None where nothing changed, or nobody watches such a branch."""
    began = pull.open and (row.head_branch != pull.head_branch or not row.open)
    ceased = row.open and not pull.open
    if isinstance(pull, Branch) or pull.from_fork or not (began or ceased):
        return None
    if await database.read(pull_requests.branch_number, pull.repository, pull.head_branch) is not None:
        return pull.head_branch
    if began or pull.merged:
        return None
    # It was never pushed to without a pull request; from now on it stands for itself.
    suite = (await suites.read(repository)).suite
    return pull.head_branch if suite and suite.triggers.watches(pull.head_branch) else None


NO_CONFIGURATION = "The default branch has no .github/maxview.yml, so there is nothing to run or to compare."

LOG = logging.getLogger(__name__)


class PlanRuns(Protocol):
    """Plans what is still needed, where the repository's configuration says how runs are started."""

    async def supersede(self, pull: Subject, facts: HeadFacts) -> None:
        """Withdraw what was started for other heads of the pull request."""
        ...

    async def __call__(
        self, row: PullRow, pull: Subject, facts: HeadFacts, suite: Suite, built: BuiltReport
    ) -> PlanOutcome:
        """Plan the missing runs; how many are new, and what the report says of the plan."""
        ...


@dataclass(frozen=True, slots=True)
class _CurrentPull:
    """One pull request while it is looked at."""

    repository: Repository
    row: PullRow
    pull: Subject
    fence: Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class PullStep:
    """What the controller does with a pull request."""

    database: Database
    subjects: PullLoader
    suites: SuiteLoader
    heads: HeadLoader
    gatherer: RunImporter
    tell: Publisher
    launch: PlanRuns
    labels: LabelMaker
    poll_seconds: float
    now: Callable[[], float]

    async def __call__(self, held: Claim) -> None:
        """Look, report, comment, and let go of the row."""
        row = pull_requests.pull_row(held.row)
        repository = Repository(full_name=row.repository, installation=row.installation)
        fence = LeaseFence(database=self.database, held=held, now=self.now)
        try:
            pull = await self.subjects.read(repository, row)
        except NotFound as missing:
            LOG.warning("%s#%s is let go of: %s", row.repository, row.number, missing.text)
            await fence()
            await self.database.write(runs.drop_wants, repository=row.repository, number=row.number)
            await self._let_go(held, None, {"open": False} if row.kind is SubjectKind.BRANCH else {})
            return
        if not pull.open:
            told = await self._close(repository, row, pull, fence)
            await self._let_go(held, None, {**pull_values(pull), **told}, pull)
            return
        subject = _CurrentPull(repository, at_current_head(row, pull, self.now()), pull, fence)
        due, values = await self._look(subject)
        await self._let_go(
            held, due, {**pull_values(pull), "head_seen": subject.row.head_seen, **values}, pull
        )

    async def _close(
        self, repository: Repository, row: PullRow, pull: Subject, fence: Fence
    ) -> Mapping[str, Any]:
        """Withdraw what runs for a pull request that is closed, leave nothing pending there, and answer who
        commands it all the same."""
        await fence()
        await self.database.write(runs.drop_wants, repository=row.repository, number=row.number)
        last = await self.database.read(reports.newest, row.repository, row.number, pull.head_sha)
        ended = structs.replace(closed_report(last) or last, commands=last_commands(row)) if last else None
        if ended is None or ended == last:
            return await self.tell.close(repository, row, None, fence=fence)
        await self.database.write(reports.save, ended, headline=headline(ended))
        return await self.tell.close(repository, row, ended, fence=fence)

    async def _look(self, subject: _CurrentPull) -> tuple[float | None, Mapping[str, Any]]:
        """Make the report and say it; when to look again, and what to remember."""
        read = await self.suites.read(subject.repository)
        facts = await self.heads.read(subject.repository, subject.pull)
        edits = CONFIG_PATH in facts.changed_paths
        if not (edits or has_something_to_say(read, subject.row, subject.pull, facts.changed_paths)):
            due, values = await self._skip(subject, read.suite)
            return due, {**values, "head_tree": facts.tree}
        if read.suite is None:
            problem = read.problem or NO_CONFIGURATION
            asked = report_request(subject.row, subject.pull, suite=None, problem=problem, now=self.now())
            built = build_report(asked, (), {})
        else:
            built = await self._build(subject, facts, read.suite)
            await self.labels(subject.repository, read.suite)
        if edits:
            preview = await self.suites.preview(subject.repository, subject.pull.head_sha)
            built = structs.replace(built, report=structs.replace(built.report, preview=preview))
        checks = read.suite.checks if read.suite else NO_CHECKS
        due, values = await self._tell(subject, built, checks, facts.changed_paths)
        return due, {**values, "head_tree": facts.tree}

    async def _skip(
        self, subject: _CurrentPull, suite: Suite | None
    ) -> tuple[float | None, Mapping[str, Any]]:
        """No comment where there is nothing to say; a check, which may be required, is concluded."""
        why = not_measured_reason(suite, subject.pull) if suite else None
        if suite is None or why is None:
            return None, {}
        told = await self.tell.skip(
            subject.repository,
            subject.row,
            subject.pull.head_sha,
            why,
            kind=suite.checks.kind,
            fence=subject.fence,
        )
        return told.due(self.now(), None), told.values

    async def _build(self, subject: _CurrentPull, facts: HeadFacts, suite: Suite) -> BuiltReport:
        # Before anything slow: what a push made stale holds a cluster. Who has lost the row meanwhile does
        # not know any more what is stale, here and below.
        await subject.fence()
        await self.launch.supersede(subject.pull, facts)
        problem = await self._gather(subject, facts, suite)
        files = {subject.pull.head_sha: facts.tree, facts.merge_base.sha: facts.merge_base.tree}
        await self.database.write(runs.save_trees, subject.pull.repository, files)
        built = await self._choose(subject, facts, suite, problem)
        await subject.fence()
        launched = await self.launch(subject.row, subject.pull, facts, suite, built)
        if launched.new:
            built = await self._choose(subject, facts, suite, problem)
        return structs.replace(built, report=launched.said_in(built.report))

    async def _gather(self, subject: _CurrentPull, facts: HeadFacts, suite: Suite) -> str | None:
        """Read new runs; the problem where the store cannot be read, which the report then says."""
        if suite.runs is None:
            return None
        try:
            await self.gatherer.gather(
                subject.pull.repository, suite.runs, import_queries(subject.pull, facts, suite)
            )
        except (UserError, InternalError) as problem:
            LOG.warning("%s#%s: %s", subject.row.repository, subject.row.number, problem)
            return unreadable_runs_words(problem)
        return None

    async def _choose(
        self, subject: _CurrentPull, facts: HeadFacts, suite: Suite, problem: str | None
    ) -> BuiltReport:
        chosen: ChosenRuns = await self.database.read(
            choose_runs, row=subject.row, pull=subject.pull, facts=facts, suite=suite, now=self.now()
        )
        asked = report_request(subject.row, subject.pull, suite=suite, problem=problem, now=self.now())
        asked = structs.replace(asked, merge_base=facts.merge_base.sha, elsewhere=chosen.elsewhere)
        conversation = await load_conversation(self.database, subject.pull, facts)
        asked = with_conversation(asked, conversation, facts=facts, suite=suite)
        return build_report(asked, chosen.cases, chosen.measured)

    async def _tell(
        self, subject: _CurrentPull, built: BuiltReport, checks: CheckConfig, changed_paths: Sequence[str]
    ) -> tuple[float | None, Mapping[str, Any]]:
        report = structs.replace(built.report, trouble=subject.row.trouble or "")
        await subject.fence()
        # Before the comment, so that its links lead somewhere from its first moment on.
        await self.database.write(reports.supersede, report)
        await self.database.write(reports.save, report, headline=headline(report))
        told = await self.tell(
            subject.repository,
            subject.row,
            report,
            checks=checks,
            changed_paths=changed_paths,
            fence=subject.fence,
        )
        if told is None:
            return self.now(), {}
        looks = {str(key): InterimAnalyses(look=one.look, runs=one.runs) for key, one in built.looks.items()}
        due = told.due(self.now(), next_due(subject.row, report, self.poll_seconds))
        return due, {**told.values, "looks": msgspec.json.encode(looks).decode()}

    async def _let_go(
        self, held: Claim, due: float | None, values: Mapping[str, Any], pull: Subject | None = None
    ) -> None:
        row = pull_requests.pull_row(held.row)
        repository = Repository(full_name=row.repository, installation=row.installation)
        branch = (
            await branch_with_new_owner(self.database, self.suites, repository, row, pull) if pull else None
        )
        if not await self.database.write(
            pull_requests.release_and_watch, held, now=self.now(), due=due, values=values, branch=branch
        ):
            LOG.info("a pull request was taken over by another process; nothing was written")
