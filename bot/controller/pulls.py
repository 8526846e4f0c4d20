"""Move one pull request one step: look at it anew, and make its comment true.

In:  a claimed row of `pull_request`.
Out: a kept report, at most one write to the comment, and when to look again.

Everything is asked afresh; a delivery only says where to look. A step may die anywhere and be repeated.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from bot.config import NO_CHECKS, Checks, Suite
from bot.controller.choosing import Chosen, choose
from bot.controller.conversation import heard_in, read_conversation
from bot.controller.deciding import (
    commands_of,
    known,
    next_look,
    on_this_head,
    request,
    sought,
    unmeasured,
    wants_words,
)
from bot.controller.facts import HeadFacts, HeadReader
from bot.controller.fence import Fence, RowFence
from bot.controller.gathering import Gatherer
from bot.controller.handover import handed_over
from bot.controller.label_making import LabelMaker
from bot.controller.launching import Launched
from bot.controller.subjects import Subjects
from bot.controller.suites import PATH, Suites
from bot.controller.telling import Tell
from bot.errors import Broken, Missing, Told
from bot.intake.pull import Pull, Repository
from bot.report.build import Built, build_report
from bot.report.ending import closed
from bot.report.headline import headline
from bot.report.trouble import unread
from bot.storage import branches, pulls, reports, reuse, runs
from bot.storage.database import Database
from bot.storage.pulls import Look, PullRow
from bot.storage.queue import Claim

NO_SUITE = "The default branch has no .github/maxview.yml, so there is nothing to run or to compare."

LOG = logging.getLogger(__name__)


class Launch(Protocol):
    """Plans what is still needed, where the repository's configuration says how runs are started."""

    async def supersede(self, pull: Pull, facts: HeadFacts) -> None:
        """Withdraw what was started for other heads of the pull request."""
        ...

    async def __call__(
        self, row: PullRow, pull: Pull, facts: HeadFacts, suite: Suite, built: Built
    ) -> Launched:
        """Plan the missing runs; how many are new, and what the report says of the plan."""
        ...


