"""How a verdict is said besides the comment.

In:  the value of the key `checks`, checked already: one word, or a mapping. Out: `Checks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.config.shapes import Choice, Flag, Key, Record, Worded


class CheckKind(StrEnum):
    """What stands beside the comment: nothing, a commit status, or a check run."""

    OFF = "off"
    STATUS = "status"
    CHECK = "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfig:
    """`pending`: it may be shown while runs are awaited. `fail_on_regression`: it may turn red."""

    kind: CheckKind = CheckKind.OFF
    pending: bool = False
    fail_on_regression: bool = False


NO_CHECKS = CheckConfig()

_KINDS = Choice(tuple(kind.value for kind in CheckKind))

SHAPE = Worded(
    word=_KINDS,
    record=Record(
        keys={
            "kind": Key(
                shape=_KINDS,
                about="off: comment only; status: a commit status; check: a check run.",
                required="write kind: check or kind: status",
            ),
            "pending": Key(
                shape=Flag(),
                about="Show it while runs are awaited; otherwise it is made when there is a conclusion.",
                default=False,
            ),
            "fail_on_regression": Key(
                shape=Flag(),
                about="End it as a failure where a case is slower, diverged or newly fails.",
                default=False,
            ),
        }
    ),
)


def read_checks(part: str | Mapping[str, Any]) -> CheckConfig:
    """`check` stands for `{kind: check}`."""
    keys = {"kind": part} if isinstance(part, str) else part
    return CheckConfig(**{**keys, "kind": CheckKind(keys["kind"])})
