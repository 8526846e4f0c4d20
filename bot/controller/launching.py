"""Have the runs started that a report still needs, where the configuration says how runs are started.

In:  a pull request, its suite and its report so far.
Out: rows of `run` that are due, each with the job that executes it; what was planned, for the report.

Nothing is started by a push that follows another within seconds, until the pushes end; what they make stale
is withdrawn at once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.config import Suite
from bot.controller import asking, skipping
from bot.controller.conversation import approval_of
from bot.controller.deciding import is_settled, starts_runs
from bot.controller.facts import HeadFacts
from bot.controller.own_device import own_device
from bot.controller.planning import Subject, Wishes, plan
from bot.controller.price_list import price_list
from bot.controller.pricing import price_plan
from bot.controller.skipping import without
from bot.controller.vouching import Waits, vouched
from bot.intake.pull import Pull
from bot.report.build import Built
from bot.report.model import CaseReport, Report
from bot.report.plan import Plan
from bot.runs.asks import Ask, Source
from bot.runs.records import RunRecord, RunState
from bot.storage import asks as kept_asks
from bot.storage import prices, reuse, runs, spend
from bot.storage.database import Database
from bot.storage.pulls import PullRow

PLAN_COMMAND = "/benchmark plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The number of new runs; what the report says of the plan and its price, and why cases are left out, by
    `case/variant`; nothing of that where the configuration starts no runs."""

    new: int = 0
    plan: Plan | None = None
    used_chip_hours: float | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    def said_in(self, report: Report) -> Report:
        """The report with the plan, and without empty rows of what nobody asked for."""
        report = without(report, self.left_out)
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
        subject = await self._subject(pull, facts, suite) if starts_runs(suite) else None
        if subject is None:
            return Launched()
        rows, asks = built.report.rows, subject.asks
        left_out = skipping.left_out(asks, pull, suite, facts.changed_paths)
        waits = isinstance(vouched(pull, facts.tree, await approval_of(self.database, pull, facts)), Waits)
        subject = replace(subject, asks=() if waits else asks)
        wishes = plan(subject, rows)
        new = await self._want(wishes, pull, may_start=is_settled(row, asks, self.now()))
        used = await self.database.read(spend.taken_by_pull, pull.repository, pull.number)
        asked = _asks_for_the_plan(row)
        if asked and not subject.asks:
            said = await self._proposed(subject, rows)
        else:
            said = replace(await self._priced(subject, wishes, rows), asked=asked)
        return Launched(new=new, plan=said, used_chip_hours=used, left_out=left_out)

    async def _proposed(self, subject: Subject, rows: Sequence[CaseReport]) -> Plan:
        """What would be started if somebody asked for everything, and might."""
        proposal = replace(subject, asks=(_everything(subject.suite),))
        said = await self._priced(proposal, plan(proposal, rows), rows)
        return replace(said, proposed=True, asked=True)

    async def _subject(self, pull: Pull, facts: HeadFacts, suite: Suite) -> Subject | None:
        """Everything that the plan is made from."""
        device = await own_device(self.database, suite.launch)
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
        priced = await price_list(self.database, pull.repository, pull.base_branch, suite, device)
        return replace(subject, lost=await self._lost(subject), prices=priced)

    async def _lost(self, subject: Subject) -> frozenset[str]:
        trees = {tree for tree in (subject.base.tree, subject.head.tree) if tree}
        known = await self.database.read(reuse.of_trees, subject.pull.repository, trees)
        return frozenset(run.key for run in known if run.state is RunState.LOST and run.key)

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
    """Whether the newest comment with commands wants to see what would be started."""
    newest = [one for one in row.commands if one.comment_id == row.commands[-1].comment_id]
    return any(one.text.lower() == PLAN_COMMAND and not one.refused for one in newest)


def _everything(suite: Suite) -> Ask:
    """What `/benchmark run` would ask for."""
    return Ask(source=Source.COMMAND, name="plan", keys=asking.suite_keys(suite))
