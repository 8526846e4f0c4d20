"""Launching, the conversation, the pages."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "acknowledgement",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("case", sa.String(), nullable=False),
        sa.Column("variant", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.Column("grounds", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "number", "case", "variant", name=op.f("pk_acknowledgement")),
    )
    op.create_table(
        "approval",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("tree", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "number", "head_sha", name=op.f("pk_approval")),
    )
    op.create_table(
        "ask",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("keys", sa.Text(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("fresh", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=True),
        sa.Column("made", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "number", "source", "name", name=op.f("pk_ask")),
    )
    op.create_table(
        "case_key",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("branch", sa.String(), nullable=False),
        sa.Column("case", sa.String(), nullable=False),
        sa.Column("variant", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "branch", "case", "variant", name=op.f("pk_case_key")),
    )
    op.create_table(
        "chore",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=True),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_chore")),
    )
    op.create_index(op.f("ix_chore_due"), "chore", ["due"], unique=False)
    op.create_table(
        "former_name",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("full_name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_former_name")),
    )
    op.create_table(
        "given",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "person", "name", name=op.f("pk_given")),
    )
    op.create_index(op.f("ix_given_made"), "given", ["made"], unique=False)
    op.create_table(
        "landing",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("branch", sa.String(), nullable=False),
        sa.Column("main_sha", sa.String(), nullable=False),
        sa.Column("known", sa.Integer(), nullable=False),
        sa.Column("same_files", sa.Boolean(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "head_sha", name=op.f("pk_landing")),
    )
    op.create_table(
        "mainline",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("installation", sa.BigInteger(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("scheduled", sa.String(), nullable=True),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("repository", name=op.f("pk_mainline")),
    )
    op.create_index(op.f("ix_mainline_due"), "mainline", ["due"], unique=False)
    op.create_table(
        "mark",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_mark")),
    )
    op.create_table(
        "session",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_session")),
    )
    op.create_index(op.f("ix_session_expires"), "session", ["expires"], unique=False)
    op.create_table(
        "spend",
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.Column("reserved_chip_hours", sa.Float(), nullable=False),
        sa.Column("spent_chip_hours", sa.Float(), nullable=True),
        sa.Column("earlier_chip_hours", sa.Float(), server_default="0", nullable=False),
        sa.Column("ended", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("run", "attempt", name=op.f("pk_spend")),
    )
    op.create_index(op.f("ix_spend_place_ended"), "spend", ["place", "ended"], unique=False)
    op.create_index(op.f("ix_spend_repository_made"), "spend", ["repository", "made"], unique=False)
    op.add_column("measurement", sa.Column("chip_hours", sa.Float(), nullable=True))
    op.add_column("measurement", sa.Column("devices", sa.Integer(), nullable=True))
    op.add_column("measurement", sa.Column("outcome", sa.String(), nullable=True))
    op.add_column("measurement", sa.Column("summary", sa.LargeBinary(), nullable=True))
    op.create_index(
        op.f("ix_measurement_run_made_conditions_steady_seconds_outcome"),
        "measurement",
        ["run", "made", "conditions", "steady_seconds", "outcome"],
        unique=False,
    )
    op.add_column("pull_request", sa.Column("head_tree", sa.String(), nullable=True))
    op.add_column("pull_request", sa.Column("from_fork", sa.Boolean(), nullable=True))
    op.add_column("pull_request", sa.Column("check_id", sa.BigInteger(), nullable=True))
    op.add_column("pull_request", sa.Column("check_head", sa.String(), nullable=True))
    op.add_column("pull_request", sa.Column("check_hash", sa.String(), nullable=True))
    op.add_column("pull_request", sa.Column("check_pending", sa.Boolean(), nullable=True))
    op.add_column("pull_request", sa.Column("comment_lost", sa.Integer(), server_default="0", nullable=False))
    op.add_column("pull_request", sa.Column("trouble", sa.Text(), nullable=True))
    op.add_column("repository", sa.Column("id", sa.BigInteger(), nullable=True))
    op.add_column("repository", sa.Column("first_name", sa.String(), nullable=True))
    op.create_index(op.f("ix_repository_id"), "repository", ["id"], unique=False)
    op.add_column("run", sa.Column("tree", sa.String(), nullable=True))
    op.add_column("run", sa.Column("place", sa.String(), nullable=True))
    op.add_column("run", sa.Column("measured_sha", sa.String(), nullable=True))
    op.add_column("run", sa.Column("price", sa.Float(), nullable=True))
    op.add_column("run", sa.Column("charged_to", sa.String(), nullable=True))
    op.add_column("run", sa.Column("charged_number", sa.Integer(), nullable=True))
    op.add_column("run", sa.Column("waiting", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("wish", sa.String(), nullable=True))
    op.drop_index(op.f("ix_run_repository_branch_case_variant"), table_name="run")
    op.create_index(
        op.f("ix_run_repository_branch_case_variant_started"),
        "run",
        ["repository", "branch", "case", "variant", "started"],
        unique=False,
    )
    op.create_index(op.f("ix_run_repository_sha"), "run", ["repository", "sha"], unique=False)
    op.create_index(op.f("ix_run_repository_tree"), "run", ["repository", "tree"], unique=False)
