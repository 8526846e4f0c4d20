"""Name lookup: which branch, commit or pull request a text such as `main`, `574ad3f` or `pr/12` names.

Nothing outside the database is asked. A commit that is too short to be unique is never guessed.
"""

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, select

from bot.domain.commit import MIN_SHA_LENGTH, same_commit
from bot.domain.pull_request import SubjectKind, branch_slug
from bot.domain.run import RunRecord, RunState, comparable_across_days
from bot.storage import reports, runs
from bot.storage.runs import newest_rows
from bot.storage.tables import MEASUREMENT, PULL_REQUEST, RUN

# pr/12   pull/12   #12
_PULL_PATTERN = re.compile(r"(?:pr/|pull/|#)(?P<number>[1-9][0-9]{0,8})", re.IGNORECASE)

_SHA_PATTERN = re.compile(r"[0-9a-fA-F]{7,64}")

RUNS_PER_CASE = 12
"""Newest runs of a case on a branch that are read to find those of its newest commit."""

MAX_RUNS = 2_000
"""Runs of one commit that are read: more than any suite has; a bound if something goes wrong."""

MAX_SUGGESTIONS = 3


class RefKind(StrEnum):
    """What a name refers to."""

    BRANCH = "branch"
    COMMIT = "commit"
    PULL = "pull"


class Ref(Struct, frozen=True, kw_only=True):
    """A known name: a branch by its slug, a commit by its longest known spelling, or a pull request with its
    head commit. `text` is what was asked for."""

    text: str
    kind: RefKind
    branch: str | None = None
    sha: str | None = None
    number: int | None = None


class MeasuredRecord(Struct, frozen=True, kw_only=True):
    """A run, when its measurement was made, and its conditions."""

    record: RunRecord
    made: float
    conditions: str


_RECORD_NAMES = [column.name for column in runs.RECORD_COLUMNS]

RunsByCase = dict[tuple[str, str], tuple[MeasuredRecord, ...]]
"""By case and variant, newest first."""


def resolve(connection: Connection, repository: str, text: str) -> Ref | None:
    """What `text` refers to; None if nothing is known by it."""
    if found := _PULL_PATTERN.fullmatch(text):
        return _resolve_pull(connection, repository, text, int(found["number"]))
    if text and runs.has_runs_on(connection, repository, branch_slug(text)):
        return Ref(text=text, kind=RefKind.BRANCH, branch=branch_slug(text))
    shas = commits(connection, repository, text)
    return Ref(text=text, kind=RefKind.COMMIT, sha=shas[-1]) if _same_commits(shas) else None


def commits(connection: Connection, repository: str, text: str) -> tuple[str, ...]:
    """The commits with runs that `text` may mean: those that start with it, and those recorded with fewer
    digits that it starts with; by length and name."""
    if not _SHA_PATTERN.fullmatch(text):
        return ()
    lower = text.lower()
    shorter = [lower[:length] for length in range(MIN_SHA_LENGTH, len(lower))]
    query = select(RUN.c.sha).where(RUN.c.repository == repository).distinct()
    # Two queries: joined by OR they would read the whole index.
    longer_shas = connection.execute(query.where(RUN.c.sha >= lower, RUN.c.sha < lower + "g")).scalars()
    shorter_shas = connection.execute(query.where(RUN.c.sha.in_(shorter))).scalars()
    return tuple(sorted({*longer_shas, *shorter_shas}, key=lambda sha: (len(sha), sha)))


def suggestions(connection: Connection, repository: str, text: str) -> tuple[str, ...]:
    """Names that may be meant, the most similar first; the commits, if the text may mean several."""
    if shas := commits(connection, repository, text):
        return tuple(sha[:12] for sha in shas[:MAX_SUGGESTIONS])
    here = (PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.kind == SubjectKind.PULL_REQUEST)
    pulls = select(PULL_REQUEST.c.number).where(*here)
    numbers = [f"pr/{number}" for number in connection.execute(pulls).scalars()]
    known = [*runs.branches_with_runs(connection, repository), *numbers]
    wanted = text if _PULL_PATTERN.fullmatch(text) else branch_slug(text)
    return tuple(get_close_matches(wanted, known, n=MAX_SUGGESTIONS, cutoff=0.5))


