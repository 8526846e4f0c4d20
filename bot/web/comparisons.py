"""Compare two refs of a repository case by case: parse the address, find the runs, compare, cache.

The rules are a report's: the error rate is shared among the comparable cases, noise is measured on the
default branch, margins are the repository's own.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from threading import Lock

from msgspec import Struct, field
from msgspec.structs import replace

from bot.domain.commit import same_commit
from bot.domain.pull_request import branch_slug
from bot.report.model import CaseReport, RowState
from bot.storage import histories, refs, reports, runs
from bot.storage.database import Connection
from bot.storage.histories import HistoryQuery
from bot.storage.refs import MeasuredRecord, Ref, RefKind, RunsByCase
from bot.storage.reports import ReportDefaults
from bot.verdict.comparability import ComparisonAxis
from bot.verdict.compare import compare, is_comparable
from bot.verdict.judgement import Comparison, Margins, MeasuredRun
from bot.verdict.noise import PastRun, noise_history
from bot.web.auth.access import UnknownName


class ComparisonEnd(Struct, frozen=True, kw_only=True):
    """One end of a comparison: a name, and the one variant that was asked for, or None for every one."""

    ref: Ref
    variant: str | None = None


class PairedCase(Struct, frozen=True, kw_only=True):
    """One row: the runs of both ends, and main's of the same case and conditions, oldest first."""

    case: str
    variants: tuple[str, str]
    base: tuple[MeasuredRecord, ...]
    head: tuple[MeasuredRecord, ...]
    history: tuple[PastRun, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What tells this row's evidence from any other."""
        return (refs.fingerprint_of(self.base), refs.fingerprint_of(self.head))

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


class Pairing(Struct, frozen=True, kw_only=True):
    """Two ends and their rows, by case and variant; `known` are the variants that each end has runs of."""

    repository: str
    base: ComparisonEnd
    head: ComparisonEnd
    branch: str
    habits: ReportDefaults
    rows: tuple[PairedCase, ...]
    known: tuple[frozenset[str], frozenset[str]]

    @property
    def across(self) -> ComparisonAxis:
        """Whether it is two commits or two variants that are compared."""
        if self.base.variant == self.head.variant:
            return ComparisonAxis.COMMITS
        return ComparisonAxis.VARIANTS if _same_ref(self.base.ref, self.head.ref) else ComparisonAxis.UNSTATED

    @property
    def commits(self) -> tuple[str | None, str | None]:
        """The commits that the names themselves stand for; a branch stands for those of its runs."""
        base, head = (
            ref.sha if ref.kind is not RefKind.BRANCH else None for ref in (self.base.ref, self.head.ref)
        )
        return base, head


def _same_ref(base: Ref, head: Ref) -> bool:
    return same_commit(base.sha, head.sha) or (base.branch is not None and base.branch == head.branch)


def pair_cases(
    connection: Connection, repository: str, branch: str, base: ComparisonEnd, head: ComparisonEnd
) -> Pairing:
    """Read which runs stand for both ends; `branch` is the default branch, whose runs tell the noise."""
    first = refs.runs_of(connection, repository, base.ref)
    second = first if base.ref == head.ref else refs.runs_of(connection, repository, head.ref)
    rows = [
        PairedCase(
            case=case,
            variants=variants,
            base=first.get((case, variants[0]), ()),
            head=second.get((case, variants[1]), ()),
        )
        for case, variants in _case_keys(first, second, base, head)
    ]
    return Pairing(
        repository=repository,
        base=base,
        head=head,
        branch=branch,
        habits=reports.report_defaults(connection, repository),
        rows=_with_histories(connection, repository, branch_slug(branch), rows),
        known=(frozenset(variant for _, variant in first), frozenset(variant for _, variant in second)),
    )


def _case_keys(
    first: RunsByCase, second: RunsByCase, base: ComparisonEnd, head: ComparisonEnd
) -> list[tuple[str, tuple[str, str]]]:
    """The rows: every case and variant that either end has; with one variant an end, every case."""
    if base.variant is None and head.variant is None:
        return [(case, (variant, variant)) for case, variant in sorted({*first, *second})]
    ones = [case for case, variant in first if variant == base.variant or base.variant is None]
    others = [case for case, variant in second if variant == head.variant or head.variant is None]
    wanted = (base.variant or head.variant or "", head.variant or base.variant or "")
    return [(case, wanted) for case in sorted({*ones, *others})]


def _with_histories(
    connection: Connection, repository: str, branch: str, rows: Sequence[PairedCase]
) -> tuple[PairedCase, ...]:
    """The rows with main's runs before their bases; none where a base is of another branch, whose level they
    do not tell."""
    places = [at for at, row in enumerate(rows) if row.whole and row.base[0].record.branch == branch]
    wanted = [
        HistoryQuery(
            key=(rows[at].case, rows[at].variants[0]),
            under=rows[at].base[0].conditions,
            until=rows[at].base[0].record.started,
        )
        for at in places
    ]
    known = dict(zip(places, histories.query_histories(connection, repository, branch, wanted), strict=True))
    return tuple(replace(row, history=known.get(at, ())) for at, row in enumerate(rows))


HOW_TO_NAME = (
    "Two names joined by three dots are compared: main...574ad3f, main...pr/12, "
    "or two variants of one name, main:linen...main:nnx. A name is a branch, a commit of at least "
    "7 digits, or a pull request."
)

MAX_REF_LENGTH = 250
"""Characters of a name: GitHub's branches end there."""


class RequestedEnd(Struct, frozen=True, kw_only=True):
    """One end as it was spelt."""

    name: str
    variant: str | None


def parse_ends(text: str) -> tuple[RequestedEnd, RequestedEnd]:
    """The two ends of `base...head`; `Unclear` where there are not two."""
    base, dots, head = text.partition("...")
    if not dots or not base or not head or max(len(base), len(head)) > MAX_REF_LENGTH:
        raise UnknownName("Two names are needed", HOW_TO_NAME)
    return _parse_end(base), _parse_end(head)


def resolve_end(connection: Connection, repository: str, asked: RequestedEnd) -> ComparisonEnd:
    """The end by what is stored; `Unclear` where nothing is known by its name."""
    ref = refs.resolve(connection, repository, asked.name)
    if ref is None:
        near = refs.suggestions(connection, repository, asked.name)
        raise UnknownName(f"{asked.name} is not known here", _did_you_mean(near) + HOW_TO_NAME)
    return ComparisonEnd(ref=ref, variant=asked.variant)


def require_runs(pairing: Pairing) -> Pairing:
    """The pairing; `Unclear` where an end has no run, or none in the variant that was asked for."""
    if not pairing.rows:
        names = " and ".join(dict.fromkeys((pairing.base.ref.text, pairing.head.ref.text)))
        raise UnknownName(
            f"No measured run of {names} is known",
            "A run appears here as soon as its log was found and read.",
        )
    for end, known in ((pairing.base, pairing.known[0]), (pairing.head, pairing.known[1])):
        if end.variant is not None and end.variant not in known:
            raise UnknownName(
                f"{end.ref.text} has no run in the variant {end.variant}",
                _did_you_mean(get_close_matches(end.variant, known, cutoff=0.4) or sorted(known))
                + HOW_TO_NAME,
            )
    return pairing


def find_row(pairing: Pairing, case: str | None, variant: str | None) -> int | None:
    """The place of the row that was asked for, None for none; `Unclear` where there is no such row."""
    if not case:
        return None
    places = [place for place, row in enumerate(pairing.rows) if row.case == case]
    if not places:
        cases = list(dict.fromkeys(row.case for row in pairing.rows))
        near = get_close_matches(case, cases, cutoff=0.4) or cases[:3]
        raise UnknownName(f"There is no case {case} in this comparison", _did_you_mean(near))
    if not variant:
        return places[0]
    fitting = [place for place in places if variant in pairing.rows[place].variants]
    if not fitting:
        raise UnknownName(
            f"The case {case} has no variant {variant} in this comparison",
            _did_you_mean(_variants_of(pairing.rows[place] for place in places)),
        )
    return fitting[0]


def _variants_of(rows: Iterable[PairedCase]) -> list[str]:
    return sorted({variant for row in rows for variant in row.variants})


def _did_you_mean(names: Sequence[str]) -> str:
    return f"Did you mean {' or '.join(names)}? " if names else ""


def _parse_end(text: str) -> RequestedEnd:
    name, colon, variant = text.partition(":")
    return RequestedEnd(name=name, variant=variant if colon and variant else None)


MAX_CACHED = 4_000
"""Comparisons remembered: pages of 25 cases for 160 pairs, some 20 MB without their step lines."""

MeasuredRuns = Mapping[str, MeasuredRun]


class ComparedCases(Struct, frozen=True, kw_only=True):
    """The rows of a comparison, and the runs of the one that was chosen, by id."""

    rows: tuple[CaseReport, ...]
    measured: MeasuredRuns = field(default_factory=dict)


class _MeasuredReader(Struct):
    """What was measured, each run read once."""

    connection: Connection
    known: dict[str, MeasuredRun] = field(default_factory=dict)

    def of(self, ids: Collection[str]) -> MeasuredRuns:
        """These runs, where they are known, and others read before."""
        if missing := [run for run in ids if run not in self.known]:
            self.known |= runs.measured(self.connection, missing)
        return self.known


class ComparisonCache(Struct):
    """Compares, and remembers the latest comparisons without their step lines."""

    _known: OrderedDict[tuple[object, ...], object] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def rows(self, connection: Connection, pairing: Pairing, chosen: int | None = None) -> ComparedCases:
        """Every row with its verdict, the chosen one with its explanation and its runs' step lines; only what
        is not remembered is read and compared, and each run at most once."""
        stored = _MeasuredReader(connection)
        comparable = self._comparable(stored, pairing)
        keys = [(row.key, row.past_key, _rules_key(pairing), comparable) for row in pairing.rows]
        known = [self._get(key) for key in keys]
        wanted = [
            at for at, row in enumerate(pairing.rows) if row.whole and (known[at] is None or at == chosen)
        ]
        measured = stored.of({run for at in wanted for run in pairing.rows[at].ids})
        made: CaseReport | None = None
        for at in wanted:
            row = pairing.rows[at]
            found = compare_case(row, pairing, measured, comparable, explained=at == chosen)
            made = case_report(row, found) if at == chosen else made
            slim = replace(reports.slim_comparison(found), explanation=None)
            known[at] = known[at] or self._keep(keys[at], case_report(row, slim))
        rows = [
            one if isinstance(one, CaseReport) else case_report(row, None)
            for row, one in zip(pairing.rows, known, strict=True)
        ]
        if chosen is None or made is None:
            return ComparedCases(rows=tuple(rows))
        rows[chosen] = made
        return ComparedCases(
            rows=tuple(rows),
            measured={run: measured[run] for run in pairing.rows[chosen].ids if run in measured},
        )

    def _comparable(self, stored: "_MeasuredReader", pairing: Pairing) -> int:
        """How many rows share the error rate of the comparison."""
        whole = [row for row in pairing.rows if row.whole]
        known = [self._get(row.key) for row in whole]
        fresh = [at for at, one in enumerate(known) if one is None]
        measured = stored.of({run for at in fresh for run in whole[at].ids})
        for at in fresh:
            base, head = (_measured_of(kept, measured) for kept in (whole[at].base, whole[at].head))
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
            if len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
        return value


def compare_case(
    row: PairedCase, pairing: Pairing, measured: MeasuredRuns, comparable: int, *, explained: bool
) -> Comparison:
    """Compare one row's ends; `comparable` rows share the error rate."""
    base_commit, head_commit = pairing.commits
    return compare(
        _measured_of(row.base, measured),
        _measured_of(row.head, measured),
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


def _rules_key(pairing: Pairing) -> tuple[object, ...]:
    habits = pairing.habits
    return (habits.practical_percent, habits.equivalence_percent, pairing.across, pairing.commits)


def _measured_of(kept: Sequence[MeasuredRecord], measured: MeasuredRuns) -> tuple[MeasuredRun, ...]:
    return tuple(measured[one.record.id] for one in kept if one.record.id in measured)


def case_report(row: PairedCase, comparison: Comparison | None) -> CaseReport:
    """The row in the words of a report; a missing end is no verdict."""
    state = RowState.NO_BASELINE if row.head else RowState.NO_RUN
    return CaseReport(
        case=row.case,
        variant=row.variants[1],
        state=RowState(comparison.verdict) if comparison else state,
        comparison=comparison,
        base_runs=tuple(kept.record for kept in row.base),
        head_runs=tuple(kept.record for kept in row.head),
        past=noise_history(row.history) if comparison and comparison.timing.history else None,
    )


def spell_end(end: ComparisonEnd) -> str:
    """The end as an address spells it; a full commit by twelve digits."""
    name = end.ref.sha[:12] if end.ref.kind is RefKind.COMMIT and end.ref.sha else end.ref.text
    return f"{name}:{end.variant}" if end.variant else name
