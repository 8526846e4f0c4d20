"""A check run or commit status beside a commit, and the buttons under it.

The limits are GitHub's: https://docs.github.com/en/rest/checks/runs#create-a-check-run
"""

import re
from enum import StrEnum

from msgspec import Struct

CHECK_NAME = "MaxView"

STATUS_CONTEXT = "maxview"
"""The context of a commit status."""

MAX_SUMMARY_LENGTH = 65_535

MAX_DESCRIPTION_LENGTH = 140


class Conclusion(StrEnum):
    """How a check ends. GitHub has more conclusions; with these, branch protection works everywhere."""

    SUCCESS = "success"
    SKIPPED = "skipped"
    FAILURE = "failure"


class AnnotationLevel(StrEnum):
    """The level of an annotation."""

    WARNING = "warning"
    FAILURE = "failure"


class Annotation(Struct, frozen=True, kw_only=True):
    """A remark at a line of a file; `path` is relative to the repository, `line` counts from 1."""

    path: str
    line: int
    level: AnnotationLevel
    title: str
    message: str


class CheckAction(Struct, frozen=True, kw_only=True):
    """A button under a check; GitHub sends `identifier` back when somebody presses it."""

    label: str
    description: str
    identifier: str


class RenderedCheck(Struct, frozen=True, kw_only=True):
    """A check as it should be on GitHub; without `conclusion` it is pending.

    `title` is plain text, `summary` Markdown, `url` the report's page, empty where there is none."""

    conclusion: Conclusion | None
    title: str
    summary: str
    url: str
    annotations: tuple[Annotation, ...] = ()
    actions: tuple[CheckAction, ...] = ()


class ButtonAction(StrEnum):
    """The identifiers of our buttons: what a press requests."""

    RERUN = "rerun"
    RERUN_FAILED = "rerun-failed"
    ACKNOWLEDGE = "acknowledge"


MERGE_GROUP_KEY = "merge group"
"""The external id of a check run on a merge queue's commit."""

# pull 104   pull -3
_SUBJECT_KEY = re.compile(r"pull (?P<row_number>-?[0-9]{1,9})")


def check_key(row_number: int) -> str:
    """The external id of a pull request's or branch's check run; GitHub repeats it in its webhooks."""
    return f"pull {row_number}"


def parse_check_key(key: str) -> int | None:
    """The stored number of the pull request or branch; None for another external id."""
    match = _SUBJECT_KEY.fullmatch(key)
    return int(match["row_number"]) if match else None
