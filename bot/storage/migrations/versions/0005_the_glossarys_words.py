"""Tables and columns bear the words of the glossary."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = {
    "ask": "run_request",
    "given": "command_use",
    "sent": "github_use",
    "mark": "named_value",
    "chore": "maintenance_task",
    "mainline": "main_branch",
}

COLUMNS = (
    ("run", "standing", "status"),
    ("run", "wish", "operator_action"),
    ("pull_request", "looks", "interim_analyses"),
    ("pull_request", "comment_hash", "comment_digest"),
    ("pull_request", "comment_decided", "comment_change_digest"),
    ("pull_request", "comment_lost", "comment_deletions"),
    ("pull_request", "check_hash", "check_digest"),
    ("acknowledgement", "grounds", "acknowledged_state"),
    ("github_use", "stretch", "period"),
    ("maintenance_task", "mark", "position"),
)

INDEXED = {"given": "made", "chore": "due", "mainline": "due"}
"""An index's name holds its table's: it is made again."""


def upgrade() -> None:
    """Take the step."""
    for table, column in INDEXED.items():
        op.drop_index(f"ix_{table}_{column}", table_name=table)
    for old, new in TABLES.items():
        op.rename_table(old, new)
    for table, column in INDEXED.items():
        op.create_index(f"ix_{TABLES[table]}_{column}", TABLES[table], [column])
    for table, old, new in COLUMNS:
        op.execute(sa.text(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}"))
