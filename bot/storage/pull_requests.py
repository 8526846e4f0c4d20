"""Pull requests and watched branches: what is wanted, what was published, and when to look again.

A request that arrives while the row is worked on is not lost: it raises `wanted`, so that the row is due
again as soon as it is released. The dirty flags say that the comment or check on GitHub may differ from our
last write.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Update, and_, case, exists, func, select, update

from bot.domain.case_key import CaseKey
from bot.domain.command import CommandOrigin, CommandVerb, CommentOrigin, LabelOrigin
from bot.domain.published import (
    CheckState,
    CommentState,
    DirtyCheck,
    DirtyComment,
    NoCheck,
    NoComment,
    PostedCheck,
    PostedComment,
    RemovedComment,
)
from bot.domain.pull_request import SubjectKind
from bot.storage.output_states import (
    CheckForm,
    OutputState,
    check_state,
    check_values,
    comment_state,
    comment_values,
)
from bot.storage.queue import Claim, release
from bot.storage.sql import insert, json_decoder
from bot.storage.tables import PULL_REQUEST, REPORT

KEPT_COMMANDS = 20
"""Commands remembered per pull request: the comment shows the newest, the rest is folded."""


class CommandRecord(Struct, frozen=True, kw_only=True):
    """A command that was given, or a label that was put: where, by whom, when, and its `result` in one
    sentence. `position` is its place in the comment."""

    origin: CommandOrigin
    text: str
    by: str
    at: float
    result: str
    refused: bool = False
    head_sha: str | None = None
    verb: CommandVerb | None = None
    position: int = 0

    @property
    def key(self) -> tuple[CommandOrigin, int, str]:
        """Identifies the command."""
        label = f"{self.text} {self.at}" if isinstance(self.origin, LabelOrigin) else ""
        return self.origin, self.position, label

    @property
    def order(self) -> tuple[float, int, int]:
        """The order in which people gave commands. GitHub's times are whole seconds: within one second later
        comments have higher numbers."""
        return self.at, self.origin.comment_id if isinstance(self.origin, CommentOrigin) else 0, self.position


def merge_records(kept: Sequence[CommandRecord], new: Sequence[CommandRecord]) -> tuple[CommandRecord, ...]:
    """The newest of both, in the order in which people gave them, whichever delivery came first."""
    by_key = {one.key: one for one in (*kept, *new)}
    return tuple(sorted(by_key.values(), key=lambda one: one.order)[-KEPT_COMMANDS:])


class InterimAnalyses(Struct, frozen=True, kw_only=True):
    """How often a case was analysed on this head, and a digest of the runs of the last analysis.

    Where that showed a change to be confirmed, `base` and `head` are the ids of its runs.
    """

    look: int
    runs: str
    base: tuple[str, ...] = ()
    head: tuple[str, ...] = ()


class PullRow(Struct, frozen=True, kw_only=True):
    """A pull request or watched branch. `head_seen` is when we first knew its head (Unix seconds). `outputs`
    is the state of further outputs, by name, as JSON."""

    repository: str
    number: int
    kind: SubjectKind
    installation: int
    open: bool
    title: str
    head_sha: str | None
    head_branch: str | None
    head_seen: float | None
    wanted: int
    attempts: int
    comment: CommentState = NoComment()
    check: CheckState = NoCheck()
    outputs: Mapping[str, msgspec.Raw] = {}
    trouble: str | None = None
    commands: tuple[CommandRecord, ...] = ()
    interim_analyses: dict[CaseKey, InterimAnalyses] = {}


_TYPED_COLUMNS = {"kind", "comment", "check", "outputs", "commands", "interim_analyses"}
_PLAIN_COLUMNS = tuple(name for name in PullRow.__struct_fields__ if name not in _TYPED_COLUMNS)
_COMMANDS, _INTERIM = json_decoder(tuple[CommandRecord, ...]), json_decoder(dict[str, InterimAnalyses])
_OUTPUTS = json_decoder(dict[str, msgspec.Raw])


def pull_row(row: Mapping[Any, Any]) -> PullRow:
    """Decode a row."""
    return PullRow(
        **{name: row[name] for name in _PLAIN_COLUMNS},
        kind=SubjectKind(row["kind"]),
        comment=comment_state(row),
        check=check_state(row),
        outputs=_OUTPUTS(row["outputs"]),
        commands=_COMMANDS(row["commands"]),
        interim_analyses={CaseKey.parse(key): one for key, one in _INTERIM(row["interim_analyses"]).items()},
    )


def changed_output_values(row: PullRow, name: str, state: msgspec.Struct) -> dict[str, Any]:
    """The columns to write for an output's new state: none if nothing changed, since deliveries write to the
    row too while it is worked on. What changed was marked dirty before it was written, so that the state
    itself is among the columns even if it is the same again."""
    match state:
        case NoComment() | PostedComment() | DirtyComment() | RemovedComment():
            always, before, after = "comment_state", comment_values(row.comment), comment_values(state)
        case NoCheck() | PostedCheck() | DirtyCheck():
            always, before, after = "check_state", check_values(row.check), check_values(state)
        case _:
            encoded = msgspec.Raw(msgspec.json.encode(state))
            if bytes(row.outputs.get(name, b"")) == bytes(encoded):
                return {}
            return {"outputs": _json({**row.outputs, name: encoded})}
    changed = {column: value for column, value in after.items() if value != before[column]}
    return {always: after[always], **changed} if changed else {}


def enqueue(
    connection: Connection,
    *,
    repository: str,
    number: int,
    installation: int,
    now: float,
    head_sha: str | None = None,
    commands: Sequence[CommandRecord] = (),
) -> None:
    """Make a pull request due now, and insert it if it is new.

    A `head_sha` other than the known one means a push. A command is recorded once.
    """
    connection.execute(
        insert(connection, PULL_REQUEST)
        .values(**_new_row(repository, number, installation, now))
        .on_conflict_do_nothing(index_elements=["repository", "number"])
    )
    here = _is_pull(repository, number)
    row = connection.execute(select(PULL_REQUEST).where(here).with_for_update()).mappings().one()
    values: dict[str, Any] = {"wanted": PULL_REQUEST.c.wanted + 1, "due": now, "installation": installation}
    if head_sha and row["head_sha"] not in {None, head_sha}:
        values |= _new_head(head_sha, now)
    if commands:
        given = [replace(one, head_sha=one.head_sha or row["head_sha"]) for one in commands]
        values["commands"] = _json(merge_records(pull_row(row).commands, given))
    connection.execute(update(PULL_REQUEST).where(here).values(**values))


def has_records(
    connection: Connection, repository: str, number: int, records: Sequence[CommandRecord]
) -> bool:
    """Whether these commands were recorded already: their delivery was handled twice."""
    row = find_pull(connection, repository, number)
    known = {(one.origin, one.position) for one in row.commands} if row else set()
    return all((one.origin, one.position) in known for one in records)


def enqueue_by_branch(connection: Connection, *, repository: str, branch: str, sha: str, now: float) -> int:
    """Make the open pull requests of this head branch due now; how many. A fork's branch of the same name is
    another branch."""
    touched = connection.execute(
        _enqueue_open(now)
        .where(
            PULL_REQUEST.c.repository == repository,
            PULL_REQUEST.c.head_branch == branch,
            PULL_REQUEST.c.head_sha != sha,
            PULL_REQUEST.c.kind == SubjectKind.PULL_REQUEST,
            PULL_REQUEST.c.from_fork.is_not(True),
        )
        .values(**_new_head(sha, now))
    )
    return touched.rowcount


def touch(connection: Connection, *, repository: str, number: int, now: float) -> None:
    """Make a known pull request due now, if it is open."""
    connection.execute(_enqueue_open(now).where(_is_pull(repository, number)))


def touch_open(connection: Connection, *, repository: str, now: float) -> None:
    """Make every open pull request of a repository due now: their baseline has changed."""
    connection.execute(_enqueue_open(now).where(PULL_REQUEST.c.repository == repository))


def release_pull(
    connection: Connection, held: Claim, *, now: float, due: float | None, values: Mapping[str, Any]
) -> bool:
    """Release a row with the result of its step; it is due at once if it was enqueued meanwhile. A comment or
    check that was changed meanwhile stays marked as changed."""
    seen = held.row["wanted"]
    values = dict(values)
    for output in ("comment", "check"):
        state = PULL_REQUEST.c[f"{output}_state"]
        for name, changed in ((f"{output}_state", OutputState.CHANGED), (f"{output}_digest", None)):
            if name in values:
                values[name] = case((state == OutputState.CHANGED, changed), else_=values[name])
    again = case((PULL_REQUEST.c.wanted != seen, now), else_=due)
    return release(connection, held, due=None, values={**values, "done": seen, "due": again})


def save_interim_analyses(
    connection: Connection,
    *,
    repository: str,
    number: int,
    head_sha: str,
    analyses: Mapping[CaseKey, InterimAnalyses],
) -> None:
    """Store how often the cases of this head were analysed, before what follows from it is done."""
    connection.execute(
        update(PULL_REQUEST)
        .where(_is_pull(repository, number), PULL_REQUEST.c.head_sha == head_sha)
        .values(interim_analyses=analyses_json(analyses))
    )


def analyses_json(analyses: Mapping[CaseKey, InterimAnalyses]) -> str:
    """The value of the column."""
    return _json({str(key): one for key, one in analyses.items()})


def find_pull(connection: Connection, repository: str, number: int) -> PullRow | None:
    """The pull request or watched branch of this number, or None."""
    row = connection.execute(select(PULL_REQUEST).where(_is_pull(repository, number))).mappings().first()
    return pull_row(row) if row else None


def open_head_branches(connection: Connection, repository: str) -> tuple[str, ...]:
    """The head branches of a repository's open pull requests, by name."""
    rows = connection.execute(
        select(PULL_REQUEST.c.head_branch)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.open)
        .where(PULL_REQUEST.c.head_branch.is_not(None))
        .distinct()
    )
    return tuple(sorted(rows.scalars()))


