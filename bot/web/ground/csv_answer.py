"""Tables as CSV, which spreadsheets open without running anything in them.

In:  a header and rows of values. Out: a response.
Promises: a text that a spreadsheet would take for a formula stands behind an apostrophe; numbers stay
numbers.
"""

import csv
import io
from collections.abc import Iterable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from bot.web.ground.answers import tagged

CSV = "text/csv; charset=utf-8"

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "＝", "＋", "－", "＠")
"""What begins a formula, or a command, in one spreadsheet or another."""


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The table; what is None is an empty field."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([[field(value) for value in row] for row in rows])
    return written.getvalue()


def field(value: object) -> object:
    """A value as a field."""
    if not isinstance(value, str):
        return value
    plain = value.replace("\x00", "")
    return f"'{plain}" if plain.lstrip(" ").startswith(FORMULA) or plain.startswith(FORMULA) else plain


def csv_answer(
    request: Request, name: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, cache: str
) -> Response:
    """The table as a file of this name."""
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    headers = {
        "Content-Disposition": f'attachment; filename="{safe.encode("ascii", "replace").decode()}.csv"'
    }
    body = csv_text(header, rows).encode()
    return tagged(request, body, kind=CSV, cache=cache, headers=headers)


def wants_csv(request: Request) -> bool:
    """Whether `?format=csv` was asked for."""
    return request.query_params.get("format") == "csv"
