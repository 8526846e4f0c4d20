"""Runs, which pull requests want them, and their measurements: no log is read twice.

A measurement is kept whole, as a compressed document, and as a small summary that lists and histories
read by the thousand. What older versions did not keep is filled in when the program starts.
"""

import hashlib
import logging
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, TextClause, and_, or_, select, text

from bot.clusters.interface import Job
from bot.domain.commit import MIN_SHA_LENGTH
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.planning.plan import PlannedRun
from bot.runs.run_status import TERMINAL_STATES
from bot.storage import loss_curves
from bot.storage.sql import column_decoder, insert_missing, json_decoder, msgpack_decoder, upsert
from bot.storage.tables import CASE_KEY, LOSS_CURVE, MEASUREMENT, RUN, WANT
from bot.verdict.comparability import conditions_text
from bot.verdict.judgement import MeasuredRun
from bot.verdict.metrics import METRICS

LOG = logging.getLogger(__name__)

COMPARABLE = or_(RUN.c.origin == RunOrigin.FOUND, RUN.c.place.is_not(None))

"""Runs that are comparable across days (`comparable_across_days`), as a condition."""

COMPARABLE_SQL = "(run.origin = 'found' OR run.place IS NOT NULL)"
"""The same as text; a test holds the three together."""

DECODE_CACHE_BYTES = 2 << 20
"""Of stored documents: about 1,000 runs of ten steps, or 17 of 5,000, and some 60 MB as values."""


