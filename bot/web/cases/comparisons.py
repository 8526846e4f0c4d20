"""Every case of two sides compared, as the comment compares them, and remembered while the runs are the same.

In:  the runs that stand for two names, in the database. Out: `Matched` rows, `CaseReport`s.
Promises: the same rules as a report's: the error rate is shared among the comparable cases, the noise is
measured from the default branch, margins are the repository's own.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from bot.report.model import CaseReport, RowState
from bot.runs.baseline import same_commit
from bot.runs.pattern import slug
from bot.storage import histories, refs, reports, runs
from bot.storage.database import Connection
from bot.storage.histories import Like
from bot.storage.refs import Kept, Kind, Ref, Runs
from bot.storage.reports import Habits
from bot.verdict.compare import compare, is_comparable
from bot.verdict.history import PastRun, past
from bot.verdict.judgement import Comparison, Margins, MeasuredRun
from bot.verdict.provenance import Across

KEPT = 4_000
"""Comparisons remembered: pages of 25 cases for 160 pairs, some 20 MB without their step lines."""

Documents = Mapping[str, MeasuredRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a comparison: a name, and the one variant that was asked for, or None for every one."""

    ref: Ref
    variant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """One row: the runs of both ends, and main's of the same case and conditions, oldest first."""

    case: str
    variants: tuple[str, str]
    base: tuple[Kept, ...]
    head: tuple[Kept, ...]
    history: tuple[PastRun, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What tells this row's evidence from any other."""
        return (refs.made_for(self.base), refs.made_for(self.head))

    @property
    def past_key(self) -> tuple[object, ...]:
        """What tells this history from any other: plain values, which are compared quickly."""
        return tuple((run.seconds, run.sha, run.started) for run in self.history)

    @property
    def whole(self) -> bool:
        """Whether both ends have runs."""
        return bool(self.base and self.head)

    @property
    def ids(self) -> tuple[str, ...]:
        """The runs of both ends."""
        return tuple(kept.record.id for kept in (*self.base, *self.head))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two ends and their rows, by case and variant; `known` are the variants that each end has runs of."""

    repository: str
    base: End
    head: End
    branch: str
    habits: Habits
    rows: tuple[Matched, ...]
    known: tuple[frozenset[str], frozenset[str]]

    @property
    def across(self) -> Across:
        """Whether it is two commits or two variants that are compared."""
        if self.base.variant == self.head.variant:
            return Across.COMMITS
        return Across.VARIANTS if _same_ref(self.base.ref, self.head.ref) else Across.UNSTATED

    @property
    def commits(self) -> tuple[str | None, str | None]:
        """The commits that the names themselves stand for; a branch stands for those of its runs."""
        base, head = (
            ref.sha if ref.kind is not Kind.BRANCH else None for ref in (self.base.ref, self.head.ref)
        )
        return base, head


def _same_ref(base: Ref, head: Ref) -> bool:
    return same_commit(base.sha, head.sha) or (base.branch is not None and base.branch == head.branch)


def match(connection: Connection, repository: str, branch: str, base: End, head: End) -> Pairing:
    """Read which runs stand for both ends; `branch` is the default branch, whose runs tell the noise."""
    first = refs.runs_of(connection, repository, base.ref)
    second = first if base.ref == head.ref else refs.runs_of(connection, repository, head.ref)
    rows = [
        Matched(
            case=case,
            variants=variants,
            base=first.get((case, variants[0]), ()),
            head=second.get((case, variants[1]), ()),
        )
        for case, variants in _keys(first, second, base, head)
    ]
    return Pairing(
        repository=repository,
        base=base,
        head=head,
        branch=branch,
        habits=reports.habits(connection, repository),
        rows=_with_histories(connection, repository, slug(branch), rows),
        known=(frozenset(variant for _, variant in first), frozenset(variant for _, variant in second)),
    )


def _keys(first: Runs, second: Runs, base: End, head: End) -> list[tuple[str, tuple[str, str]]]:
    """The rows: every case and variant that either end has; with one variant an end, every case."""
    if base.variant is None and head.variant is None:
        return [(case, (variant, variant)) for case, variant in sorted({*first, *second})]
    ones = [case for case, variant in first if variant == base.variant or base.variant is None]
    others = [case for case, variant in second if variant == head.variant or head.variant is None]
    wanted = (base.variant or head.variant or "", head.variant or base.variant or "")
    return [(case, wanted) for case in sorted({*ones, *others})]


def _with_histories(
    connection: Connection, repository: str, branch: str, rows: Sequence[Matched]
) -> tuple[Matched, ...]:
    """The rows with main's runs before their bases; none where a base is of another branch, whose level they
    do not tell."""
    places = [at for at, row in enumerate(rows) if row.whole and row.base[0].record.branch == branch]
    wanted = [
        Like(
            key=(rows[at].case, rows[at].variants[0]),
            under=rows[at].base[0].conditions,
            until=rows[at].base[0].record.started,
        )
        for at in places
    ]
    known = dict(zip(places, histories.newest_like(connection, repository, branch, wanted), strict=True))
    return tuple(replace(row, history=known.get(at, ())) for at, row in enumerate(rows))


@dataclass(slots=True)
class Comparisons:
    """Compares, and remembers the latest comparisons without their step lines."""

    _known: OrderedDict[tuple[object, ...], object] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def rows(self, connection: Connection, pairing: Pairing) -> tuple[CaseReport, ...]:
        """Every row with its verdict; only what is not remembered is read and compared."""
        comparable = self.comparable(connection, pairing)
        keys = [(row.key, row.past_key, _rules(pairing), comparable) for row in pairing.rows]
        known = [self._get(key) for key in keys]
        fresh = [at for at, row in enumerate(pairing.rows) if row.whole and known[at] is None]
        measured = runs.measured(connection, {run for at in fresh for run in pairing.rows[at].ids})
        for at in fresh:
            row = pairing.rows[at]
            found = judged(row, pairing, measured, comparable, explained=False)
            known[at] = self._keep(keys[at], case_report(row, reports.slim_comparison(found)))
        return tuple(
            one if isinstance(one, CaseReport) else case_report(row, None)
            for row, one in zip(pairing.rows, known, strict=True)
        )

    def comparable(self, connection: Connection, pairing: Pairing) -> int:
        """How many rows share the error rate of the comparison."""
        whole = [row for row in pairing.rows if row.whole]
        known = [self._get(row.key) for row in whole]
        fresh = [at for at, one in enumerate(known) if one is None]
        measured = runs.measured(connection, {run for at in fresh for run in whole[at].ids})
        for at in fresh:
            base, head = (_of(kept, measured) for kept in (whole[at].base, whole[at].head))
            known[at] = self._keep(whole[at].key, is_comparable(base, head))
        return max(1, sum(map(bool, known)))

    def _get(self, key: tuple[object, ...]) -> object:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def _keep(self, key: tuple[object, ...], value: object) -> object:
        with self._lock:
            self._known[key] = value
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return value


def judged(
    row: Matched, pairing: Pairing, measured: Documents, comparable: int, *, explained: bool = True
) -> Comparison:
    """Compare one row's ends; `comparable` rows share the error rate."""
    base_commit, head_commit = pairing.commits
    return compare(
        _of(row.base, measured),
        _of(row.head, measured),
        history=[run.seconds for run in row.history],
        comparable_cases=comparable,
        margins=Margins(
            practical_percent=pairing.habits.practical_percent,
            equivalence_percent=pairing.habits.equivalence_percent,
        ),
        base_commit=base_commit or row.base[0].record.sha,
        head_commit=head_commit or row.head[0].record.sha,
        across=pairing.across,
        explained=explained,
    )


def _rules(pairing: Pairing) -> tuple[object, ...]:
    habits = pairing.habits
    return (habits.practical_percent, habits.equivalence_percent, pairing.across, pairing.commits)


def _of(kept: Sequence[Kept], measured: Documents) -> tuple[MeasuredRun, ...]:
    return tuple(measured[one.record.id] for one in kept if one.record.id in measured)


def case_report(row: Matched, comparison: Comparison | None) -> CaseReport:
    """The row in the words of a report; a missing end is no verdict."""
    state = RowState.NO_BASELINE if row.head else RowState.NO_RUN
    return CaseReport(
        case=row.case,
        variant=row.variants[1],
        state=RowState(comparison.verdict) if comparison else state,
        comparison=comparison,
        base_runs=tuple(kept.record for kept in row.base),
        head_runs=tuple(kept.record for kept in row.head),
        past=past(row.history) if comparison and comparison.timing.history else None,
    )
