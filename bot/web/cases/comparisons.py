"""Every case of two sides compared, as the comment compares them, and remembered while the runs are the same.

In:  a `Pairing`, and what was measured of its runs, in the database. Out: `CaseReport`s.
Promises: the same rules as a report's: the error rate is shared among the comparable cases, the noise is
measured from the default branch, margins are the repository's own.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from bot.report.model import CaseReport, RowState
from bot.storage import reports, runs
from bot.storage.database import Connection
from bot.storage.refs import Kept
from bot.verdict.compare import compare, is_comparable
from bot.verdict.history import past
from bot.verdict.judgement import Comparison, Margins, MeasuredRun
from bot.web.cases.pairing import Matched, Pairing

KEPT = 4_000
"""Comparisons remembered: pages of 25 cases for 160 pairs, some 20 MB without their step lines."""

Documents = Mapping[str, MeasuredRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The rows of a comparison, and the runs of the one that was chosen, by id."""

    rows: tuple[CaseReport, ...]
    measured: Documents = field(default_factory=dict)


@dataclass(slots=True)
class _Stored:
    """What was measured, each run read once."""

    connection: Connection
    known: dict[str, MeasuredRun] = field(default_factory=dict)

    def of(self, ids: Collection[str]) -> Documents:
        """These runs, where they are known, and others read before."""
        if missing := [run for run in ids if run not in self.known]:
            self.known |= runs.measured(self.connection, missing)
        return self.known


@dataclass(slots=True)
class Comparisons:
    """Compares, and remembers the latest comparisons without their step lines."""

    _known: OrderedDict[tuple[object, ...], object] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def rows(self, connection: Connection, pairing: Pairing, chosen: int | None = None) -> Compared:
        """Every row with its verdict, the chosen one with its explanation and its runs' step lines; only what
        is not remembered is read and compared, and each run at most once."""
        stored = _Stored(connection)
        comparable = self._comparable(stored, pairing)
        keys = [(row.key, row.past_key, _rules(pairing), comparable) for row in pairing.rows]
        known = [self._get(key) for key in keys]
        wanted = [
            at for at, row in enumerate(pairing.rows) if row.whole and (known[at] is None or at == chosen)
        ]
        measured = stored.of({run for at in wanted for run in pairing.rows[at].ids})
        made: CaseReport | None = None
        for at in wanted:
            row = pairing.rows[at]
            found = judged(row, pairing, measured, comparable, explained=at == chosen)
            made = case_report(row, found) if at == chosen else made
            slim = replace(reports.slim_comparison(found), explanation=None)
            known[at] = known[at] or self._keep(keys[at], case_report(row, slim))
        rows = [
            one if isinstance(one, CaseReport) else case_report(row, None)
            for row, one in zip(pairing.rows, known, strict=True)
        ]
        if chosen is None or made is None:
            return Compared(rows=tuple(rows))
        rows[chosen] = made
        return Compared(
            rows=tuple(rows),
            measured={run: measured[run] for run in pairing.rows[chosen].ids if run in measured},
        )

    def _comparable(self, stored: "_Stored", pairing: Pairing) -> int:
        """How many rows share the error rate of the comparison."""
        whole = [row for row in pairing.rows if row.whole]
        known = [self._get(row.key) for row in whole]
        fresh = [at for at, one in enumerate(known) if one is None]
        measured = stored.of({run for at in fresh for run in whole[at].ids})
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
    row: Matched, pairing: Pairing, measured: Documents, comparable: int, *, explained: bool
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