class DecodeCache:
    """The measured runs decoded last, by the content of their documents; safe to use from several threads."""

    def __init__(self, kept_bytes: int = DECODE_CACHE_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._size = 0
        self._known: OrderedDict[bytes, tuple[int, MeasuredRun]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, document: bytes, decode: Callable[[bytes], MeasuredRun]) -> MeasuredRun:
        """What `document` decodes to."""
        key = hashlib.blake2b(document, digest_size=16).digest()
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known[1]
        made = decode(document)
        with self._lock:
            self._keep(key, len(document), made)
        return made

    def _keep(self, key: bytes, size: int, made: MeasuredRun) -> None:
        if key in self._known or size > self._kept_bytes:
            return
        self._known[key] = (size, made)
        self._size += size
        while self._size > self._kept_bytes:
            _, (freed, _) = self._known.popitem(last=False)
            self._size -= freed


DECODE_CACHE = DecodeCache()
"""One for the whole process."""

SUMMARY_VERSION = 1
"""A new number makes every summary anew, when the metrics change."""

MAX_SUMMARY_ERROR = 400

BACKFILL_BATCH = 500
"""Rows of one transaction: writers wait for it, so it stays well below a second."""


class RunSummary(Struct, frozen=True, kw_only=True):
    """How a run ended, and every numeric metric of it by its key (`bot.verdict.metrics`)."""

    version: int
    state: str
    kind: str
    error: str
    figures: dict[str, float]


_DECODE_SUMMARY = msgspec.msgpack.Decoder(RunSummary).decode


def summarize(run: MeasuredRun) -> RunSummary:
    """The summary of a run."""
    failure = run.log.outcome.failure
    values = {metric.key: metric.read(run) for metric in METRICS}
    return RunSummary(
        version=SUMMARY_VERSION,
        state=run.log.outcome.state.value,
        kind=failure.kind if failure else "",
        error=failure.error[:MAX_SUMMARY_ERROR] if failure else "",
        figures={key: float(value) for key, value in values.items() if isinstance(value, int | float)},
    )


def summary_columns(run: MeasuredRun) -> dict[str, object]:
    """The values of a measurement's row that lists read."""
    made = summarize(run)
    return {"outcome": made.state, "summary": msgspec.msgpack.encode(made)}


def read_summary(stored: bytes | None) -> RunSummary | None:
    """The stored summary; None if there is none yet."""
    return _DECODE_SUMMARY(stored) if stored else None


def save_case_key(connection: Connection, record: RunRecord) -> None:
    """Save that this branch has runs of this case and variant."""
    if record.branch is not None:
        names = ("repository", "branch", "case", "variant")
        insert_missing(connection, CASE_KEY, **{name: getattr(record, name) for name in names})


def case_keys(connection: Connection, repository: str, branch: str) -> tuple[tuple[str, str], ...]:
    """Every case and variant that has a run on a branch (by its slug), by name."""
    rows = connection.execute(
        select(CASE_KEY.c.case, CASE_KEY.c.variant)
        .where(CASE_KEY.c.repository == repository, CASE_KEY.c.branch == branch)
        .order_by(CASE_KEY.c.case, CASE_KEY.c.variant)
    )
    return tuple((case, variant) for case, variant in rows)


def has_runs_on(connection: Connection, repository: str, branch: str) -> bool:
    """Whether a branch (by its slug) has any run."""
    here = (CASE_KEY.c.repository == repository, CASE_KEY.c.branch == branch)
    return connection.execute(select(CASE_KEY.c.case).where(*here).limit(1)).first() is not None


def branches_with_runs(connection: Connection, repository: str) -> tuple[str, ...]:
    """Every branch (by its slug) that has a run, by name."""
    rows = connection.execute(select(CASE_KEY.c.branch).where(CASE_KEY.c.repository == repository).distinct())
    return tuple(sorted(rows.scalars()))


def backfill_case_keys(connection: Connection) -> None:
    """Save the keys of runs that are older than the table of keys; does nothing once it has rows."""
    if connection.execute(select(CASE_KEY.c.case).limit(1)).first():
        return
    names = [RUN.c[name] for name in ("repository", "branch", "case", "variant")]
    known = select(*names).where(RUN.c.branch.is_not(None))
    connection.execute(CASE_KEY.insert().from_select([column.name for column in names], known.distinct()))


def backfill_summaries(
    connection: Connection, decode: Callable[[bytes], MeasuredRun], *, most: int = BACKFILL_BATCH
) -> int:
    """Summarize up to `most` runs without a summary, the newest first; how many there were."""
    rows = connection.execute(
        select(MEASUREMENT.c.run, MEASUREMENT.c.document)
        .where(MEASUREMENT.c.summary.is_(None))
        .order_by(MEASUREMENT.c.made.desc())
        .limit(most)
    ).all()
    for run, document in rows:
        connection.execute(
            MEASUREMENT.update().where(MEASUREMENT.c.run == run).values(**summary_columns(decode(document)))
        )
    return len(rows)


def backfill_losses(
    connection: Connection, decode: Callable[[bytes], MeasuredRun], *, most: int = BACKFILL_BATCH
) -> int:
    """Save the loss curves of up to `most` runs without one, the newest first; how many there were."""
    known = select(LOSS_CURVE.c.run).where(LOSS_CURVE.c.run == MEASUREMENT.c.run).exists()
    rows = connection.execute(
        select(*RECORD_COLUMNS, MEASUREMENT.c.document)
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(~known)
        .order_by(MEASUREMENT.c.made.desc())
        .limit(most)
    )
    found = rows.mappings().all()
    for row in found:
        loss_curves.save(connection, record_of(row), decode(row["document"]))
    return len(found)


_RECORD_FIELDS = tuple(RunRecord.__struct_fields__)

_DECODE_RECORD, _DECODE_JOB, _DECODE_MEASURED = (
    column_decoder(RunRecord),
    json_decoder(Job),
    msgpack_decoder(MeasuredRun),
)

RECORD_COLUMNS = tuple(RUN.c[name] for name in _RECORD_FIELDS)
"""What `record_of` reads."""

LAUNCH_SPACING_SECONDS = 1e-3

NEWEST_PER_KEY = 200
"""Runs of a case and variant on a branch that are read: an older merge base has no baseline."""

NEWEST_WITHOUT_BRANCH = 2_000
"""Runs with a commit but no branch that are read, of all cases together."""


def encode_measured(run: MeasuredRun) -> bytes:
    """A measured run as bytes: MessagePack, because a loss may be NaN, which JSON lacks."""
    return zlib.compress(msgspec.msgpack.encode(run), level=6)


def decode_measured(document: bytes) -> MeasuredRun:
    """The measured run of a document, from the cache if it was decoded lately."""
    return DECODE_CACHE.get(document, decode_uncached)


def decode_uncached(document: bytes) -> MeasuredRun:
    """The measured run of a document that nobody will read again soon."""
    return _DECODE_MEASURED(zlib.decompress(document))


def save(
    connection: Connection, record: RunRecord, *, now: float, measured: MeasuredRun | None = None
) -> None:
    """Save a run, or what changed of it, and the measurement of its log."""
    upsert(connection, RUN, {"id": record.id}, _record_values(record), new={"seen": now})
    save_case_key(connection, record)
    if measured is not None:
        failure, loop = measured.log.outcome.failure, measured.measurements.loop
        row = {
            "document": encode_measured(measured),
            "steady_seconds": measured.measurements.steady.seconds,
            "loop_seconds": loop.seconds if loop else None,
            "conditions": conditions_text(measured),
            "fingerprint": (failure.fingerprint or None) if failure else None,
            "chip_hours": measured.measurements.chip_hours,
            "devices": measured.log.environment.devices,
            "made": now,
            **summary_columns(measured),
        }
        upsert(connection, MEASUREMENT, {"run": record.id}, row)
        loss_curves.save(connection, record, measured)


def _record_values(record: RunRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _RECORD_FIELDS if name != "id"}


def branch_runs(connection: Connection, repository: str, branch: str) -> tuple[RunRecord, ...]:
    """The newest runs of each case and variant on a branch (by its slug), newest first, with runs that have
    a commit but no branch."""
    rows = list(_newest_of_branch(connection, select(*RECORD_COLUMNS), repository, branch))
    return tuple(record_of(row) for row in sorted(rows, key=_newest_first))


class RunFigures(Struct, frozen=True, kw_only=True):
    """The part of a measurement that is read for many runs at once: the step time and the loop time in
    seconds, the conditions (`bot.verdict.comparability`), and the fingerprint of its failure."""

    steady_seconds: float | None
    conditions: str
    fingerprint: str | None
    loop_seconds: float | None = None


def branch_figures(connection: Connection, repository: str, branch: str) -> dict[str, RunFigures]:
    """The figures of every measured run of `branch_runs`, by run id."""
    columns = (MEASUREMENT.c[name] for name in RunFigures.__struct_fields__)
    query = select(MEASUREMENT.c.run, *columns).join(RUN, RUN.c.id == MEASUREMENT.c.run)
    return {
        row.pop("run"): RunFigures(**row)
        for row in map(dict, _newest_of_branch(connection, query, repository, branch))
    }


def _newest_of_branch(
    connection: Connection, query: Select[Any], repository: str, branch: str
) -> Iterator[Any]:
    """The rows of the newest runs of each case and variant on a branch, then of runs without a branch. Each
    is read from an index, so the time does not grow with the number of runs."""
    named = [
        and_(RUN.c.branch == branch, RUN.c.case == case, RUN.c.variant == variant)
        for case, variant in case_keys(connection, repository, branch)
    ]
    unnamed = and_(RUN.c.branch.is_(None), RUN.c.sha.is_not(None))
    for here, most in (*((one, NEWEST_PER_KEY) for one in named), (unnamed, NEWEST_WITHOUT_BRANCH)):
        ordered = query.where(RUN.c.repository == repository, here).order_by(
            RUN.c.started.desc().nulls_last()
        )
        yield from connection.execute(ordered.limit(most)).mappings()


def _newest_first(row: Any) -> tuple[float, str]:
    return (-(row["started"] if row["started"] is not None else -inf), row["id"])


def by_id(connection: Connection, run: str) -> RunRecord | None:
    """One run, or None."""
    row = connection.execute(select(*RECORD_COLUMNS).where(RUN.c.id == run)).mappings().first()
    return record_of(row) if row else None


def measured_generations(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The log generation that each of these runs was last measured from, by run id."""
    query = select(RUN.c.id, RUN.c.generation).join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
    found = (connection.execute(query.where(RUN.c.id.in_(part))) for part in _batches(ids))
    return {row.id: row.generation for rows in found for row in rows if row.generation is not None}


def measured(connection: Connection, ids: Collection[str]) -> dict[str, MeasuredRun]:
    """The measurements of these runs, by run id; runs without one are left out."""
    if not ids:
        return {}
    rows = connection.execute(
        select(MEASUREMENT.c.run, MEASUREMENT.c.document).where(MEASUREMENT.c.run.in_(sorted(ids)))
    )
    return {run: decode_measured(document) for run, document in rows}


def plan_runs(
    connection: Connection, planned: Sequence[PlannedRun], *, repository: str, number: int, now: float
) -> int:
    """Make a pull request want exactly these runs, in this order; the number of new ones.

    Runs that exist already (by key) are shared; runs that are not named any more are no longer wanted. A run
    that was cancelled because nobody wanted it counts as new: it starts from the beginning.
    """
    ids = [one.record.id for one in planned]
    states = select(RUN.c.id, RUN.c.state, RUN.c.operator_action).where(RUN.c.id.in_(ids))
    # What an operator cancelled stays cancelled until an operator retries it.
    known = {row.id: row.operator_action or row.state for row in connection.execute(states)}
    new = 0
    for place, one in enumerate(planned):
        # Each a little later, so that they start in this order.
        due = now + place * LAUNCH_SPACING_SECONDS
        if known.get(one.record.id, RunState.CANCELLED) == RunState.CANCELLED:
            _insert_planned(connection, one, number, due)
            new += 1
        insert_missing(connection, WANT, repository=repository, number=number, run=one.record.id)
    drop_wants(connection, repository=repository, number=number, but=set(ids))
    return new


def _insert_planned(connection: Connection, one: PlannedRun, number: int, due: float) -> None:
    """Insert a run that is to be started, or restart one that was cancelled.

    It is charged to the pull request that wants it first; later ones share it for free.
    """
    values = _record_values(one.record)
    values |= {"price": one.price, "charged_to": one.charged_to, "charged_number": number, "waiting": None}
    values |= {"job": msgspec.json.encode(one.job).decode(), "seen": due, "due": due, "status": None}
    save_case_key(connection, one.record)
    upsert(connection, RUN, {"id": one.record.id}, values, where=RUN.c.state == RunState.CANCELLED)


def planned_run(row: Mapping[Any, Any]) -> PlannedRun:
    """The planned run of a row."""
    return PlannedRun(record=record_of(row), job=_DECODE_JOB(row["job"]))


def wanted_runs(connection: Connection, repository: str, number: int) -> tuple[RunRecord, ...]:
    """The launched runs that a pull request wants, in the order they were planned."""
    rows = connection.execute(
        select(*RECORD_COLUMNS)
        .join(WANT, WANT.c.run == RUN.c.id)
        .where(WANT.c.repository == repository, WANT.c.number == number)
        .order_by(RUN.c.seen, RUN.c.id)
    )
    return tuple(record_of(row) for row in rows.mappings())


def drop_wants(connection: Connection, *, repository: str, number: int, but: Collection[str] = ()) -> None:
    """Stop wanting a pull request's runs (all but these); runs that nobody wants any more are due, to be
    ended."""
    stale = [run.id for run in wanted_runs(connection, repository, number) if run.id not in but]
    for run in stale:
        connection.execute(
            WANT.delete().where(WANT.c.repository == repository, WANT.c.number == number, WANT.c.run == run)
        )
        if not wanters(connection, run):
            connection.execute(
                RUN.update().where(RUN.c.id == run, RUN.c.state.not_in(TERMINAL_STATES)).values(due=0.0)
            )


def wanters(connection: Connection, run: str) -> tuple[tuple[str, int], ...]:
    """The pull requests that want a run, as repository and number."""
    rows = connection.execute(select(WANT.c.repository, WANT.c.number).where(WANT.c.run == run))
    return tuple((repository, number) for repository, number in rows)


def record_of(row: Mapping[Any, Any]) -> RunRecord:
    """The run of a row."""
    return _DECODE_RECORD({name: row[name] for name in _RECORD_FIELDS})


KEYS_PER_STATEMENT = 100
"""Keys of one statement: SQLite allows 500 parts."""


def newest_rows(
    connection: Connection,
    columns: Sequence[str],
    keys: Sequence[tuple[str, str]],
    *,
    most: int,
    given: Mapping[str, object],
    where: str = "",
    own: Sequence[Mapping[str, object]] = (),
) -> Iterator[tuple[int, Any]]:
    """The newest ended, measured runs of each key: the key's place, and the row.

    One statement reads a hundred keys, each from the end of its own index, so the time does not grow with the
    number of runs. `given` has `repository` and `branch`; `where` may add conditions, in which `{n}` numbers
    the key, and `own` holds their parameters for each key, without the number. None of these texts comes from
    outside. The statement is text: putting together one of a hundred parts takes longer than reading it.
    """
    for start in range(0, len(keys), KEYS_PER_STATEMENT):
        part = keys[start : start + KEYS_PER_STATEMENT]
        asked = dict(given)
        for number, (case, variant) in enumerate(part):
            asked |= {f"case{number}": case, f"variant{number}": variant}
            more = own[start + number] if own else {}
            asked |= {f"{name}{number}": value for name, value in more.items()}
        # All rows at once: one by one they take three times as long.
        for row in connection.execute(_newest_statement(tuple(columns), len(part), most, where), asked).all():
            yield start + row[0], row


@lru_cache(maxsize=64)
def _newest_statement(columns: tuple[str, ...], count: int, most: int, where: str) -> TextClause:
    parts = (
        f"SELECT * FROM (SELECT {number} AS place, {', '.join(columns)} "  # noqa: S608 - all of it is ours
        "FROM run JOIN measurement ON measurement.run = run.id "
        "WHERE run.repository = :repository AND run.branch = :branch AND run.state = 'ended' "
        f'AND run."case" = :case{number} AND run.variant = :variant{number} '
        f"{where.format(n=number)} ORDER BY run.started DESC NULLS LAST, run.id LIMIT {most}) AS part{number}"
        for number in range(count)
    )
    return text(" UNION ALL ".join(parts))


IDS_PER_STATEMENT = 1_000
"""Ids in one statement, which allows some 30,000 values."""


def run_conditions(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """The conditions of these runs, by id, without reading their measurements."""
    query = select(MEASUREMENT.c.run, MEASUREMENT.c.conditions)
    found = (connection.execute(query.where(MEASUREMENT.c.run.in_(part))) for part in _batches(sorted(ids)))
    return {row.run: row.conditions for rows in found for row in rows}


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[at : at + IDS_PER_STATEMENT] for at in range(0, len(ids), IDS_PER_STATEMENT))


def runs_of_trees(connection: Connection, repository: str, trees: Collection[str]) -> tuple[RunRecord, ...]:
    """Every run of these files (hashes of trees), on any branch and commit, newest first."""
    if not trees:
        return ()
    rows = connection.execute(
        select(*RECORD_COLUMNS)
        .where(RUN.c.repository == repository, RUN.c.tree.in_(sorted(trees)))
        .order_by(RUN.c.started.desc(), RUN.c.id)
    )
    return tuple(record_of(row) for row in rows.mappings())


def save_trees(connection: Connection, repository: str, trees: Mapping[str, str | None]) -> int:
    """Save the trees of commits, by full hash, with their runs that lack one; how many runs. A tree of None
    is unknown."""
    updated = 0
    for sha, tree in trees.items():
        spellings = [sha[:digits] for digits in range(MIN_SHA_LENGTH, len(sha) + 1)]
        here = (RUN.c.repository == repository, RUN.c.sha.in_(spellings), RUN.c.tree.is_(None))
        if tree is not None:
            updated += connection.execute(RUN.update().where(*here).values(tree=tree)).rowcount
    return updated


def want_existing(connection: Connection, ids: Collection[str], *, repository: str, number: int) -> None:
    """Make a pull request want those of these runs that exist and are not cancelled, and no others; starts
    nothing."""
    there = select(RUN.c.id).where(RUN.c.id.in_(sorted(ids)), RUN.c.state != RunState.CANCELLED)
    kept = set(connection.execute(there).scalars())
    for run in sorted(kept):
        insert_missing(connection, WANT, repository=repository, number=number, run=run)
    drop_wants(connection, repository=repository, number=number, but=kept)


def backfill(connection: Connection) -> int:
    """Fill in some rows that older versions left without a key or summary; 0 if none is left."""
    backfill_case_keys(connection)
    filled = backfill_summaries(connection, decode_uncached) + backfill_losses(connection, decode_uncached)
    if filled:
        LOG.info("runs of an older version were summarised", extra={"runs": filled})
    return filled


def run_states(connection: Connection, ids: Collection[str]) -> dict[str, RunState]:
    """The states of these runs; unknown ones are left out."""
    rows = connection.execute(select(RUN.c.id, RUN.c.state).where(RUN.c.id.in_(sorted(ids))))
    return {row.id: RunState(row.state) for row in rows}
