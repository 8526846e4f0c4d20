"""What people requested, cancelled, approved and acknowledged on a pull request.

All effects of one comment or label are written in one transaction, and the pull request is due at once.
Writing a request twice changes nothing: its name says which comment and line, or which label, it came from.
"""

from typing import Any, assert_never

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, and_, delete, select

from bot.domain.case_key import CaseKey
from bot.domain.pull_request import MAIN_ROW_NUMBER
from bot.domain.repository import Repository
from bot.domain.run_request import Approval, Cancellation, RequestSource, RunRequest
from bot.report.model import AcknowledgedState, Acknowledgement, RowState
from bot.runs.run_status import TERMINAL_STATES
from bot.storage import main_branch, pull_requests, runs
from bot.storage.pull_requests import CommandRecord
from bot.storage.sql import insert, json_decoder
from bot.storage.tables import ACKNOWLEDGEMENT, APPROVAL, ASK

CANCELLATION = "withdrawal"

_DECODE_KEYS = json_decoder(list[str])


def save_request(
    connection: Connection, repository: str, number: int, one: RunRequest | Cancellation
) -> None:
    """Remember what was asked or withdrawn, in place of what bears the same name."""
    values = _request_values(one)
    keys = {"repository": repository, "number": number, "source": values.pop("source"), "name": one.name}
    statement = insert(connection, ASK).values(**keys, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=values))


def run_requests(
    connection: Connection, repository: str, number: int
) -> tuple[RunRequest | Cancellation, ...]:
    """Everything that was asked of a pull request and withdrawn."""
    rows = connection.execute(select(ASK).where(_requests_of(repository, number))).mappings()
    return tuple(sorted((_read_request(row) for row in rows), key=lambda one: one.order))


def drop_request(
    connection: Connection, repository: str, number: int, *, source: RequestSource, name: str, made: float
) -> bool:
    """Forget an ask that was made no later than `made` (Unix seconds); False where there was none."""
    older = and_(ASK.c.source == source, ASK.c.name == name, ASK.c.made <= made)
    return connection.execute(delete(ASK).where(_requests_of(repository, number), older)).rowcount > 0


def _requests_of(repository: str, number: int) -> Any:
    return and_(ASK.c.repository == repository, ASK.c.number == number)


def _request_values(one: RunRequest | Cancellation) -> dict[str, Any]:
    values = {
        "keys": msgspec.json.encode([str(key) for key in sorted(one.keys)]).decode(),
        "by": one.by,
        "head_sha": one.head_sha,
        "made": one.made,
    }
    match one:
        case RunRequest():
            return {**values, "source": one.source, "fresh": one.fresh}
        case Cancellation():
            return {**values, "source": CANCELLATION, "fresh": 0}
        case _:
            assert_never(one)


def _read_request(row: Any) -> RunRequest | Cancellation:
    keys = frozenset(map(CaseKey.parse, _DECODE_KEYS(row["keys"])))
    said = {name: row[name] for name in ("name", "by", "head_sha", "made")}
    if row["source"] == CANCELLATION:
        return Cancellation(keys=keys, **said)
    return RunRequest(source=RequestSource(row["source"]), keys=keys, fresh=row["fresh"], **said)


_APPROVAL_FIELDS = tuple(Approval.__struct_fields__)


def save_approval(connection: Connection, repository: str, number: int, approval: Approval) -> None:
    """Remember an approval; approving the same head again changes who and when."""
    values = {name: getattr(approval, name) for name in _APPROVAL_FIELDS if name != "head_sha"}
    keys = {"repository": repository, "number": number, "head_sha": approval.head_sha}
    statement = insert(connection, APPROVAL).values(**keys, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=values))


def newest_approval(connection: Connection, repository: str, number: int) -> Approval | None:
    """The approval that was given last, or None."""
    rows = connection.execute(
        select(*(APPROVAL.c[name] for name in _APPROVAL_FIELDS))
        .where(APPROVAL.c.repository == repository, APPROVAL.c.number == number)
        .order_by(APPROVAL.c.made.desc(), APPROVAL.c.head_sha)
        .limit(1)
    )
    row = rows.mappings().first()
    return Approval(**row) if row else None


