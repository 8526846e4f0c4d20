"""Where a command comes from: a comment, a button under a check, or a label."""

from typing import assert_never

from msgspec import Struct


class CommentOrigin(Struct, frozen=True, tag="comment"):
    """A line of a comment on GitHub."""

    comment_id: int


class ButtonOrigin(Struct, frozen=True, tag="button"):
    """A button under a check. `press` is not negative, and the same whenever this press is delivered
    again."""

    press: int


class LabelOrigin(Struct, frozen=True, tag="label"):
    """A label that was put or taken away."""


CommandOrigin = CommentOrigin | ButtonOrigin | LabelOrigin


def origin_name(origin: CommentOrigin | ButtonOrigin) -> str:
    """What names the requests of one comment or one press; names of later comments sort behind."""
    match origin:
        case CommentOrigin():
            return f"{origin.comment_id}"
        case ButtonOrigin():
            return f"button {origin.press}"
        case _:
            assert_never(origin)
