"""What can go wrong with a call to GitHub, as our own exceptions.

NotFound and a plain UserError can be put right by the people of the repository. The rest is ours to try again
or to report. No exception carries a token or a key.
"""

from collections.abc import Mapping

from bot.errors import InternalError, NotFound, TransientError, UserError

# GitHub asks for at least a minute where a limit names no time, and states these headers:
# https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
DEFAULT_LIMIT_SECONDS = 60.0

# Short outages pass in seconds; the worker backs off further by itself.
RETRY_SECONDS = 10.0

# A new token can be refused for a few seconds until it is known everywhere (octokit/auth-app.js issue 65).
NEW_TOKEN_SECONDS = 5.0

MAX_MESSAGE = 300


class RateLimited(TransientError):
    """A primary or secondary rate limit: nothing may be sent for this installation before `after` seconds."""


class UncertainWrite(TransientError):
    """A write that must not be repeated got no clear answer: look whether it took effect, then decide."""


def error_from_status(
    *, method: str, path: str, status: int, headers: Mapping[str, str], message: str, now: float
) -> UserError | InternalError:
    """The exception that an error status means; `message` is GitHub's own."""
    message = message[:MAX_MESSAGE] or "no message"
    text = f"GitHub answered {status} to {method} {path}: {message}"
    if status in {403, 429} and _is_rate_limit(status, headers, message):
        return RateLimited(text, after=_rate_limit_seconds(headers, now))
    if status == 401:
        return TransientError(text, after=NEW_TOKEN_SECONDS)
    if status >= 500:
        after = _parse_seconds(headers.get("retry-after")) or RETRY_SECONDS
        return TransientError(text, after=after, may_have_acted=True)
    return _permanent_error(method, status, text, headers)


def _permanent_error(
    method: str, status: int, text: str, headers: Mapping[str, str]
) -> UserError | InternalError:
    """An error that a second request would meet again."""
    match status:
        case 404 | 410 | 451:
            return NotFound(f"there is no such thing, or this App may not see it: {text}")
        # A SHA that does not exist is a 422, an empty repository a 409.
        case 409 | 422 if method == "GET":
            return NotFound(f"there is no such thing: {text}")
        case 403:
            return UserError(f"{text}{_needed_permissions(headers)}")
        case _:
            return InternalError(text)


def _is_rate_limit(status: int, headers: Mapping[str, str], message: str) -> bool:
    spent = headers.get("x-ratelimit-remaining") == "0"
    return status == 429 or spent or "retry-after" in headers or "rate limit" in message.lower()


def _rate_limit_seconds(headers: Mapping[str, str], now: float) -> float:
    retry_after = _parse_seconds(headers.get("retry-after"))
    if retry_after is not None:
        return max(retry_after, 1.0)
    reset = _parse_seconds(headers.get("x-ratelimit-reset"))
    if reset is not None and headers.get("x-ratelimit-remaining") == "0":
        return max(reset - now, 1.0)
    return DEFAULT_LIMIT_SECONDS


def _parse_seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def _needed_permissions(headers: Mapping[str, str]) -> str:
    needed = headers.get("x-accepted-github-permissions")
    if not needed:
        return ". Check the App's permissions, and that the conversation is not locked"
    return f". The App needs one of these permissions: {needed}"