@dataclass(frozen=True, slots=True)
class _Subject:
    """One pull request while it is looked at."""

    repository: Repository
    row: PullRow
    pull: Pull
    fence: Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class PullStep:
    """What the controller does with a pull request."""

    database: Database
    subjects: Subjects
    suites: Suites
    heads: HeadReader
    gatherer: Gatherer
    tell: Tell
    launch: Launch
    labels: LabelMaker
    poll_seconds: float
    now: Callable[[], float]

    async def __call__(self, held: Claim) -> None:
        """Look, report, comment, and let go of the row."""
        row = pulls.pull_row(held.row)
        repository = Repository(full_name=row.repository, installation=row.installation)
        fence = RowFence(database=self.database, held=held, now=self.now)
        try:
            pull = await self.subjects.read(repository, row)
        except Missing as missing:
            LOG.warning("%s#%s is let go of: %s", row.repository, row.number, missing.text)
            await fence()
            await self.database.write(runs.drop_wants, repository=row.repository, number=row.number)
            await self._let_go(held, None, {"open": False} if row.is_branch else {})
            return
        if not pull.open:
            told = await self._close(repository, row, pull, fence)
            await self._let_go(held, None, {**known(pull), **told}, pull)
            return
        subject = _Subject(repository, on_this_head(row, pull, self.now()), pull, fence)
        due, values = await self._look(subject)
        await self._let_go(held, due, {**known(pull), "head_seen": subject.row.head_seen, **values}, pull)

    async def _close(
        self, repository: Repository, row: PullRow, pull: Pull, fence: Fence
    ) -> Mapping[str, Any]:
        """Withdraw what runs for a pull request that is closed, leave nothing pending there, and answer who
        commands it all the same."""
        await fence()
        await self.database.write(runs.drop_wants, repository=row.repository, number=row.number)
        last = await self.database.read(reports.newest, row.repository, row.number, pull.head_sha)
        ended = replace(closed(last) or last, commands=commands_of(row)) if last else None
        if ended is None or ended == last:
            return await self.tell.close(repository, row, None, fence=fence)
        await self.database.write(reports.save, ended, headline=headline(ended))
        return await self.tell.close(repository, row, ended, fence=fence)

    async def _look(self, subject: _Subject) -> tuple[float | None, Mapping[str, Any]]:
        """Make the report and say it; when to look again, and what to remember."""
        read = await self.suites.read(subject.repository)
        facts = await self.heads.read(subject.repository, subject.pull)
        edits = PATH in facts.changed_paths
        if not (edits or wants_words(read, subject.row, subject.pull, facts.changed_paths)):
            due, values = await self._skip(subject, read.suite)
            return due, {**values, "head_tree": facts.tree}
        if read.suite is None:
            problem = read.problem or NO_SUITE
            asked = request(subject.row, subject.pull, suite=None, problem=problem, now=self.now())
            built = build_report(asked, (), {})
        else:
            built = await self._build(subject, facts, read.suite)
            await self.labels(subject.repository, read.suite)
        if edits:
            preview = await self.suites.preview(subject.repository, subject.pull.head_sha)
            built = replace(built, report=replace(built.report, preview=preview))
        checks = read.suite.checks if read.suite else NO_CHECKS
        due, values = await self._tell(subject, built, checks, facts.changed_paths)
        return due, {**values, "head_tree": facts.tree}

    async def _skip(self, subject: _Subject, suite: Suite | None) -> tuple[float | None, Mapping[str, Any]]:
        """No comment where there is nothing to say; a check, which may be required, is concluded."""
        why = unmeasured(suite, subject.pull) if suite else None
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

    async def _build(self, subject: _Subject, facts: HeadFacts, suite: Suite) -> Built:
        # Before anything slow: what a push made stale holds a cluster. Who has lost the row meanwhile does
        # not know any more what is stale, here and below.
        await subject.fence()
        await self.launch.supersede(subject.pull, facts)
        problem = await self._gather(subject, facts, suite)
        files = {subject.pull.head_sha: facts.tree, facts.merge_base.sha: facts.merge_base.tree}
        await self.database.write(reuse.learn_trees, subject.pull.repository, files)
        built = await self._choose(subject, facts, suite, problem)
        await subject.fence()
        launched = await self.launch(subject.row, subject.pull, facts, suite, built)
        if launched.new:
            built = await self._choose(subject, facts, suite, problem)
        return replace(built, report=launched.said_in(built.report))

    async def _gather(self, subject: _Subject, facts: HeadFacts, suite: Suite) -> str | None:
        """Read new runs; the problem where the store cannot be read, which the report then says."""
        if suite.runs is None:
            return None
        try:
            await self.gatherer.gather(
                subject.pull.repository, suite.runs, sought(subject.pull, facts, suite)
            )
        except (Told, Broken) as problem:
            LOG.warning("%s#%s: %s", subject.row.repository, subject.row.number, problem)
            return unread(problem)
        return None

    async def _choose(self, subject: _Subject, facts: HeadFacts, suite: Suite, problem: str | None) -> Built:
        chosen: Chosen = await self.database.read(
            choose, row=subject.row, pull=subject.pull, facts=facts, suite=suite, now=self.now()
        )
        asked = request(subject.row, subject.pull, suite=suite, problem=problem, now=self.now())
        asked = replace(asked, merge_base=facts.merge_base.sha, elsewhere=chosen.elsewhere)
        conversation = await read_conversation(self.database, subject.pull, facts)
        asked = heard_in(asked, conversation, facts=facts, suite=suite)
        return build_report(asked, chosen.cases, chosen.measured)

    async def _tell(
        self, subject: _Subject, built: Built, checks: Checks, changed_paths: Sequence[str]
    ) -> tuple[float | None, Mapping[str, Any]]:
        report = replace(built.report, trouble=subject.row.trouble or "")
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
        looks = {key: Look(look=one.look, runs=one.runs) for key, one in built.looks.items()}
        due = told.due(self.now(), next_look(subject.row, report, self.poll_seconds))
        return due, {**told.values, "looks": msgspec.json.encode(looks).decode()}

    async def _let_go(
        self, held: Claim, due: float | None, values: Mapping[str, Any], pull: Pull | None = None
    ) -> None:
        row = pulls.pull_row(held.row)
        repository = Repository(full_name=row.repository, installation=row.installation)
        branch = await handed_over(self.database, self.suites, repository, row, pull) if pull else None
        if not await self.database.write(
            branches.let_go, held, now=self.now(), due=due, values=values, branch=branch
        ):
            LOG.info("a pull request was taken over by another process; nothing was written")
