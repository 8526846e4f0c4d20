"""The default branch: when to measure it, which heads landed on it, and the commits of merge queues.

The runs of a head that landed unchanged are runs of main too. A request that arrives while a row is worked
on raises `wanted`, so that it is due again at once.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, RowMapping, Select, case, delete, literal, select, update

from bot.domain.commit import MIN_SHA_LENGTH
from bot.domain.pull_request import SubjectKind, branch_slug
from bot.domain.run import RunRecord, RunState
from bot.planning.lineage import Landing, LandingHead
from bot.storage import named_values, pull_requests, runs
from bot.storage.queue import Claim, release
from bot.storage.runs import COMPARABLE
from bot.storage.sql import insert, insert_missing, upsert
from bot.storage.tables import (
    CASE_KEY,
    LANDING,
    MAIN_BRANCH,
    MEASUREMENT,
    MERGE_GROUP,
    PULL_REQUEST,
    REPOSITORY,
    RUN,
)


def enqueue_main(connection: Connection, *, repository: str, installation: int, now: float) -> None:
    """Make main due now."""
    values = {"wanted": MAIN_BRANCH.c.wanted + 1, "due": now, "installation": installation}
    upsert(connection, MAIN_BRANCH, {"repository": repository}, values, new={"wanted": 0})


def touch_main(connection: Connection, repository: str, *, now: float) -> None:
    """Make main due now if we measure it: one of its runs is over, or its configuration changed."""
    here = MAIN_BRANCH.c.repository == repository
    connection.execute(update(MAIN_BRANCH).where(here).values(wanted=MAIN_BRANCH.c.wanted + 1, due=now))


def release_main(
    connection: Connection, held: Claim, *, now: float, due: float | None, scheduled: str | None
) -> bool:
    """Release main's row; it is due at once if it was enqueued meanwhile."""
    again = case((MAIN_BRANCH.c.wanted != held.row["wanted"], now), else_=due)
    return release(connection, held, due=None, values={"scheduled": scheduled, "due": again})


class SeenDefaultBranch(Struct, frozen=True, kw_only=True):
    """The default branch, and its newest commit whose landings are known."""

    branch: str
    sha: str


_DECODE_SEEN_BRANCH = msgspec.json.Decoder(SeenDefaultBranch)


def seen_default_branch(connection: Connection, repository: str) -> SeenDefaultBranch | None:
    """The default branch as it was seen last; None before the first time."""
    kept = named_values.read(connection, _default_branch_key(connection, repository))
    return _DECODE_SEEN_BRANCH.decode(kept) if kept is not None else None


def save_default_branch(connection: Connection, repository: str, now: SeenDefaultBranch) -> None:
    """Save the default branch as it is seen now."""
    named_values.save(
        connection, _default_branch_key(connection, repository), msgspec.json.encode(now).decode()
    )


def rename_default_branch(connection: Connection, repository: str, *, old: str, new: str, now: float) -> int:
    """Move the history of a default branch to its new name, and make the open pull requests due, which are
    compared with it; the number of runs. Repeating it changes nothing."""
    here, there = branch_slug(old), branch_slug(new)
    landed = (LANDING.c.repository == repository, LANDING.c.branch == old)
    connection.execute(update(LANDING).where(*landed).values(branch=new))
    if here == there:
        return 0
    for name, variant in runs.case_keys(connection, repository, here):
        insert_missing(connection, CASE_KEY, repository=repository, branch=there, case=name, variant=variant)
    connection.execute(delete(CASE_KEY).where(CASE_KEY.c.repository == repository, CASE_KEY.c.branch == here))
    of_branch = (RUN.c.repository == repository, RUN.c.branch == here)
    moved = connection.execute(update(RUN).where(*of_branch).values(branch=there)).rowcount
    if moved:
        pull_requests.touch_open(connection, repository=repository, now=now)
    return moved


def _default_branch_key(connection: Connection, repository: str) -> str:
    """Named by GitHub's id if we know it: a repository's name may change."""
    number = select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == repository)
    return f"main of {connection.execute(number).scalar_one_or_none() or repository}"


