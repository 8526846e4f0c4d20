"""Everything that survives a crash: the only door to SQL.

In:  functions of a connection and plain values of the other rooms.
Out: the same values, read from rows.
Promises: one transaction for each function, short and never across a call to the outside; SQLite and
PostgreSQL behave the same; writing a thing twice changes nothing the second time; every failure of the
database is `DatabaseUnavailable`. One module for each kind of thing that is kept; `migrations` holds the
steps from older tables.
"""
