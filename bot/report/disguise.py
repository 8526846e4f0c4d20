"""Secrets as they stand in logs all the same: percent-encoded in an address, or broken over two lines.

In:  text, and the rules that take secrets out of it.
Out: the same text, with a disguised secret put so that the rules meet it. Text in which the rules would find
     nothing is left as it is.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

# GET /?next=gs%3A%2F%2Fbench%2Frun
_ENCODED = re.compile(r"[^\s\"'<>]{0,2000}%[0-9A-Fa-f]{2}[^\s\"'<>]{0,2000}")
# … AWS_SECRET_ACCESS_KEY=Vmtzkzk6yExnbFbKPdAl⏎0j/HVgvCWltQX7D0M5Pf
_BROKEN = re.compile(r"(?<=[A-Za-z0-9_+/=.-])\r?\n(?=([A-Za-z0-9_+/.-]{6,400}={0,2})(?:[\s\"'),;\]}]|$))")
# … and not EXIT_CODE=1 or password=…, which are lines of their own.
# Unlike a word of a sentence: with a digit in it, or a capital in the middle
_ODD = re.compile(r"[0-9]|[a-z][A-Z]")
_FRONT = 300
"""Characters before a break that a rule may need to see: a name and half a secret."""
_TURNS = 3
"""An address inside an address inside an address."""

Rules = Callable[[str], str]


def undisguised(text: str, rules: Rules) -> str:
    """`text` with what the rules would take out, were it written plainly, written plainly."""
    if "%" in text:
        text = _ENCODED.sub(lambda found: _decoded(found[0], rules), text)
    return _joined(text, rules) if "\n" in text else text


def _decoded(word: str, rules: Rules) -> str:
    plain = word
    for _ in range(_TURNS):
        plain = unquote(plain)
    return plain if rules(plain) != plain and plain != word else word


def _joined(text: str, rules: Rules) -> str:
    """Without those line breaks behind which a secret goes on: where the rules swallow the rest of it."""
    parts, done = [], 0
    for found in _BROKEN.finditer(text):
        front = text[max(done, found.start() - _FRONT) : found.start()]
        line = front.rpartition("\n")[2]
        if _ODD.search(found[1]) and _is_swallowed(line, found[1], rules):
            parts.append(text[done : found.start()])
            done = found.end()
    return "".join((*parts, text[done:])) if parts else text


def _is_swallowed(line: str, rest: str, rules: Rules) -> bool:
    """Whether, written together, what the rules find in a line takes in what stands behind the break."""
    whole = rules(line + rest)
    return whole != line + rest and not whole.endswith(rest)
