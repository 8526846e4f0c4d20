"""The one comment on a pull request.

In:  a `Report`, the public address of this server, and a function that fills templates.
Out: Markdown of at most `LONGEST_BODY` characters: verdict, what to do, the rows that need a person, errors,
     then everything else folded. The same report gives the same text, whenever it is asked.
"""

from collections.abc import Callable, Mapping, Sequence

from bot.report.action import action_line
from bot.report.command_lines import command_lines, earlier_fold, recent
from bot.report.coverage import coverage_fold, notes
from bot.report.detail import LEVELS, LONGEST_BODY, Detail
from bot.report.differences import environment_fold
from bot.report.figures import listed
from bot.report.folds import Fold, open_rows, open_table, quiet_folds, rest_fold, views_of
from bot.report.footer import footer_line
from bot.report.headline import headline
from bot.report.help_text import help_text
from bot.report.information import ledger_fold, page_fold
from bot.report.links import absolute, page_path
from bot.report.marks import head_mark, pull_mark
from bot.report.method import method_fold
from bot.report.model import CaseReport, Report
from bot.report.parity_fold import parity_fold
from bot.report.plan_fold import plan_fold, waiting_lines
from bot.report.quotes import quote
from bot.report.quoting import LONGEST_ERROR, quoted, said
from bot.report.redact import redacted

TEMPLATE = "comment.md.j2"
LONGEST_PREVIEW = 1000  # several problems of a configuration, each with its line
Render = Callable[[str, Mapping[str, object]], str]


def comment_body(report: Report, *, public_url: str, render: Render) -> str:
    """The whole comment, as detailed as fits."""
    body = ""
    for detail in LEVELS:
        body = render(TEMPLATE, comment_values(report, detail, public_url=public_url))
        if len(body) <= LONGEST_BODY:
            return body
    return body[:LONGEST_BODY]


def comment_values(report: Report, detail: Detail, *, public_url: str) -> dict[str, object]:
    """What the template is filled with; every value is safe Markdown, or HTML where it stands in a tag."""
    rows = open_rows(report)
    shown = rows[: detail.rows]
    page = absolute(public_url, page_path(report))
    quotes = [quote(report, row, public_url=public_url, detail=detail) for row in shown]
    said_quotes = [text for text in quotes if text]
    return {
        "marks": (pull_mark(report.repository, report.number), head_mark(report.head_sha)),
        "headline": headline(report),
        "action": action_line(report),
        "notes": note_lines(report, shown),
        "table": open_table(views_of(report, shown, detail, public_url)) if shown else None,
        "quotes": said_quotes[: detail.quotes],
        "more_quotes": max(len(said_quotes) - detail.quotes, 0),
        "folds": [*rest_fold(report, rows[detail.rows :], detail), *_folds(report, detail, public_url)],
        "page": page,
        "command": command_lines(report),
        "footer": footer_line(report, public_url=public_url),
    }


def note_lines(report: Report, shown: Sequence[CaseReport] = ()) -> list[str]:
    """What must be known of the runs themselves before the verdict is believed, once for all its cases; not
    of rows in the open table that say it themselves, having no figures."""
    told = {id(row) for row in shown if row.comparison is None}
    lines = [f"⚠️ {_ended(report.preview, LONGEST_PREVIEW)}"] if report.preview else []
    lines += [f"⚠️ {_sentence(report.trouble)}"] if report.trouble else []
    lines += waiting_lines(report)
    untold = {note: [row for row in rows if id(row) not in told] for note, rows in notes(report).items()}
    for note, rows in [(note, rows) for note, rows in untold.items() if rows][:3]:
        names = listed([quoted(row.case, 40) for row in rows], 3)
        whose = "" if len(rows) == len(report.rows) else f" ({names})"
        lines.append(f"⚠️ {_sentence(note)}{whose}." if whose else f"⚠️ {_ended(note)}")
    return lines


def _ended(clause: str, limit: int = LONGEST_ERROR) -> str:
    """The clause as a sentence with its end, unless it has one: a question keeps its own."""
    shown = _sentence(clause, limit)
    return shown if shown.endswith((".", "?", "…")) else f"{shown}."


def _sentence(clause: str, limit: int = LONGEST_ERROR) -> str:
    # Redacted first: a secret that begins with a capital is one that no rule knows.
    shown = redacted(clause)
    return said(shown[:1].upper() + shown[1:], limit)


def _folds(report: Report, detail: Detail, public_url: str) -> list[Fold]:
    if not report.rows and not report.skipped:
        return [_commands(report)]
    parts = [
        *quiet_folds(report, detail, public_url=public_url),
        parity_fold(report, detail),
        plan_fold(report, detail),
        coverage_fold(report, detail, public_url=public_url),
        ledger_fold(report, detail),
        environment_fold(report, detail),
        method_fold(report),
        page_fold(report, detail),
        earlier_fold(report, detail),
        _commands(report),
    ]
    return [part for part in parts if part is not None]


def _commands(report: Report) -> Fold:
    cases = tuple(dict.fromkeys(row.case for row in report.rows))
    asked = any(command.text.lower().split()[1:2] == ["help"] for command in recent(report))
    text = help_text(cases=cases, variants=report.variants, launches=report.launches, labels=report.labels)
    return Fold(summary="Commands", lines=(text,), opened=asked)
