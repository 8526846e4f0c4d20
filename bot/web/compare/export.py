"""One comparison as one file: the page's own case, its stylesheet within, no script, nothing from outside.

In:  a `Comparison`. Out: HTML.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping

from markupsafe import Markup

from bot import __version__
from bot.report.comparison_view import ComparisonView, comparison_view
from bot.report.model import CaseReport, Report, RowState
from bot.verdict.judgement import Comparison
from bot.web.cases.troubles import Names
from bot.web.cases.view import CaseView, case_view
from bot.web.ground.access import Visit
from bot.web.ground.assets import FOLDER
from bot.web.ground.inline import plain
from bot.web.ground.links import Links
from bot.web.ground.public import for_page

Render = Callable[[str, Mapping[str, object]], str]

NAMES = Names(base="base", head="head")
READER = Visit(repository="", private=True, links=Links())
"""Who makes the file has the logs: nothing is hidden from them, and there are no pages to link to."""


def export_page(comparison: Comparison, *, render: Render) -> str:
    """The file's text."""
    view = comparison_view(comparison)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    values = {
        "view": view,
        "case": _case(comparison),
        "method": [plain(line) for line in view.method],
        "tone": _tone(view),
        "style": Markup(style),  # noqa: S704 - our own file; what it may do is what its digest allows
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'",
        "version": __version__,
    }
    return render("compare.html.j2", values)


def _case(comparison: Comparison) -> CaseView:
    row = CaseReport(case="", variant="", state=RowState(comparison.verdict), comparison=comparison)
    report = Report(
        repository="",
        number=0,
        title="",
        head_sha="",
        head_branch=NAMES.head,
        base_branch=NAMES.base,
        merge_base=None,
        made_at=0.0,
        rows=(row,),
    )
    shown = for_page(report, READER)
    return case_view(shown, shown.rows[0], READER, anchor="case", names=NAMES)


def _tone(view: ComparisonView) -> str:
    return {"good": "good", "bad": "red"}.get(view.tone, "unfair")
