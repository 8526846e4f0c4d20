"""A `/benchmark` command: its verb, and where it comes from (a comment, a button under a check, a label)."""

from enum import StrEnum
from typing import assert_never

from msgspec import Struct


class CommandVerb(StrEnum):
    """What a command asks for, spelled as people write it."""

    RUN = "run"
    RERUN = "rerun"
    CANCEL = "cancel"
    STATUS = "status"
    PLAN = "plan"
    BASELINE = "baseline"
    APPROVE = "approve"
    ACKNOWLEDGE = "ack"
    ROTATE_LINKS = "rotate-links"
    HELP = "help"


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
    """The name of the requests of one comment or one press; names of later comments sort behind."""
    match origin:
        case CommentOrigin():
            return f"{origin.comment_id}"
        case ButtonOrigin():
            return f"button {origin.press}"
        case _:
            assert_never(origin)
