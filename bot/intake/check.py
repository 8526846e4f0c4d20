"""What stands beside a commit: a check run or a commit status, in our own words.

In:  nothing. Out: the values that `bot.report.check` makes and the door to GitHub writes. The limits are
GitHub's: https://docs.github.com/en/rest/checks/runs#create-a-check-run
"""

from dataclasses import dataclass
from enum import StrEnum

NAME = "MaxView"
CONTEXT = "maxview"
"""What a commit status is called."""

LONGEST_SUMMARY = 65_535
LONGEST_DESCRIPTION = 140
MOST_ACTIONS = 3
LONGEST_ACTION = {"label": 20, "description": 40, "identifier": 20}


class Conclusion(StrEnum):
    """How a check ends. GitHub knows more words; none of them lets a pull request be merged everywhere."""

    SUCCESS = "success"
    SKIPPED = "skipped"
    FAILURE = "failure"


class Level(StrEnum):
    """How loud an annotation is."""

    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A remark at a line of a file; `path` is the repository's, `line` counts from 1."""

    path: str
    line: int
    level: Level
    title: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A button under a check; `identifier` comes back when somebody presses it."""

    label: str
    description: str
    identifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckText:
    """A check as it should stand; without `conclusion` it is pending.

    `title` is plain text, `summary` Markdown, `url` the page with everything, empty where there is none."""

    conclusion: Conclusion | None
    title: str
    summary: str
    url: str
    annotations: tuple[Annotation, ...] = ()
    actions: tuple[Action, ...] = ()
