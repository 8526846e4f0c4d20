"""Logs are stored in forms of our own."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "kept_log",
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("redacted", sa.String(), nullable=True),
        sa.Column("rules", sa.String(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("absence", sa.String(), nullable=True),
        sa.Column("former", sa.Text(), server_default="[]", nullable=False),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name=op.f("fk_kept_log_run")),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_kept_log")),
    )
    op.create_index(op.f("ix_kept_log_due"), "kept_log", ["due"])