def list_pulls(connection: Connection, repository: str) -> tuple[PullRow, ...]:
    """Every pull request of a repository, newest first."""
    rows = connection.execute(
        select(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.kind == SubjectKind.PULL_REQUEST)
        .order_by(PULL_REQUEST.c.number.desc())
    )
    return tuple(pull_row(row) for row in rows.mappings())


def _new_row(repository: str, number: int, installation: int, now: float) -> dict[str, Any]:
    """The values of a new row."""
    return {
        "repository": repository,
        "number": number,
        "installation": installation,
        "open": True,
        "title": "",
        "wanted": 0,
        "done": 0,
        "commands": "[]",
        "interim_analyses": "{}",
        "comment_severity": 0,
        "due": now,
    }


def _enqueue_open(now: float) -> Update:
    again = {"wanted": PULL_REQUEST.c.wanted + 1, "due": now}
    return update(PULL_REQUEST).where(PULL_REQUEST.c.open).values(**again)


def _new_head(sha: str, now: float) -> dict[str, Any]:
    """What a push changes. A push to a commit that has a report came late, or goes back: GitHub is asked."""
    reported = exists().where(
        REPORT.c.repository == PULL_REQUEST.c.repository,
        REPORT.c.number == PULL_REQUEST.c.number,
        REPORT.c.head_sha == sha,
    )
    moved = {"head_seen": now, "head_sha": sha, "interim_analyses": "{}"}
    return {name: case((reported, PULL_REQUEST.c[name]), else_=value) for name, value in moved.items()}


