"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "delivery",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", "digest", name=op.f("pk_delivery")),
    )
    op.create_index(op.f("ix_delivery_due"), "delivery", ["due"], unique=False)
    op.create_table(
        "failure",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("case", sa.String(), nullable=False),
        sa.Column("variant", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "number", "case", "variant", name=op.f("pk_failure")),
    )
    op.create_index(
        op.f("ix_failure_repository_fingerprint"), "failure", ["repository", "fingerprint"], unique=False
    )
    op.create_table(
        "pull_request",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("installation", sa.BigInteger(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=True),
        sa.Column("head_branch", sa.String(), nullable=True),
        sa.Column("head_seen", sa.Float(), nullable=True),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("commands", sa.Text(), nullable=False),
        sa.Column("looks", sa.Text(), nullable=False),
        sa.Column("comment_id", sa.BigInteger(), nullable=True),
        sa.Column("comment_hash", sa.String(), nullable=True),
        sa.Column("comment_severity", sa.Integer(), nullable=False),
        sa.Column("comment_decided", sa.String(), nullable=True),
        sa.Column("comment_written", sa.Float(), nullable=True),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("repository", "number", name=op.f("pk_pull_request")),
    )
    op.create_index(op.f("ix_pull_request_due"), "pull_request", ["due"], unique=False)
    op.create_table(
        "report",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("headline", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("made", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("repository", "number", "head_sha", name=op.f("pk_report")),
    )
    op.create_table(
        "repository",
        sa.Column("full_name", sa.String(), nullable=False),
        sa.Column("installation", sa.BigInteger(), nullable=False),
        sa.Column("default_branch", sa.String(), nullable=True),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("full_name", name=op.f("pk_repository")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("case", sa.String(), nullable=False),
        sa.Column("variant", sa.String(), nullable=False),
        sa.Column("branch", sa.String(), nullable=True),
        sa.Column("sha", sa.String(), nullable=True),
        sa.Column("started", sa.Float(), nullable=True),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("log_uri", sa.Text(), nullable=True),
        sa.Column("generation", sa.String(), nullable=True),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("job", sa.Text(), nullable=True),
        sa.Column("standing", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=False),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), server_default="0", nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_due"), "run", ["due"], unique=False)
    op.create_index(op.f("ix_run_key"), "run", ["key"], unique=True)
    op.create_index(
        op.f("ix_run_repository_branch_case_variant"),
        "run",
        ["repository", "branch", "case", "variant"],
        unique=False,
    )
    op.create_table(
        "measurement",
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("steady_seconds", sa.Float(), nullable=True),
        sa.Column("conditions", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=True),
        sa.Column("made", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name=op.f("fk_measurement_run")),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_measurement")),
    )
    op.create_table(
        "want",
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name=op.f("fk_want_run")),
        sa.PrimaryKeyConstraint("repository", "number", "run", name=op.f("pk_want")),
    )
    op.create_index(op.f("ix_want_run"), "want", ["run"], unique=False)
