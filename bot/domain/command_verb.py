"""The verbs of `/benchmark` commands."""

from enum import StrEnum


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
    HELP = "help"
