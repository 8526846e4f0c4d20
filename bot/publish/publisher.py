"""Publish a report to all outputs, and collect what kept us from any of them.

What the people of a repository must fix (a missing permission, a locked conversation, an archived
repository) does not fail the step. It is logged once, shown in the comment and on the page, and retried
later.

A new output is one module with an `Output`, and one line where `bot.app` lists the outputs. Its state is
stored with the pull request under its name.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from bot.config import NO_CHECKS, CheckConfig
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.publish.lease_fence import Fence
from bot.report.model import Report
from bot.storage.pull_requests import PullRow, changed_output_values

REFUSED_RETRY_SECONDS = 900.0
"""How soon a write that GitHub refused is tried again."""

LOG = logging.getLogger(__name__)


class NewReport(Struct, frozen=True, kw_only=True):
    """The head has a new report; `changed_paths` are the files that the pull request touches."""

    report: Report
    changed_paths: Sequence[str] = ()


class NotMeasured(Struct, frozen=True, kw_only=True):
    """The head is not measured, for this reason."""

    head_sha: str
    reason: str


class PullClosed(Struct, frozen=True):
    """The pull request is closed. `report` is its last one, if that says something new."""

    report: Report | None = None


Content = NewReport | NotMeasured | PullClosed


class Publication(Struct, frozen=True, kw_only=True):
    """What to publish, for which row, and how the repository wants it. `fence` raises if we lost the row."""

    repository: Repository
    row: PullRow
    content: Content
    fence: Fence
    checks: CheckConfig = NO_CHECKS


class Published(Struct, frozen=True, kw_only=True):
    """The output's new state, None if it did not change, and what people should read in the other outputs."""

    state: Struct | None = None
    notice: str = ""


class HeadMoved(Struct, frozen=True):
    """The head has moved on, so the report is about another commit: nothing was written."""


class Output(Protocol):
    """One place where reports are published."""

    @property
    def name(self) -> str:
        """A noun for messages: `The comment cannot be written`. The state is stored under it."""
        ...

    async def publish(self, publication: Publication) -> Published | HeadMoved:
        """Write what changed, and only that. May be repeated, and may die anywhere; raises `UserError` if
        GitHub refuses."""
        ...


class PublishResult(Struct, frozen=True, kw_only=True):
    """What to store with the row, and when to publish again."""

    values: Mapping[str, Any]
    head_moved: bool = False
    trouble_changed: bool = False
    refused: bool = False

    def due(self, now: float, otherwise: float | None) -> float | None:
        """At once if the trouble changed, since page and comment have to show that; later if it lasts."""
        if self.head_moved or self.trouble_changed:
            return now
        return now + REFUSED_RETRY_SECONDS if self.refused else otherwise


class Publisher(Struct, frozen=True):
    """Publishes to every output, in this order: the comment comes first, since people read it."""

    outputs: Sequence[Output]

    async def publish(self, publication: Publication) -> PublishResult:
        """One write to each output at most, and none where nothing changed."""
        row, values = publication.row, dict[str, Any]()
        refusals, notices = list[str](), list[str]()
        for output in self.outputs:
            try:
                published = await output.publish(publication)
            except UserError as error:
                refusals.append(f"The {output.name} cannot be written: {error.text}.")
                continue
            if isinstance(published, HeadMoved):
                return PublishResult(values=values, head_moved=True)
            if published.state is not None:
                values |= changed_output_values(row, output.name, published.state)
            notices += [published.notice] if published.notice else []
        if isinstance(publication.content, PullClosed):
            return PublishResult(values=values)
        trouble = " ".join((*refusals, *notices)) or None
        if trouble != row.trouble:
            values["trouble"] = trouble
            if trouble:
                LOG.warning("%s#%s: %s", row.repository, row.number, trouble)
        return PublishResult(
            values=values,
            trouble_changed=isinstance(publication.content, NewReport) and trouble != row.trouble,
            refused=bool(refusals),
        )