def _is_pull(repository: str, number: int) -> Any:
    return and_(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def watch_branch(
    connection: Connection, *, repository: str, branch: str, installation: int, sha: str | None, now: float
) -> int:
    """Make this branch due now, which moved to `sha` (None: it may be gone); its number."""
    number = branch_number(connection, repository, branch)
    if number is None:
        number = _next_branch_number(connection, repository)
        values = _new_row(repository, number, installation, now)
        values |= {"kind": SubjectKind.BRANCH, "head_branch": branch}
        connection.execute(insert(connection, PULL_REQUEST).values(**values))
    enqueue(
        connection,
        repository=repository,
        number=number,
        installation=installation,
        now=now,
        head_sha=sha,
    )
    return number


def release_and_watch(
    connection: Connection,
    held: Claim,
    *,
    now: float,
    due: float | None,
    values: Mapping[str, Any],
    branch: str | None,
) -> bool:
    """Release a row, and make the branch due that its pull request began or ceased to own: both or nothing,
    so that the branch's step sees its current owner."""
    if not release_pull(connection, held, now=now, due=due, values=values):
        return False
    if branch is not None:
        repository, installation = held.row["repository"], held.row["installation"]
        watch_branch(
            connection, repository=repository, branch=branch, installation=installation, sha=None, now=now
        )
    return True


def branch_number(connection: Connection, repository: str, branch: str) -> int | None:
    """The number of a watched branch; None if it was never watched."""
    return connection.execute(
        select(PULL_REQUEST.c.number).where(
            PULL_REQUEST.c.repository == repository,
            PULL_REQUEST.c.head_branch == branch,
            PULL_REQUEST.c.kind == SubjectKind.BRANCH,
        )
    ).scalar_one_or_none()


def pull_of_branch(connection: Connection, repository: str, branch: str) -> int | None:
    """The number of the newest open pull request of a branch. A fork's pull request belongs to the fork's
    branch, whatever its name."""
    found = (
        select(PULL_REQUEST.c.number)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.head_branch == branch)
        .where(PULL_REQUEST.c.kind == SubjectKind.PULL_REQUEST, PULL_REQUEST.c.open)
        .where(PULL_REQUEST.c.from_fork.is_not(True))
        .order_by(PULL_REQUEST.c.number.desc())
    )
    return connection.execute(found.limit(1)).scalar_one_or_none()


