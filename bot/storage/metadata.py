"""What every table shares: one set of names for its keys, and the columns of a lease.

In:  nothing. Out: `METADATA`, `lease`.
"""

from sqlalchemy import Column, Float, Integer, MetaData, String, Text

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def lease() -> tuple[Column[float] | Column[int] | Column[str], ...]:
    """Columns of a row that moves by itself; new ones for every table."""
    return (
        Column("due", Float, nullable=True),
        Column("lease_owner", String, nullable=True),
        Column("lease_until", Float, nullable=False, default=0.0, server_default="0"),
        Column("token", Integer, nullable=False, default=0, server_default="0"),
        Column("attempts", Integer, nullable=False, default=0, server_default="0"),
        Column("error", Text, nullable=True),
    )
