"""The report's own short Markdown as plain pieces of text, so that the page says what the comment says.

In:  one line of the Markdown that `bot.report` makes: bold, code spans, links, escapes; nothing else.
Out: `Piece`s of plain text with their style. They are escaped like every other text when shown, so that
     nothing in them can act, whatever they hold.
"""

import html
import re

from msgspec import Struct

from bot.report.escape import ZERO_WIDTH

# `code`   ``a ` b``   <code>a&#124;b</code>   **bold**   *word*   [words](address)   \*   &lt;
_TOKEN = re.compile(
    r"(?P<ticks>`+)(?P<span>.+?)(?P=ticks)(?!`)"
    r"|<code>(?P<element>.*?)</code>"
    r"|(?P<bold>\*\*)"
    r"|\*(?P<emphasis>[^*\s][^*]*)\*"
    r"|\[(?P<words>(?:\\.|[^\]\\])*)\]\((?P<address>[^)\s]*)\)"
    r"|\\(?P<escaped>[^0-9A-Za-z\s])"
    r"|(?P<entity>&(?:#\d{1,7}|[a-z]{2,6});)"
)


class StyledText(Struct, frozen=True, kw_only=True):
    """Some text and how it is set."""

    text: str
    bold: bool = False
    code: bool = False


def parse_inline(markdown: str) -> tuple[StyledText, ...]:
    """The pieces of one line; a link keeps its words only (pages make their own links)."""
    pieces: list[StyledText] = []
    bold, at = False, 0
    for found in _TOKEN.finditer(markdown):
        _add_text(pieces, markdown[at : found.start()], bold=bold)
        at = found.end()
        if found["bold"]:
            bold = not bold
        elif (code := _code_text(found)) is not None:
            _add_text(pieces, code, bold=bold, code=True)
        elif (words := found["words"] or found["emphasis"]) is not None:
            for piece in parse_inline(words):
                _add_text(pieces, piece.text, bold=bold or piece.bold, code=piece.code)
        else:
            _add_text(pieces, found["escaped"] or html.unescape(found["entity"]), bold=bold)
    _add_text(pieces, markdown[at:], bold=bold)
    return tuple(pieces)


def plain_text(markdown: str) -> str:
    """The text alone."""
    return "".join(piece.text for piece in parse_inline(markdown))


def _code_text(found: re.Match[str]) -> str | None:
    if found["element"] is not None:
        return html.unescape(found["element"])
    span: str | None = found["span"]
    if span is not None and len(span) > 2 and span[0] == span[-1] == " ":
        return span[1:-1]
    return span


def _add_text(pieces: list[StyledText], text: str, *, bold: bool, code: bool = False) -> None:
    shown = text.replace(ZERO_WIDTH, "")
    if not shown:
        return
    if pieces and (pieces[-1].bold, pieces[-1].code) == (bold, code):
        shown = pieces.pop().text + shown
    pieces.append(StyledText(text=shown, bold=bold, code=code))
