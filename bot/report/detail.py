"""How much a comment says at each level, so that it fits GitHub's limit for any number of cases.

In:  nothing. Out: `LEVELS`, the fullest first; the last one fits whatever the report holds.

Rows lose their links, then their columns (a list of names with their figure), and only then their place.
"""

from dataclasses import dataclass

LONGEST_BODY = 60_000  # characters; GitHub refuses 65,536, and the rest is room for its own counting


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The most rows of each part. `columns`: at most so many rows of a folded part are table rows, the
    others are named in a list, `named` of them at most. `ledgers`: cases whose time ledger is shown.
    `name` and `error` are characters."""

    links: bool
    rows: int
    quotes: int
    columns: int
    named: int
    ledgers: int
    name: int
    error: int


LEVELS = (
    Detail(links=True, rows=400, quotes=60, columns=400, named=400, ledgers=5, name=80, error=300),
    Detail(links=True, rows=400, quotes=30, columns=60, named=400, ledgers=3, name=80, error=240),
    Detail(links=False, rows=400, quotes=20, columns=20, named=400, ledgers=2, name=60, error=200),
    Detail(links=False, rows=200, quotes=15, columns=0, named=400, ledgers=0, name=48, error=160),
    Detail(links=False, rows=100, quotes=10, columns=0, named=200, ledgers=0, name=48, error=120),
    Detail(links=False, rows=25, quotes=5, columns=0, named=25, ledgers=0, name=40, error=100),
)
