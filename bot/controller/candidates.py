"""The kept runs that a report of a pull request may be made of.

In:  a pull request, its head's facts, its suite. Out: `Candidates`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from bot.config import Suite
from bot.controller.facts import HeadFacts
from bot.controller.other_devices import OtherDevices, on_other_devices, states_a_device
from bot.intake.pull import Pull
from bot.runs.baseline import same_commit
from bot.runs.pattern import slug
from bot.runs.records import RunRecord, RunState
from bot.storage import pulls, reuse, runs
from bot.storage.measured_under import measured_under
from bot.storage.runs import Figures

UNFINISHED = frozenset({RunState.PLANNED, RunState.LAUNCHED, RunState.QUEUED, RunState.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The runs that matter to a pull request: launched for it, of its head, of its base's branch and of the
    merge base's files; the figures of the base's, by run id; and which were on other devices."""

    launched: Sequence[RunRecord]
    stopped: Sequence[RunRecord]
    of_head: Sequence[RunRecord]
    left_out: str
    of_base: Sequence[RunRecord]
    of_base_files: Sequence[RunRecord]
    figures: Mapping[str, Figures]
    others: OtherDevices

    def on_our_devices(self) -> "Candidates":
        """Those that were not on others."""
        return replace(
            self,
            of_head=self.others.without(self.of_head),
            of_base=self.others.without(self.of_base),
            of_base_files=self.others.without(self.of_base_files),
        )

    def only(self, case: str, variant: str) -> "Candidates":
        """Those of one case and variant."""
        return replace(
            self,
            launched=runs_of(self.launched, case, variant),
            stopped=runs_of(self.stopped, case, variant),
            of_head=runs_of(self.of_head, case, variant),
            of_base=runs_of(self.of_base, case, variant),
            of_base_files=runs_of(self.of_base_files, case, variant),
        )


def candidates(
    connection: Connection, pull: Pull, facts: HeadFacts, suite: Suite, started: Sequence[RunRecord]
) -> Candidates:
    """What is kept for a pull request that had these runs started."""
    mine = {run.id for run in started}
    of_branch, left_out = _of_head(connection, pull, mine)
    of_head = and_others(of_branch, _of_files(connection, pull, facts.tree, mine))
    of_base = _of_base(connection, pull, mine)
    of_base_files = _of_files(connection, pull, facts.merge_base.tree, mine)
    figures = runs.figures_of_branch(connection, pull.repository, slug(pull.base_branch))
    return Candidates(
        launched=started,
        stopped=_stopped(connection, pull, mine),
        of_head=of_head,
        left_out=left_out,
        of_base=of_base,
        of_base_files=of_base_files,
        figures=figures,
        others=_on_other_devices(connection, suite, (*of_head, *of_base, *of_base_files), figures, mine),
    )


def _on_other_devices(
    connection: Connection,
    suite: Suite,
    found: Sequence[RunRecord],
    figures: Mapping[str, Figures],
    mine: Collection[str],
) -> OtherDevices:
    if not states_a_device(suite):
        return OtherDevices()
    under = measured_under(connection, {run.id for run in found} - figures.keys())
    under |= {name: known.conditions for name, known in figures.items()}
    return on_other_devices(suite, found, under, but=mine)


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


def and_others(runs_: Sequence[RunRecord], others: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs, and those of the others that are not among them."""
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


def runs_of(found: Sequence[RunRecord], case: str, variant: str) -> list[RunRecord]:
    """Those of one case and variant."""
    return [run for run in found if run.case == case and run.variant == variant]
