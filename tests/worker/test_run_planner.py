"""Planning with a database: who shares what, what waits for the pushes to end, what is withdrawn."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.command import CommandVerb, CommentOrigin
from bot.domain.head import HeadFacts
from bot.domain.price import PriceBasis
from bot.domain.pull_request import PullRequest
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning.budget import BudgetLimits
from bot.report.build import BuiltReport
from bot.report.model import CaseReport, Plan, Report, RowState
from bot.storage import requests, runs, spend
from bot.storage.database import Database
from bot.storage.pull_requests import CommandRecord, PullRow
from bot.storage.spend import AdmissionRequest
from bot.worker.pull_decisions import DEBOUNCE_SECONDS
from bot.worker.run_planner import PlanOutcome, RunPlanner
from tests.planning.samples import SUITE, TREED, XPK
from tests.worker.samples import BASE, FACTS, NOW, PULL, ROW, pull, row, suite

FIRST = replace(ROW, head_seen=None)

CASES = 4
"""Cases times variants of the suite."""


@dataclass
class World:
    """A launcher with a clock."""

    database: Database
    now: float = NOW

    def launch(
        self,
        row_: PullRow = FIRST,
        pull_: PullRequest = PULL,
        facts: HeadFacts = TREED,
        suite_: Suite = SUITE,
    ) -> PlanOutcome:
        """One look at a pull request that has no runs yet."""
        launcher = RunPlanner(database=self.database, now=lambda: self.now)
        built = BuiltReport(report=_report(pull_, suite_), looks={})
        return asyncio.run(launcher.plan(row_, pull_, facts, suite_, built))

    def supersede(self, pull_: PullRequest, facts: HeadFacts) -> None:
        """What happens first at every look."""
        asyncio.run(RunPlanner(database=self.database, now=lambda: self.now).supersede(pull_, facts))

    def wanted(self, number: int = 7) -> set[str]:
        """The commits, by their first letter, of the runs that a pull request wants."""
        return {
            (run.sha or "?")[0] for run in self.database.write_now(runs.wanted_runs, PULL.repository, number)
        }


@pytest.fixture
def world(database: Database) -> World:
    """A world in which nothing has happened."""
    return World(database)


def _report(of: PullRequest, with_suite: Suite) -> Report:
    return Report(
        repository=of.repository,
        number=of.number,
        title=of.title,
        head_sha=of.head_sha,
        head_branch=of.head_branch,
        base_branch=of.base_branch,
        merge_base=BASE,
        made_at=NOW,
        rows=tuple(
            CaseReport(case=case, variant=one, state=RowState.NO_RUN)
            for case in with_suite.case_names
            for one in with_suite.variant_names
        ),
    )


def _plan(launched: PlanOutcome) -> Plan:
    assert launched.plan is not None
    return launched.plan


def _pushed(head: str, seen: float, **more: Any) -> tuple[PullRow, PullRequest, HeadFacts]:
    """A head that took another's place."""
    facts = structs.replace(TREED, tree=head[0] * 40)
    return row(head_sha=head, head_seen=seen), pull(head_sha=head, **more), facts


def test_a_first_head_is_planned_at_once_and_once(world: World) -> None:
    """With its price; looking again plans nothing new."""
    first = world.launch()
    assert (first.new_runs, world.wanted()) == (2 * CASES, {"a", "b"})
    price = _plan(first).price
    assert price is not None
    assert (price.most, price.basis) == (2 * CASES * 32 * 0.75, PriceBasis.LIMIT)
    assert world.launch().new_runs == 0


def test_a_push_keeps_what_was_started_for_the_merge_base_where_no_files_are_known(world: World) -> None:
    """Its commit is the same; only the head's runs measure another one."""
    world.launch(facts=FACTS)
    world.supersede(pull(head_sha="d" * 40), FACTS)
    assert world.wanted() == {"b"}


def test_a_push_waits_for_those_that_follow(world: World) -> None:
    """Nothing is started before the head has stood for a while, and what is stale is withdrawn before."""
    world.launch()
    pushed = _pushed("d" * 40, NOW)
    world.supersede(*pushed[1:])
    assert world.wanted() == {"b"}
    world.now = NOW + DEBOUNCE_SECONDS - 0.1
    assert (world.launch(*pushed).new_runs, world.wanted()) == (0, {"b"})
    world.now = NOW + DEBOUNCE_SECONDS
    assert (world.launch(*pushed).new_runs, world.wanted()) == (CASES, {"b", "d"})


def test_who_asks_after_a_push_need_not_wait(world: World) -> None:
    """A command is a person's, and means this head."""
    pushed = _pushed("d" * 40, NOW)
    ask = RunRequest(
        source=RequestSource.COMMAND,
        name="9:00",
        keys=frozenset({CaseKey("04_int8", "nnx")}),
        by="bob",
        head_sha="d" * 40,
        made=NOW + 1,
    )
    world.database.write_now(requests.save_request, PULL.repository, 7, ask)
    world.now = NOW + 2
    assert world.launch(*pushed).new_runs == 2 * CASES


