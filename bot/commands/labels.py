"""Labels that start runs: which cases a label selects, and which labels the App creates.

A key of `triggers.labels` is a label or a glob of labels. Its value is `all`, a case or a glob of cases, or
`{case}`: what the glob's `*` stands for, which may itself be a glob of cases.
"""

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from bot.commands.active_requests import launches_runs
from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.forge import Forge
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.storage import named_values
from bot.storage.database import Database

ALL_CASES, CASE_PLACEHOLDER = "all", "{case}"

MAX_CASE_LABELS = 20
"""Labels made for single cases: people pick them from a list, and GitHub allows 80 writes a minute."""


class NewLabel(Struct, frozen=True, kw_only=True):
    """A label as it is made in a repository; `colour` is six hexadecimal digits."""

    name: str
    colour: str
    description: str


SUITE_COLOUR, CASE_COLOUR = "1d76db", "c5def5"


def keys_of_label(label: str, suite: Suite) -> frozenset[CaseKey] | None:
    """The keys that a label asks for, none where it names no case; None where it means nothing."""
    for glob, value in _exact_first(suite.triggers.labels):
        stands_for = _match_glob(glob, label)
        if stands_for is not None:
            return frozenset(
                CaseKey(case, variant)
                for case in suite.case_names
                if _selects(value, stands_for, case)
                for variant in suite.variant_names
            )
    return None


def _selects(value: str, stands_for: str, case: str) -> bool:
    """Whether a label with this value asks for a case. Where the label says it itself, capitals do not
    matter: GitHub keeps one label of a name, however it was written when it was made."""
    if value == CASE_PLACEHOLDER:
        return fnmatchcase(case.lower(), stands_for.lower())
    return value == ALL_CASES or fnmatchcase(case, value)


def labels_to_make(suite: Suite) -> tuple[NewLabel, ...]:
    """The labels to make in a repository: those written out, and one for each case a glob names."""
    made: dict[str, NewLabel] = {}
    for glob, value in suite.triggers.labels.items():
        if "*" not in glob and "?" not in glob:
            what = "every case" if value == ALL_CASES else value
            made[glob.lower()] = NewLabel(
                name=glob, colour=SUITE_COLOUR, description=_shortened(f"MaxView: benchmark {what}")
            )
        elif value == CASE_PLACEHOLDER and glob.count("*") == 1 and "?" not in glob:
            made |= {one.name.lower(): one for one in _case_labels(glob, suite.case_names)}
    return tuple(made.values())


def _case_labels(glob: str, cases: Sequence[str]) -> list[NewLabel]:
    return [
        NewLabel(
            name=glob.replace("*", case),
            colour=CASE_COLOUR,
            description=_shortened(f"MaxView: benchmark {case}"),
        )
        for case in cases[:MAX_CASE_LABELS]
        if len(glob.replace("*", case)) <= MAX_LABEL_LENGTH
    ]


MAX_LABEL_LENGTH, MAX_DESCRIPTION_LENGTH = 50, 100
"""GitHub's limits."""


def _shortened(description: str) -> str:
    return description[:MAX_DESCRIPTION_LENGTH]


def _exact_first(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """A label that is written out outranks a glob that fits it too."""
    return sorted(labels.items(), key=lambda item: "*" in item[0] or "?" in item[0])


def _match_glob(glob: str, label: str) -> str | None:
    """What the first `*` stands for (empty where there is none); None where the label does not fit.

    GitHub tells labels apart without regard to case."""
    written = re.escape(glob).replace(r"\*", "(.*)").replace(r"\?", ".")
    found = re.fullmatch(written, label, re.IGNORECASE | re.DOTALL)
    if found is None:
        return None
    return found[1] if found.groups() else ""


LOG = logging.getLogger(__name__)


class LabelMaker(Struct, frozen=True, kw_only=True):
    """Creates labels on GitHub, each once: one that people delete stays deleted.

    Labels are a convenience. If the App may not create them, the log says why, once, and everything else
    goes on.
    """

    database: Database
    forge: Forge

    async def create(self, repository: Repository, suite: Suite) -> None:
        """Create what the configuration names, unless that was done."""
        if not launches_runs(suite):
            return
        labels = labels_to_make(suite)
        name = f"labels of {repository.full_name}"
        digest = hashlib.sha256(repr(labels).encode()).hexdigest()[:16]
        if await self.database.read(named_values.read, name) == digest:
            return
        try:
            for label in labels:
                await self.forge.make_label(
                    repository, label.name, colour=label.colour, description=label.description
                )
        except UserError as error:
            LOG.warning("labels of %s cannot be made: %s", repository.full_name, error.text)
        await self.database.write(named_values.save, name, digest)
