"""Keep the main branch measured: on a schedule, on request, and by adopting runs of merged pull requests.

Level-triggered: it names every run of main that should exist, so repeating it plans nothing twice.
"""

import logging
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bot.commands.active_requests import suite_keys
from bot.config import Suite
from bot.config.loader import SuiteLoader
from bot.domain.commit import Commit
from bot.domain.forge import Forge
from bot.domain.pull_request import MAIN_ROW_NUMBER
from bot.domain.repository import Repository
from bot.domain.run import RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.errors import NotFound
from bot.planning.jobs import JobContext, make_planned_run, run_key
from bot.planning.lineage import MainCommit, find_landings
from bot.planning.plan import (
    ComparisonSide,
    PlannedRun,
    RequiredRun,
    SideCommit,
    newest_due_day,
    next_daily_time,
)
from bot.policy.gate import Permissions
from bot.runs.run_status import TERMINAL_STATES
from bot.storage import main_branch, repositories, requests, runs
from bot.storage import main_branch as landed
from bot.storage.database import Database
from bot.storage.main_branch import SeenDefaultBranch
from bot.storage.queue import Claim
from bot.worker.launch_grants import granted_suite
from bot.worker.run_planner import case_prices, installation_device

COMMITS_SEARCHED = 100
"""Commits of main that are searched for merged pull requests: one page of GitHub's, a week of MaxText's
main."""

MAX_COMMITS_SEARCHED = 1000
"""Searched if the newest page does not reach back to the last known commit: ten pages."""

POLL_SECONDS = 3600.0
"""How often main is due without a push: deliveries get lost."""

LOG = logging.getLogger(__name__)


class _MainBranch(Struct, frozen=True, kw_only=True):
    """A repository's default branch during one step; `commits` newest first."""

    repository: Repository
    branch: str
    commits: tuple[Commit, ...]


class MainBranchStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a repository's default branch."""

    database: Database
    forge: Forge
    suites: SuiteLoader
    permissions: Permissions
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, claim: Claim) -> None:
        """Adopt runs of merged pull requests, plan what is due, release the row."""
        name, scheduled, due = claim.row["repository"], claim.row["scheduled"], None
        stored = await self.database.read(repositories.find_repository, name)
        if stored is not None and stored.active:
            repository = Repository(full_name=name, installation=stored.installation)
            due, scheduled = await self._update(repository, scheduled)
        await self.database.write(
            main_branch.release_main, claim, now=self.now(), due=due, scheduled=scheduled
        )

    async def _update(self, repository: Repository, scheduled: str | None) -> tuple[float, str | None]:
        """When the branch is due again, and the newest day whose run was requested."""
        facts = await self.forge.repository_facts(repository)
        branch = facts.default_branch or "main"
        seen = await self.database.read(main_branch.seen_default_branch, repository.full_name)
        main = _MainBranch(
            repository=repository, branch=branch, commits=await self._commits(repository, branch, seen)
        )
        if await self._follow_rename(main, seen) + await self._adopt(main):
            self.wake()
        if main.commits:
            # Only now: after a crash in between, the same commits are searched again.
            now = SeenDefaultBranch(branch=branch, sha=main.commits[0].sha)
            await self.database.write(main_branch.save_default_branch, repository.full_name, now)
        loaded = await self.suites.read(repository)
        if loaded.suite is None or not main.commits:
            return self.now() + POLL_SECONDS, scheduled
        scheduled = await self._request_scheduled(main, loaded.suite, scheduled)
        await self._plan(main, loaded.suite)
        return _next_poll(loaded.suite, self.now()), scheduled

    async def _commits(
        self, repository: Repository, branch: str, seen: SeenDefaultBranch | None
    ) -> tuple[Commit, ...]:
        """Main's newest commits, back to the last one whose merges are known."""
        newest = await self.forge.ancestors(repository, branch, COMMITS_SEARCHED)
        if seen is None or len(newest) < COMMITS_SEARCHED or any(one.sha == seen.sha for one in newest):
            return newest
        return await self.forge.ancestors(repository, branch, MAX_COMMITS_SEARCHED)

    async def _follow_rename(self, main: _MainBranch, seen: SeenDefaultBranch | None) -> int:
        """Move main's history to the branch's new name; the number of moved runs."""
        if seen is None or seen.branch == main.branch:
            return 0
        name = main.repository.full_name
        if not await self._holds(main, seen.sha):
            LOG.info(
                "%s does not hold %s, main of %s before: main begins anew", main.branch, seen.branch, name
            )
            return 0
        LOG.info("main of %s was %s and is %s: its history goes on", name, seen.branch, main.branch)
        return await self.database.write(
            main_branch.rename_default_branch, name, old=seen.branch, new=main.branch, now=self.now()
        )

    async def _holds(self, main: _MainBranch, sha: str) -> bool:
        """Whether main holds a commit, however far back."""
        if any(one.sha == sha for one in main.commits):
            return True
        try:
            return (await self.forge.merge_base(main.repository, main.branch, sha)).sha == sha
        except NotFound:
            return False

    async def _adopt(self, main: _MainBranch) -> int:
        """Make runs of pull requests that were merged unchanged runs of main; the number of new ones."""
        name = main.repository.full_name
        commits = [
            MainCommit(sha=one.sha, tree=one.tree, parents=one.parents, message=one.message)
            for one in main.commits
        ]
        heads = await self.database.read(landed.known_heads, name)
        found = find_landings(heads, commits, name)
        await self.database.write(landed.save_landings, name, main.branch, list(found.values()), self.now())
        return await self.database.write(landed.adopt_runs, name, main.branch, self.now())

    async def _request_scheduled(self, main: _MainBranch, suite: Suite, scheduled: str | None) -> str | None:
        """Request the runs of main's newest commit at the scheduled time of day.

        The day on which the schedule was first seen is left out: nobody waits for a run of the past."""
        daily_at = suite.baseline.daily_at
        if daily_at is None:
            return None
        day = newest_due_day(self.now(), daily_at)
        if scheduled not in {None, day}:
            request = RunRequest(
                source=RequestSource.SCHEDULE,
                name=day,
                keys=suite_keys(suite),
                head_sha=main.commits[0].sha,
                made=self.now(),
            )
            await self.database.write(
                requests.save_request, main.repository.full_name, MAIN_ROW_NUMBER, request
            )
        return day

    async def _plan(self, main: _MainBranch, suite: Suite) -> None:
        """Want every requested run that has not ended, and drop the requests whose runs have."""
        name = main.repository.full_name
        run_requests = [
            one
            for one in await self.database.read(requests.run_requests, name, MAIN_ROW_NUMBER)
            if isinstance(one, RunRequest)
        ]
        wanted: list[PlannedRun] = []
        for request in run_requests:
            planned = await self._planned_for(main, suite, request)
            states = await self.database.read(runs.run_states, [one.record.id for one in planned])
            if all(states.get(one.record.id) in TERMINAL_STATES for one in planned):
                await self.database.write(
                    requests.drop_request,
                    name,
                    MAIN_ROW_NUMBER,
                    source=request.source,
                    name=request.name,
                    made=request.made,
                )
            else:
                wanted += planned
        new = await self.database.write(
            runs.plan_runs, wanted, repository=name, number=MAIN_ROW_NUMBER, now=self.now()
        )
        if new:
            LOG.info("%s runs of %s are planned on %s", new, name, main.branch)
            self.wake()

    async def _planned_for(
        self, main: _MainBranch, suite: Suite, request: RunRequest
    ) -> Sequence[PlannedRun]:
        commit = await self._commit(main, request)
        if commit is None:
            return ()
        granted = await granted_suite(self.permissions, main.repository.full_name, suite, commit.sha)
        device = await installation_device(self.database, granted.suite.launch)
        if device is None:
            return ()
        context = JobContext(
            repository=main.repository.full_name,
            suite=suite,
            device=device,
            base_branch=main.branch,
            head_branch=main.branch,
            session=f"{main.branch}-{request.name}",
            prices=await case_prices(self.database, main.repository.full_name, main.branch, suite, device),
            charged_to=dict.fromkeys(request.keys, request.by),
        )
        base = SideCommit(side=ComparisonSide.BASELINE, sha=commit.sha, tree=commit.tree)
        wanted = [
            RequiredRun(commit=base, case=key.case, variant=key.variant, repeat=1, fresh=request.fresh)
            for key in sorted(request.keys & suite_keys(suite))
        ]
        lost = await self._lost_runs(main, commit)
        return [make_planned_run(skip_lost_runs(one, context, lost), context) for one in wanted]

    async def _lost_runs(self, main: _MainBranch, commit: Commit) -> frozenset[str]:
        """The keys of this commit's runs that a cluster lost for others, or for an earlier day's request:
        main may not move for days, and one outage must not leave it without a baseline."""
        name = main.repository.full_name
        stored = await self.database.read(runs.runs_of_trees, name, {commit.tree} if commit.tree else ())
        own_keys = {run.key for run in await self.database.read(runs.wanted_runs, name, MAIN_ROW_NUMBER)}
        return frozenset(run.key for run in stored if run.state is RunState.LOST and run.key) - own_keys

    async def _commit(self, main: _MainBranch, request: RunRequest) -> Commit | None:
        """The requested commit; None if it is gone."""
        known = next((one for one in main.commits if one.sha == request.head_sha), None)
        if known is not None or request.head_sha is None:
            return known or main.commits[0]
        try:
            found = await self.forge.ancestors(main.repository, request.head_sha, 1)
        except NotFound:
            return None
        return found[0] if found else None


def skip_lost_runs(one: RequiredRun, context: JobContext, lost: Collection[str]) -> RequiredRun:
    """The same run, with repeats counted past lost runs."""
    while run_key(one, context) in lost:
        one = replace(one, repeat=one.repeat + 1)
    return one


def _next_poll(suite: Suite, now: float) -> float:
    """In an hour, or at the scheduled time if that is sooner."""
    daily_at = suite.baseline.daily_at
    return min(
        now + POLL_SECONDS, next_daily_time(now, daily_at) if daily_at is not None else now + POLL_SECONDS
    )
