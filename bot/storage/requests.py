"""What people requested, cancelled, approved and acknowledged on a pull request.

All effects of one comment or label are written in one transaction, and the pull request is due at once.
Writing a request twice changes nothing: its name says which comment and line, or which label, it came from.
"""

from typing import Any, assert_never

import msgspec
from msgspec import Struct, structs
from sqlalchemy import Connection, and_, delete, select

from bot.domain.case_key import CaseKey
from bot.domain.pull_request import MAIN_ROW_NUMBER
from bot.domain.repository import Repository
from bot.domain.run_request import Approval, Cancellation, RequestSource, RunRequest
from bot.report.model import AcknowledgedState, Acknowledgement, RowState
from bot.runs.run_status import TERMINAL_STATES
from bot.storage import main_branch, pull_requests, repositories, runs
from bot.storage.pull_requests import CommandRecord
from bot.storage.sql import json_decoder, upsert
from bot.storage.tables import ACKNOWLEDGEMENT, APPROVAL, RUN_REQUEST

CANCELLATION = "withdrawal"

_DECODE_KEYS = json_decoder(list[str])


def save_request(
    connection: Connection, repository: str, number: int, one: RunRequest | Cancellation
) -> None:
    """Save a request or cancellation, in place of the one with the same name."""
    match one:
        case RunRequest():
            source, fresh = str(one.source), one.fresh
        case Cancellation():
            source, fresh = CANCELLATION, 0
        case _:
            assert_never(one)
    key = {"repository": repository, "number": number, "source": source, "name": one.name}
    keys = msgspec.json.encode([str(case) for case in sorted(one.keys)]).decode()
    values = {"keys": keys, "by": one.by, "fresh": fresh, "head_sha": one.head_sha, "made": one.made}
    upsert(connection, RUN_REQUEST, key, values)


def run_requests(
    connection: Connection, repository: str, number: int
) -> tuple[RunRequest | Cancellation, ...]:
    """All requests and cancellations of a pull request, in the order in which people made them."""
    rows = connection.execute(select(RUN_REQUEST).where(_requests_of(repository, number))).mappings()
    return tuple(sorted((_read_request(row) for row in rows), key=lambda one: one.order))


def drop_request(
    connection: Connection, repository: str, number: int, *, source: RequestSource, name: str, made: float
) -> bool:
    """Delete a request made no later than `made` (Unix seconds); False if there is none."""
    older = and_(RUN_REQUEST.c.source == source, RUN_REQUEST.c.name == name, RUN_REQUEST.c.made <= made)
    return connection.execute(delete(RUN_REQUEST).where(_requests_of(repository, number), older)).rowcount > 0


def _requests_of(repository: str, number: int) -> Any:
    return and_(RUN_REQUEST.c.repository == repository, RUN_REQUEST.c.number == number)


def _read_request(row: Any) -> RunRequest | Cancellation:
    keys = frozenset(map(CaseKey.parse, _DECODE_KEYS(row["keys"])))
    shared = {name: row[name] for name in ("name", "by", "head_sha", "made")}
    if row["source"] == CANCELLATION:
        return Cancellation(keys=keys, **shared)
    return RunRequest(source=RequestSource(row["source"]), keys=keys, fresh=row["fresh"], **shared)


_APPROVAL_FIELDS = tuple(Approval.__struct_fields__)


def save_approval(connection: Connection, repository: str, number: int, approval: Approval) -> None:
    """Save an approval; approving the same head again changes who and when."""
    values = structs.asdict(approval)
    key = {"repository": repository, "number": number, "head_sha": values.pop("head_sha")}
    upsert(connection, APPROVAL, key, values)


def newest_approval(connection: Connection, repository: str, number: int) -> Approval | None:
    """The newest approval of a pull request, the only one that counts; or None."""
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
    """Delete the approvals of other files than `but_tree` made until then (Unix seconds); how many."""
    here = and_(APPROVAL.c.repository == repository, APPROVAL.c.number == number)
    others = and_(here, APPROVAL.c.tree != but_tree, APPROVAL.c.made <= until)
    return connection.execute(delete(APPROVAL).where(others)).rowcount


_DECODE_GROUNDS = json_decoder(AcknowledgedState)

_ACKNOWLEDGEMENT_FIELDS = ("case", "variant", "head_sha", "by", "reason", "made")


def save_acknowledgement(connection: Connection, repository: str, number: int, one: Acknowledgement) -> None:
    """Save an acknowledgement in place of the earlier one of its case and variant."""
    key = {"repository": repository, "number": number, "case": one.case, "variant": one.variant}
    values = {name: getattr(one, name) for name in _ACKNOWLEDGEMENT_FIELDS if name not in key}
    values |= {"verdict": one.verdict.value, "acknowledged_state": msgspec.json.encode(one.grounds).decode()}
    upsert(connection, ACKNOWLEDGEMENT, key, values)


def list_acknowledgements(
    connection: Connection, repository: str, number: int
) -> tuple[Acknowledgement, ...]:
    """Everything acknowledged on a pull request, oldest first."""
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
            grounds=_DECODE_GROUNDS(row["acknowledged_state"]),
        )
        for row in rows.mappings()
    )


class CommandEffects(Struct, frozen=True, kw_only=True):
    """What the commands of one comment, or a label, change. `baselines` are requests for the base branch, not
    for a head."""

    records: tuple[CommandRecord, ...] = ()
    requests: tuple[RunRequest | Cancellation, ...] = ()
    approvals: tuple[Approval, ...] = ()
    baselines: tuple[RunRequest, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()
    rotates_links: bool = False


def apply_effects(
    connection: Connection, repository: Repository, number: int, effects: CommandEffects, *, now: float
) -> None:
    """Save all effects, stop what was cancelled, and make the pull request due."""
    here = (repository.full_name, number)
    for ask in effects.requests:
        save_request(connection, *here, ask)
        if isinstance(ask, Cancellation):
            _cancel_runs(connection, *here, ask)
    for ask in effects.baselines:
        save_request(connection, repository.full_name, MAIN_ROW_NUMBER, ask)
        main_branch.enqueue_main(
            connection, repository=repository.full_name, installation=repository.installation, now=now
        )
    if effects.rotates_links and not pull_requests.has_records(connection, *here, effects.records):
        repositories.rotate_links(connection, repository.full_name, now=now)
    for approval in effects.approvals:
        save_approval(connection, *here, approval)
    for one in effects.acknowledgements:
        save_acknowledgement(connection, *here, one)
    pull_requests.enqueue(
        connection,
        repository=repository.full_name,
        number=number,
        installation=repository.installation,
        now=now,
        commands=effects.records,
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
    """Delete what a label requested before it was taken away (`made`, Unix seconds), and apply `effects`;
    False, and nothing is applied, if it had requested nothing."""
    here = (repository.full_name, number)
    dropped = drop_request(connection, *here, source=RequestSource.LABEL, name=label, made=made)
    if dropped:
        apply_effects(connection, repository, number, effects, now=now)
    return dropped


def _cancel_runs(connection: Connection, repository: str, number: int, cancelled: Cancellation) -> None:
    """Stop wanting runs that have not ended: they are due at once."""
    wanted = runs.wanted_runs(connection, repository, number)
    stopped = {
        run.id for run in wanted if run.case_key in cancelled.keys and run.state not in TERMINAL_STATES
    }
    kept = [run.id for run in wanted if run.id not in stopped]
    runs.drop_wants(connection, repository=repository, number=number, but=kept)
