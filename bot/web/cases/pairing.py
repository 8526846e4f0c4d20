"""Which runs stand for two names, case by case.

In:  two names of a repository, and what is in the database. Out: a `Pairing` of `Matched` rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.runs.baseline import same_commit
from bot.runs.pattern import slug
from bot.storage import histories, refs, reports
from bot.storage.database import Connection
from bot.storage.histories import Like
from bot.storage.refs import Kept, Kind, Ref, Runs
from bot.storage.reports import Habits
from bot.verdict.history import PastRun
from bot.verdict.provenance import Across


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