def has_pull(connection: Connection, repository: str, branch: str) -> bool:
    """Whether the branch has an open pull request."""
    return pull_of_branch(connection, repository, branch) is not None


def watched_branches(connection: Connection, repository: str) -> tuple[PullRow, ...]:
    """Every watched branch that still exists, by name."""
    rows = connection.execute(
        select(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.kind == SubjectKind.BRANCH)
        .where(PULL_REQUEST.c.open)
        .order_by(PULL_REQUEST.c.head_branch)
    )
    return tuple(pull_row(row) for row in rows.mappings())


def _next_branch_number(connection: Connection, repository: str) -> int:
    """One below the lowest, so that no number of GitHub's is ever met. Two branches at once: the second
    insert fails, and is repeated as a whole."""
    lowest = connection.execute(
        select(func.min(PULL_REQUEST.c.number)).where(PULL_REQUEST.c.repository == repository)
    ).scalar_one()
    return min(lowest or 0, 0) - 1


def mark_comment_dirty(connection: Connection, *, repository: str, number: int) -> None:
    """Mark the comment dirty before it is written: after a cut-off write the comment is looked for first."""
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number)
        .values(comment_state=OutputState.UNKNOWN, comment_digest=None)
    )


def mark_check_dirty(
    connection: Connection, *, repository: str, number: int, head_sha: str, kind: CheckForm
) -> None:
    """Mark the check dirty before one of this kind is written: if the write is cut off, it is repeated."""
    same = PULL_REQUEST.c.check_head == head_sha
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number)
        .values(
            check_state=OutputState.UNKNOWN,
            check_digest=None,
            check_kind=kind,
            check_head=head_sha,
            check_id=case((same, PULL_REQUEST.c.check_id), else_=None),
        )
    )


def mark_check_reset(
    connection: Connection, *, repository: str, head_sha: str, now: float
) -> tuple[int, ...]:
    """Mark a commit's checks as reset by GitHub, which clears a check that is requested again; the open pull
    requests whose head it is. A check of an older head is concluded like a pending one."""
    again = {
        "check_state": OutputState.CHANGED,
        "check_digest": None,
        "wanted": PULL_REQUEST.c.wanted + 1,
        "due": now,
    }
    here = PULL_REQUEST.c.repository == repository
    touched = connection.execute(
        update(PULL_REQUEST)
        .where(here, PULL_REQUEST.c.check_head == head_sha)
        .values(**again)
        .returning(PULL_REQUEST.c.number, PULL_REQUEST.c.open)
    ).all()
    was_head = select(REPORT.c.number).where(REPORT.c.repository == repository, REPORT.c.head_sha == head_sha)
    connection.execute(
        update(PULL_REQUEST)
        .where(here, PULL_REQUEST.c.check_head != head_sha, PULL_REQUEST.c.check_kind == CheckForm.CHECK)
        .where(PULL_REQUEST.c.number.in_(was_head))
        .values(check_head=head_sha, check_id=None, check_pending=True, **again)
    )
    return tuple(sorted(row.number for row in touched if row.open))


def mark_comment_changed(
    connection: Connection, *, repository: str, number: int, comment_id: int, now: float
) -> bool:
    """Make a pull request due whose comment somebody deleted or edited; False if it is not our comment."""
    ours = and_(
        PULL_REQUEST.c.repository == repository,
        PULL_REQUEST.c.number == number,
        PULL_REQUEST.c.comment_id == comment_id,
        PULL_REQUEST.c.open,
    )
    touched = connection.execute(
        update(PULL_REQUEST)
        .where(ours)
        .values(
            comment_state=OutputState.CHANGED,
            comment_digest=None,
            wanted=PULL_REQUEST.c.wanted + 1,
            due=now,
        )
    )
    return touched.rowcount == 1


def is_claimed(connection: Connection, *, repository: str, number: int, now: float) -> bool:
    """Whether a worker holds the pull request, and may be writing a comment whose id is not saved yet."""
    held = select(PULL_REQUEST.c.number).where(
        PULL_REQUEST.c.repository == repository,
        PULL_REQUEST.c.number == number,
        PULL_REQUEST.c.lease_until > now,
    )
    return connection.execute(held).first() is not None


def count_open_pulls(connection: Connection) -> dict[str, int]:
    """The number of open pull requests by repository, where there are any."""
    rows = connection.execute(
        select(PULL_REQUEST.c.repository, func.count())
        .where(PULL_REQUEST.c.open, PULL_REQUEST.c.kind == SubjectKind.PULL_REQUEST)
        .group_by(PULL_REQUEST.c.repository)
    )
    return {row[0]: int(row[1]) for row in rows}
