"""Conclude the check of a merge queue's commit.

MaxView does not measure such a commit: the heads of its pull requests are measured before they are queued. If
our check is required, the queue would wait for it and then drop the pull request.
"""

import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from bot.config import NO_CHECKS, CheckConfig, CheckKind
from bot.config.loader import SuiteLoader
from bot.domain.check import MERGE_GROUP_KEY, RenderedCheck
from bot.domain.repository import Repository
from bot.errors import NotFound, UserError
from bot.publish.check import CheckApi
from bot.publish.lease_fence import LeaseFence
from bot.publish.publisher import REFUSED_RETRY_SECONDS
from bot.report.check import CheckOutcome, conclude
from bot.storage import main_branch
from bot.storage.database import Database
from bot.storage.main_branch import MergeGroup
from bot.storage.queue import Claim

MAX_WAIT_SECONDS = 6 * 3600.0
"""No queue waits longer for a check: GitHub's rules take 360 minutes at most
(https://docs.github.com/en/rest/repos/rules, `check_response_timeout_minutes`)."""

LOG = logging.getLogger(__name__)


class MergeQueueStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a merge queue's commit; `page_url` gives the address of a pull request's page."""

    database: Database
    suites: SuiteLoader
    checks: CheckApi
    page_url: Callable[[str, int], Awaitable[str]]
    now: Callable[[], float]

    async def __call__(self, claim: Claim) -> None:
        """Conclude the check and release the row; if GitHub refuses, try again while the queue waits."""
        group = main_branch.merge_group(claim.row)
        again = False
        if self.now() - group.asked < MAX_WAIT_SECONDS:
            again = not await self._conclude(
                group, LeaseFence(database=self.database, claim=claim, now=self.now)
            )
        due = self.now() + REFUSED_RETRY_SECONDS if again else None
        await self.database.write(main_branch.release_merge_group, claim, now=self.now(), due=due)

    async def _conclude(self, group: MergeGroup, fence: LeaseFence) -> bool:
        """Conclude the check; False if GitHub refused."""
        repository = Repository(full_name=group.repository, installation=group.installation)
        suite = (await self.suites.read(repository)).suite
        checks = suite.checks if suite else NO_CHECKS
        if checks.kind is CheckKind.OFF:
            return True
        text = await self._text(group, checks)
        try:
            await fence()
            await self._write(repository, group, text, checks.kind)
        except NotFound as error:
            LOG.info("the queue of %s has gone on: %s", group.repository, error.text)
        except UserError as error:
            LOG.warning("a merge queue of %s waits, its check is refused: %s", group.repository, error)
            return False
        return True

    async def _write(
        self, repository: Repository, group: MergeGroup, text: RenderedCheck, kind: CheckKind
    ) -> None:
        if kind is CheckKind.STATUS:
            await self.checks.write_status(repository, group.head_sha, text)
        else:
            await self.checks.write_check_run(
                repository, group.head_sha, text, key=MERGE_GROUP_KEY, known_id=None
            )

    async def _text(self, group: MergeGroup, checks: CheckConfig) -> RenderedCheck:
        conclusion = conclude(CheckOutcome.NOTHING, fail_on_regression=checks.fail_on_regression)
        if group.pull is None:
            title = "Not measured: this is a merge queue's commit; the heads of its pull requests are"
            return RenderedCheck(conclusion=conclusion, title=title, summary=f"{title}.", url="")
        url = await self.page_url(group.repository, group.pull)
        title = f"Not measured: this is a merge queue's commit; the head of pull request {group.pull} is"
        return RenderedCheck(
            conclusion=conclusion, title=title, summary=f"{title}: [its page]({url}).", url=url
        )
