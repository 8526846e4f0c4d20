"""A repository is public while GitHub says so; former names, link keys and forgetting go by its number."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.add_column("repository", sa.Column("public_confirmed_at", sa.Float(), nullable=True))
    op.add_column("repository", sa.Column("closings", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("repository", sa.Column("link_epoch", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("repository", sa.Column("uninstalled_at", sa.Float(), nullable=True))
    op.rename_table("former_name", "former_name_before")
    op.create_table(
        "former_name",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("leads", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", "repository_id", name="pk_former_name_of"),
    )
    # A name that any other repository has by now leads nowhere.
    op.execute(
        sa.text(
            "INSERT INTO former_name (name, repository_id, leads) "
            "SELECT former.name, repository.id, NOT EXISTS (SELECT 1 FROM repository AS other "
            "WHERE lower(other.full_name) = lower(former.name)) "
            "FROM former_name_before AS former "
            "JOIN repository ON repository.full_name = former.full_name WHERE repository.id IS NOT NULL"
        )
    )
    op.drop_table("former_name_before")
    op.create_table(
        "forgotten_repository",
        sa.Column("full_name", sa.String(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=True),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("full_name", name="pk_forgotten_repository"),
    )
    # The links in the comments of private repositories are of another kind now.
    op.execute(
        sa.text(
            "UPDATE pull_request SET wanted = wanted + 1, due = 0 WHERE open AND repository IN "
            "(SELECT full_name FROM repository WHERE private AND active)"
        )
    )
