"""Conclude the check of a merge queue's commit, which the queue waits for.

In:  a claimed row of `merge_group`. Out: one concluded check, or none where the repository has no checks.

Such a commit is not measured: the head of every pull request in it is, before it may be queued. Where our
check is required, the queue would wait for it in vain and drop the pull request.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.config import NO_CHECKS, CheckKind, Checks
from bot.controller.checking import KeepCheck
from bot.controller.fence import RowFence
from bot.controller.suites import Suites
from bot.controller.telling import TROUBLED_SECONDS
from bot.errors import Missing, Told
from bot.intake.check import CheckText
from bot.intake.life import MERGE_GROUP_KEY
from bot.intake.pull import Repository
from bot.report.check import Outcome, conclude
from bot.storage import merge_groups
from bot.storage.database import Database
from bot.storage.merge_groups import MergeGroup
from bot.storage.queue import Claim

LONGEST_WAIT_SECONDS = 6 * 3600.0
"""No queue waits longer for a check: GitHub's rules take 360 minutes at most
(https://docs.github.com/en/rest/repos/rules, `check_response_timeout_minutes`)."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroupStep:
    """What the controller does with a merge queue's commit; `page` gives the address of a pull request's
    page."""

    database: Database
    suites: Suites
    keep: KeepCheck
    page: Callable[[str, int], Awaitable[str]]
    now: Callable[[], float]

    async def __call__(self, held: Claim) -> None:
        """Write the check, and let go of the row; where it is refused, try again while the queue waits."""
        group = merge_groups.merge_group(held.row)
        again = False
        if self.now() - group.asked < LONGEST_WAIT_SECONDS:
            again = not await self._conclude(group, RowFence(database=self.database, held=held, now=self.now))
        due = self.now() + TROUBLED_SECONDS if again else None
        await self.database.write(merge_groups.let_go, held, now=self.now(), due=due)

    async def _conclude(self, group: MergeGroup, fence: RowFence) -> bool:
        """Whether there is nothing left to do."""
        repository = Repository(full_name=group.repository, installation=group.installation)
        suite = (await self.suites.read(repository)).suite
        checks = suite.checks if suite else NO_CHECKS
        if checks.kind is CheckKind.OFF:
            return True
        text = await self._text(group, checks)
        try:
            await fence()
            await self._write(repository, group, text, checks.kind)
        except Missing as missing:
            LOG.info("the queue of %s has gone on: %s", group.repository, missing.text)
        except Told as told:
            LOG.warning("a merge queue of %s waits, its check is refused: %s", group.repository, told)
            return False
        return True

    async def _write(
        self, repository: Repository, group: MergeGroup, text: CheckText, kind: CheckKind
    ) -> None:
        if kind is CheckKind.STATUS:
            await self.keep.status(repository, group.head_sha, text)
        else:
            await self.keep.check(repository, group.head_sha, text, key=MERGE_GROUP_KEY, known_id=None)

    async def _text(self, group: MergeGroup, checks: Checks) -> CheckText:
        conclusion = conclude(Outcome.NOTHING, gates=checks.fail_on_regression)
        if group.pull is None:
            title = "Not measured: this is a merge queue's commit; the heads of its pull requests are"
            return CheckText(conclusion=conclusion, title=title, summary=f"{title}.", url="")
        url = await self.page(group.repository, group.pull)
        title = f"Not measured: this is a merge queue's commit; the head of pull request {group.pull} is"
        return CheckText(conclusion=conclusion, title=title, summary=f"{title}: [its page]({url}).", url=url)