SHORT_SHA_LENGTHS = (MIN_SHA_LENGTH, 8, 9, 10, 11, 12)
"""The usual lengths of shortened commits in the names of runs."""

MAX_HEADS = 1000
"""How many of the newest pull requests, and of the newest branches, we look for on main."""


class LandedHead(Struct, frozen=True, kw_only=True):
    """A head that became a commit of `branch`; `same_files` if that commit has the head's files."""

    head_sha: str
    branch: str
    main_sha: str
    same_files: bool


def save_landings(
    connection: Connection, repository: str, branch: str, found: Iterable[Landing], now: float
) -> None:
    """Save how each head landed; surer evidence, or a newer commit with the same evidence, replaces it."""
    for landing in found:
        values = {
            "branch": branch,
            "main_sha": landing.commit.sha,
            "known": int(landing.known),
            "same_files": landing.same_files,
            "made": now,
        }
        key = {"repository": repository, "head_sha": landing.head.sha}
        upsert(connection, LANDING, key, values, where=LANDING.c.known >= int(landing.known))


def find_landing(connection: Connection, repository: str, head_sha: str) -> LandedHead | None:
    """How a head landed; None if it has not landed."""
    query = _landing_query(repository).where(LANDING.c.head_sha == head_sha)
    row = connection.execute(query).mappings().first()
    return LandedHead(**row) if row else None


def adopt_runs(connection: Connection, repository: str, branch: str, now: float) -> int:
    """Copy the runs of heads that landed unchanged on `branch` to the commits that they became; how many are
    new there, or moved to a newer commit. If any are, the open pull requests are due, which are compared with
    them.

    A run has one copy with the same log and measurement, also if its change landed twice: one measurement
    must not count twice in main's history. Runs of this machine are left out: they are only comparable with
    the run that they took turns with.
    """
    landed = [one for one in _landed_unchanged(connection, repository) if one.branch == branch]
    became = {spelt: one for one in landed for spelt in _sha_spellings(one.head_sha)}
    rows = connection.execute(
        select(RUN)
        .where(RUN.c.repository == repository, RUN.c.sha.in_(sorted(became)))
        .where(RUN.c.state == RunState.ENDED, RUN.c.measured_sha.is_(None))
        .where(COMPARABLE)
    )
    new = 0
    for row in rows.mappings().all():
        if row["branch"] != branch_slug(branch):
            new += _adopt_run(connection, row, became[row["sha"]], now)
    if new:
        pull_requests.touch_open(connection, repository=repository, now=now)
    return new


def _adopt_run(connection: Connection, row: RowMapping, landed: LandedHead, now: float) -> int:
    adopted = _existing_adoption(connection, row, landed) or _adopted_id(row, landed)
    values = {name: row[name] for name in RunRecord.__struct_fields__ if name != "id"} | {
        "branch": branch_slug(landed.branch),
        "sha": landed.main_sha,
        "measured_sha": landed.head_sha,
        "generation": None,
        "key": None,
        "seen": now,
    }
    moved = {"sha": landed.main_sha}
    if not upsert(connection, RUN, {"id": adopted}, moved, new=values, where=RUN.c.sha != landed.main_sha):
        return 0
    record = runs.by_id(connection, adopted)
    if record is not None:
        runs.save_case_key(connection, record)
    names = [column.name for column in MEASUREMENT.columns if column.name != "run"]
    copied = select(literal(adopted), *(MEASUREMENT.c[name] for name in names)).where(
        MEASUREMENT.c.run == row["id"]
    )
    copies = insert(connection, MEASUREMENT).from_select(["run", *names], copied)
    connection.execute(copies.on_conflict_do_nothing())
    return 1


def _adopted_id(row: RowMapping, landed: LandedHead) -> str:
    digest = hashlib.sha256(f"{row['id']} {landed.branch}".encode()).hexdigest()
    return f"landed-{digest[:24]}"


def _existing_adoption(connection: Connection, row: RowMapping, landed: LandedHead) -> str | None:
    """The run's copy on this branch, made when the branch had another name."""
    same = (RUN.c[name] == row[name] for name in ("repository", "case", "variant", "log_uri", "started"))
    here = (RUN.c.branch == branch_slug(landed.branch), RUN.c.measured_sha == landed.head_sha)
    return connection.execute(select(RUN.c.id).where(*same, *here)).scalars().first()


