"""Plan the runs that a report still needs, where the configuration says how runs are started.

In:  a pull request, its suite and its report so far.
Out: rows of `run` that are due, each with the job that executes it; the number of new ones.

Level-triggered: it names every run that should be there, so that repeating it plans nothing twice.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from bot.config import Local, Suite
from bot.controller.commands import FAILED
from bot.controller.deciding import starts_runs
from bot.controller.facts import HeadFacts
from bot.intake.pull import Pull
from bot.report.build import Built
from bot.report.model import CaseReport, RowState
from bot.runs import naming
from bot.runs.clusters.port import Job
from bot.runs.pattern import slug
from bot.runs.plan import (
    FIRST_ROUND_ON_A_NOISY_DEVICE,
    MOST_REPEATS,
    Commit,
    Side,
    Wanted,
    plan_runs,
    repeats_wanted,
)
from bot.runs.records import Origin, RunRecord, RunState
from bot.runs.standing import TERMINAL
from bot.storage import runs
from bot.storage.database import Database
from bot.storage.pulls import PullRow
from bot.storage.runs import Planned

FAILING = {RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH}
DECIDED = {*FAILING, RowState.DIVERGED, RowState.NOT_LIKE_FOR_LIKE, RowState.NOT_COMPARABLE}
BUSY = {RowState.QUEUED, RowState.RUNNING, RowState.RETRYING}

LOCAL_DEVICE = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One pull request while its runs are planned; `started` are the launched runs that it wants."""

    row: PullRow
    pull: Pull
    facts: HeadFacts
    suite: Suite
    started: tuple[RunRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Plans launches on the local cluster."""

    database: Database
    now: Callable[[], float]

    async def __call__(self, row: PullRow, pull: Pull, facts: HeadFacts, suite: Suite, built: Built) -> int:
        """Plan what is missing; nothing for a fork, whose code nobody here has vouched for."""
        if not starts_runs(suite) or pull.from_fork or suite.launch is None or suite.launch.local is None:
            return 0
        started = await self.database.read(runs.wanted, pull.repository, pull.number)
        subject = Subject(row=row, pull=pull, facts=facts, suite=suite, started=started)
        planned = plan(subject, suite.launch.local, built)
        return await self.database.write(
            runs.plan, planned, repository=pull.repository, number=pull.number, now=self.now()
        )


def plan(subject: Subject, local: Local, built: Built) -> tuple[Planned, ...]:
    """Every run that should be there for this head, in the order to start them."""
    suite = subject.suite
    base = Commit(side=Side.BASELINE, sha=subject.facts.merge_base.sha)
    head = Commit(side=Side.CANDIDATE, sha=subject.pull.head_sha)
    lines = [line for line in built.report.rows if suite.cases[line.case].command]
    wanted = plan_runs(
        cases=suite.case_names,
        variants=suite.variant_names,
        sides=(base, head),
        existing=[run for line in lines for run in (*line.base_runs, *line.head_runs)],
        repeats={(line.case, line.variant): _repeats(line, subject) for line in lines},
    )
    return tuple(_planned(one, subject.pull, suite, local) for one in wanted)


def _repeats(line: CaseReport, subject: Subject) -> int:
    """Runs a side: what is there or under way, what the verdict needs, what people asked for.

    Where the verdict no longer hangs on times, runs that have not ended are not wanted any more.
    """
    asked = _asked(line, subject.row, subject.pull.head_sha)
    rounds = min((1 + asked) * FIRST_ROUND_ON_A_NOISY_DEVICE, MOST_REPEATS) if asked else 0
    if line.state in DECIDED:
        return max(_there(line, subject, TERMINAL), rounds)
    there = max(_there(line, subject, frozenset(RunState)), rounds)
    if line.state in BUSY and there:
        return there
    n = min(len(line.head_runs), len(line.base_runs))
    comparison = line.comparison if n else None
    return max(there, repeats_wanted(comparison, n, device_is_known_quiet=False))


def _there(line: CaseReport, subject: Subject, states: Collection[RunState]) -> int:
    """Runs of the side that has more: those found ready-made, and those started that stand so."""
    sides = (
        (line.base_runs, subject.facts.merge_base.sha),
        (line.head_runs, subject.pull.head_sha),
    )
    return max(
        sum(run.origin is Origin.FOUND for run in found)
        + sum(
            run.sha == sha and run.case == line.case and run.variant == line.variant and run.state in states
            for run in subject.started
        )
        for found, sha in sides
    )


def _asked(line: CaseReport, row: PullRow, head_sha: str) -> int:
    """How often a rerun of this case was asked for on this head."""
    key = f"{line.case}/{line.variant}"
    return sum(
        key in one.fresh and (FAILED not in one.fresh or line.state in FAILING)
        for one in row.commands
        if one.head_sha in {None, head_sha}
    )


def _planned(one: Wanted, pull: Pull, suite: Suite, local: Local) -> Planned:
    command = f"{suite.cases[one.case].command or ''} {suite.variants[one.variant].args}".strip()
    key = naming.run_key(
        naming.Identity(
            code=one.commit.code,
            case=one.case,
            variant=one.variant,
            device=LOCAL_DEVICE,
            settings=naming.settings_hash(pull.repository, command, local.repository, local.timeout_seconds),
            repeat=one.repeat,
            session=f"{pull.number}-{pull.head_sha}",
        )
    )
    branch = slug(pull.base_branch if one.commit.side is Side.BASELINE else pull.head_branch)
    record = RunRecord(
        id=key,
        repository=pull.repository,
        case=one.case,
        variant=one.variant,
        branch=branch,
        sha=one.commit.sha,
        origin=Origin.LAUNCHED,
        state=RunState.PLANNED,
        key=key,
    )
    job = Job(
        name=naming.job_name(case=one.case, key=key),
        repository=local.repository,
        sha=one.commit.sha,
        case=one.case,
        variant=one.variant,
        command=command,
        run_name=naming.run_name(variant=one.variant, branch=branch, case=one.case, key=key),
        timeout_seconds=local.timeout_seconds,
    )
    return Planned(record=record, job=job)
