"""The loop time of each run, beside its steady step time: what main's earlier runs say of stalls."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.add_column("measurement", sa.Column("loop_seconds", sa.Float(), nullable=True))
