"""Choose the runs that a pull request's report compares, from the runs in the database.

Runs on another device than the configured one do not count beside launched runs: their step times cannot be
compared, and in place of ours they would keep ours from being started.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from bot.config import Suite
from bot.domain.case_key import CaseKey, combine_keys
from bot.domain.commit import same_commit
from bot.domain.head import HeadFacts
from bot.domain.pull_request import Subject, branch_slug
from bot.domain.run import BaselineChoice, HeadChoice, RunRecord, RunState
from bot.ingest.progress import ProgressFacts, case_progress
from bot.planning.baseline import choose_baseline, choose_head
from bot.planning.devices import contradicting_devices
from bot.planning.jobs import device_of
from bot.report.assess import head_fingerprints
from bot.report.build import take_sides
from bot.report.model import CaseRuns, InterimLook, MainFailure, PullFailure
from bot.storage import launched_runs, loss_curves, pull_requests, reports, runs
from bot.storage.database import Connection
from bot.storage.histories import comparable_main_runs
from bot.storage.pull_requests import InterimAnalyses, PullRow
from bot.storage.runs import RunFigures, run_conditions
from bot.verdict.comparability import parse_devices
from bot.verdict.judgement import MeasuredRun


class DeviceMismatch(Struct, frozen=True, kw_only=True):
    """`stated` is the device in the logs of runs, by run id, if it is not the `configured` one."""

    configured: str = ""
    stated: Mapping[str, str] = {}

    def without(self, runs: Sequence[RunRecord]) -> Sequence[RunRecord]:
        """The runs that may count."""
        return [run for run in runs if run.id not in self.stated]

    def left_out(self, runs: Iterable[RunRecord]) -> str:
        """Which of these runs are not used, and why, as a clause; empty if all are used."""
        stated = {run.id: self.stated[run.id] for run in runs if run.id in self.stated}
        if not stated:
            return ""
        are = (
            "1 run is not used: it was" if len(stated) == 1 else f"{len(stated)} runs are not used: they were"
        )
        devices = " and ".join(dict.fromkeys(stated.values()))
        return f"{are} on {devices}, and this case is run on {self.configured}"


def names_device(suite: Suite) -> bool:
    """Whether the configuration names a device."""
    return suite.launch is not None and (device := device_of(suite.launch)) is not None and bool(device.place)


def find_device_mismatch(
    suite: Suite, runs: Iterable[RunRecord], conditions: Mapping[str, str], *, own_ids: Collection[str]
) -> DeviceMismatch:
    """The runs whose logs contradict the configured device; `own_ids` are left out, and `conditions` has the
    conditions of each run by id."""
    device = device_of(suite.launch) if suite.launch else None
    if device is None or device.place is None:
        return DeviceMismatch()
    stated = {
        run.id: contradicting_devices(
            device.place.device_type, device.place.slices, *parse_devices(conditions[run.id])
        )
        for run in runs
        if run.id in conditions and run.id not in own_ids
    }
    return DeviceMismatch(
        configured=device.name, stated={name: words for name, words in stated.items() if words}
    )


UNFINISHED_STATES = frozenset({RunState.PLANNED, RunState.LAUNCHED, RunState.QUEUED, RunState.RUNNING})


class CandidateRuns(Struct, frozen=True, kw_only=True):
    """The runs that a report may use: launched for the pull request, of its head, of its base branch, and of
    the merge base's files; the figures of the base's, by run id; and which ran on other devices."""

    launched: Sequence[RunRecord]
    stopped: Sequence[RunRecord]
    of_head: Sequence[RunRecord]
    left_out: str
    of_base: Sequence[RunRecord]
    of_base_files: Sequence[RunRecord]
    figures: Mapping[str, RunFigures]
    others: DeviceMismatch

    def on_our_devices(self) -> "CandidateRuns":
        """The candidates on the configured device."""
        return replace(
            self,
            of_head=self.others.without(self.of_head),
            of_base=self.others.without(self.of_base),
            of_base_files=self.others.without(self.of_base_files),
        )

    def only(self, case: str, variant: str) -> "CandidateRuns":
        """The candidates of one case and variant."""
        return replace(
            self,
            launched=runs_of_case(self.launched, case, variant),
            stopped=runs_of_case(self.stopped, case, variant),
            of_head=runs_of_case(self.of_head, case, variant),
            of_base=runs_of_case(self.of_base, case, variant),
            of_base_files=runs_of_case(self.of_base_files, case, variant),
        )


def load_candidates(
    connection: Connection, pull: Subject, facts: HeadFacts, suite: Suite, started: Sequence[RunRecord]
) -> CandidateRuns:
    """The candidates for a pull request that started these runs."""
    own_ids = {run.id for run in started}
    of_branch, left_out = _head_runs(connection, pull, own_ids)
    of_head = merge_runs(of_branch, _runs_of_files(connection, pull, facts.tree, own_ids))
    of_base = _base_runs(connection, pull, own_ids)
    of_base_files = _runs_of_files(connection, pull, facts.merge_base.tree, own_ids)
    figures = runs.branch_figures(connection, pull.repository, branch_slug(pull.base_branch))
    return CandidateRuns(
        launched=started,
        stopped=_stopped_runs(connection, pull, own_ids),
        of_head=of_head,
        left_out=left_out,
        of_base=of_base,
        of_base_files=of_base_files,
        figures=figures,
        others=_device_mismatch_of(connection, suite, (*of_head, *of_base, *of_base_files), figures, own_ids),
    )


def _device_mismatch_of(
    connection: Connection,
    suite: Suite,
    runs_found: Sequence[RunRecord],
    figures: Mapping[str, RunFigures],
    own_ids: Collection[str],
) -> DeviceMismatch:
    if not names_device(suite):
        return DeviceMismatch()
    under = run_conditions(connection, {run.id for run in runs_found} - figures.keys())
    under |= {name: known.conditions for name, known in figures.items()}
    return find_device_mismatch(suite, runs_found, under, own_ids=own_ids)


def _stopped_runs(connection: Connection, pull: Subject, own_ids: Collection[str]) -> list[RunRecord]:
    """Runs of the head that were cancelled before their end."""
    return [
        run
        for run in runs.branch_runs(connection, pull.repository, branch_slug(pull.head_branch))
        if run.sha == pull.head_sha
        and (run.state is RunState.CANCELLED or (run.state in UNFINISHED_STATES and run.id not in own_ids))
    ]


def _base_runs(connection: Connection, pull: Subject, own_ids: Collection[str]) -> list[RunRecord]:
    """Runs of the base's branch."""
    return _comparable_runs(
        runs.branch_runs(connection, pull.repository, branch_slug(pull.base_branch)), own_ids
    )


