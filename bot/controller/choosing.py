"""Choose the runs that a pull request's report compares.

In:  the runs kept for its two branches. Out: one `CaseRuns` for every case and variant.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from bot.config import Suite
from bot.controller.facts import HeadFacts
from bot.controller.progress import Known, progress
from bot.intake.pull import Pull
from bot.report.kinship import fingerprints
from bot.report.material import CaseRuns, Looked, MainFailure, take_sides
from bot.runs.baseline import choose_baseline, choose_head, same_commit
from bot.runs.pattern import slug
from bot.runs.records import RunRecord, RunState
from bot.storage import failures, launched, pulls, reuse, runs
from bot.storage.histories import main_runs
from bot.storage.pulls import PullRow
from bot.storage.runs import Figures
from bot.verdict.judgement import MeasuredRun

UNFINISHED = frozenset({RunState.PLANNED, RunState.LAUNCHED, RunState.QUEUED, RunState.RUNNING})


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
    mine = {run.id for run in started}
    of_head, left_out = _of_head(connection, pull, mine)
    kept = _Kept(
        launched=started,
        stopped=_stopped(connection, pull, mine),
        of_head=_and_others(of_head, _of_files(connection, pull, facts.tree, mine)),
        left_out=left_out,
        of_base=_of_base(connection, pull, mine),
        of_base_files=_of_files(connection, pull, facts.merge_base.tree, mine),
        figures=runs.figures_of_branch(connection, pull.repository, slug(pull.base_branch)),
    )
    cases = tuple(
        _case(kept.only(case, variant), (case, variant), row, (pull, facts))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The runs that matter to a pull request: launched for it, of its head, of its base's branch and of the
    merge base's files; and the figures of the base's, by run id."""

    launched: Sequence[RunRecord]
    stopped: Sequence[RunRecord]
    of_head: Sequence[RunRecord]
    left_out: str
    of_base: Sequence[RunRecord]
    of_base_files: Sequence[RunRecord]
    figures: Mapping[str, Figures]

    def only(self, case: str, variant: str) -> "_Kept":
        """Those of one case and variant."""
        return replace(
            self,
            launched=_only(self.launched, case, variant),
            stopped=_only(self.stopped, case, variant),
            of_head=_only(self.of_head, case, variant),
            of_base=_only(self.of_base, case, variant),
            of_base_files=_only(self.of_base_files, case, variant),
        )


def _case(
    kept: _Kept,
    names: tuple[str, str],
    row: PullRow,
    subject: tuple[Pull, HeadFacts],
) -> CaseRuns:
    pull, facts = subject
    looked = row.looks.get("/".join(names))
    pushed_at = row.head_seen or facts.committed_at
    base = choose_baseline(
        _and_others(kept.of_base, kept.of_base_files),
        facts.merge_base.sha,
        facts.merge_base.committed_at,
        facts.ancestors,
        branch=pull.base_branch,
        tree=facts.merge_base.tree,
    )
    return CaseRuns(
        case=names[0],
        variant=names[1],
        head=choose_head(kept.of_head, pull.head_sha, pushed_at, tree=facts.tree),
        base=base,
        history=main_runs(kept.of_base, kept.figures, like=base.runs),
        main_failures=_failures(kept),
        looked=Looked(look=looked.look, runs=looked.runs) if looked else None,
        unfinished=tuple(run for run in kept.launched if run.state in UNFINISHED),
        stopped=len(kept.stopped),
        lost=tuple(run for run in kept.launched if run.state is RunState.LOST),
        began_after="the push" if row.head_seen else "the commit was made",
        left_out=kept.left_out,
        last_good=_last_good(kept),
    )


def _failures(kept: _Kept) -> tuple[MainFailure, ...]:
    """The base's failed runs, newest first."""
    return tuple(
        MainFailure(run=run.id, sha=run.sha, fingerprint=known.fingerprint)
        for run in kept.of_base
        if (known := kept.figures.get(run.id)) is not None and known.fingerprint
    )


def _last_good(kept: _Kept) -> float | None:
    """When the base's newest run with a steady step time began."""
    began = [run.started for run in kept.of_base if run.id in kept.figures and _is_good(kept, run)]
    return max((moment for moment in began if moment is not None), default=None)


def _is_good(kept: _Kept, run: RunRecord) -> bool:
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
        replace(one, progress=progress(_only(started, one.case, one.variant), started, known))
        for one in cases
    )


def _took(ended: Sequence[RunRecord], measured: Mapping[str, MeasuredRun]) -> list[float]:
    """How many seconds these runs took, of those whose logs say so."""
    seconds = [measured[run.id].measurements.wall_seconds for run in ended if run.id in measured]
    return [one for one in seconds if one is not None]


def _stopped(connection: Connection, pull: Pull, mine: Collection[str]) -> list[RunRecord]:
    """Runs of the head that were started and let go of before their end."""
    return [
        run
        for run in runs.of_branch(connection, pull.repository, slug(pull.head_branch))
        if run.sha == pull.head_sha
        and (run.state is RunState.CANCELLED or (run.state in UNFINISHED and run.id not in mine))
    ]


def _of_base(connection: Connection, pull: Pull, mine: Collection[str]) -> list[RunRecord]:
    """Runs of the base's branch."""
    return _usable(runs.of_branch(connection, pull.repository, slug(pull.base_branch)), mine)


def _of_files(connection: Connection, pull: Pull, tree: str | None, mine: Collection[str]) -> list[RunRecord]:
    """Runs of the same files, on whatever branch and commit."""
    return _usable(reuse.of_trees(connection, pull.repository, {tree} if tree else ()), mine)


def _usable(found: Sequence[RunRecord], mine: Collection[str]) -> list[RunRecord]:
    """Ended runs that may be compared with this pull request's. Of those that were launched on this machine
    only its own: the machine's speed drifts, and they were run in turns."""
    return [run for run in _ended(found) if run.keeps_pace or run.id in mine]


def _and_others(runs_: Sequence[RunRecord], others: Sequence[RunRecord]) -> list[RunRecord]:
    known = {run.id for run in runs_}
    return [*runs_, *(run for run in others if run.id not in known)]


def _of_head(connection: Connection, pull: Pull, mine: Collection[str]) -> tuple[list[RunRecord], str]:
    """Runs of the head's branch, and why some of its name were left out.

    Where the name may be another's too, a run counts only by the commit that it records.
    """
    ended = _usable(runs.of_branch(connection, pull.repository, slug(pull.head_branch)), mine)
    doubt = _doubt(connection, pull)
    if not doubt:
        return ended, ""
    own = [run for run in ended if same_commit(run.sha, pull.head_sha)]
    return own, f"{doubt}: only runs that record this commit are used" if len(own) < len(ended) else ""


def _doubt(connection: Connection, pull: Pull) -> str:
    """Whose else a run of the head's branch name may be."""
    if pull.from_fork:
        return "the branch of this name is a fork's, and the repository may have one of the same name"
    if slug(pull.head_branch) == slug(pull.base_branch):
        return f"in the names of runs this branch is spelt like {pull.base_branch}"
    for other in pulls.open_branches(connection, pull.repository):
        if other != pull.head_branch and slug(other) == slug(pull.head_branch):
            return f"in the names of runs this branch is spelt like {other}"
    return ""


def _ended(found: Sequence[RunRecord]) -> list[RunRecord]:
    return [run for run in found if run.state is RunState.ENDED]


def _only(found: Sequence[RunRecord], case: str, variant: str) -> list[RunRecord]:
    return [run for run in found if run.case == case and run.variant == variant]
