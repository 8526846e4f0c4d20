"""Play the demo: open the pull requests, wait for the reports, return the results."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import httpx
from msgspec import Struct

from bot.demo.stage import FULL_NAME, Stage
from bot.domain.case_key import CaseKey
from bot.errors import UserError
from bot.report.assess import STATES
from bot.report.model import RowState
from bot.verdict.judgement import Verdict

AUTHOR = "alice"

POLL_SECONDS = 0.5

TIMEOUT_SECONDS = 600.0
"""Far more than the demo takes on any machine that can finish it."""


class ScenarioProgress(Struct, frozen=True, kw_only=True):
    """How far one pull request is: runs that have ended of those wanted, and whether its report is final."""

    number: int
    title: str
    done: int
    wanted: int
    answered: bool
    headline: str


class CaseAnswer(Struct, frozen=True, kw_only=True):
    """The verdict on one case, in the words of `compare`, and the band around it that the comment shows."""

    key: CaseKey
    verdict: str
    band_percent: float | None


class ScenarioResult(Struct, frozen=True, kw_only=True):
    """One pull request's final comment, and the verdict on each of its cases."""

    number: int
    title: str
    cases: tuple[CaseAnswer, ...]
    comment: str
    page: str

    @property
    def verdict(self) -> str:
        """The worst verdict of its cases, in the words of `compare`; a state where nothing was compared."""
        order = {str(verdict): place for place, verdict in enumerate(Verdict)}
        return max((one.verdict for one in self.cases), key=lambda one: order.get(one, -1), default="no_run")


OnProgress = Callable[[Sequence[ScenarioProgress]], None]


async def play(stage: Stage, on_progress: OnProgress) -> tuple[ScenarioResult, ...]:
    """Open every pull request and wait for its report; `on_progress` gets how far they are."""
    await stage.github.install()
    titles: dict[int, str] = {}
    for branch in stage.repository.branches:
        scenario = branch.scenario
        number = await stage.github.open_pull(scenario.branch, scenario.title, AUTHOR)
        titles[number] = scenario.title
    reports = await _wait_for_reports(stage, titles, on_progress)
    return tuple(
        ScenarioResult(
            number=number,
            title=title,
            cases=tuple(_case_answer(row) for row in reports[number]["rows"]),
            comment=stage.github.comments_of(number)[-1].body,
            page=f"{stage.url}/{FULL_NAME}/pull/{number}",
        )
        for number, title in titles.items()
    )


async def _wait_for_reports(
    stage: Stage, titles: Mapping[int, str], on_progress: OnProgress
) -> dict[int, Mapping[str, Any]]:
    """Poll the server's JSON until every report is final and its comment is there."""
    reports: dict[int, Mapping[str, Any]] = {}
    async with asyncio.timeout(TIMEOUT_SECONDS), httpx.AsyncClient() as client:
        while True:
            if stage.server.poll() is not None:
                raise UserError(f"the server ended before it had answered; see {stage.log}")
            for number in titles:
                # On a busy machine a page may come late, or its process may be started anew: ask again.
                with suppress(httpx.TransportError):
                    answer = await client.get(f"{stage.url}/api/v1/{FULL_NAME}/pull/{number}")
                    if answer.status_code == httpx.codes.OK:
                        reports[number] = answer.json()
            progress = [
                _scenario_progress(stage, number, titles[number], reports.get(number)) for number in titles
            ]
            on_progress(progress)
            if all(one.answered for one in progress):
                return reports
            await asyncio.sleep(POLL_SECONDS)


def _scenario_progress(
    stage: Stage, number: int, title: str, report: Mapping[str, Any] | None
) -> ScenarioProgress:
    rows: Sequence[Mapping[str, Any]] = report["rows"] if report else ()
    counted = [row["progress"] for row in rows if row["progress"]]
    final = bool(rows) and all(STATES[RowState(row["state"])].is_done for row in rows)
    return ScenarioProgress(
        number=number,
        title=title,
        done=sum(one["runs_done"] for one in counted),
        wanted=sum(one["runs_wanted"] for one in counted),
        answered=final and bool(stage.github.comments_of(number)),
        headline=report["headline"] if report else "",
    )


def _case_answer(row: Mapping[str, Any]) -> CaseAnswer:
    """The verdict on a case, or its state where nothing was compared."""
    comparison = row["comparison"]
    return CaseAnswer(
        key=CaseKey(row["case"], row["variant"]),
        verdict=comparison["verdict"] if comparison else row["state"],
        band_percent=comparison["timing"]["band_percent"] if comparison else None,
    )
