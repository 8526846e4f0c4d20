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
from bot.report.build import measured_runs
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
    """One end of a comparison: a ref, and one of its variants or None for all."""

    ref: Ref
    variant: str | None = None


class PairedCase(Struct, frozen=True, kw_only=True):
    """One case of a comparison: the runs of both ends, and main's under the same conditions, oldest first."""

    case: str
    variants: tuple[str, str]
    base: tuple[MeasuredRecord, ...]
    head: tuple[MeasuredRecord, ...]
    history: tuple[PastRun, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies this case's runs."""
        return (refs.fingerprint_of(self.base), refs.fingerprint_of(self.head))

    @property
    def history_key(self) -> tuple[object, ...]:
        """Identifies this history, in plain values that compare quickly."""
        return tuple((run.seconds, run.loop, run.sha, run.started) for run in self.history)

    @property
    def has_both_ends(self) -> bool:
        """Whether both ends have runs."""
        return bool(self.base and self.head)

    @property
    def ids(self) -> tuple[str, ...]:
        """The runs of both ends."""
        return tuple(kept.record.id for kept in (*self.base, *self.head))


class Pairing(Struct, frozen=True, kw_only=True):
    """Two ends and their cases; `known_variants` are the variants of which each end has runs."""

    repository: str
    base: ComparisonEnd
    head: ComparisonEnd
    branch: str
    defaults: ReportDefaults
    rows: tuple[PairedCase, ...]
    known_variants: tuple[frozenset[str], frozenset[str]]

    @property
    def across(self) -> ComparisonAxis:
        """Whether two commits or two variants are compared."""
        if self.base.variant == self.head.variant:
            return ComparisonAxis.COMMITS
        return ComparisonAxis.VARIANTS if _same_ref(self.base.ref, self.head.ref) else ComparisonAxis.UNSTATED

    @property
    def commits(self) -> tuple[str | None, str | None]:
        """The commits that the refs themselves name; for a branch, those of its runs."""
        base, head = (
            ref.sha if ref.kind is not RefKind.BRANCH else None for ref in (self.base.ref, self.head.ref)
        )
        return base, head


def _same_ref(base: Ref, head: Ref) -> bool:
    return same_commit(base.sha, head.sha) or (base.branch is not None and base.branch == head.branch)


def pair_cases(
    connection: Connection, repository: str, branch: str, base: ComparisonEnd, head: ComparisonEnd
) -> Pairing:
    """Find the runs of both ends; `branch` is the default branch, on which noise is measured."""
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
        defaults=reports.report_defaults(connection, repository),
        rows=_with_histories(connection, repository, branch_slug(branch), rows),
        known_variants=(
            frozenset(variant for _, variant in first),
            frozenset(variant for _, variant in second),
        ),
    )


def _case_keys(
    first: RunsByCase, second: RunsByCase, base: ComparisonEnd, head: ComparisonEnd
) -> list[tuple[str, tuple[str, str]]]:
    """Every case and variant that either end has; with one variant an end, every case."""
    if base.variant is None and head.variant is None:
        return [(case, (variant, variant)) for case, variant in sorted({*first, *second})]
    ones = [case for case, variant in first if variant == base.variant or base.variant is None]
    others = [case for case, variant in second if variant == head.variant or head.variant is None]
    wanted = (base.variant or head.variant or "", head.variant or base.variant or "")
    return [(case, wanted) for case in sorted({*ones, *others})]


def _with_histories(
    connection: Connection, repository: str, branch: str, rows: Sequence[PairedCase]
) -> tuple[PairedCase, ...]:
    """The cases with main's runs before their base; empty if the base is of another branch."""
    places = [
        index for index, row in enumerate(rows) if row.has_both_ends and row.base[0].record.branch == branch
    ]
    wanted = [
        HistoryQuery(
            key=(rows[index].case, rows[index].variants[0]),
            under=rows[index].base[0].conditions,
            until=rows[index].base[0].record.started,
        )
        for index in places
    ]
    known = dict(zip(places, histories.query_histories(connection, repository, branch, wanted), strict=True))
    return tuple(replace(row, history=known.get(index, ())) for index, row in enumerate(rows))


HOW_TO_NAME = (
    "Two names joined by three dots are compared: main...574ad3f, main...pr/12, "
    "or two variants of one name, main:linen...main:nnx. A name is a branch, a commit of at least "
    "7 digits, or a pull request."
)

MAX_REF_LENGTH = 250
"""The longest ref: GitHub's longest branch name."""


class RequestedEnd(Struct, frozen=True, kw_only=True):
    """One end as the address spells it."""

    name: str
    variant: str | None


def parse_ends(text: str) -> tuple[RequestedEnd, RequestedEnd]:
    """Split `base...head`; raises `UnknownName` unless there are two ends."""
    base, dots, head = text.partition("...")
    if not dots or not base or not head or max(len(base), len(head)) > MAX_REF_LENGTH:
        raise UnknownName("Two names are needed", HOW_TO_NAME)
    return _parse_end(base), _parse_end(head)


def resolve_end(connection: Connection, repository: str, requested: RequestedEnd) -> ComparisonEnd:
    """Look the ref up; raises `UnknownName` if nothing has that name."""
    ref = refs.resolve(connection, repository, requested.name)
    if ref is None:
        near = refs.suggestions(connection, repository, requested.name)
        raise UnknownName(f"{requested.name} is not known here", _did_you_mean(near) + HOW_TO_NAME)
    return ComparisonEnd(ref=ref, variant=requested.variant)


