"""Whose repositories are, and what the names of the operator's policy stood for first."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.add_column("repository", sa.Column("owner_id", sa.BigInteger(), nullable=True))
    op.create_table(
        "policy_match",
        sa.Column("match", sa.String(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=True),
        sa.Column("resolved", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("match", name=op.f("pk_policy_match")),
    )
