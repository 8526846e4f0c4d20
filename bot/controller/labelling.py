"""Labels that start runs.

In:  a label, and what the configuration says that labels mean. Out: the cases it asks for. Pure.

A key of `triggers.labels` is a label or a glob of labels. Its value is `all`, a case or a glob of cases, or
`{case}`: what the glob's `*` stands for, which may be a glob of cases itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bot.config import Suite

ALL, SAME = "all", "{case}"

MOST_CASE_LABELS = 20
"""Labels made for single cases: people pick them from a list, and GitHub allows 80 writes a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLabel:
    """A label as it is made in a repository; `colour` is six hexadecimal digits."""

    name: str
    colour: str
    description: str


SUITE_COLOUR, CASE_COLOUR = "1d76db", "c5def5"


def asked_by(label: str, suite: Suite) -> frozenset[str] | None:
    """The `case/variant`s that a label asks for, none where it names no case; None where it means nothing."""
    for glob, value in _exact_first(suite.triggers.labels):
        stands_for = _match(glob, label)
        if stands_for is not None:
            return frozenset(
                f"{case}/{variant}"
                for case in suite.case_names
                if _asks(value, stands_for, case)
                for variant in suite.variant_names
            )
    return None


def _asks(value: str, stands_for: str, case: str) -> bool:
    """Whether a label with this value asks for a case. Where the label says it itself, capitals do not
    matter: GitHub keeps one label of a name, however it was written when it was made."""
    if value == SAME:
        return fnmatchcase(case.lower(), stands_for.lower())
    return value == ALL or fnmatchcase(case, value)


def labels_of(suite: Suite) -> tuple[NewLabel, ...]:
    """The labels to make in a repository: those written out, and one for each case a glob names."""
    made: dict[str, NewLabel] = {}
    for glob, value in suite.triggers.labels.items():
        if "*" not in glob and "?" not in glob:
            what = "every case" if value == ALL else value
            made[glob.lower()] = NewLabel(
                name=glob, colour=SUITE_COLOUR, description=_short(f"MaxView: benchmark {what}")
            )
        elif value == SAME and glob.count("*") == 1 and "?" not in glob:
            made |= {one.name.lower(): one for one in _of_cases(glob, suite.case_names)}
    return tuple(made.values())


def _of_cases(glob: str, cases: Sequence[str]) -> list[NewLabel]:
    return [
        NewLabel(
            name=glob.replace("*", case),
            colour=CASE_COLOUR,
            description=_short(f"MaxView: benchmark {case}"),
        )
        for case in cases[:MOST_CASE_LABELS]
        if len(glob.replace("*", case)) <= LONGEST_LABEL
    ]


LONGEST_LABEL, LONGEST_DESCRIPTION = 50, 100
"""GitHub's limits."""


def _short(description: str) -> str:
    return description[:LONGEST_DESCRIPTION]


def _exact_first(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """A label that is written out outranks a glob that fits it too."""
    return sorted(labels.items(), key=lambda item: "*" in item[0] or "?" in item[0])


def _match(glob: str, label: str) -> str | None:
    """What the first `*` stands for (empty where there is none); None where the label does not fit.

    GitHub tells labels apart without regard to case."""
    written = re.escape(glob).replace(r"\*", "(.*)").replace(r"\?", ".")
    found = re.fullmatch(written, label, re.IGNORECASE | re.DOTALL)
    if found is None:
        return None
    return found[1] if found.groups() else ""
