"""The tables: what must survive a crash.

Rows that are worked on (`delivery`, `pull_request`, `run`, …) say when they are due and who holds them:
`lease_until` is how long, `token` counts the holders, so that a holder that lost the row cannot write.
Times are Unix seconds.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def lease_columns() -> tuple[Column[float] | Column[int] | Column[str], ...]:
    """Columns of a row that moves by itself; new ones for every table."""
    return (
        Column("due", Float, nullable=True),
        Column("lease_owner", String, nullable=True),
        Column("lease_until", Float, nullable=False, default=0.0, server_default="0"),
        Column("token", Integer, nullable=False, default=0, server_default="0"),
        Column("attempts", Integer, nullable=False, default=0, server_default="0"),
        Column("error", Text, nullable=True),
    )


DELIVERY = Table(
    "delivery",
    METADATA,
    Column("id", String, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("event", String, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("received", Float, nullable=False),
    Column("state", String, nullable=False),
    Column("outcome", Text, nullable=True),
    *lease_columns(),
    Index(None, "due"),
)

REPOSITORY = Table(
    "repository",
    METADATA,
    Column("full_name", String, primary_key=True),
    Column("installation", BigInteger, nullable=False),
    Column("default_branch", String, nullable=True),
    Column("private", Boolean, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("id", BigInteger, nullable=True),
    Column("owner_id", BigInteger, nullable=True),
    Column("first_name", String, nullable=True),
    Column("configuration", String, nullable=True),
    Column("configured", Integer, nullable=False, default=0, server_default="0"),
    Column("public_confirmed_at", Float, nullable=True),
    Column("closings", Integer, nullable=False, default=0, server_default="0"),
    Column("link_epoch", Integer, nullable=False, default=0, server_default="0"),
    Column("uninstalled_at", Float, nullable=True),
    Index(None, "id"),
)

PULL_REQUEST = Table(
    "pull_request",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String, nullable=False, server_default="pull_request"),
    Column("installation", BigInteger, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("title", Text, nullable=False),
    Column("head_sha", String, nullable=True),
    Column("head_tree", String, nullable=True),
    Column("head_branch", String, nullable=True),
    Column("from_fork", Boolean, nullable=True),
    Column("head_seen", Float, nullable=True),
    Column("wanted", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("commands", Text, nullable=False),
    Column("interim_analyses", Text, nullable=False),
    Column("comment_id", BigInteger, nullable=True),
    Column("comment_state", String, nullable=False, server_default="unknown"),
    Column("comment_digest", String, nullable=True),
    Column("comment_severity", Integer, nullable=False),
    Column("comment_change_digest", String, nullable=True),
    Column("comment_written", Float, nullable=True),
    Column("check_kind", String, nullable=True),
    Column("check_state", String, nullable=False, server_default="unknown"),
    Column("check_id", BigInteger, nullable=True),
    Column("check_head", String, nullable=True),
    Column("check_digest", String, nullable=True),
    Column("check_pending", Boolean, nullable=True),
    Column("comment_deletions", Integer, nullable=False, default=0, server_default="0"),
    Column("trouble", Text, nullable=True),
    Column("outputs", Text, nullable=False, server_default="{}"),
    *lease_columns(),
    Index(None, "due"),
)

RUN = Table(
    "run",
    METADATA,
    Column("id", String, primary_key=True),
    Column("repository", String, nullable=False),
    Column("case", String, nullable=False),
    Column("variant", String, nullable=False),
    Column("branch", String, nullable=True),
    Column("sha", String, nullable=True),
    Column("started", Float, nullable=True),
    Column("origin", String, nullable=False),
    Column("state", String, nullable=False),
    Column("log_uri", Text, nullable=True),
    Column("generation", String, nullable=True),
    Column("key", String, nullable=True),
    Column("job", Text, nullable=True),
    Column("status", Text, nullable=True),
    Column("attempt", Integer, nullable=False),
    Column("seen", Float, nullable=False),
    Column("tree", String, nullable=True),
    Column("place", String, nullable=True),
    Column("measured_sha", String, nullable=True),
    Column("price", Float, nullable=True),
    Column("charged_to", String, nullable=True),
    Column("charged_number", Integer, nullable=True),
    Column("waiting", Text, nullable=True),
    Column("operator_action", String, nullable=True),
    *lease_columns(),
    Index(None, "due"),
    Index(None, "repository", "branch", "case", "variant", "started"),
    Index(None, "repository", "sha"),
    Index(None, "repository", "tree"),
    Index(None, "key", unique=True),
)

WANT = Table(
    "want",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("run", String, ForeignKey("run.id"), primary_key=True),
    Index(None, "run"),
)

MEASUREMENT = Table(
    "measurement",
    METADATA,
    Column("run", String, ForeignKey("run.id"), primary_key=True),
    Column("document", LargeBinary, nullable=False),
    Column("steady_seconds", Float, nullable=True),
    Column("loop_seconds", Float, nullable=True),
    Column("conditions", Text, nullable=False),
    Column("fingerprint", String, nullable=True),
    Column("chip_hours", Float, nullable=True),
    Column("devices", Integer, nullable=True),
    Column("made", Float, nullable=False),
    Column("outcome", String, nullable=True),
    Column("summary", LargeBinary, nullable=True),
    Index(None, "run", "made", "conditions", "steady_seconds", "outcome"),
)

LOSS_CURVE = Table(
    "loss_curve",
    METADATA,
    Column("run", String, ForeignKey("run.id"), primary_key=True),
    Column("curve", LargeBinary, nullable=False),
)

KEPT_LOG = Table(
    "kept_log",
    METADATA,
    Column("run", String, ForeignKey("run.id"), primary_key=True),
    Column("text", String, nullable=True),
    Column("redacted", String, nullable=True),
    Column("rules", String, nullable=True),
    Column("problem", Text, nullable=True),
    Column("absence", String, nullable=True),
    Column("former", Text, nullable=False, server_default="[]"),
    *lease_columns(),
    Index(None, "due"),
)

CASE_KEY = Table(
    "case_key",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("branch", String, primary_key=True),
    Column("case", String, primary_key=True),
    Column("variant", String, primary_key=True),
)

FAILURE = Table(
    "failure",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("case", String, primary_key=True),
    Column("variant", String, primary_key=True),
    Column("fingerprint", String, nullable=False),
    Index(None, "repository", "fingerprint"),
)

REPORT = Table(
    "report",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("head_sha", String, primary_key=True),
    Column("headline", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("made", Float, nullable=False),
)

SESSION = Table(
    "session",
    METADATA,
    Column("digest", String, primary_key=True),
    Column("login", String, nullable=False),
    Column("made", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Index(None, "expires"),
)

RUN_REQUEST = Table(
    "run_request",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("source", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("keys", Text, nullable=False),
    Column("by", String, nullable=False),
    Column("fresh", Integer, nullable=False),
    Column("head_sha", String, nullable=True),
    Column("made", Float, nullable=False),
)

APPROVAL = Table(
    "approval",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("head_sha", String, primary_key=True),
    Column("tree", String, nullable=False),
    Column("by", String, nullable=False),
    Column("made", Float, nullable=False),
)

ACKNOWLEDGEMENT = Table(
    "acknowledgement",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("case", String, primary_key=True),
    Column("variant", String, primary_key=True),
    Column("verdict", String, nullable=False),
    Column("head_sha", String, nullable=False),
    Column("by", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("made", Float, nullable=False),
    Column("acknowledged_state", Text, nullable=False),
)

COMMAND_USE = Table(
    "command_use",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("person", BigInteger, primary_key=True),
    Column("name", String, primary_key=True),
    Column("counted", Boolean, nullable=False),
    Column("made", Float, nullable=False),
    Index(None, "made"),
)

SPEND = Table(
    "spend",
    METADATA,
    Column("run", String, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("repository", String, nullable=False),
    Column("number", Integer, nullable=True),
    Column("by", String, nullable=False),
    Column("place", String, nullable=False),
    Column("made", Float, nullable=False),
    Column("reserved_chip_hours", Float, nullable=False),
    Column("spent_chip_hours", Float, nullable=True),
    Column("earlier_chip_hours", Float, nullable=False, default=0.0, server_default="0"),
    Column("ended", Float, nullable=True),
    Index(None, "repository", "made"),
    Index(None, "place", "ended"),
)

MAIN_BRANCH = Table(
    "main_branch",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("installation", BigInteger, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("scheduled", String, nullable=True),
    *lease_columns(),
    Index(None, "due"),
)

LANDING = Table(
    "landing",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("head_sha", String, primary_key=True),
    Column("branch", String, nullable=False),
    Column("main_sha", String, nullable=False),
    Column("known", Integer, nullable=False),
    Column("same_files", Boolean, nullable=False),
    Column("made", Float, nullable=False),
)

MERGE_GROUP = Table(
    "merge_group",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("head_sha", String, primary_key=True),
    Column("installation", BigInteger, nullable=False),
    Column("pull", Integer, nullable=True),
    Column("asked", Float, nullable=False),
    Column("wanted", Integer, nullable=False),
    *lease_columns(),
    Index(None, "due"),
)

GITHUB_USE = Table(
    "github_use",
    METADATA,
    Column("installation", BigInteger, primary_key=True),
    Column("process", String, primary_key=True),
    Column("period", Integer, primary_key=True),
    Column("writes", Integer, nullable=False),
    Column("points", Integer, nullable=False),
)

MAINTENANCE_TASK = Table(
    "maintenance_task",
    METADATA,
    Column("name", String, primary_key=True),
    Column("position", Text, nullable=True),
    *lease_columns(),
    Index(None, "due"),
)

NAMED_VALUE = Table(
    "named_value",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

POLICY_MATCH = Table(
    "policy_match",
    METADATA,
    Column("match", String, primary_key=True),
    Column("owner_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=True),
    Column("resolved", Float, nullable=False),
)

FORMER_NAME = Table(
    "former_name",
    METADATA,
    Column("name", String, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("leads", Boolean, nullable=False),
    PrimaryKeyConstraint("name", "repository_id", name="pk_former_name_of"),
)

FORGOTTEN_REPOSITORY = Table(
    "forgotten_repository",
    METADATA,
    Column("full_name", String, primary_key=True),
    Column("id", BigInteger, nullable=True),
    Column("until", Float, nullable=False),
)
