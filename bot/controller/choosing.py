"""Choose the runs that a pull request's report compares.

In:  the runs kept for its two branches. Out: one `CaseRuns` for every case and variant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from bot.config import Suite
from bot.controller.candidates import UNFINISHED, Candidates, and_others, candidates, runs_of
from bot.controller.facts import HeadFacts
from bot.controller.progress import Known, progress
from bot.intake.pull import Pull
from bot.report.kinship import fingerprints
from bot.report.material import CaseRuns, Looked, MainFailure, take_sides
from bot.runs.baseline import BaselineChoice, HeadChoice, choose_baseline, choose_head
from bot.runs.records import RunRecord, RunState
from bot.storage import failures, launched, runs
from bot.storage.histories import main_runs
from bot.storage.pulls import PullRow
from bot.verdict.judgement import MeasuredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The cases with their runs, what was measured of those, and by fingerprint of a head's failure the
    other open pull requests that have it."""

    cases: tuple[CaseRuns, ...]
    measured: dict[str, MeasuredRun]
    elsewhere: dict[str, tuple[int, ...]]


def choose(
    connection: Connection, *, row: PullRow, pull: Pull, facts: HeadFacts, suite: Suite, now: float
) -> Chosen:
    """Choose for every case and variant of the suite, in its order."""
    started = runs.wanted(connection, pull.repository, pull.number)
    found = candidates(connection, pull, facts, suite, started)
    cases = tuple(
        _case(found.only(case, variant), (case, variant), row, (pull, facts))
        for case in suite.case_names
        for variant in suite.variant_names
    )
    ids = {run.id for one in cases for run in (*one.head.runs, *one.base.runs)}
    measured = runs.measured(connection, ids)
    cases = _with_progress(connection, cases, started, measured, now)
    known = {print_ for case in cases for print_ in fingerprints(take_sides(case, measured))}
    return Chosen(
        cases=cases,
        measured=measured,
        elsewhere=failures.elsewhere(
            connection, repository=pull.repository, number=pull.number, fingerprints=known
        ),
    )


def _case(
    kept: Candidates,
    names: tuple[str, str],
    row: PullRow,
    subject: tuple[Pull, HeadFacts],
) -> CaseRuns:
    looked = row.looks.get("/".join(names))
    head, base = _sides(kept, row, subject)
    if other_devices := kept.others.left_out((*head.runs, *base.runs)):
        kept = kept.on_our_devices()
        head, base = _sides(kept, row, subject)
    return CaseRuns(
        case=names[0],
        variant=names[1],
        head=head,
        base=base,
        history=main_runs(kept.of_base, kept.figures, like=base.runs),
        main_failures=_failures(kept),
        looked=Looked(look=looked.look, runs=looked.runs) if looked else None,
        unfinished=tuple(run for run in kept.launched if run.state in UNFINISHED),
        stopped=len(kept.stopped),
        lost=tuple(run for run in kept.launched if run.state is RunState.LOST),
        began_after="the push" if row.head_seen else "the commit was made",
        left_out=kept.left_out,
        other_devices=other_devices,
        last_good=_last_good(kept),
    )


def _sides(
    kept: Candidates, row: PullRow, subject: tuple[Pull, HeadFacts]
) -> tuple[HeadChoice, BaselineChoice]:
    pull, facts = subject
    head = choose_head(kept.of_head, pull.head_sha, row.head_seen or facts.committed_at, tree=facts.tree)
    base = choose_baseline(
        and_others(kept.of_base, kept.of_base_files),
        facts.merge_base.sha,
        facts.merge_base.committed_at,
        facts.ancestors,
        branch=pull.base_branch,
        tree=facts.merge_base.tree,
    )
    return head, base


def _failures(kept: Candidates) -> tuple[MainFailure, ...]:
    """The base's failed runs, newest first."""
    return tuple(
        MainFailure(run=run.id, sha=run.sha, fingerprint=known.fingerprint)
        for run in kept.of_base
        if (known := kept.figures.get(run.id)) is not None and known.fingerprint
    )


def _last_good(kept: Candidates) -> float | None:
    """When the base's newest run with a steady step time began."""
    began = [run.started for run in kept.of_base if run.id in kept.figures and _is_good(kept, run)]
    return max((moment for moment in began if moment is not None), default=None)


def _is_good(kept: Candidates, run: RunRecord) -> bool:
    known = kept.figures[run.id]
    return known.steady_seconds is not None and not known.fingerprint


def _with_progress(
    connection: Connection,
    cases: Sequence[CaseRuns],
    started: Sequence[RunRecord],
    measured: Mapping[str, MeasuredRun],
    now: float,
) -> tuple[CaseRuns, ...]:
    """The cases with how far their launched runs are."""
    known = Known(
        standings=launched.standings(connection, [run.id for run in started]),
        here=launched.here(connection),
        durations={
            (one.case, one.variant): _took([*one.base.runs, *one.head.runs], measured) for one in cases
        },
        now=now,
    )
    return tuple(
        replace(one, progress=progress(runs_of(started, one.case, one.variant), started, known))
        for one in cases
    )


def _took(ended: Sequence[RunRecord], measured: Mapping[str, MeasuredRun]) -> list[float]:
    """How many seconds these runs took, of those whose logs say so."""
    seconds = [measured[run.id].measurements.wall_seconds for run in ended if run.id in measured]
    return [one for one in seconds if one is not None]
