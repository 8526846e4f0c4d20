"""Merge queues, which configuration was seen last, what each process sent."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "merge_group",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("installation", sa.BigInteger(), nullable=False),
        sa.Column("pull", sa.Integer(), nullable=True),
        sa.Column("asked", sa.Float(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("repository", "head_sha", name=op.f("pk_merge_group")),
    )
    op.create_index(op.f("ix_merge_group_due"), "merge_group", ["due"], unique=False)
    op.create_table(
        "sent",
        sa.Column("installation", sa.BigInteger(), nullable=False),
        sa.Column("process", sa.String(), nullable=False),
        sa.Column("stretch", sa.Integer(), nullable=False),
        sa.Column("writes", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("installation", "process", "stretch", name=op.f("pk_sent")),
    )
    op.add_column("repository", sa.Column("configuration", sa.String(), nullable=True))
    op.add_column("repository", sa.Column("configured", sa.Integer(), server_default="0", nullable=False))