def test_a_push_of_the_same_files_withdraws_nothing_and_starts_nothing(world: World) -> None:
    """The runs of the old commit are those of the new one."""
    world.launch()
    row_, pull_, _ = _pushed("d" * 40, NOW)
    world.supersede(pull_, TREED)
    assert world.wanted() == {"a", "b"}
    assert world.launch(row_, pull_, TREED).new_runs == 0
    world.now += DEBOUNCE_SECONDS
    assert (world.launch(row_, pull_, TREED).new_runs, world.wanted()) == (0, {"a", "b"})


def test_a_baseline_that_two_share_survives_the_closing_of_one(world: World) -> None:
    """The runs of the merge base are started once, and go on as long as anybody wants them."""
    world.launch()
    other = structs.replace(TREED, tree="9" * 40)
    second = world.launch(row(number=8, head_seen=None), pull(number=8, head_sha="9" * 40), other)
    assert second.new_runs == CASES
    world.database.write_now(runs.drop_wants, repository=PULL.repository, number=7)
    assert (world.wanted(7), world.wanted(8)) == (set(), {"9", "b"})
    left = {
        run.sha
        for run in world.database.write_now(runs.wanted_runs, PULL.repository, 8)
        if world.database.write_now(runs.wanters, run.id)
    }
    assert left == {BASE, "9" * 40}


def test_runs_that_others_paid_for_cost_nothing(world: World) -> None:
    """A pull request with the same files finds everything under way."""
    world.launch()
    again = world.launch(row(number=8, head_seen=None), pull(number=8))
    assert (again.new_runs, world.wanted(8)) == (0, {"a", "b"})
    assert world.database.write_now(spend.pull_chip_hours, PULL.repository, 8) == 0.0


def test_a_plan_that_is_asked_for_starts_nothing(world: World) -> None:
    """Where pull requests start nothing by themselves it shows what `run` would do, and why nothing runs."""
    quiet = suite(XPK, triggers="{pull_request: false}")
    asked = CommandRecord(
        origin=CommentOrigin(1),
        text="/benchmark plan",
        verb=CommandVerb.PLAN,
        by="bob",
        at=NOW,
        result="Below.",
    )
    launched = world.launch(replace(FIRST, commands=(asked,)), suite_=quiet)
    plan = _plan(launched)
    assert (launched.new_runs, world.wanted(), plan.proposed, plan.asked) == (0, set(), True, True)
    assert sum(one.base + one.head for one in plan.runs) == 2 * CASES
    assert len(launched.skip_reasons) == CASES
    assert launched.add_to(_report(PULL, quiet)).rows == ()


def test_what_is_asked_no_more_is_withdrawn_though_the_plan_is_looked_at(world: World) -> None:
    """Looking at a plan is no wish."""
    quiet = suite(XPK, triggers="{pull_request: false}")
    ask = RunRequest(
        source=RequestSource.LABEL,
        name="benchmark",
        keys=frozenset({CaseKey("04_int8", "nnx")}),
        by="bob",
        made=NOW,
    )
    world.database.write_now(requests.save_request, PULL.repository, 7, ask)
    assert world.launch(suite_=quiet).new_runs == 2
    world.database.write_now(
        requests.drop_request, PULL.repository, 7, source=RequestSource.LABEL, name="benchmark", made=NOW + 1
    )
    asked = CommandRecord(
        origin=CommentOrigin(1),
        text="/benchmark plan",
        verb=CommandVerb.PLAN,
        by="bob",
        at=NOW,
        result="Below.",
    )
    world.launch(replace(FIRST, commands=(asked,)), suite_=quiet)
    assert world.wanted() == set()


def test_a_fork_starts_nothing_before_it_is_approved(world: World) -> None:
    """Nobody here has vouched for its code; the plan may be looked at."""
    fork = pull(head_repository="eve/maxtext")
    launched = world.launch(pull_=fork)
    assert (launched.new_runs, world.wanted()) == (0, set())


def test_why_runs_wait_is_in_the_plan(world: World) -> None:
    """With the cases that it holds up."""
    world.launch()
    run = world.database.write_now(runs.wanted_runs, PULL.repository, 7)[0]
    tight = BudgetLimits(concurrent_runs=4, chip_hours_per_day=0.0)
    world.database.write_now(spend.admit, AdmissionRequest(run=run.id, attempt=1, place="p"), tight, now=NOW)
    (waiting,) = _plan(world.launch()).waiting
    assert (waiting.keys, str(waiting.why).startswith("chip_hours_per_day: 0 is less")) == (
        (run.case_key,),
        True,
    )
