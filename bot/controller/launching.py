"""Have the runs started that a report still needs, where the configuration says how runs are started.

In:  a pull request, its suite and its report so far.
Out: rows of `run` that are due, each with the job that executes it; what was planned, for the report.

Nothing is started by a push that follows another within seconds, until the pushes end; what they make stale
is withdrawn at once.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from bot.config import Suite
from bot.controller import asking
from bot.controller.conversation import approval_of
from bot.controller.deciding import is_settled, starts_runs
from bot.controller.facts import HeadFacts
from bot.controller.jobs import device_of
from bot.controller.planning import Subject, Wishes, plan
from bot.controller.pricing import price_plan
from bot.controller.vouching import Waits, vouched
from bot.intake.pull import Pull
from bot.report.build import Built
from bot.report.model import CaseReport, Report
from bot.report.plan import Plan
from bot.runs.asks import Ask, Source
from bot.runs.pattern import slug
from bot.runs.price import Price, price_of
from bot.runs.records import RunRecord, RunState
from bot.storage import asks as kept_asks
from bot.storage import prices, reuse, runs, spend
from bot.storage.database import Database
from bot.storage.pulls import PullRow

PLAN_COMMAND = "/benchmark plan"

FAILED = "failed"
"""Stands among a command's keys for the cases that failed, whichever they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The number of new runs; what the report says of the plan and its price; nothing of either where the
    configuration starts no runs."""

    new: int = 0
    plan: Plan | None = None
    used_chip_hours: float | None = None

    def said_in(self, report: Report) -> Report:
        """The report with the plan."""
        if self.plan is None:
            return report
        return replace(
            report,
            plan=self.plan,
            chip_hours_used=self.used_chip_hours,
            chip_hours_saved=self.plan.saved_chip_hours,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Plans the runs of pull requests."""

    database: Database
    now: Callable[[], float]

    async def supersede(self, pull: Pull, facts: HeadFacts) -> None:
        """Withdraw what was started for other heads, unless it measures the very same files."""
        started = await self.database.read(runs.wanted, pull.repository, pull.number)
        current = [run.id for run in started if _is_current(run, pull, facts)]
        if len(current) < len(started):
            await self.database.write(
                runs.drop_wants, repository=pull.repository, number=pull.number, but=current
            )

    async def __call__(
        self, row: PullRow, pull: Pull, facts: HeadFacts, suite: Suite, built: Built
    ) -> Launched:
        """Plan what is missing; nothing for a fork, whose code nobody here has vouched for."""
        rows, asked = built.report.rows, _asks_for_the_plan(row)
        waits = isinstance(vouched(pull, facts.tree, await approval_of(self.database, pull, facts)), Waits)
        if not starts_runs(suite) or (waits and not asked):
            return Launched()
        subject = await self._subject(pull, facts, suite)
        if subject is None:
            return Launched()
        if waits or (asked and not subject.asks):
            proposal = replace(subject, asks=(_everything(suite),))
            said = await self._priced(proposal, plan(proposal, rows), rows)
            return Launched(plan=replace(said, proposed=True, asked=True))
        wishes = plan(subject, rows)
        new = await self._want(wishes, pull, may_start=is_settled(row, subject.asks, self.now()))
        said = await self._priced(subject, wishes, rows)
        used = await self.database.read(spend.of_pull, pull.repository, pull.number)
        return Launched(new=new, plan=replace(said, asked=asked), used_chip_hours=used)

    async def _subject(self, pull: Pull, facts: HeadFacts, suite: Suite) -> Subject | None:
        """Everything that the plan is made from."""
        device = device_of(suite.launch) if suite.launch else None
        if device is None:
            return None
        kept = await self.database.read(kept_asks.of_pull, pull.repository, pull.number)
        subject = Subject(
            pull=pull,
            facts=facts,
            suite=suite,
            device=device,
            asks=asking.asks_in_force(kept, pull, suite, facts.changed_paths),
            started=await self.database.read(runs.wanted, pull.repository, pull.number),
        )
        return replace(subject, lost=await self._lost(subject), prices=await self._prices(subject))

    async def _lost(self, subject: Subject) -> frozenset[str]:
        trees = {tree for tree in (subject.base.tree, subject.head.tree) if tree}
        known = await self.database.read(reuse.of_trees, subject.pull.repository, trees)
        return frozenset(run.key for run in known if run.state is RunState.LOST and run.key)

    async def _prices(self, subject: Subject) -> dict[str, Price | None]:
        device, pull = subject.device, subject.pull
        measured = await self.database.read(
            prices.of_branch, pull.repository, slug(pull.base_branch), devices=device.chips
        )
        return {
            key: price_of(measured.get(key, ()), chips=device.chips, timeout_seconds=device.timeout_seconds)
            for key in asking.suite_keys(subject.suite)
        }

    async def _want(self, wishes: Wishes, pull: Pull, *, may_start: bool) -> int:
        repository, number = pull.repository, pull.number
        if may_start:
            return await self.database.write(
                runs.plan, wishes.planned, repository=repository, number=number, now=self.now()
            )
        ids = [one.record.id for one in wishes.planned]
        await self.database.write(reuse.keep, ids, repository=repository, number=number)
        return 0

    async def _priced(self, subject: Subject, wishes: Wishes, rows: Sequence[CaseReport]) -> Plan:
        ids: Collection[str] = {one.record.id for one in wishes.planned} | {
            run.id for row in rows for run in (*row.base_runs, *row.head_runs)
        }
        bills = await self.database.read(prices.bills, ids)
        return price_plan(subject, wishes, rows, bills)


def _is_current(run: RunRecord, pull: Pull, facts: HeadFacts) -> bool:
    """Whether a run measures this head or its merge base, by the commit or by its files."""
    if run.sha in {pull.head_sha, facts.merge_base.sha}:
        return True
    return run.tree is not None and run.tree in {facts.tree, facts.merge_base.tree}


def _asks_for_the_plan(row: PullRow) -> bool:
    """Whether the newest command wants to see what would be started."""
    return bool(row.commands) and PLAN_COMMAND in row.commands[-1].text.split(" · ")


def _everything(suite: Suite) -> Ask:
    """What `/benchmark run` would ask for."""
    return Ask(source=Source.COMMAND, name="plan", keys=asking.suite_keys(suite))
