"""What runs print of their losses is kept, thinned, so that equal runs can be compared by the dozen."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "loss_curve",
        sa.Column("run", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("curve", sa.LargeBinary(), nullable=False),
    )
