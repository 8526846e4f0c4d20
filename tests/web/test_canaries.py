"""No canary is seen in public: not in the comment, the check, the page, nor the JSON, wherever it stood."""

import html
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from bot.domain.check import Conclusion
from bot.domain.run import RunRecord
from bot.logs.facts import OutcomeState
from bot.report.check import check_text
from bot.report.comment import comment_body
from bot.report.model import Baseline, CaseReport, Report, ReportedCommand, RowState, SkippedCase
from bot.verdict.judgement import Caveat, CaveatKind, CaveatWeight, TimingVerdict, Verdict
from tests.redaction.sample_secrets import Canary, canaries
from tests.report.github_rendering import visible_text
from tests.report.samples import NNX_FAILURE, NO_LOSS, case, compared, measured, outcome, report, timing
from tests.web.site_under_test import PUBLIC, RENDER, URL, SiteUnderTest

ROWS, A_ROW, OF_A_REPORT = 24, 8, 10


def _row(words: Iterator[str]) -> CaseReport:
    failure = replace(
        NNX_FAILURE, error=next(words), excerpt=next(words), where=f"{next(words).split()[0]}.py:3"
    )
    comparison = compared(
        Verdict.NEW_FAILURE,
        timing(TimingVerdict.WITHHELD, None),
        NO_LOSS,
        head=measured(None, end=outcome(OutcomeState.FAILED, failure)),
        metrics=(),
        caveats=(
            Caveat(
                kind=CaveatKind.PROVENANCE,
                field="image",
                base=next(words),
                head=next(words),
                weight=CaveatWeight.NOT_COMPARABLE,
            ),
        ),
        reason=next(words),
    )
    made = case(next(words), RowState.NEW_FAILURE, comparison, note=next(words))
    return replace(
        made,
        baseline=Baseline(sha=None, why="the merge base", distance=0),
        base_runs=_named(made.base_runs, "b"),
        head_runs=_named(made.head_runs, "h"),
    )


def _named(runs: tuple[RunRecord, ...], side: str) -> tuple[RunRecord, ...]:
    """Runs with ids as they really are, made of no name."""
    return tuple(replace(run, id=f"{n:015x}{side}") for n, run in enumerate(runs))


def _report(number: int, these: list[Canary]) -> Report:
    words = iter([one.text for one in these])
    command = ReportedCommand(text=next(words), by=next(words), at=1.0, result=next(words))
    top: dict[str, Any] = {
        "title": next(words),
        "head_branch": next(words),
        "base_branch": next(words),
        "preview": next(words),
        "trouble": next(words),
        "skipped": (SkippedCase(case="a", variant="b", why=next(words)),),
        "commands": (command,),
    }
    next(words)
    rows = [_row(words) for _ in range(ROWS)]
    return replace(report(*rows), repository=PUBLIC, number=number, variants=("linen",), **top)


def _reports() -> list[tuple[Report, list[Canary]]]:
    every = list(canaries())
    size = OF_A_REPORT + ROWS * A_ROW
    pieces = [every[at : at + size] for at in range(0, len(every), size)]
    whole = [piece for piece in pieces if len(piece) == size] + [every[-size:]]
    return [(_report(number, piece), piece) for number, piece in enumerate(whole, 1)]


def _leaks(shown: str, these: list[Canary]) -> list[str]:
    """Families of those that can be read in a text, as it stands or with its entities and escapes undone."""
    plain = html.unescape(shown).replace("\u200b", "")
    forms = (shown, plain, unquote(plain), plain.replace("\\", ""))
    return sorted({one.family for one in these if any(part in form for part in one.parts for form in forms)})


REPORTS = _reports()


def test_the_reports_hold_all_of_them() -> None:
    """Two thousand, some of them twice."""
    assert {one.text for one in canaries()} == {one.text for _, these in REPORTS for one in these}


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_no_canary_is_seen_in_comment_or_check(number: int) -> None:
    """In their source and as GitHub shows them."""
    made, these = REPORTS[number]
    body = comment_body(made, public_url=URL, render=RENDER)
    check = check_text(
        made, conclusion=Conclusion.FAILURE, body=body, changed_paths=("src/x.py",), url=f"{URL}/x"
    )
    for text in (body, visible_text(body), repr(check)):
        assert [] == _leaks(text, these)


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_no_canary_is_seen_on_the_page_or_in_its_json(site: SiteUnderTest, number: int) -> None:
    """Links included."""
    made, these = REPORTS[number]
    site.add_pull(made.number)
    site.add_report(made)
    for path in (f"/{PUBLIC}/pull/{made.number}", f"/api/v1/{PUBLIC}/pull/{made.number}", f"/{PUBLIC}"):
        answer = site.get(path)
        assert 200 == answer.status_code
        assert [] == _leaks(answer.text, these), path
    api = site.get(f"/api/v1/{PUBLIC}/pull/{made.number}")
    assert [] == _leaks(json.dumps(api.json(), ensure_ascii=False), these)
