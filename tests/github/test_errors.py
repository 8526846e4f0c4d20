"""What an error status of GitHub means to us."""

import pytest

from bot.errors import InternalError, NotFound, TransientError, UserError
from bot.github.errors import RateLimited, error_from_status

NOW = 1_795_240_800.0


def _refused(
    status: int, message: str = "", method: str = "GET", **headers: str
) -> UserError | InternalError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_status(method=method, path="/x", status=status, headers=named, message=message, now=NOW)


@pytest.mark.parametrize("status", [404, 410, 451])
def test_what_is_absent_or_invisible_is_not_found(status: int) -> None:
    """GitHub answers both the same way."""
    error = _refused(status, "Not Found")
    assert isinstance(error, NotFound)
    assert f"GitHub answered {status} to GET /x: Not Found" in error.text


@pytest.mark.parametrize(
    ("status", "message"), [(422, "No commit found for SHA: x"), (409, "Git Repository is empty.")]
)
def test_an_unknown_commit_is_not_found(status: int, message: str) -> None:
    """GitHub has these two statuses for it."""
    assert isinstance(_refused(status, message), NotFound)
    assert type(_refused(status, message, method="POST")) is InternalError


def test_a_forbidden_request_names_the_permission() -> None:
    """The operator reads what the App needs."""
    error = _refused(
        403, "Resource not accessible by integration", x_accepted_github_permissions="issues=write"
    )
    assert type(error) is UserError
    assert error.text == (
        "GitHub answered 403 to GET /x: Resource not accessible by integration. "
        "The App needs one of these permissions: issues=write"
    )


@pytest.mark.parametrize(
    ("status", "message", "headers", "after"),
    [
        (
            403,
            "API rate limit exceeded",
            {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1795240900"},
            100.0,
        ),
        (429, "Too many", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1795240700"}, 1.0),
        (403, "You have exceeded a secondary rate limit", {"retry_after": "30"}, 30.0),
        (403, "You have exceeded a secondary rate limit", {"x_ratelimit_remaining": "4000"}, 60.0),
        (
            403,
            "You have exceeded a secondary rate limit",
            {"x_ratelimit_remaining": "4000", "x_ratelimit_reset": "1795244400"},
            60.0,
        ),
        (429, "", {}, 60.0),
        (429, "", {"retry_after": "soon"}, 60.0),
        (403, "", {"retry_after": "0"}, 1.0),
    ],
)
def test_a_rate_limit_says_when_to_retry(
    status: int, message: str, headers: dict[str, str], after: float
) -> None:
    """Retry-After first, then the reset of a spent limit, else a minute."""
    error = _refused(status, message, **headers)
    assert isinstance(error, RateLimited)
    assert (after, False) == (error.after, error.may_have_acted)


def test_a_server_error_is_transient_and_may_have_acted() -> None:
    """A 502 can come after the write took effect."""
    error, told = _refused(502), _refused(503, retry_after="120")
    assert isinstance(error, TransientError)
    assert isinstance(told, TransientError)
    assert ((10.0, True), (120.0, True)) == (
        (error.after, error.may_have_acted),
        (told.after, told.may_have_acted),
    )


def test_other_refusals_are_internal_errors() -> None:
    """Only we can correct a wrong request."""
    assert type(_refused(400)) is InternalError
    assert type(_refused(422, "Validation Failed", method="POST")) is InternalError


def test_a_long_message_is_cut() -> None:
    """Its beginning is shown."""
    assert len(str(_refused(400, "x" * 10_000))) < 400
