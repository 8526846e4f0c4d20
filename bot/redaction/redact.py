"""Secrets, buckets, accounts and internal names replaced by what they are, in brackets.

One pass of Hyperscan finds the places where a rule may match; only the words or lines there are shown to the
rules. Text is looked at as it is meant (`forms`), and secrets over several lines are put together first
(`spans`). Lines that nothing was found in come out as they went in, with their colours.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import pairwise

from bot.redaction.finder import ShapeFinder, ShapeMark
from bot.redaction.forms import BLOB_FORMS, TEXT_FORMS, replace_blobs, unescaped, visible
from bot.redaction.rules import RULES
from bot.redaction.spans import CONTINUED, LINE_SPANS, SpanPlaces, is_below_name, join_lines

MAX_REDACTED_LENGTH = 20_000  # characters of a short text looked at; nothing longer is ever shown

_CACHED_LENGTH = 1_000
"""Characters of a text worth remembering: names and reasons, not pieces of a log."""

_CACHED_WORDS, _CACHED_WORD_BYTES = 20_000, 300

_BROKEN_WORD = 500
"""Bytes of a word that may go on in the next line."""

_LONG_LINE = 2_000
"""Bytes of a line that is looked at as a whole."""

_BEFORE_MARK, _BEHIND_MARK = 400, 600
"""Bytes of a longer line that are looked at before a mark and, at first, behind it."""

_SAME_END = 8
"""Bytes that no placeholder is: the end of a part is as it was, so nothing in it goes on behind it."""

_MAX_DEPTH = 3
"""An address inside an address inside an address."""

_RULE_MARKS = list(dict.fromkeys(ShapeMark(rule.mark, cased=rule.mark_cased) for rule in RULES))
"""Several rules may have the same mark."""

_TEXT_FORM = len(_RULE_MARKS)

_BLOB_FORM = _TEXT_FORM + len(TEXT_FORMS)

_SPAN = _BLOB_FORM + len(BLOB_FORMS)

_FINDER = ShapeFinder([*_RULE_MARKS, *TEXT_FORMS, *BLOB_FORMS, *LINE_SPANS])

_RULES_OF_MARK = [
    frozenset(n for n, rule in enumerate(RULES) if ShapeMark(rule.mark, cased=rule.mark_cased) == mark)
    for mark in _RULE_MARKS
]

_WIDE = frozenset(
    n for n, rules in enumerate(_RULES_OF_MARK) if any(RULES[rule].wide for rule in rules)
) | frozenset(range(_TEXT_FORM, _SPAN))
"""Marks for which the whole line is looked at."""

_BREAKS = frozenset(n for n, rules in enumerate(_RULES_OF_MARK) if any(RULES[rule].breaks for rule in rules))

_RANDOM_CHANGES = 0.4
"""Changes between small letters, capitals, digits and signs for each letter: 0.6 by lot, 0.2 in names."""

_words: dict[bytes, bytes] = {}
"""Words redacted before: the same hosts and paths stand in every line."""


def redact(value: str) -> str:
    """A short text with secrets and internal names replaced. Redacting twice changes nothing more."""
    return _cached(value) if len(value) <= _CACHED_LENGTH else _redact_short(value[:MAX_REDACTED_LENGTH])


@lru_cache(maxsize=4096)  # a report says the same names and reasons many times over
def _cached(value: str) -> str:
    return _redact_short(value)


def _redact_short(text: str) -> str:
    shown = redact_lines(text)[0]
    return shown if shown == text else shown.replace("\n" + CONTINUED, "")


def redact_lines(text: str) -> tuple[str, frozenset[int]]:
    """The text redacted, with as many lines, and which of them continue a secret of the line before."""
    shown, continued = _redact_plain(text, 0)
    plain = visible(text)
    if plain is text:
        return shown, continued
    # A name and its value often have different colours. A line in which that hides nothing keeps them.
    told, continued = _redact_plain(plain, 0)
    if (seen := visible(shown)) == told:
        return shown, continued
    lines = zip(shown.split("\n"), seen.split("\n"), told.split("\n"), strict=True)
    return "\n".join(line if bare == new else new for line, bare, new in lines), continued


def _redact_plain(text: str, depth: int, *, alone: bool = False) -> tuple[str, frozenset[int]]:
    """The text redacted that was encoded `depth` times; `alone`: each line by itself."""
    raw = text.encode("utf-8", "surrogatepass")
    places = _FINDER.places(raw)
    if not places:
        return text, frozenset()
    places.sort()
    continued: frozenset[int] = frozenset()
    if not alone and depth <= _MAX_DEPTH and (spans := _span_places(raw, places)):
        joined, continued = join_lines(
            text,
            spans,
            lambda lines: _redact_plain(lines, depth, alone=True)[0],
            lambda inner: _redact_plain(inner, depth + 1)[0],
        )
        if joined != text:
            raw = joined.encode("utf-8", "surrogatepass")
            places = sorted(_FINDER.places(raw))
    places = [place for place in places if place[1] < _SPAN]
    parts, done = [], 0
    for start, end, new in _edits(raw, places, depth):
        parts += [raw[done:start], new]
        done = end
    parts.append(raw[done:])
    return b"".join(parts).decode("utf-8", "surrogatepass"), continued


def _span_places(raw: bytes, places: list[tuple[int, int]]) -> SpanPlaces:
    """The lines in which a secret of several lines may begin."""
    found = SpanPlaces(keys=[], objects=[], values=[], wrapped=[], blobs=[])
    spans = (found.keys, found.objects, found.values)
    line = done = 0
    for end, mark in places:
        if mark >= _SPAN:
            lines = spans[mark - _SPAN]
            if lines is found.values and not is_below_name(raw, end):
                continue
        elif mark == _BLOB_FORM:
            lines = found.blobs
        elif mark in _BREAKS:
            lines = found.wrapped
            stop = raw.find(b"\n", end - 1, end + _BROKEN_WORD)
            if stop < 0 or b" " in raw[end:stop].strip():
                continue
        else:
            continue
        line += raw.count(b"\n", done, end - 1)
        done = end - 1
        if not lines or lines[-1] != line:
            lines.append(line)
    return found


def _edits(raw: bytes, places: list[tuple[int, int]], depth: int) -> Iterator[tuple[int, int, bytes]]:
    """What is replaced by what: whole lines where a rule may match over blanks, else words."""
    first, count = 0, len(places)
    line_end = 0
    while first < count:
        at = places[first][0] - 1
        start = raw.rfind(b"\n", line_end, at) + 1 or line_end
        line_end = raw.find(b"\n", at)
        line_end = len(raw) if line_end < 0 else line_end
        last = first
        wide = False
        while last < count and places[last][0] <= line_end:
            wide = wide or places[last][1] in _WIDE
            last += 1
        last = max(last, first + 1)
        if wide:
            yield from _line_edits(raw, start, line_end, places[first:last], depth)
        else:
            yield from _word_edits(raw, start, line_end, places[first:last])
        first = last


def _line_edits(
    raw: bytes, start: int, line_end: int, places: list[tuple[int, int]], depth: int
) -> Iterator[tuple[int, int, bytes]]:
    """The line as a whole, or the parts of a long one that marks are in."""
    if line_end - start <= _LONG_LINE or any(mark >= _TEXT_FORM for _, mark in places):
        yield start, line_end, _redact_part(raw[start:line_end], places, depth)
        return
    first, done = 0, start
    while first < len(places):
        end, begin = places[first][0], max(done, places[first][0] - _BEFORE_MARK)
        begin = max(done, raw.rfind(b" ", done, begin) + 1)
        size = _BEHIND_MARK
        while True:
            last = first
            while last < len(places) and places[last][0] - _BEFORE_MARK <= end:
                end = min(max(end, places[last][0] + size), line_end)
                last += 1
            behind = raw.find(b" ", end, line_end)
            end = line_end if behind < 0 else behind
            part = raw[begin:end]
            new = _redact_part(part, places[first:last], depth)
            if end == line_end or new[-_SAME_END:] == part[-_SAME_END:]:
                break
            size *= 4
        yield begin, end, new
        first, done = last, end


def _redact_part(part: bytes, places: list[tuple[int, int]], depth: int) -> bytes:
    marks = frozenset(mark for _, mark in places)
    return _redact_line(part.decode("utf-8", "surrogatepass"), marks, depth).encode("utf-8", "surrogatepass")


def _word_edits(
    raw: bytes, start: int, line_end: int, places: list[tuple[int, int]]
) -> Iterator[tuple[int, int, bytes]]:
    word_end = start
    first, count = 0, len(places)
    while first < count:
        at = places[first][0] - 1
        begin = raw.rfind(b" ", word_end, at) + 1 or word_end
        word_end = raw.find(b" ", at, line_end)
        word_end = line_end if word_end < 0 else word_end
        last = first + 1
        while last < count and places[last][0] <= word_end:
            last += 1
        word = raw[begin:word_end]
        new = _words.get(word)
        if new is None:
            marks = frozenset(mark for _, mark in places[first:last])
            new = _apply(word.decode("utf-8", "surrogatepass"), marks).encode("utf-8", "surrogatepass")
            if len(word) <= _CACHED_WORD_BYTES:
                if len(_words) >= _CACHED_WORDS:
                    _words.clear()
                _words[word] = new
        yield begin, word_end, new
        first = last


def _redact_line(line: str, marks: frozenset[int], depth: int) -> str:
    shown = _apply(line, marks)
    if depth >= _MAX_DEPTH or max(marks) < _TEXT_FORM:
        return shown
    if any(_TEXT_FORM <= mark < _BLOB_FORM for mark in marks):
        plain = visible(unescaped(shown))
        if plain != shown and (new := _redact_plain(plain, depth + 1)[0]) != plain:
            return " ".join(new.replace("\n" + CONTINUED, "").splitlines())
    if any(mark >= _BLOB_FORM for mark in marks):
        return replace_blobs(shown, _changed_at(depth + 1), "[secret]")
    return shown


@cache
def _changed_at(depth: int) -> Callable[[str], bool]:
    """Whether the rules object to a text that was encoded `depth` times."""
    return lambda text: _redact_plain(text, depth)[0] != text


def _apply(text: str, marks: frozenset[int]) -> str:
    for n in _rules_of(marks):
        pattern, shown = _compiled(n)
        text = pattern.sub(shown, text)
    return text


@lru_cache(maxsize=1024)
def _rules_of(marks: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted({rule for mark in marks if mark < _TEXT_FORM for rule in _RULES_OF_MARK[mark]}))


@cache
def _compiled(number: int) -> tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]:
    rule = RULES[number]
    pattern = re.compile(rule.pattern, re.ASCII if rule.cased else re.ASCII | re.IGNORECASE)
    return pattern, _if_random(rule.shown) if rule.random else rule.shown


def _if_random(shown: str) -> Callable[[re.Match[str]], str]:
    return lambda found: found.expand(shown) if looks_random(found["odd"]) else found[0]


def looks_random(word: str) -> bool:
    """Whether the kinds of letters of a word change as often as if drawn by lot; those of names do not."""
    kinds = [
        "0" if one.isdigit() else "A" if one.isupper() else "a" if one.islower() else "+" for one in word
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes >= _RANDOM_CHANGES * (len(word) - 1)
