"""A check run or commit status beside a commit, and the buttons under it.

The limits are GitHub's: https://docs.github.com/en/rest/checks/runs#create-a-check-run
"""

import re
from enum import StrEnum

from msgspec import Struct

CHECK_NAME = "MaxView"

STATUS_CONTEXT = "maxview"
"""What a commit status is called."""

MAX_SUMMARY_LENGTH = 65_535

MAX_DESCRIPTION_LENGTH = 140

MAX_ACTIONS = 3

MAX_ACTION_LENGTHS = {"label": 20, "description": 40, "identifier": 20}


class Conclusion(StrEnum):
    """How a check ends. GitHub knows more words; none of them lets a pull request be merged everywhere."""

    SUCCESS = "success"
    SKIPPED = "skipped"
    FAILURE = "failure"


class AnnotationLevel(StrEnum):
    """How loud an annotation is."""

    WARNING = "warning"
    FAILURE = "failure"


class Annotation(Struct, frozen=True, kw_only=True):
    """A remark at a line of a file; `path` is the repository's, `line` counts from 1."""

    path: str
    line: int
    level: AnnotationLevel
    title: str
    message: str


class CheckAction(Struct, frozen=True, kw_only=True):
    """A button under a check; `identifier` comes back when somebody presses it."""

    label: str
    description: str
    identifier: str


class RenderedCheck(Struct, frozen=True, kw_only=True):
    """A check as it should stand; without `conclusion` it is pending.

    `title` is plain text, `summary` Markdown, `url` the page with everything, empty where there is none."""

    conclusion: Conclusion | None
    title: str
    summary: str
    url: str
    annotations: tuple[Annotation, ...] = ()
    actions: tuple[CheckAction, ...] = ()


class ButtonAction(StrEnum):
    """What a button under a check asks for; the words are the buttons' own."""

    RERUN = "rerun"
    RERUN_FAILED = "rerun-failed"
    ACKNOWLEDGE = "acknowledge"


MERGE_GROUP_KEY = "merge group"
"""What the check run of a merge queue's commit is called among our own."""

PULL_KEY = re.compile(r"pull (-?[0-9]{1,9})")


def check_key(number: int) -> str:
    """What a check run of a pull request is called among our own; GitHub repeats it in its webhooks."""
    return f"pull {number}"
