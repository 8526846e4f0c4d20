"""A comparison as a person reads it on a terminal: verdict first, then why, then what it rests on.

In:  a `ComparisonView`. Out: lines on a `Screen`.
"""

from bot.cli.screen import BAD, DIM, GOOD, ODD, Screen
from bot.report.comparison_view import ComparisonView, FailureView

STYLES = {"good": GOOD, "bad": BAD, "odd": ODD}


def show_comparison(screen: Screen, view: ComparisonView) -> None:
    """Print `view`."""
    screen.headline(view.symbol, view.headline, STYLES[view.tone])
    if view.reason:
        screen.paragraph(view.reason)
    screen.gap()
    screen.facts((("base", view.base), ("head", view.head), ("step time", view.timing), ("loss", view.loss)))
    for failure in view.failures:
        _show_failure(screen, failure)
    if view.caveats:
        _title(screen, "what differs beside the code")
        rows = [(caveat.what, caveat.base, caveat.head) for caveat in view.caveats]
        screen.table(("", "base", "head"), "lll", rows)
        for text in dict.fromkeys(caveat.text for caveat in view.caveats if caveat.text):
            screen.paragraph(f"⚠ {text}", ODD)
    if view.rows:
        _title(screen, "figures")
        cells = [(row.title, row.base, row.head, row.difference, row.remark) for row in view.rows]
        screen.table(("", "base", "head", "difference", ""), "lrrrl", cells)
    if view.ledger:
        _title(screen, "where the time went")
        screen.table(("", "base", "head", "difference"), "lrrr", view.ledger)
    for section in view.why:
        _title(screen, f"why: {section.title}")
        for line in section.lines:
            screen.paragraph(line, indent=4)


def _title(screen: Screen, words: str) -> None:
    screen.gap()
    screen.paragraph(words, DIM)


def _show_failure(screen: Screen, failure: FailureView) -> None:
    screen.gap()
    where = f" at {failure.where}" if failure.where else ""
    screen.paragraph(f"{failure.side}: {failure.ended}{where}", BAD)
    for text in (failure.error, failure.next_step):
        if text:
            screen.paragraph(text, indent=4)
