"""Approvals of fork heads.

In:  approvals. Out: the newest of a pull request, which is the only one that counts.
"""

from sqlalchemy import Connection, and_, delete, select

from bot.intake.trust import Approval
from bot.storage.deliveries import insert
from bot.storage.tables import APPROVAL

_COLUMNS = tuple(Approval.__dataclass_fields__)


def keep(connection: Connection, repository: str, number: int, approval: Approval) -> None:
    """Remember an approval; approving the same head again changes who and when."""
    values = {name: getattr(approval, name) for name in _COLUMNS if name != "head_sha"}
    keys = {"repository": repository, "number": number, "head_sha": approval.head_sha}
    statement = insert(connection, APPROVAL).values(**keys, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=values))


def newest(connection: Connection, repository: str, number: int) -> Approval | None:
    """The approval that was given last, or None."""
    rows = connection.execute(
        select(*(APPROVAL.c[name] for name in _COLUMNS))
        .where(APPROVAL.c.repository == repository, APPROVAL.c.number == number)
        .order_by(APPROVAL.c.made.desc(), APPROVAL.c.head_sha)
        .limit(1)
    )
    row = rows.mappings().first()
    return Approval(**row) if row else None


def drop(connection: Connection, repository: str, number: int, *, but_tree: str, until: float) -> int:
    """Forget the approvals of other files than these that were given by then (Unix seconds); how many."""
    here = and_(APPROVAL.c.repository == repository, APPROVAL.c.number == number)
    others = and_(here, APPROVAL.c.tree != but_tree, APPROVAL.c.made <= until)
    return connection.execute(delete(APPROVAL).where(others)).rowcount