def _runs_of_files(
    connection: Connection, pull: Subject, tree: str | None, own_ids: Collection[str]
) -> list[RunRecord]:
    """Runs of the same files, on any branch and commit."""
    return _comparable_runs(runs.runs_of_trees(connection, pull.repository, {tree} if tree else ()), own_ids)


def _comparable_runs(runs_found: Sequence[RunRecord], own_ids: Collection[str]) -> list[RunRecord]:
    """Ended runs that may be compared with this pull request's. Of local runs only its own: the machine's
    speed drifts, and they ran alternately."""
    return [run for run in _ended_runs(runs_found) if run.comparable_across_days or run.id in own_ids]


def merge_runs(runs_: Sequence[RunRecord], others: Sequence[RunRecord]) -> list[RunRecord]:
    """Both lists, without duplicates."""
    known = {run.id for run in runs_}
    return [*runs_, *(run for run in others if run.id not in known)]


def _head_runs(
    connection: Connection, pull: Subject, own_ids: Collection[str]
) -> tuple[list[RunRecord], str]:
    """Runs of the head's branch, and why some of its name are left out.

    Where the name may be another's too, a run counts only by the commit that it records.
    """
    ended = _comparable_runs(
        runs.branch_runs(connection, pull.repository, branch_slug(pull.head_branch)), own_ids
    )
    shared_name = _shared_name_reason(connection, pull)
    if not shared_name:
        return ended, ""
    own = [run for run in ended if same_commit(run.sha, pull.head_sha)]
    return own, f"{shared_name}: only runs that record this commit are used" if len(own) < len(ended) else ""


def _shared_name_reason(connection: Connection, pull: Subject) -> str:
    """Why a run of this branch name may be another branch's; empty if it cannot."""
    if pull.from_fork:
        return "the branch of this name is a fork's, and the repository may have one of the same name"
    if branch_slug(pull.head_branch) == branch_slug(pull.base_branch):
        return f"in the names of runs this branch is spelt like {pull.base_branch}"
    for other in pull_requests.open_head_branches(connection, pull.repository):
        if other != pull.head_branch and branch_slug(other) == branch_slug(pull.head_branch):
            return f"in the names of runs this branch is spelt like {other}"
    return ""


def _ended_runs(runs_found: Sequence[RunRecord]) -> list[RunRecord]:
    return [run for run in runs_found if run.state is RunState.ENDED]


def runs_of_case(runs_found: Sequence[RunRecord], case: str, variant: str) -> list[RunRecord]:
    """The candidates of one case and variant."""
    return [run for run in runs_found if run.case == case and run.variant == variant]


class ChosenRuns(Struct, frozen=True, kw_only=True):
    """The cases with their runs, what was measured of those, and by fingerprint of a head's failure where
    other open pull requests have it."""

    cases: tuple[CaseRuns, ...]
    measured: dict[str, MeasuredRun]
    elsewhere: dict[str, tuple[PullFailure, ...]]


