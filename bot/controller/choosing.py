"""Choose the runs that a pull request's report compares.

In:  the runs kept for its two branches. Out: one `CaseRuns` for every case and variant.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from bot.config import Suite
from bot.controller.facts import HeadFacts
from bot.intake.pull import Pull
from bot.report.build import CaseRuns, Looked
from bot.runs.baseline import choose_baseline, choose_head, history
from bot.runs.pattern import slug
from bot.runs.records import RunRecord, RunState
from bot.storage import runs
from bot.storage.pulls import PullRow
from bot.verdict.judgement import MeasuredRun

UNFINISHED = frozenset({RunState.PLANNED, RunState.LAUNCHED, RunState.QUEUED, RunState.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The cases with their runs, and what was measured of those."""

    cases: tuple[CaseRuns, ...]
    measured: dict[str, MeasuredRun]


def choose(connection: Connection, *, row: PullRow, pull: Pull, facts: HeadFacts, suite: Suite) -> Chosen:
    """Choose for every case and variant of the suite, in its order."""
    repository = pull.repository
    launched = runs.wanted(connection, repository, pull.number)
    of_head = _of_head(connection, pull)
    of_base = _ended(runs.of_branch(connection, repository, slug(pull.base_branch)))
    pushed_at = row.head_seen or facts.committed_at
    cases = []
    for case in suite.case_names:
        for variant in suite.variant_names:
            base_runs = _only(of_base, case, variant)
            head = choose_head(_only(of_head, case, variant), pull.head_sha, pushed_at)
            base = choose_baseline(
                base_runs, facts.merge_base.sha, facts.merge_base.committed_at, facts.ancestors
            )
            past = [run.id for run in history(base_runs)]
            looked = row.looks.get(f"{case}/{variant}")
            cases.append(
                CaseRuns(
                    case=case,
                    variant=variant,
                    head=head,
                    base=base,
                    history=runs.steady_seconds(connection, past),
                    looked=Looked(look=looked.look, n=looked.n) if looked else None,
                    unfinished=tuple(
                        run for run in _only(launched, case, variant) if run.state in UNFINISHED
                    ),
                )
            )
    ids = {run.id for one in cases for run in (*one.head.runs, *one.base.runs)}
    return Chosen(cases=tuple(cases), measured=runs.measured(connection, ids))


def _of_head(connection: Connection, pull: Pull) -> list[RunRecord]:
    """Runs of the head's branch. A fork's branch may have the base's name: then only the commit counts."""
    ended = _ended(runs.of_branch(connection, pull.repository, slug(pull.head_branch)))
    if slug(pull.head_branch) == slug(pull.base_branch):
        return [run for run in ended if run.sha and pull.head_sha.startswith(run.sha)]
    return ended


def _ended(found: Sequence[RunRecord]) -> list[RunRecord]:
    return [run for run in found if run.state is RunState.ENDED]


def _only(found: Sequence[RunRecord], case: str, variant: str) -> list[RunRecord]:
    return [run for run in found if run.case == case and run.variant == variant]
