"""What an address asks for in its query.

In:  a request. Out: values, checked.
"""

from starlette.requests import Request

LARGEST_NUMBER = 2**53
"""Offsets and line numbers beyond this are nonsense in an address."""


def asked_number(request: Request, name: str) -> int | None:
    """A whole number of the address; None where it is not given or is none."""
    text = request.query_params.get(name, "")
    return min(int(text), LARGEST_NUMBER) if text.isascii() and text.isdigit() and len(text) < 20 else None