def require_runs(pairing: Pairing) -> Pairing:
    """The pairing; raises `UnknownName` if an end has no run, or none in the requested variant."""
    if not pairing.rows:
        names = " and ".join(dict.fromkeys((pairing.base.ref.text, pairing.head.ref.text)))
        raise UnknownName(
            f"No measured run of {names} is known",
            "A run appears here as soon as its log was found and read.",
        )
    for end, known in ((pairing.base, pairing.known_variants[0]), (pairing.head, pairing.known_variants[1])):
        if end.variant is not None and end.variant not in known:
            raise UnknownName(
                f"{end.ref.text} has no run in the variant {end.variant}",
                _did_you_mean(get_close_matches(end.variant, known, cutoff=0.4) or sorted(known))
                + HOW_TO_NAME,
            )
    return pairing


def find_row(pairing: Pairing, case: str | None, variant: str | None) -> int | None:
    """The index of the requested case, None if none was requested; raises `UnknownName` if there is no
    such case."""
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
"""Cached comparisons: pages of 25 cases for 160 pairs of refs, some 20 MB without step lines."""

MeasuredRuns = Mapping[str, MeasuredRun]


class ComparedCases(Struct, frozen=True, kw_only=True):
    """The cases of a comparison, and the measured runs of the chosen one by id."""

    rows: tuple[CaseReport, ...]
    measured: MeasuredRuns = field(default_factory=dict)


class _MeasuredReader(Struct):
    """Reads measured runs, each once."""

    connection: Connection
    cache: dict[str, MeasuredRun] = field(default_factory=dict)

    def of(self, ids: Collection[str]) -> MeasuredRuns:
        """These runs, if measured, and all read before."""
        if missing := [run for run in ids if run not in self.cache]:
            self.cache |= runs.measured(self.connection, missing)
        return self.cache


class ComparisonCache(Struct):
    """Compares, and caches the latest comparisons without their step lines."""

    _cache: OrderedDict[tuple[object, ...], object] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def rows(self, connection: Connection, pairing: Pairing, chosen: int | None = None) -> ComparedCases:
        """Every case with its verdict; the chosen one with explanation and step lines.

        Only cases that are not cached are read and compared, and each run is read at most once.
        """
        stored = _MeasuredReader(connection)
        comparable = self._comparable(stored, pairing)
        keys = [(row.key, row.history_key, _rules_key(pairing), comparable) for row in pairing.rows]
        known = [self._cached(key) for key in keys]
        wanted = [
            index
            for index, row in enumerate(pairing.rows)
            if row.has_both_ends and (known[index] is None or index == chosen)
        ]
        measured = stored.of({run for index in wanted for run in pairing.rows[index].ids})
        made: CaseReport | None = None
        for index in wanted:
            row = pairing.rows[index]
            found = compare_case(row, pairing, measured, comparable, explained=index == chosen)
            made = case_report(row, found) if index == chosen else made
            slim = replace(reports.slim_comparison(found), explanation=None)
            known[index] = known[index] or self._store(keys[index], case_report(row, slim))
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
        """How many cases share the error rate of the comparison."""
        whole = [row for row in pairing.rows if row.has_both_ends]
        known = [self._cached(row.key) for row in whole]
        fresh = [index for index, one in enumerate(known) if one is None]
        measured = stored.of({run for index in fresh for run in whole[index].ids})
        for index in fresh:
            base, head = (_measured_of(kept, measured) for kept in (whole[index].base, whole[index].head))
            known[index] = self._store(whole[index].key, is_comparable(base, head))
        return max(1, sum(map(bool, known)))

    def _cached(self, key: tuple[object, ...]) -> object:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
            return self._cache.get(key)

    def _store(self, key: tuple[object, ...], value: object) -> object:
        with self._lock:
            self._cache[key] = value
            if len(self._cache) > MAX_CACHED:
                self._cache.popitem(last=False)
        return value


def compare_case(
    row: PairedCase, pairing: Pairing, measured: MeasuredRuns, comparable: int, *, explained: bool
) -> Comparison:
    """Compare the two ends of one case; `comparable` cases share the error rate."""
    base_commit, head_commit = pairing.commits
    return compare(
        _measured_of(row.base, measured),
        _measured_of(row.head, measured),
        history=row.history,
        comparable_cases=comparable,
        margins=Margins(
            practical_percent=pairing.defaults.practical_percent,
            equivalence_percent=pairing.defaults.equivalence_percent,
        ),
        base_commit=base_commit or row.base[0].record.sha,
        head_commit=head_commit or row.head[0].record.sha,
        across=pairing.across,
        explained=explained,
    )


def _rules_key(pairing: Pairing) -> tuple[object, ...]:
    defaults = pairing.defaults
    return (defaults.practical_percent, defaults.equivalence_percent, pairing.across, pairing.commits)


def _measured_of(kept: Sequence[MeasuredRecord], measured: MeasuredRuns) -> tuple[MeasuredRun, ...]:
    return measured_runs([one.record for one in kept], measured)


def case_report(row: PairedCase, comparison: Comparison | None) -> CaseReport:
    """The case as a report's row; without runs on both ends there is no verdict."""
    state = RowState.NO_BASELINE if row.head else RowState.NO_RUN
    return CaseReport(
        case=row.case,
        variant=row.variants[1],
        state=RowState(comparison.verdict) if comparison else state,
        comparison=comparison,
        base_runs=tuple(kept.record for kept in row.base),
        head_runs=tuple(kept.record for kept in row.head),
        noise_history=noise_history(row.history) if comparison and comparison.timing.history else None,
    )


def spell_end(end: ComparisonEnd) -> str:
    """The end as addresses spell it; a full commit by twelve digits."""
    name = end.ref.sha[:12] if end.ref.kind is RefKind.COMMIT and end.ref.sha else end.ref.text
    return f"{name}:{end.variant}" if end.variant else name
