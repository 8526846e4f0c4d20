"""What must not stand in a public comment, taken out by rule.

In:  text from logs, branches, titles and commands.
Out: the same text with secrets, buckets, accounts and internal names replaced by what they were, in brackets.

The rules look for shapes, so they also meet names nobody has listed. One pass finds the words in which a
shape can be; only these are shown to the rules.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from bot.logs.scan import Literals
from bot.report.disguise import undisguised
from bot.report.redaction_rules import RULES, Rule

LONGEST = 20_000  # characters looked at; nothing longer is ever shown
_SHORT = 1_000
"""Characters of a text worth remembering: names and reasons, not pieces of a log."""
_TAIL = 1_200
"""Bytes read behind a mark: 200 characters in front of a digit, of up to four bytes, and the rest."""
_FOLDED = re.compile("[\u017f\u212a\u0130\u0131]")
"""Letters that a rule without regard to case takes for s, k and i."""
_SPACE = re.compile(rb"[ \n]")

_TEXT_RULES = [rule for rule in RULES if rule.tail is not None]
_WORD_RULES = [rule for rule in RULES if rule.tail is None]


def _marks(rules: Sequence[Rule]) -> list[str]:
    """Every mark of these rules that is found by a search for literals: not the single sign."""
    return sorted({mark for rule in rules for mark in rule.marks if len(mark) > 1})


def _overlap(one: str, other: str) -> bool:
    """Whether `other` can begin inside `one`, where a search goes on behind `one` and would miss it."""
    return any(one[n:].startswith(other[: len(one) - n]) for n in range(len(one)))


_TEXT_MARKS, _WORD_MARKS = _marks(_TEXT_RULES), _marks(_WORD_RULES)
_TEXT_SEARCH, _WORD_SEARCH = (
    Literals([mark.encode() for mark in marks]) for marks in (_TEXT_MARKS, _WORD_MARKS)
)
_TAILS = [
    [rule.tail for rule in _TEXT_RULES if rule.tail is not None and mark in rule.marks]
    for mark in _TEXT_MARKS
]
_RULES_OF = [
    frozenset(n for n, rule in enumerate(_WORD_RULES) if any(_overlap(mark, other) for other in rule.marks))
    for mark in _WORD_MARKS
]
_RULES_OF_AT = frozenset(n for n, rule in enumerate(_WORD_RULES) if "@" in rule.marks)


def redacted(value: str) -> str:
    """`value` without what is nobody else's business. Redacting twice changes nothing more."""
    return _remembered(value) if len(value) <= _SHORT else _redacted(value[:LONGEST])


@lru_cache(maxsize=4096)  # a report says the same names and reasons many times over
def _remembered(value: str) -> str:
    return _redacted(value)


def _redacted(text: str) -> str:
    return _plainly(undisguised(text, _plainly))


def _plainly(text: str) -> str:
    """By the rules, of what is written as it is meant."""
    raw = text.encode("utf-8", "surrogatepass")
    folded = raw.lower()  # of the letters of ASCII only
    if (not raw.isascii() and _FOLDED.search(text)) or _spans_words(raw, folded):
        return _ruled(text, RULES)
    shown, done = [], 0
    for start, end, rules in _words(raw, folded):
        word = raw[start:end].decode("utf-8", "surrogatepass")
        shown += [raw[done:start], _ruled(word, rules).encode("utf-8", "surrogatepass")]
        done = end
    return b"".join((*shown, raw[done:])).decode("utf-8", "surrogatepass") if shown else text


def _ruled(text: str, rules: Sequence[Rule]) -> str:
    for rule in rules:
        text = rule.pattern.sub(rule.shown, text)
    return text


def _spans_words(raw: bytes, folded: bytes) -> bool:
    """Whether a rule that may match several words may match here."""
    return any(
        tail.match(raw[at : at + _TAIL].decode("utf-8", "replace"))
        for mark, at in _TEXT_SEARCH.places(folded)
        for tail in _TAILS[mark]
    )


def _words(raw: bytes, folded: bytes) -> Iterator[tuple[int, int, list[Rule]]]:
    """The words that have marks: where they begin and end, and the rules for them in order."""
    found = [(at, _RULES_OF[mark]) for mark, at in _WORD_SEARCH.places(folded)]
    found += [(at.start(), _RULES_OF_AT) for at in re.finditer(b"@", raw)]
    start, end = 0, -1
    rules: frozenset[int] = frozenset()
    for at, more in sorted(found, key=lambda place: place[0]):
        if at >= end:
            if rules:
                yield start, end, [_WORD_RULES[n] for n in sorted(rules)]
            start = max(end, raw.rfind(b" ", max(end, 0), at) + 1, raw.rfind(b"\n", max(end, 0), at) + 1)
            behind = _SPACE.search(raw, at)
            end, rules = behind.start() if behind else len(raw), frozenset()
        rules |= more
    if rules:
        yield start, end, [_WORD_RULES[n] for n in sorted(rules)]
