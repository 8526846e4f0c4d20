"""Keep main itself measured: by the clock, on demand, and by what landed there.

In:  a claimed row of `mainline`.
Out: landings, main's newly gained runs, planned runs of main's commits; the wish to look at who compares.

Level-triggered: it names every run of main that should be there, so that repeating it plans nothing twice.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from bot.config import Suite
from bot.controller.asking import suite_keys
from bot.controller.jobs import Order, planned, run_key
from bot.controller.own_device import own_device
from bot.controller.ports import Forge
from bot.controller.price_list import price_list
from bot.controller.suites import Suites
from bot.errors import Missing
from bot.intake.pull import Commit, Repository
from bot.runs.asks import Ask, Source
from bot.runs.lineage import Landed, landings
from bot.runs.plan import Commit as Planning
from bot.runs.plan import Side, Wanted
from bot.runs.records import RunState
from bot.runs.schedule import newest_day, next_moment
from bot.runs.standing import TERMINAL
from bot.storage import asks, default_branches, mainline, pulls, reuse, runs
from bot.storage import landings as landed
from bot.storage.database import Database
from bot.storage.default_branches import Seen
from bot.storage.mainline import MAIN
from bot.storage.queue import Claim
from bot.storage.runs import Planned

LOOKED_BACK = 100
"""Commits of main that are searched for what landed: one answer of GitHub's, a week of MaxText's main."""

LOOKED_BACK_AFTER_AN_ABSENCE = 1000
"""The most that are searched where the newest do not reach back to the last one known: ten answers."""

LOOK_SECONDS = 3600.0
"""How often main is looked at without being told of a push: deliveries get lost."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Main:
    """A repository's default branch while it is looked at; `commits` newest first."""

    repository: Repository
    branch: str
    commits: tuple[Commit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MainStep:
    """What the controller does with a repository's default branch."""

    database: Database
    forge: Forge
    suites: Suites
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, held: Claim) -> None:
        """Look, adopt what landed, plan what is due, and let go of the row."""
        name, scheduled, due = held.row["repository"], held.row["scheduled"], None
        known = await self.database.read(pulls.repository, name)
        if known is not None and known.active:
            repository = Repository(full_name=name, installation=known.installation)
            due, scheduled = await self._look(repository, scheduled)
        await self.database.write(mainline.let_go, held, now=self.now(), due=due, scheduled=scheduled)

    async def _look(self, repository: Repository, scheduled: str | None) -> tuple[float, str | None]:
        """When to look again, and the newest day whose run was asked for."""
        facts = await self.forge.repository_facts(repository)
        branch = facts.default_branch or "main"
        seen = await self.database.read(default_branches.seen, repository.full_name)
        main = _Main(
            repository=repository, branch=branch, commits=await self._commits(repository, branch, seen)
        )
        if await self._moved(main, seen) + await self._adopt(main):
            self.wake()
        if main.commits:
            # Only now: a death in between has the same commits searched again.
            now = Seen(branch=branch, sha=main.commits[0].sha)
            await self.database.write(default_branches.keep, repository.full_name, now)
        read = await self.suites.read(repository)
        if read.suite is None or not main.commits:
            return self.now() + LOOK_SECONDS, scheduled
        scheduled = await self._ask_by_the_clock(main, read.suite, scheduled)
        await self._plan(main, read.suite)
        return _next_look(read.suite, self.now()), scheduled

    async def _commits(self, repository: Repository, branch: str, seen: Seen | None) -> tuple[Commit, ...]:
        """Main's newest commits, back to the last one whose landings are known."""
        newest = await self.forge.ancestors(repository, branch, LOOKED_BACK)
        if seen is None or len(newest) < LOOKED_BACK or any(one.sha == seen.sha for one in newest):
            return newest
        return await self.forge.ancestors(repository, branch, LOOKED_BACK_AFTER_AN_ABSENCE)

    async def _moved(self, main: _Main, seen: Seen | None) -> int:
        """Carry main's history over to another name of it; the number of runs that follow."""
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
            default_branches.carry_over, name, old=seen.branch, new=main.branch, now=self.now()
        )

    async def _holds(self, main: _Main, sha: str) -> bool:
        """Whether main holds a commit, however far back."""
        if any(one.sha == sha for one in main.commits):
            return True
        try:
            return (await self.forge.merge_base(main.repository, main.branch, sha)).sha == sha
        except Missing:
            return False

    async def _adopt(self, main: _Main) -> int:
        """Make runs of what landed unchanged runs of main; the number of new ones."""
        name = main.repository.full_name
        commits = [
            Landed(sha=one.sha, tree=one.tree, parents=one.parents, message=one.message)
            for one in main.commits
        ]
        heads = await self.database.read(landed.heads, name)
        found = landings(heads, commits, name)
        await self.database.write(landed.save, name, main.branch, list(found.values()), self.now())
        return await self.database.write(landed.adopt, name, main.branch, self.now())

    async def _ask_by_the_clock(self, main: _Main, suite: Suite, scheduled: str | None) -> str | None:
        """Ask for the runs of main's newest commit once its time of day has come.

        The day on which the schedule was first seen is left out: nobody waits for a run of the past."""
        daily_at = suite.baseline.daily_at
        if daily_at is None:
            return None
        day = newest_day(self.now(), daily_at)
        if scheduled not in {None, day}:
            ask = Ask(
                source=Source.SCHEDULE,
                name=day,
                keys=suite_keys(suite),
                head_sha=main.commits[0].sha,
                made=self.now(),
            )
            await self.database.write(asks.keep, main.repository.full_name, MAIN, ask)
        return day

    async def _plan(self, main: _Main, suite: Suite) -> None:
        """Want every run that was asked for and has not ended, and forget the asks that are answered."""
        name = main.repository.full_name
        kept = [one for one in await self.database.read(asks.of_pull, name, MAIN) if isinstance(one, Ask)]
        wanted: list[Planned] = []
        for ask in kept:
            made = await self._of_ask(main, suite, ask)
            states = await self.database.read(mainline.states, [one.record.id for one in made])
            if all(states.get(one.record.id) in TERMINAL for one in made):
                await self.database.write(
                    asks.take_back, name, MAIN, source=ask.source, name=ask.name, made=ask.made
                )
            else:
                wanted += made
        new = await self.database.write(runs.plan, wanted, repository=name, number=MAIN, now=self.now())
        if new:
            LOG.info("%s runs of %s are planned on %s", new, name, main.branch)
            self.wake()

    async def _of_ask(self, main: _Main, suite: Suite, ask: Ask) -> Sequence[Planned]:
        commit = await self._commit(main, ask)
        device = await own_device(self.database, suite.launch)
        if commit is None or device is None:
            return ()
        order = Order(
            repository=main.repository.full_name,
            suite=suite,
            device=device,
            base_branch=main.branch,
            head_branch=main.branch,
            session=f"{main.branch}-{ask.name}",
            prices=await price_list(self.database, main.repository.full_name, main.branch, suite, device),
            charged_to=dict.fromkeys(ask.keys, ask.by),
        )
        base = Planning(side=Side.BASELINE, sha=commit.sha, tree=commit.tree)
        keys = (key.split("/", 1) for key in sorted(ask.keys & suite_keys(suite)))
        wanted = [
            Wanted(commit=base, case=case, variant=variant, repeat=1, fresh=ask.fresh)
            for case, variant in keys
        ]
        lost = await self._lost(main, commit)
        return [planned(past_lost(one, order, lost), order) for one in wanted]

    async def _lost(self, main: _Main, commit: Commit) -> frozenset[str]:
        """The keys of this commit's runs that a cluster lost for others, or for an earlier day's ask: main
        may stand still for days, and one outage must not leave it without a baseline."""
        name = main.repository.full_name
        known = await self.database.read(reuse.of_trees, name, {commit.tree} if commit.tree else ())
        mine = {run.key for run in await self.database.read(runs.wanted, name, MAIN)}
        return frozenset(run.key for run in known if run.state is RunState.LOST and run.key) - mine

    async def _commit(self, main: _Main, ask: Ask) -> Commit | None:
        """The commit that is asked for; None where it is gone."""
        known = next((one for one in main.commits if one.sha == ask.head_sha), None)
        if known is not None or ask.head_sha is None:
            return known or main.commits[0]
        try:
            found = await self.forge.ancestors(main.repository, ask.head_sha, 1)
        except Missing:
            return None
        return found[0] if found else None


def past_lost(one: Wanted, order: Order, lost: Collection[str]) -> Wanted:
    """The same wish, its repeats counted past the runs that were lost."""
    while run_key(one, order) in lost:
        one = replace(one, repeat=one.repeat + 1)
    return one


def _next_look(suite: Suite, now: float) -> float:
    """The next hour, or the schedule's moment where that is sooner."""
    daily_at = suite.baseline.daily_at
    return min(now + LOOK_SECONDS, next_moment(now, daily_at) if daily_at is not None else now + LOOK_SECONDS)
