"""The tables: what must survive a crash.

Rows that move by themselves (`delivery`, `pull_request`, `run`) carry when they are due and who holds
them: `lease_until` is how long, `token` counts the holders, so that one who lost the row cannot write.
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
    String,
    Table,
    Text,
)

from bot.storage.chore_tables import CHORE, FORMER_NAME, LANDING, MAINLINE, MARK, MERGE_GROUP, SENT
from bot.storage.metadata import METADATA, lease
from bot.storage.wish_tables import ACKNOWLEDGEMENT, APPROVAL, ASK, GIVEN, SPEND

__all__ = [
    "ACKNOWLEDGEMENT",
    "APPROVAL",
    "ASK",
    "CASE_KEY",
    "CHORE",
    "DELIVERY",
    "FAILURE",
    "FORMER_NAME",
    "GIVEN",
    "LANDING",
    "MAINLINE",
    "MARK",
    "MEASUREMENT",
    "MERGE_GROUP",
    "METADATA",
    "PULL_REQUEST",
    "REPORT",
    "REPOSITORY",
    "RUN",
    "SENT",
    "SPEND",
    "WANT",
]

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
    *lease(),
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
    Column("first_name", String, nullable=True),
    Column("configuration", String, nullable=True),
    Column("configured", Integer, nullable=False, default=0, server_default="0"),
    Index(None, "id"),
)

PULL_REQUEST = Table(
    "pull_request",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("number", Integer, primary_key=True),
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
    Column("looks", Text, nullable=False),
    Column("comment_id", BigInteger, nullable=True),
    Column("comment_hash", String, nullable=True),
    Column("comment_severity", Integer, nullable=False),
    Column("comment_decided", String, nullable=True),
    Column("comment_written", Float, nullable=True),
    Column("check_id", BigInteger, nullable=True),
    Column("check_head", String, nullable=True),
    Column("check_hash", String, nullable=True),
    Column("check_pending", Boolean, nullable=True),
    Column("comment_lost", Integer, nullable=False, default=0, server_default="0"),
    Column("trouble", Text, nullable=True),
    *lease(),
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
    Column("standing", Text, nullable=True),
    Column("attempt", Integer, nullable=False),
    Column("seen", Float, nullable=False),
    Column("tree", String, nullable=True),
    Column("place", String, nullable=True),
    Column("measured_sha", String, nullable=True),
    Column("price", Float, nullable=True),
    Column("charged_to", String, nullable=True),
    Column("charged_number", Integer, nullable=True),
    Column("waiting", Text, nullable=True),
    Column("wish", String, nullable=True),
    *lease(),
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
    Column("conditions", Text, nullable=False),
    Column("fingerprint", String, nullable=True),
    Column("chip_hours", Float, nullable=True),
    Column("devices", Integer, nullable=True),
    Column("made", Float, nullable=False),
    Column("outcome", String, nullable=True),
    Column("summary", LargeBinary, nullable=True),
    Index(None, "run", "made", "conditions", "steady_seconds", "outcome"),
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
