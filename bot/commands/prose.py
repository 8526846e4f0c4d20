"""Finds the lines of a Markdown text that a person wrote as plain prose.

Leaves out fenced and indented code, inline code, quotes, HTML comments and HTML elements that show code
or quotes. Follows CommonMark (https://spec.commonmark.org/0.31.2/) where it decides whether something is
code. After a fence or comment that is never closed, nothing counts. Takes linear time.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

# A line that opens a fence, perhaps inside list items:   - ```sh        ~~~~
_FENCE = re.compile(r"^ {0,3}(?P<items>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})")

# A line that opens an HTML block whose text is not prose:   <!-- draft      <pre>      <blockquote class="x">
_RAW_BLOCK = re.compile(
    r"^ {0,3}<(?P<name>!--|(?:pre|code|blockquote|script|style|textarea)(?=[\s>/]|$))", re.I
)

# The same inside a paragraph, up to its end where it has one:   see <!-- 12 --> and <code>x</code>
_RAW_INLINE = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<name>pre|code|blockquote|script|style|textarea)(?=[\s>/]).*?(?:</(?P=name)\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)

# A line that begins a block of its own; no inline code reaches into it:   ## Title    - item    3. item
_OWN_BLOCK = re.compile(r"^ {0,3}(?:#{1,6}(?:\s|$)|(?:[-*+]|\d{1,9}[.)])(?:\s|$))")

_QUOTE = re.compile(r"^ {0,3}>")

_MASK_START = re.compile(r"\\.|`+|<", re.DOTALL)


class _Mask(Struct, frozen=True):
    """A range of a paragraph that is not prose."""

    begin: int
    end: int
    html: bool


def _mask_begin(mask: _Mask) -> int:
    return mask.begin


def plain_lines(text: str) -> tuple[str, ...]:
    """The lines that begin as plain prose, without the HTML comments in them.

    Inline code *within* such a line stays in it, with its backticks.
    """
    return tuple(line for paragraph in _paragraphs(text) for line in _unmasked_lines(paragraph))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Paragraphs: neither inline code nor a comment reaches from one into another."""
    paragraph: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if closing is not None:
            closing = None if closing.search(line) else closing
            continue
        opened = _closing_of_block(line)
        if opened is not None or not line.strip() or _QUOTE.match(line) or _OWN_BLOCK.match(line):
            yield paragraph
            paragraph = []
        if opened is not None:
            closing = opened
        elif line.strip() and not _QUOTE.match(line) and (paragraph or not _is_indented(line)):
            paragraph.append(line)
    yield paragraph


def _closing_of_block(line: str) -> re.Pattern[str] | None:
    """The end of the block of code or raw HTML that this line opens and does not close."""
    if fence := _FENCE.match(line):
        marks, indent = fence["fence"], r"\s*" if fence["items"] else " {0,3}"
        return re.compile(rf"^{indent}{re.escape(marks[0])}{{{len(marks)},}}\s*$")
    if raw := _RAW_BLOCK.match(line):
        closing = re.compile("-->" if raw["name"] == "!--" else rf"</{raw['name']}\s*>", re.IGNORECASE)
        return None if closing.search(line, raw.start("name") + 1) else closing
    return None


def _is_indented(line: str) -> bool:
    return line[:4].expandtabs(4).startswith("    ")


def _unmasked_lines(paragraph: list[str]) -> Iterator[str]:
    masks = _masks("\n".join(paragraph))
    start = 0
    for line in paragraph:
        first = start + len(line) - len(line.lstrip())
        before = bisect_right(masks, first, key=_mask_begin)
        if before == 0 or masks[before - 1].end <= first:
            yield _without_html(
                line, start, masks[before : bisect_right(masks, start + len(line), key=_mask_begin)]
            )
        start += len(line) + 1


def _without_html(line: str, start: int, masks: list[_Mask]) -> str:
    for mask in reversed(masks):
        if mask.html:
            line = f"{line[: mask.begin - start]} {line[mask.end - start :]}"
    return line


def _masks(text: str) -> list[_Mask]:
    """The ranges of inline code and raw HTML, in order; whichever begins first wins."""
    ticks: defaultdict[int, list[int]] = defaultdict(list)
    for run in re.finditer("`+", text):
        ticks[len(run[0])].append(run.start())
    masks: list[_Mask] = []
    at = 0
    while mark := _MASK_START.search(text, at):
        at, length = mark.end(), len(mark[0])
        if mark[0] == "<" and (html := _RAW_INLINE.match(text, mark.start())):
            at = html.end()
            masks.append(_Mask(mark.start(), at, html=True))
        elif mark[0].startswith("`"):
            after = bisect_right(ticks[length], mark.start())
            if after < len(ticks[length]):
                at = ticks[length][after] + length
                masks.append(_Mask(mark.start(), at, html=False))
    return masks