def choose_runs(
    connection: Connection, *, row: PullRow, pull: Subject, facts: HeadFacts, suite: Suite, now: float
) -> ChosenRuns:
    """Choose the runs of every case and variant, in the suite's order."""
    started = runs.wanted_runs(connection, pull.repository, pull.row_number)
    runs_found = load_candidates(connection, pull, facts, suite, started)
    cases = tuple(
        _case_runs(runs_found.only(key.case, key.variant), key, row, (pull, facts))
        for key in combine_keys(suite.case_names, suite.variant_names)
    )
    histories = loss_curves.with_losses(connection, [one.history for one in cases])
    cases = tuple(replace(one, history=past) for one, past in zip(cases, histories, strict=True))
    ids = {run.id for one in cases for run in (*one.head.runs, *one.base.runs)}
    measured = runs.measured(connection, ids)
    cases = _with_progress(connection, cases, started, measured, now)
    known = {print_ for case in cases for print_ in head_fingerprints(take_sides(case, measured))}
    return ChosenRuns(
        cases=cases,
        measured=measured,
        elsewhere=reports.pulls_with_failures(
            connection, repository=pull.repository, number=pull.row_number, fingerprints=known
        ),
    )


def _case_runs(
    candidates: CandidateRuns,
    key: CaseKey,
    row: PullRow,
    subject: tuple[Subject, HeadFacts],
) -> CaseRuns:
    looked = row.interim_analyses.get(key)
    head, base = _choose_sides(candidates, row, subject)
    if other_devices := candidates.others.left_out((*head.runs, *base.runs)):
        candidates = candidates.on_our_devices()
        head, base = _choose_sides(candidates, row, subject)
    return CaseRuns(
        case=key.case,
        variant=key.variant,
        head=head,
        base=base,
        history=comparable_main_runs(candidates.of_base, candidates.figures, like=base.runs),
        main_failures=_base_failures(candidates),
        last_look=_last_look(looked) if looked else None,
        unfinished=tuple(run for run in candidates.launched if run.state in UNFINISHED_STATES),
        stopped=len(candidates.stopped),
        lost=tuple(run for run in candidates.launched if run.state is RunState.LOST),
        began_after="the push" if row.head_seen else "the commit was made",
        left_out=candidates.left_out,
        other_devices=other_devices,
        last_good=_last_good(candidates),
    )


def _last_look(kept: InterimAnalyses) -> InterimLook:
    return InterimLook(look=kept.look, runs=kept.runs, base=kept.base, head=kept.head)


def _choose_sides(
    candidates: CandidateRuns, row: PullRow, subject: tuple[Subject, HeadFacts]
) -> tuple[HeadChoice, BaselineChoice]:
    pull, facts = subject
    head = choose_head(
        candidates.of_head, pull.head_sha, row.head_seen or facts.committed_at, tree=facts.tree
    )
    base = choose_baseline(
        merge_runs(candidates.of_base, candidates.of_base_files),
        facts.merge_base.sha,
        facts.merge_base.committed_at,
        facts.ancestors,
        branch=pull.base_branch,
        tree=facts.merge_base.tree,
    )
    return head, base


def _base_failures(candidates: CandidateRuns) -> tuple[MainFailure, ...]:
    """The base's failed runs, newest first."""
    return tuple(
        MainFailure(run=run.id, sha=run.sha, fingerprint=known.fingerprint)
        for run in candidates.of_base
        if (known := candidates.figures.get(run.id)) is not None and known.fingerprint
    )


def _last_good(candidates: CandidateRuns) -> float | None:
    """When the base branch's newest run with a steady step time began."""
    began = [
        run.started
        for run in candidates.of_base
        if run.id in candidates.figures and _is_good(candidates, run)
    ]
    return max((moment for moment in began if moment is not None), default=None)


def _is_good(candidates: CandidateRuns, run: RunRecord) -> bool:
    known = candidates.figures[run.id]
    return known.steady_seconds is not None and not known.fingerprint


def _with_progress(
    connection: Connection,
    cases: Sequence[CaseRuns],
    started: Sequence[RunRecord],
    measured: Mapping[str, MeasuredRun],
    now: float,
) -> tuple[CaseRuns, ...]:
    """The cases with the progress of their launched runs."""
    known = ProgressFacts(
        statuses=launched_runs.run_statuses(connection, [run.id for run in started]),
        local_queue=launched_runs.local_runs(connection),
        durations={
            (one.case, one.variant): _durations([*one.base.runs, *one.head.runs], measured) for one in cases
        },
        now=now,
    )
    return tuple(
        structs.replace(
            one, progress=case_progress(runs_of_case(started, one.case, one.variant), started, known)
        )
        for one in cases
    )


def _durations(ended: Sequence[RunRecord], measured: Mapping[str, MeasuredRun]) -> list[float]:
    """The seconds that these runs took, if their logs say so."""
    seconds = [measured[run.id].measurements.wall_seconds for run in ended if run.id in measured]
    return [one for one in seconds if one is not None]
