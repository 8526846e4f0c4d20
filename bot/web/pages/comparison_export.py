"""One comparison as one HTML file: stylesheet inside, no script, nothing loaded from outside."""

import base64
import hashlib
from collections.abc import Callable, Mapping

from markupsafe import Markup

from bot import __version__
from bot.report.explain import ComparisonView, comparison_view
from bot.report.model import CaseReport, Report, RowState
from bot.report.text.pieces import plain_text
from bot.verdict.judgement import Comparison
from bot.web.addresses import Links
from bot.web.assets import STATIC_FOLDER
from bot.web.auth.access import Access, for_page
from bot.web.pages.case import CaseView, SideNames, case_view

Render = Callable[[str, Mapping[str, object]], str]

SIDES = SideNames(base="base", head="head")

FULL_ACCESS = Access(repository="", private=True, links=Links())
"""Whoever makes the file has the logs: nothing is redacted, and there are no pages to link to."""


def export_page(comparison: Comparison, *, render: Render) -> str:
    """The file's HTML."""
    view = comparison_view(comparison)
    style = (STATIC_FOLDER / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    values = {
        "view": view,
        "case": _case_view(comparison),
        "method": [plain_text(line) for line in view.method],
        "tone": _verdict_tone(view),
        "style": Markup(style),  # noqa: S704 - our own file; what it may do is what its digest allows
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'",
        "version": __version__,
    }
    return render("compare.html.j2", values)


def _case_view(comparison: Comparison) -> CaseView:
    row = CaseReport(case="", variant="", state=RowState(comparison.verdict), comparison=comparison)
    report = Report(
        repository="",
        number=0,
        title="",
        head_sha="",
        head_branch=SIDES.head,
        base_branch=SIDES.base,
        merge_base=None,
        made_at=0.0,
        rows=(row,),
    )
    shown = for_page(report, FULL_ACCESS)
    return case_view(shown, shown.rows[0], FULL_ACCESS, anchor="case", names=SIDES)


def _verdict_tone(view: ComparisonView) -> str:
    return {"good": "good", "bad": "red"}.get(view.tone, "unfair")
