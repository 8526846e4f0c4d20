"""Which logs are stored, in which forms. A row is due when something of a log is to be made or deleted."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, and_, func, insert, literal, select, update

from bot.storage.sql import insert_missing, upsert
from bot.storage.tables import KEPT_LOG, REPOSITORY, RUN

FORMER_SECONDS = 3600.0
"""How long a form that was replaced is kept: somebody may be reading it."""


class FormerLog(Struct, frozen=True):
    """An archive that was replaced, and when."""

    name: str
    since: float


class Absence(StrEnum):
    """Why a log has no text: it is gone, the operator's policy refuses it, or it could not be read."""

    GONE = "gone"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


class KeptLog(Struct, frozen=True, kw_only=True):
    """The stored forms of a run's log, by their names in our artifacts.

    `redacted` was made by the rules of version `rules`. `absence` says that there is no text, and
    `problem` why. `former` are archives that were replaced.
    """

    run: str
    text: str | None = None
    redacted: str | None = None
    rules: str | None = None
    absence: Absence | None = None
    problem: str | None = None
    former: tuple[FormerLog, ...] = ()


_DECODE_FORMER = msgspec.json.Decoder(tuple[FormerLog, ...]).decode


def kept_log(row: Mapping[str, Any]) -> KeptLog:
    """The log of a row."""
    return KeptLog(
        run=row["run"],
        text=row["text"],
        redacted=row["redacted"],
        rules=row["rules"],
        absence=Absence(row["absence"]) if row["absence"] else None,
        problem=row["problem"],
        former=_DECODE_FORMER(row["former"]),
    )


def values_of(log: KeptLog) -> dict[str, Any]:
    """The columns of a log but its run."""
    return {
        "text": log.text,
        "redacted": log.redacted,
        "rules": log.rules,
        "absence": log.absence,
        "problem": log.problem,
        "former": msgspec.json.encode(log.former).decode(),
    }


def find(connection: Connection, run: str) -> KeptLog | None:
    """The stored forms of a run's log; None if nothing is known of them."""
    row = connection.execute(select(KEPT_LOG).where(KEPT_LOG.c.run == run)).mappings().first()
    return kept_log(dict(row)) if row else None


def replaced(known: KeptLog | None, run: str, text: str | None, now: float) -> KeptLog:
    """A log with a new text: its forms of before are former ones."""
    if known is None or known.text == text:
        return KeptLog(run=run, text=text, former=known.former if known else ())
    former = [FormerLog(name, now) for name in (known.text, known.redacted) if name is not None]
    return KeptLog(run=run, text=text, former=(*known.former, *former))


def save_text(connection: Connection, run: str, text: str | None, *, now: float) -> None:
    """Save that a log's text was stored under this name, or is still to be; its redacted form is made next.
    Whoever works on the forms of before loses the row."""
    log = replaced(find(connection, run), run, text, now)
    values = {**values_of(log), "due": now, "lease_until": 0.0}
    upsert(connection, KEPT_LOG, {"run": run}, {**values, "token": KEPT_LOG.c.token + 1}, new={"token": 0})


def request(connection: Connection, run: str) -> None:
    """Somebody waits for a log: make what is missing of it before all others."""
    insert_missing(connection, KEPT_LOG, run=run)
    connection.execute(
        update(KEPT_LOG).where(KEPT_LOG.c.run == run).values(due=0.0, attempts=0, absence=None, problem=None)
    )


def move_log(connection: Connection, run: str, uri: str) -> None:
    """A run's log lies elsewhere now."""
    connection.execute(update(RUN).where(RUN.c.id == run).values(log_uri=uri))


def is_public(connection: Connection, repository: str) -> bool:
    """Whether everybody may read a repository's pages."""
    private = select(REPOSITORY.c.private).where(REPOSITORY.c.full_name == repository)
    return connection.execute(private).scalar_one_or_none() is False


def schedule(connection: Connection, *, rules: str, now: float) -> int:
    """Make due what older versions left: logs that are not stored, and forms redacted by other rules. How
    many rows are due."""
    known = select(KEPT_LOG.c.run).where(KEPT_LOG.c.run == RUN.c.id).exists()
    older = select(RUN.c.id, literal(now)).where(RUN.c.log_uri.is_not(None), ~known)
    connection.execute(insert(KEPT_LOG).from_select(["run", "due"], older))
    outdated = and_(KEPT_LOG.c.redacted.is_not(None), KEPT_LOG.c.rules != rules, KEPT_LOG.c.due.is_(None))
    connection.execute(update(KEPT_LOG).where(outdated).values(due=now))
    return connection.execute(select(func.count()).where(KEPT_LOG.c.due.is_not(None))).scalar_one()
