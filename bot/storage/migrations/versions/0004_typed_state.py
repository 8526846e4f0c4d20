"""Kinds and states of their own instead of values that stand for them.

A branch was a pull request with a number below zero, and still has such a number as its key; `kind` says what
a row is. "changed by somebody else" in place of a digest becomes a state, -1 in place of a check's id becomes
the kind of check with no id, and a command's comment below zero (a button) or zero (a label) its origin.
"""

import json
import re

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

CHANGED = "changed by somebody else"
VERBS = {"run", "rerun", "cancel", "status", "plan", "baseline", "approve", "ack", "help"}
BUTTON = re.compile(r"-(?P<id>\d+)(?P<place>:\d\d)")


def upgrade() -> None:
    """Take the step."""
    for name, default in (
        ("kind", "pull_request"),
        ("comment_state", "unknown"),
        ("check_state", "unknown"),
        ("outputs", "{}"),
    ):
        kind = sa.Text() if name == "outputs" else sa.String()
        op.add_column("pull_request", sa.Column(name, kind, server_default=default, nullable=False))
    op.add_column("pull_request", sa.Column("check_kind", sa.String(), nullable=True))
    connection = op.get_bind()
    connection.execute(sa.text("UPDATE pull_request SET kind = 'branch' WHERE number < 0"))
    connection.execute(
        sa.text(
            "UPDATE pull_request SET check_kind = CASE WHEN check_id IS NULL THEN 'status' ELSE 'check' END "
            "WHERE check_head IS NOT NULL"
        )
    )
    connection.execute(sa.text("UPDATE pull_request SET check_id = NULL WHERE check_id = -1"))
    for output in ("comment", "check"):
        connection.execute(
            sa.text(
                f"UPDATE pull_request SET {output}_state = "  # noqa: S608 - names of our own
                f"CASE WHEN {output}_hash = :changed THEN 'changed' ELSE 'written' END "
                f"WHERE {output}_hash IS NOT NULL"
            ),
            {"changed": CHANGED},
        )
        connection.execute(
            sa.text(f"UPDATE pull_request SET {output}_hash = NULL WHERE {output}_hash = :changed"),  # noqa: S608
            {"changed": CHANGED},
        )
    _give_commands_their_origin(connection)
    for table in ("ask", "given"):
        _name_buttons(connection, table)


def _give_commands_their_origin(connection: sa.Connection) -> None:
    rows = connection.execute(
        sa.text("SELECT repository, number, commands FROM pull_request WHERE commands <> '[]'")
    )
    for repository, number, commands in rows.all():
        records = [
            {"origin": _origin(record.pop("comment_id")), "verb": _verb(record["text"]), **record}
            for record in json.loads(commands)
        ]
        connection.execute(
            sa.text("UPDATE pull_request SET commands = :commands WHERE repository = :one AND number = :two"),
            {"commands": json.dumps(records, ensure_ascii=False), "one": repository, "two": number},
        )


def _origin(comment_id: int) -> dict[str, object]:
    if comment_id == 0:
        return {"type": "label"}
    if comment_id < 0:
        return {"type": "button", "press": -comment_id - 1}
    return {"type": "comment", "comment_id": comment_id}


def _verb(command: str) -> str | None:
    words = command.lower().split()
    if words[:1] != ["/benchmark"]:
        return None
    if len(words) == 1:
        return "run"
    return words[1] if words[1] in VERBS else None


def _name_buttons(connection: sa.Connection, table: str) -> None:
    """The requests of a button, so that the same delivery, processed again, finds them."""
    rows = connection.execute(sa.text(f"SELECT DISTINCT name FROM {table} WHERE name LIKE '-%'"))  # noqa: S608
    for (name,) in rows.all():
        if found := BUTTON.fullmatch(name):
            connection.execute(
                sa.text(f"UPDATE {table} SET name = :new WHERE name = :old"),  # noqa: S608 - a name of our own
                {"new": f"button {int(found['id']) - 1}{found['place']}", "old": name},
            )
