"""Tables of what is done for a repository as a whole: main's own runs, what landed, merge queues, chores.

In:  nothing. Out: tables of `METADATA`. Times are Unix seconds.
"""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text

from bot.storage.metadata import METADATA, lease

MAINLINE = Table(
    "mainline",
    METADATA,
    Column("repository", String, primary_key=True),
    Column("installation", BigInteger, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("scheduled", String, nullable=True),
    *lease(),
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
    *lease(),
    Index(None, "due"),
)

SENT = Table(
    "sent",
    METADATA,
    Column("installation", BigInteger, primary_key=True),
    Column("process", String, primary_key=True),
    Column("stretch", Integer, primary_key=True),
    Column("writes", Integer, nullable=False),
    Column("points", Integer, nullable=False),
)

CHORE = Table(
    "chore",
    METADATA,
    Column("name", String, primary_key=True),
    Column("mark", Text, nullable=True),
    *lease(),
    Index(None, "due"),
)

MARK = Table(
    "mark",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

FORMER_NAME = Table(
    "former_name",
    METADATA,
    Column("name", String, primary_key=True),
    Column("full_name", String, nullable=False),
)
