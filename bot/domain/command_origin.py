"""Where a command comes from: a comment, a button under a check, or a label."""

from typing import assert_never

from msgspec import Struct


class CommentOrigin(Struct, frozen=True):
    """A line of a comment on GitHub."""

    comment_id: int


class ButtonOrigin(Struct, frozen=True):
    """A button under a check. `press` is not negative, and the same whenever this press is delivered
    again."""

    press: int


class LabelOrigin(Struct, frozen=True):
    """A label that was put or taken away."""


CommandOrigin = CommentOrigin | ButtonOrigin | LabelOrigin


def origin_number(origin: CommandOrigin) -> int:
    """The number that an origin is stored and ordered by: a comment's id, below zero for a button, 0 for a
    label."""
    match origin:
        case CommentOrigin():
            return origin.comment_id
        case ButtonOrigin():
            return -origin.press - 1
        case LabelOrigin():
            return 0
        case _:
            assert_never(origin)
