"""Foreign text made safe for GitHub's Markdown: it can be read, and does nothing.

The result is one line that shows those characters: no HTML, no mention, no issue or commit link, no raw
address, no table break, no control or direction-changing character, at most `limit` characters shown.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

ZERO_WIDTH = "\u200b"  # GitHub's mention and reference filters do not look across it

ZERO_WIDTH_SHOWN = "&#8203;"  # the same as people see it in the source

ELLIPSIS = "…"

_MARKDOWN = re.compile(r"[\\`*\[\]|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")

_HTML_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

_LINE_START = re.compile(r"^(?=[-+](?:\s|$)|#{1,6}(?:\s|$)|[-=]+\s*$)")

_NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")

_TRIGGERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"@(?=\S)"), lambda found: found[0] + ZERO_WIDTH),  # @user, @org/team, a@b.c
    (re.compile(r"#(?=\d)"), lambda found: found[0] + ZERO_WIDTH),  # #123, owner/repo#123
    (re.compile(r"\bGH-(?=\d)", re.IGNORECASE), lambda found: found[0] + ZERO_WIDTH),  # GH-123
    (re.compile(r":(?=//)"), lambda found: found[0] + ZERO_WIDTH),  # https://…
    (re.compile(r"\bwww(?=\.)", re.IGNORECASE), lambda found: found[0] + ZERO_WIDTH),  # www.…
    (re.compile(r"\b(mailto|xmpp):", re.IGNORECASE), lambda found: found[0] + ZERO_WIDTH),
    (re.compile(r":(?=[a-z0-9_+-]+:)", re.IGNORECASE), lambda found: found[0] + ZERO_WIDTH),  # :tada:
    (
        re.compile(r"\b(?=\d{0,39}[a-f])[0-9a-f]{3}(?=[0-9a-f]{4,37}\b)"),
        lambda found: found[0] + ZERO_WIDTH,
    ),  # a commit
)

_CODE_NEEDS_ENTITIES = re.compile(r"[|\\]")

_BACKTICKS = re.compile(r"`+")

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,60}")


def one_line(value: str, limit: int = 300) -> str:
    """`value` on one line, without control, format and unpaired characters, at most `limit` long."""
    shown = value[: 4 * limit + 64]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(_visible(character) for character in shown)
    return shortened(" ".join(shown.split()), limit)


def shortened(value: str, limit: int) -> str:
    """`value`, or its first part and an ellipsis: `limit` characters in all."""
    return value if len(value) <= limit else value[: max(limit - 1, 0)].rstrip() + ELLIPSIS


@lru_cache(maxsize=4096)
def escape_text(value: str, limit: int = 300) -> str:
    """Running text: every Markdown sign escaped, every autolink defused."""
    line = one_line(value, limit)
    escaped = _without_triggers(html_entities(line))
    escaped = _MARKDOWN.sub(lambda found: "\\" + found[0], escaped)
    escaped = _NUMBERED.sub(r"\1\\", _LINE_START.sub(r"\\", escaped))
    return escaped.replace(ZERO_WIDTH, ZERO_WIDTH_SHOWN)


@lru_cache(maxsize=4096)
def escape_code(value: str, limit: int = 300) -> str:
    """A code span, in which GitHub links nothing; it holds in table cells, whatever is inside."""
    line = one_line(value, limit)
    if not line:
        return "–"
    if _CODE_NEEDS_ENTITIES.search(line):
        return f"<code>{_entities(line)}</code>"
    ticks = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    space = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def escape_html(value: str, limit: int = 300) -> str:
    """Text for inside our own HTML tags, where GitHub reads no Markdown: `<summary>`."""
    escaped = _without_triggers(html_entities(one_line(value, limit)))
    return escaped.replace('"', "&quot;").replace(ZERO_WIDTH, ZERO_WIDTH_SHOWN)


def html_entities(value: str) -> str:
    """`value` without signs that HTML reads."""
    return "".join(_HTML_ENTITIES.get(character, character) for character in value)


def plain_name(value: str, otherwise: str) -> str:
    """`value` where it is an ordinary short name that needs no escaping at all, else `otherwise`."""
    return value if _PLAIN_NAME.fullmatch(value) else otherwise


def _visible(character: str) -> str:
    if character in "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        return " "
    return "" if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn"} else character


def _entities(line: str) -> str:
    """Every sign that could mean something as an entity, and addresses broken as in running text."""
    return "".join(
        one if one.isalnum() or one in " -" else f"&#{ord(one)};" for one in _without_triggers(line)
    )


def _without_triggers(line: str) -> str:
    for pattern, defused in _TRIGGERS:
        line = pattern.sub(defused, line)
    return line
