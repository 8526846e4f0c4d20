"""Make the labels that start runs, where a repository does not have them yet.

In:  a repository and its suite. Out: labels on GitHub, each made once: one that people delete stays deleted,
     and one whose colour they change keeps it, until the configuration names other labels.

Labels are a convenience: where the App may not make them the log says why, once, and all else goes on.
"""

import hashlib
import logging
from dataclasses import dataclass

from bot.config import Suite
from bot.controller.deciding import starts_runs
from bot.controller.labelling import labels_of
from bot.controller.ports import Forge
from bot.errors import Told
from bot.intake.pull import Repository
from bot.storage import marks
from bot.storage.database import Database

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMaker:
    """Asks GitHub, and remembers what was made."""

    database: Database
    forge: Forge

    async def __call__(self, repository: Repository, suite: Suite) -> None:
        """Make what the configuration names, unless that was done."""
        if not starts_runs(suite):
            return
        labels = labels_of(suite)
        name = f"labels of {repository.full_name}"
        digest = hashlib.sha256(repr(labels).encode()).hexdigest()[:16]
        if await self.database.read(marks.read, name) == digest:
            return
        try:
            for label in labels:
                await self.forge.make_label(
                    repository, label.name, colour=label.colour, description=label.description
                )
        except Told as told:
            LOG.warning("labels of %s cannot be made: %s", repository.full_name, told.text)
        await self.database.write(marks.keep, name, digest)