def runs_of(connection: Connection, repository: str, ref: Ref) -> RunsByCase:
    """The measured runs of a name, by case and variant.

    Of a branch: those of each case's newest commit, preferably runs that are comparable across days. Of a
    pull request: those of its head commit, or else those that its newest report used for it.
    """
    if ref.kind is RefKind.BRANCH and ref.branch is not None:
        keys = runs.case_keys(connection, repository, ref.branch)
        known = _newest_by_key(connection, repository, ref.branch, keys)
        return {key: _newest_commit_runs(kept) for key, kept in zip(keys, known, strict=True) if kept}
    chosen = _commit_runs(connection, repository, ref.sha) if ref.sha else ()
    if not chosen and ref.number is not None:
        chosen = _report_runs(connection, repository, ref)
    grouped: dict[tuple[str, str], list[MeasuredRecord]] = {}
    for one in chosen:
        grouped.setdefault((one.record.case, one.record.variant), []).append(one)
    return {key: tuple(kept) for key, kept in sorted(grouped.items())}


def _resolve_pull(connection: Connection, repository: str, text: str, number: int) -> Ref | None:
    row = connection.execute(
        select(PULL_REQUEST.c.head_sha).where(
            PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number
        )
    ).first()
    if row is None:
        return None
    reported = None if row.head_sha else reports.report_version(connection, repository, number)
    return Ref(
        text=text, kind=RefKind.PULL, number=number, sha=row.head_sha or (reported[0] if reported else None)
    )


def _same_commits(shas: Sequence[str]) -> bool:
    """Whether these spell one commit."""
    return bool(shas) and all(same_commit(sha, shas[-1]) for sha in shas)


class _NewestRow(Struct, frozen=True):
    """A row that is not decoded yet: of most rows only the commit and the place are needed."""

    row: Sequence[Any]
    sha: str | None
    keeps_pace: bool

    def kept(self) -> MeasuredRecord:
        """Decode it."""
        record = runs.record_of(dict(zip(_RECORD_NAMES, self.row[1:-2], strict=True)))
        return MeasuredRecord(record=record, made=self.row[-2], conditions=self.row[-1])


def _newest_commit_runs(newest_first: Sequence[_NewestRow]) -> tuple[MeasuredRecord, ...]:
    steady = [row for row in newest_first if row.keeps_pace]
    usable = steady or newest_first
    sha = usable[0].sha
    chosen = usable[:1] if sha is None else [row for row in usable if same_commit(row.sha, sha)]
    return tuple(row.kept() for row in chosen)


def _newest_by_key(
    connection: Connection, repository: str, branch: str, keys: Sequence[tuple[str, str]]
) -> list[list[_NewestRow]]:
    """The newest runs of each key, in their order."""
    columns = [*(f'run."{name}"' for name in _RECORD_NAMES), "measurement.made", "measurement.conditions"]
    given = {"repository": repository, "branch": branch}
    known: list[list[_NewestRow]] = [[] for _ in keys]
    at_sha, at_origin, at_place = (_RECORD_NAMES.index(name) + 1 for name in ("sha", "origin", "place"))
    for place, row in newest_rows(connection, columns, keys, most=RUNS_PER_CASE, given=given):
        known[place].append(
            _NewestRow(row, row[at_sha], comparable_across_days(row[at_origin], row[at_place]))
        )
    return known


def _commit_runs(connection: Connection, repository: str, sha: str) -> tuple[MeasuredRecord, ...]:
    named = RUN.c.sha.in_(commits(connection, repository, sha))
    return _measured_records(connection, and_(RUN.c.repository == repository, named), MAX_RUNS)


def _report_runs(connection: Connection, repository: str, ref: Ref) -> tuple[MeasuredRecord, ...]:
    report = reports.newest(connection, repository, ref.number or 0, ref.sha)
    ids = {run.id for row in report.rows for run in row.head_runs} if report else set()
    return _measured_records(connection, RUN.c.id.in_(sorted(ids)), MAX_RUNS) if ids else ()


def _measured_records(
    connection: Connection, here: ColumnElement[bool], most: int
) -> tuple[MeasuredRecord, ...]:
    rows = connection.execute(
        select(*runs.RECORD_COLUMNS, MEASUREMENT.c.made, MEASUREMENT.c.conditions)
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(here, RUN.c.state == RunState.ENDED)
        .order_by(RUN.c.started.desc().nulls_last(), RUN.c.id)
        .limit(most)
    )
    return tuple(
        MeasuredRecord(record=runs.record_of(row), made=row["made"], conditions=row["conditions"])
        for row in rows.mappings()
    )


def fingerprint_of(kept: Collection[MeasuredRecord]) -> tuple[tuple[str, float], ...]:
    """What changes when one of these measurements is made anew or another one joins them."""
    return tuple((one.record.id, one.made) for one in kept)
