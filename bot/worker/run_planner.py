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
from bot.storage import requests as stored_requests
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.worker.pull_decisions import current_approval, may_start_runs


async def installation_device(database: Database, launch: LaunchConfig | None) -> Device | None:
    """The device as this installation uses it; None if the configuration launches nothing.

    Installations may share a cluster and measure the same commits there. A mark of the database goes into
    every key, so that none takes the other's jobs for its own.
    """
    device = device_of(launch) if launch else None
    if device is None:
        return None
    installation = await database.read(named_values.read, named_values.INSTALLATION_KEY)
    return with_installation(
        device,
        installation if installation is not None else await database.write(named_values.installation_id),
    )


async def case_prices(
    database: Database, repository: str, branch: str, suite: Suite, device: Device
) -> dict[CaseKey, Price | None]:
    """The price of one run of every case and variant, None if unknown: from the base branch's runs, else
    from the time limit."""
    costs = await database.read(spend.branch_costs, repository, branch_slug(branch), devices=device.chips)
    return {
        key: price_of(costs.get(key, ()), chips=device.chips, timeout_seconds=device.timeout_seconds)
        for key in suite_keys(suite)
    }


class PlanOutcome(Struct, frozen=True, kw_only=True):
    """The number of new runs; what the report says of the plan, and why cases are skipped. Empty if the
    configuration launches nothing."""

    new_runs: int = 0
    plan: Plan | None = None
    used_chip_hours: float | None = None
    skip_reasons: Mapping[CaseKey, str] = {}

    def add_to(self, report: Report) -> Report:
        """The report with the plan, and without the empty rows of skipped cases."""
        report = without_skipped(report, self.skip_reasons)
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
        """Cancel what was started for other heads, unless it measures the same files."""
        started = await self.database.read(runs.wanted_runs, pull.repository, pull.row_number)
        current = [run.id for run in started if _measures_head(run, pull, facts)]
        if len(current) < len(started):
            await self.database.write(
                runs.drop_wants, repository=pull.repository, number=pull.row_number, but=current
            )

    async def plan(
        self, row: PullRow, pull: Subject, facts: HeadFacts, suite: Suite, built: BuiltReport
    ) -> PlanOutcome:
        """Plan the missing runs; none if the head is a fork's and nobody has approved it."""
        plan_input = await self._plan_input(pull, facts, suite) if launches_runs(suite) else None
        if plan_input is None:
            return PlanOutcome()
        rows, run_requests = built.report.rows, plan_input.run_requests
        skip_reasons = plan_report.skip_reasons(run_requests, pull, suite, facts.changed_paths)
        needs_approval = isinstance(
            check_approval(pull, facts.tree, await current_approval(self.database, pull, facts)),
            ApprovalNeeded,
        )
        plan_input = replace(plan_input, run_requests=() if needs_approval else run_requests)
        run_plan = plan_pull_request(plan_input, rows)
        new_runs = await self._store(run_plan, pull, may_start=may_start_runs(row, run_requests, self.now()))
        used_chip_hours = await self.database.read(
            spend.pull_chip_hours_of_ended, pull.repository, pull.row_number
        )
        plan_requested = _plan_requested(row)
        if plan_requested and not plan_input.run_requests:
            plan = await self._propose(plan_input, rows)
        else:
            plan = structs.replace(await self._price(plan_input, run_plan, rows), asked=plan_requested)
        return PlanOutcome(
            new_runs=new_runs, plan=plan, used_chip_hours=used_chip_hours, skip_reasons=skip_reasons
        )

    async def _propose(self, plan_input: PlanInput, rows: Sequence[CaseReport]) -> Plan:
        """What would start if somebody with permission requested everything."""
        proposal = replace(plan_input, run_requests=(_request_for_everything(plan_input.suite),))
        plan = await self._price(proposal, plan_pull_request(proposal, rows), rows)
        return structs.replace(plan, proposed=True, asked=True)

    async def _plan_input(self, pull: Subject, facts: HeadFacts, suite: Suite) -> PlanInput | None:
        """Load what the plan is made from."""
        device = await installation_device(self.database, suite.launch)
        if device is None:
            return None
        request_log = await self.database.read(stored_requests.run_requests, pull.repository, pull.row_number)
        plan_input = PlanInput(
            pull=pull,
            facts=facts,
            suite=suite,
            device=device,
            run_requests=active_requests.requests_in_force(request_log, pull, suite, facts.changed_paths),
            started=await self.database.read(runs.wanted_runs, pull.repository, pull.row_number),
        )
        case_price_list = await case_prices(self.database, pull.repository, pull.base_branch, suite, device)
        return replace(plan_input, lost=await self._lost_runs(plan_input), prices=case_price_list)

    async def _lost_runs(self, plan_input: PlanInput) -> frozenset[str]:
        trees = {tree for tree in (plan_input.base.tree, plan_input.head.tree) if tree}
        known = await self.database.read(runs.runs_of_trees, plan_input.pull.repository, trees)
        return frozenset(run.key for run in known if run.state is RunState.LOST and run.key)

    async def _store(self, run_plan: RunPlan, pull: Subject, *, may_start: bool) -> int:
        repository, number = pull.repository, pull.row_number
        if may_start:
            return await self.database.write(
                runs.plan_runs, run_plan.planned, repository=repository, number=number, now=self.now()
            )
        ids = [one.record.id for one in run_plan.planned]
        await self.database.write(runs.want_existing, ids, repository=repository, number=number)
        return 0

    async def _price(self, plan_input: PlanInput, run_plan: RunPlan, rows: Sequence[CaseReport]) -> Plan:
        ids: Collection[str] = {one.record.id for one in run_plan.planned} | {
            run.id for row in rows for run in (*row.base_runs, *row.head_runs)
        }
        bills = await self.database.read(spend.run_costs, ids)
        return price_plan(plan_input, run_plan, rows, bills)


def _measures_head(run: RunRecord, pull: Subject, facts: HeadFacts) -> bool:
    """Whether a run measures this head or its merge base, by the commit or by its files."""
    if run.sha in {pull.head_sha, facts.merge_base.sha}:
        return True
    return run.tree is not None and run.tree in {facts.tree, facts.merge_base.tree}


def _plan_requested(row: PullRow) -> bool:
    """Whether the newest comment with commands asks for the plan."""
    newest = [one for one in row.commands if one.origin == row.commands[-1].origin]
    return any(one.verb is CommandVerb.PLAN and not one.refused for one in newest)


def _request_for_everything(suite: Suite) -> RunRequest:
    """What `/benchmark run` requests."""
    return RunRequest(source=RequestSource.COMMAND, name="plan", keys=active_requests.suite_keys(suite))
