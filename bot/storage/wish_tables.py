"""Tables of what people asked, allowed and accepted, and of what it may cost.

In:  nothing. Out: tables of `METADATA`. Times are Unix seconds.
"""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text

from bot.storage.metadata import METADATA

ASK = Table(
    "ask",
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
    Column("grounds", Text, nullable=False),
)

GIVEN = Table(
    "given",
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