def _landed_unchanged(connection: Connection, repository: str) -> tuple[LandedHead, ...]:
    """The heads that landed with the same files."""
    rows = connection.execute(_landing_query(repository).where(LANDING.c.same_files)).mappings()
    return tuple(LandedHead(**row) for row in rows)


def _sha_spellings(sha: str) -> frozenset[str]:
    """The commit as runs may spell it: in full, and shortened as git and people do."""
    return frozenset(sha[:digits] for digits in (*SHORT_SHA_LENGTHS, len(sha)))


def known_heads(connection: Connection, repository: str) -> tuple[LandingHead, ...]:
    """The heads of a repository's pull requests and watched branches, as we saw them last."""
    columns = (PULL_REQUEST.c[name] for name in ("number", "kind", "head_sha", "head_branch", "head_tree"))
    known = select(*columns).where(
        PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.head_sha.is_not(None)
    )
    number, kind = PULL_REQUEST.c.number, PULL_REQUEST.c.kind
    # Each kind by itself: pull requests never crowd branches out, whose numbers count down.
    newest = (
        known.where(kind == SubjectKind.PULL_REQUEST).order_by(number.desc()),
        known.where(kind == SubjectKind.BRANCH).order_by(number),
    )
    rows = [row for part in newest for row in connection.execute(part.limit(MAX_HEADS))]
    return tuple(
        LandingHead(
            sha=row.head_sha,
            branch=row.head_branch or "",
            number=row.number if row.kind == SubjectKind.PULL_REQUEST else None,
            tree=row.head_tree,
        )
        for row in rows
    )


def _landing_query(repository: str) -> Select[tuple[str, str, str, bool]]:
    columns = (LANDING.c[name] for name in LandedHead.__struct_fields__)
    return select(*columns).where(LANDING.c.repository == repository)


MERGE_GROUP_KEPT_SECONDS = 7 * 86_400.0
"""After a week nobody asks for the check of a merge queue's commit again."""


class MergeGroup(Struct, frozen=True, kw_only=True):
    """A commit that a merge queue made of pull requests; `pull` is the last of them, if its name says so.
    `asked` is when its checks were requested (Unix seconds)."""

    repository: str
    head_sha: str
    installation: int
    pull: int | None
    asked: float


def merge_group(row: Mapping[Any, Any]) -> MergeGroup:
    """The row as values."""
    return MergeGroup(**{name: row[name] for name in MergeGroup.__struct_fields__})


def enqueue_merge_group(connection: Connection, one: MergeGroup) -> None:
    """Make the check of this commit due now."""
    of_repository = MERGE_GROUP.c.repository == one.repository
    old = MERGE_GROUP.c.asked < one.asked - MERGE_GROUP_KEPT_SECONDS
    connection.execute(delete(MERGE_GROUP).where(of_repository, old, MERGE_GROUP.c.due.is_(None)))
    key = {"repository": one.repository, "head_sha": one.head_sha}
    values = {"due": one.asked, "asked": one.asked, "installation": one.installation}
    again = {**values, "wanted": MERGE_GROUP.c.wanted + 1}
    upsert(connection, MERGE_GROUP, key, again, new={"wanted": 0, "pull": one.pull})


def touch_merge_group(connection: Connection, *, repository: str, head_sha: str, now: float) -> bool:
    """Make the check of a commit that we know due again; False if it is no merge queue's."""
    touched = connection.execute(
        update(MERGE_GROUP)
        .where(MERGE_GROUP.c.repository == repository, MERGE_GROUP.c.head_sha == head_sha)
        .values(wanted=MERGE_GROUP.c.wanted + 1, due=now, asked=now)
    )
    return touched.rowcount == 1


def release_merge_group(connection: Connection, held: Claim, *, now: float, due: float | None) -> bool:
    """Release the row; it is due at once if it was enqueued meanwhile."""
    again = case((MERGE_GROUP.c.wanted != held.row["wanted"], now), else_=due)
    return release(connection, held, due=None, values={"due": again})
