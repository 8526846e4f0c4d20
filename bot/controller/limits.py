"""What is said to somebody who asks too often.

In:  who, and when the next command may be given (Unix seconds). Out: one sentence. Pure.
"""

from datetime import UTC, datetime

from bot.storage.given import MOST_COMMANDS


def limited(login: str, opens: float) -> str:
    """The limit, and the minute in which it opens again."""
    moment = datetime.fromtimestamp(opens + 59.0, UTC)
    return (
        f"Refused: {login} gave {MOST_COMMANDS} commands within an hour, which is the most. "
        f"The next one can be given at {moment:%H:%M} UTC."
    )
