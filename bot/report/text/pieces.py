"""The pieces that the report's texts consist of, and how Markdown, HTML summaries and pages show them.

A line is a tuple of pieces. Foreign text becomes a piece only through `foreign` and `code`, which redact it
and put it on one line; each rendering escapes it for its place. Our own words hold nothing that Markdown
reads.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from bot.redaction.redact import redact
from bot.report.text.escape import escape_code, escape_html, escape_text, html_entities, one_line

MAX_NAME_LENGTH = 80  # characters of a case, branch or field that are shown; the page has the rest
MAX_ERROR_LENGTH = 300
MAX_REASON_LENGTH = 160  # of a reason beside a verdict; the page has the rest


class Words(Struct, frozen=True):
    """Our own words, shown as they are."""

    text: str


class Foreign(Struct, frozen=True):
    """Text that somebody else wrote, redacted and on one line."""

    text: str


class Code(Struct, frozen=True):
    """A name, a command or a commit, to be copied."""

    text: str


class Bold(Struct, frozen=True):
    """Pieces in bold."""

    pieces: "Line"


class Emphasis(Struct, frozen=True):
    """A term of ours where it is defined."""

    text: str


class Link(Struct, frozen=True):
    """Pieces that lead to an address of this server."""

    pieces: "Line"
    address: str


Piece = Words | Foreign | Code | Bold | Emphasis | Link
Line = tuple[Piece, ...]
Part = str | Piece | Line
"""What a line is made of: a `str` is our own words."""


def line(*parts: Part) -> Line:
    """One line; empty parts fall away."""
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, tuple):
            pieces.extend(part)
        elif not isinstance(part, str):
            pieces.append(part)
        elif part:
            pieces.append(Words(part))
    return tuple(pieces)


def foreign(value: str, limit: int = MAX_NAME_LENGTH) -> Line:
    """Foreign text as running text; nothing where it is empty."""
    text = one_line(redact(value), limit)
    return (Foreign(text),) if text else ()


def code(value: str, limit: int = MAX_NAME_LENGTH) -> Line:
    """Foreign text as code; a dash where it is empty."""
    text = one_line(redact(value), limit)
    return (Code(text),) if text else (Words("–"),)


def bold(*parts: Part) -> Bold:
    """The parts in bold."""
    return Bold(line(*parts))


def link(address: str, *parts: Part) -> Link:
    """The parts as a link."""
    return Link(line(*parts), address)


def joined(separator: str, lines: Iterable[Line]) -> Line:
    """The lines with the separator between them."""
    pieces: list[Piece] = []
    for number, one in enumerate(lines):
        pieces += [*([Words(separator)] if number else []), *one]
    return tuple(pieces)


def listed_lines(items: Sequence[Line], most: int) -> Line:
    """`a, b, c and 5 more`."""
    more = len(items) - most
    return line(joined(", ", items[:most]), f" and {more} more" if more > 0 else "")


def markdown(pieces: Line) -> str:
    """The line in GitHub's Markdown."""
    return "".join(map(_markdown, pieces))


def summary_html(pieces: Line) -> str:
    """The text of the line for inside our own HTML tags, where GitHub reads no Markdown: `<summary>`."""
    return "".join(_summary_html(piece) for piece in pieces)


class StyledText(Struct, frozen=True, kw_only=True):
    """Some text of a page and how it is set."""

    text: str
    bold: bool = False
    code: bool = False


def styled(pieces: Line) -> tuple[StyledText, ...]:
    """The line for a page, which escapes every text and makes its own links.

    Neighbours of one style become one.
    """
    found: list[StyledText] = []
    for one in _styled(pieces, is_bold=False):
        before = found[-1] if found else None
        if before and (before.bold, before.code) == (one.bold, one.code):
            found[-1] = StyledText(text=before.text + one.text, bold=one.bold, code=one.code)
        else:
            found.append(one)
    return tuple(found)


def plain_text(pieces: Line) -> str:
    """The text alone."""
    return "".join(one.text for one in _styled(pieces, is_bold=False))


def _markdown(piece: Piece) -> str:
    match piece:
        case Words(text):
            return text
        case Foreign(text):
            return escape_text(text, len(text))
        case Code(text):
            return escape_code(text, len(text))
        case Bold(pieces):
            return f"**{markdown(pieces)}**"
        case Emphasis(text):
            return f"*{text}*"
        case Link(pieces, address):
            return f"[{markdown(pieces)}]({address})"


def _summary_html(piece: Piece) -> str:
    match piece:
        case Words(text) | Emphasis(text):
            return html_entities(text)
        case Foreign(text) | Code(text):
            return escape_html(text, len(text))
        case Bold(pieces) | Link(pieces):
            return summary_html(pieces)


def _styled(pieces: Line, *, is_bold: bool) -> Iterable[StyledText]:
    for piece in pieces:
        match piece:
            case Words(text) | Foreign(text) | Emphasis(text):
                yield StyledText(text=text, bold=is_bold)
            case Code(text):
                yield StyledText(text=text, bold=is_bold, code=True)
            case Bold(inner):
                yield from _styled(inner, is_bold=True)
            case Link(inner):
                yield from _styled(inner, is_bold=is_bold)
