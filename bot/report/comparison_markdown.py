"""One comparison as Markdown, as one case of the comment says it.

In:  a `Comparison`, and a function that fills templates.
Out: Markdown; foreign text in it is redacted and escaped.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict

from bot.report.comparison_view import ComparisonView, comparison_view
from bot.report.quoting import said
from bot.verdict.judgement import Comparison

TEMPLATE = "compare.md.j2"
LONGEST = 600  # characters of one text: a reason may name every difference


def comparison_markdown(comparison: Comparison, *, render: Callable[[str, Mapping[str, object]], str]) -> str:
    """Verdict, reason, caveats, figures, and the rest folded."""
    return render(TEMPLATE, markdown_values(comparison_view(comparison)))


def markdown_values(view: ComparisonView) -> dict[str, object]:
    """`view` with every text redacted and escaped; the method is our own Markdown already."""
    escaped = {name: _escaped(value) for name, value in asdict(view).items()}
    return {**escaped, "method": view.method, "symbol": view.symbol, "tone": view.tone}


def _escaped(value: object) -> object:
    match value:
        case str():
            return said(value, LONGEST)
        case Mapping():
            return {name: _escaped(one) for name, one in value.items()}
        case tuple() | list():
            return [_escaped(one) for one in value]
        case _:
            return value