def drop_approvals(
    connection: Connection, repository: str, number: int, *, but_tree: str, until: float
) -> int:
    """Forget the approvals of other files than these that were given by then (Unix seconds); how many."""
    here = and_(APPROVAL.c.repository == repository, APPROVAL.c.number == number)
    others = and_(here, APPROVAL.c.tree != but_tree, APPROVAL.c.made <= until)
    return connection.execute(delete(APPROVAL).where(others)).rowcount


_DECODE_GROUNDS = json_decoder(AcknowledgedState)

_ACKNOWLEDGEMENT_FIELDS = ("case", "variant", "head_sha", "by", "reason", "made")

_ACKNOWLEDGEMENT_KEYS = ("repository", "number", "case", "variant")


def save_acknowledgement(connection: Connection, repository: str, number: int, one: Acknowledgement) -> None:
    """Remember an acknowledgement in place of the one before it."""
    values = {name: getattr(one, name) for name in _ACKNOWLEDGEMENT_FIELDS}
    values |= {
        "repository": repository,
        "number": number,
        "verdict": one.verdict.value,
        "grounds": msgspec.json.encode(one.grounds).decode(),
    }
    changed = {name: value for name, value in values.items() if name not in _ACKNOWLEDGEMENT_KEYS}
    statement = insert(connection, ACKNOWLEDGEMENT).values(**values)
    connection.execute(
        statement.on_conflict_do_update(index_elements=list(_ACKNOWLEDGEMENT_KEYS), set_=changed)
    )


def list_acknowledgements(
    connection: Connection, repository: str, number: int
) -> tuple[Acknowledgement, ...]:
    """Everything that was accepted on a pull request, oldest first."""
    table = ACKNOWLEDGEMENT.c
    rows = connection.execute(
        select(ACKNOWLEDGEMENT)
        .where(table.repository == repository, table.number == number)
        .order_by(table.made, table.case, table.variant)
    )
    return tuple(
        Acknowledgement(
            **{name: row[name] for name in _ACKNOWLEDGEMENT_FIELDS},
            verdict=RowState(row["verdict"]),
            grounds=_DECODE_GROUNDS(row["grounds"]),
        )
        for row in rows.mappings()
    )


class CommandEffects(Struct, frozen=True, kw_only=True):
    """Everything that is to be remembered. `baselines` are asked of the base branch, not of a head."""

    records: tuple[CommandRecord, ...] = ()
    requests: tuple[RunRequest | Cancellation, ...] = ()
    approvals: tuple[Approval, ...] = ()
    baselines: tuple[RunRequest, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()


def apply_effects(
    connection: Connection, repository: Repository, number: int, wishes: CommandEffects, *, now: float
) -> None:
    """Remember all of it, or nothing."""
    here = (repository.full_name, number)
    for ask in wishes.requests:
        save_request(connection, *here, ask)
        if isinstance(ask, Cancellation):
            _cancel_runs(connection, *here, ask)
    for ask in wishes.baselines:
        save_request(connection, repository.full_name, MAIN_ROW_NUMBER, ask)
        main_branch.enqueue_main(
            connection, repository=repository.full_name, installation=repository.installation, now=now
        )
    for approval in wishes.approvals:
        save_approval(connection, *here, approval)
    for one in wishes.acknowledgements:
        save_acknowledgement(connection, *here, one)
    pull_requests.enqueue(
        connection,
        repository=repository.full_name,
        number=number,
        installation=repository.installation,
        now=now,
        commands=wishes.records,
    )


def drop_label_request(
    connection: Connection,
    repository: Repository,
    number: int,
    *,
    label: str,
    made: float,
    effects: CommandEffects,
    now: float,
) -> bool:
    """Forget what a label asked for until it was taken away (`made`, Unix seconds), and keep what is said of
    it; False, and nothing is kept, where it had asked for nothing."""
    here = (repository.full_name, number)
    taken = drop_request(connection, *here, source=RequestSource.LABEL, name=label, made=made)
    if taken:
        apply_effects(connection, repository, number, effects, now=now)
    return taken


def _cancel_runs(connection: Connection, repository: str, number: int, withdrawal: Cancellation) -> None:
    """Stop wanting what has not ended: it is due at once, not when somebody happens to look."""
    wanted = runs.wanted_runs(connection, repository, number)
    stopped = {
        run.id for run in wanted if run.case_key in withdrawal.keys and run.state not in TERMINAL_STATES
    }
    kept = [run.id for run in wanted if run.id not in stopped]
    runs.drop_wants(connection, repository=repository, number=number, but=kept)
