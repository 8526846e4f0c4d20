"""Plan the runs that a pull request's report still needs, and store them as rows that are due.

Pushes are debounced: nothing starts until no other push has followed for a few seconds. Runs that a push made
stale are cancelled at once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from bot.commands import active_requests
from bot.commands.active_requests import launches_runs, suite_keys
from bot.commands.fork_approval import ApprovalNeeded, check_approval
from bot.config import LaunchConfig, Suite
from bot.domain.case_key import CaseKey
from bot.domain.command import CommandVerb
from bot.domain.head import HeadFacts
from bot.domain.price import Price
from bot.domain.pull_request import Subject, branch_slug
from bot.domain.run import RunRecord, RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning import plan_report
from bot.planning.jobs import Device, device_of, with_installation
from bot.planning.plan_report import price_plan, without_skipped
from bot.planning.price import price_of
from bot.planning.run_plan import PlanInput, RunPlan, plan_pull_request
from bot.report.build import BuiltReport
from bot.report.model import CaseReport, Plan, Report
from bot.storage import named_values, runs, spend
from bot.storage import requests as kept_asks
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.worker.pull_decisions import current_approval, may_start_runs


async def installation_device(database: Database, launch: LaunchConfig | None) -> Device | None:
    """The device; None where nothing is launched, or the part that describes it is not there."""
    device = device_of(launch) if launch else None
    if device is None:
        return None
    mark = await database.read(named_values.read, named_values.INSTALLATION_KEY)
    return with_installation(
        device, mark if mark is not None else await database.write(named_values.installation_id)
    )


async def case_prices(
    database: Database, repository: str, branch: str, suite: Suite, device: Device
) -> dict[CaseKey, Price | None]:
    """The price of one run of every case and variant; None where nobody knows."""
    took = await database.read(spend.branch_costs, repository, branch_slug(branch), devices=device.chips)
    return {
        key: price_of(took.get(key, ()), chips=device.chips, timeout_seconds=device.timeout_seconds)
        for key in suite_keys(suite)
    }


class PlanOutcome(Struct, frozen=True, kw_only=True):
    """The number of new runs; what the report says of the plan and its price, and why cases are left out;
    nothing of that where the configuration starts no runs."""

    new: int = 0
    plan: Plan | None = None
    used_chip_hours: float | None = None
    left_out: Mapping[CaseKey, str] = {}

    def said_in(self, report: Report) -> Report:
        """The report with the plan, and without empty rows of what nobody asked for."""
        report = without_skipped(report, self.left_out)
        if self.plan is None:
            return report
        return structs.replace(
            report,
            plan=self.plan,
            chip_hours_used=self.used_chip_hours,
            chip_hours_saved=self.plan.saved_chip_hours,
        )


class RunPlanner(Struct, frozen=True, kw_only=True):
    """Plans the runs of pull requests."""

    database: Database
    now: Callable[[], float]

    async def supersede(self, pull: Subject, facts: HeadFacts) -> None:
        """Withdraw what was started for other heads, unless it measures the very same files."""
        started = await self.database.read(runs.wanted_runs, pull.repository, pull.row_number)
        current = [run.id for run in started if _measures_head(run, pull, facts)]
        if len(current) < len(started):
            await self.database.write(
                runs.drop_wants, repository=pull.repository, number=pull.row_number, but=current
            )

    async def __call__(
        self, row: PullRow, pull: Subject, facts: HeadFacts, suite: Suite, built: BuiltReport
    ) -> PlanOutcome:
        """Plan what is missing; nothing for a fork, whose code nobody here has vouched for."""
        subject = await self._subject(pull, facts, suite) if launches_runs(suite) else None
        if subject is None:
            return PlanOutcome()
        rows, asks = built.report.rows, subject.asks
        left_out = plan_report.skip_reasons(asks, pull, suite, facts.changed_paths)
        waits = isinstance(
            check_approval(pull, facts.tree, await current_approval(self.database, pull, facts)),
            ApprovalNeeded,
        )
        subject = replace(subject, asks=() if waits else asks)
        wishes = plan_pull_request(subject, rows)
        new = await self._want(wishes, pull, may_start=may_start_runs(row, asks, self.now()))
        used = await self.database.read(spend.pull_chip_hours_of_ended, pull.repository, pull.row_number)
        asked = _plan_requested(row)
        if asked and not subject.asks:
            said = await self._proposed(subject, rows)
        else:
            said = structs.replace(await self._priced(subject, wishes, rows), asked=asked)
        return PlanOutcome(new=new, plan=said, used_chip_hours=used, left_out=left_out)

    async def _proposed(self, subject: PlanInput, rows: Sequence[CaseReport]) -> Plan:
        """What would be started if somebody asked for everything, and might."""
        proposal = replace(subject, asks=(_request_for_everything(subject.suite),))
        said = await self._priced(proposal, plan_pull_request(proposal, rows), rows)
        return structs.replace(said, proposed=True, asked=True)

    async def _subject(self, pull: Subject, facts: HeadFacts, suite: Suite) -> PlanInput | None:
        """Everything that the plan is made from."""
        device = await installation_device(self.database, suite.launch)
        if device is None:
            return None
        kept = await self.database.read(kept_asks.run_requests, pull.repository, pull.row_number)
        subject = PlanInput(
            pull=pull,
            facts=facts,
            suite=suite,
            device=device,
            asks=active_requests.requests_in_force(kept, pull, suite, facts.changed_paths),
            started=await self.database.read(runs.wanted_runs, pull.repository, pull.row_number),
        )
        priced = await case_prices(self.database, pull.repository, pull.base_branch, suite, device)
        return replace(subject, lost=await self._lost(subject), prices=priced)

    async def _lost(self, subject: PlanInput) -> frozenset[str]:
        trees = {tree for tree in (subject.base.tree, subject.head.tree) if tree}
        known = await self.database.read(runs.runs_of_trees, subject.pull.repository, trees)
        return frozenset(run.key for run in known if run.state is RunState.LOST and run.key)

    async def _want(self, wishes: RunPlan, pull: Subject, *, may_start: bool) -> int:
        repository, number = pull.repository, pull.row_number
        if may_start:
            return await self.database.write(
                runs.plan_runs, wishes.planned, repository=repository, number=number, now=self.now()
            )
        ids = [one.record.id for one in wishes.planned]
        await self.database.write(runs.want_existing, ids, repository=repository, number=number)
        return 0

    async def _priced(self, subject: PlanInput, wishes: RunPlan, rows: Sequence[CaseReport]) -> Plan:
        ids: Collection[str] = {one.record.id for one in wishes.planned} | {
            run.id for row in rows for run in (*row.base_runs, *row.head_runs)
        }
        bills = await self.database.read(spend.run_costs, ids)
        return price_plan(subject, wishes, rows, bills)


def _measures_head(run: RunRecord, pull: Subject, facts: HeadFacts) -> bool:
    """Whether a run measures this head or its merge base, by the commit or by its files."""
    if run.sha in {pull.head_sha, facts.merge_base.sha}:
        return True
    return run.tree is not None and run.tree in {facts.tree, facts.merge_base.tree}


def _plan_requested(row: PullRow) -> bool:
    """Whether the newest comment with commands wants to see what would be started."""
    newest = [one for one in row.commands if one.origin == row.commands[-1].origin]
    return any(one.verb is CommandVerb.PLAN and not one.refused for one in newest)


def _request_for_everything(suite: Suite) -> RunRequest:
    """What `/benchmark run` would ask for."""
    return RunRequest(source=RequestSource.COMMAND, name="plan", keys=active_requests.suite_keys(suite))
