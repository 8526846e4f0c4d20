r"""Secrets that several lines hold together: blocks of keys, a name above its value, wrapped words.

What belongs together is written on its first line, where the rules meet it; `CONTINUED` stands for the rest.
So lines stay as many as they were.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from bot.redaction.finder import ShapeMark
from bot.redaction.forms import from_base64
from bot.redaction.rules import VALUE_MARK

CONTINUED = "[…]"
"""What stands for the rest of a secret on a further line."""

MAX_SPAN = 64 * 1024
"""Characters that a block may have from its first line to its last. Of a longer one, or one without an end,
those lines are hidden that look like a part of it."""

_ROUNDS = 8
"""Further lines over which a wrapped word is followed."""

_NEAR = 40
"""Lines between the kind of an object in a cluster and its data."""

_TAIL = 2_000
"""Characters of a line in front of a break that a rule may need to see."""

_NAMES = (
    "(?:pass(?:word|wd|phrase)?|pwd|secret|credential|token|key|auth|pat|jwt|dsn|sas|connection_?string)"
    r"s?(?:[_-][a-z0-9]{1,12}){0,2}"
)

LINE_SPANS = (
    ShapeMark(r"BEGIN [^\n-]*(?:PRIVATE|SECRET|STATIC) KEY|PuTTY-User-Key-File-\d", cased=False),
    ShapeMark(r"kind\\?[\"']?:[ \t]*\\?[\"']?Secret\b"),
    ShapeMark(VALUE_MARK, cased=False),
)
"""Signs of a block, of a Secret of Kubernetes, of a value below its name."""

_SECRET_NAME = re.compile(
    rf"(?:name|key|variable)\\?[\"']?[ \t]{{0,3}}[:=][ \t]{{0,3}}\\?[\"']?[\w.-]{{0,60}}?{_NAMES}\\?[\"']?,?\s*$",
    re.IGNORECASE,
)

_KEY_REST = re.compile(
    r"(?:-{2,5} ?BEGIN [^\n-]{0,40}(?:PRIVATE|SECRET|STATIC) KEY[^\n-]{0,20}-{2,5}|PuTTY-User-Key-File-\d)"
    r"(?P<inside>(?:(?!-{2,5} ?END |Private-MAC:)[^\n])*+)(?P<end>-{2,5} ?END [A-Za-z0-9 ]{0,60}-{0,5}|Private-MAC:[ \t]?\w*)?",
    re.IGNORECASE,
)

_KEY_END = re.compile(
    r"-{2,5} ?END [A-Za-z0-9 ]{0,40}KEY[A-Za-z0-9 ]{0,20}-{2,5}|Private-MAC:[ \t]?\w*", re.IGNORECASE
)

_KEY_MATTER = re.compile(r"[A-Za-z0-9+/]{16}")

_KEY_LINE = re.compile(r"(?:^|[\s|:>\]])[A-Za-z0-9+/]{16,}={0,2}[\s\"',;]*$")

_KEY_HEADER = re.compile(r"(?:^|\s)[A-Z][A-Za-z0-9-]{2,30}: ?\S")

_NAME_PARTS = (
    b"pass",
    b"pwd",
    b"secret",
    b"cred",
    b"token",
    b"key",
    b"auth",
    b"pat",
    b"jwt",
    b"dsn",
    b"sas",
    b"string",
)

_NAME_END = 40
"""Bytes at the end of a line that the name of a secret is in."""

_PAIR_VALUE = re.compile(
    r"(value\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}+\\?+[\"']?+)(?!\[|[\d.]+(?:[\s\"',]|$)|true|false|null|[{$<*])[^\n\"'\\]*[^\n\"'\\,}\s]",
    re.IGNORECASE,
)

_REST = r"[A-Za-z0-9_+/.~-]{4,400}={0,2}(?=[\s\"'),;\]}\\@]|$)"

_FIRST_WORD = re.compile(rf"[ \t]*[\"']?({_REST})")

_ANY_REST = re.compile(_REST)

_LAST_WORD = re.compile(rf"[\s|\]>:]({_REST})[\"'\s,;)}}\]]*$")

_LOG_PREFIX = re.compile(
    r"(?:[ \t]*(?:\[[^\]\n]{1,60}\]:?|\([^()\n]{1,60}\)|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d\d:\d\d:\d\d[.,\d]{0,12}|[IWEFD]\d{4}|(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|stderr|stdout)\b:?|[FP](?= )"
    r"|[\w./-]{1,60}(?:\[\d+\])?[ ]{0,30}[:|>\]]|#?\d+(?:\.\d+)?|[|│>:-]{1,3})(?=[\s\[(|]|$)){1,10}[ \t]+"
)

# Unlike a word of a sentence, a number or a date: letters and digits, or a capital in the middle.
_SECRET_LIKE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])|[a-z][A-Z]")

_DIGITS = str.maketrans("123456789", "000000000")

_BASE64_WORD = re.compile(r"(?:^|(?<=[\s|\]>:\"']))[A-Za-z0-9+/_-]{20,}={0,2}(?=[\s\"',;\\]*$)")

_DATA = re.compile(r"([ \t]*)(?:string)?data:[ \t\r]*$", re.IGNORECASE)

_DATUM = re.compile(r"([ \t]*)([\"']?[\w./-]{1,253}[\"']?:[ \t]+)(?!\[)[^\s#].{3,}")

Redact = Callable[[str], str]


def is_below_name(raw: bytes, at: int) -> bool:
    """Whether the line before the one at `at` ends in the name of a secret."""
    start = raw.rfind(b"\n", 0, at - 1)
    above = raw[max(0, start - 200) : max(0, start)].rpartition(b"\n")[2].rstrip(b" \t\r,\"'\\")
    end = above[-_NAME_END:].lower()
    if not any(name in end for name in _NAME_PARTS):
        return False
    return _SECRET_NAME.search(above.decode("utf-8", "replace")) is not None


class SpanPlaces(Struct, frozen=True):
    """Numbers of lines in which such secrets may begin: blocks, objects, values, broken words, base64."""

    keys: list[int]
    objects: list[int]
    values: list[int]
    wrapped: list[int]
    blobs: list[int]

    def __bool__(self) -> bool:
        return bool(self.keys or self.objects or self.values or self.wrapped or self.blobs)


def join_lines(
    text: str, places: SpanPlaces, redact_lines: Redact, redact_whole: Redact
) -> tuple[str, frozenset[int]]:
    """`text` with each such secret on one line, and which lines continue the one before.

    `redact_lines` redacts lines by themselves, `redact_whole` a text with all that its lines hold together.
    """
    joining = _Joining(text.split("\n"), redact_lines, redact_whole)
    joining.keys(places.keys)
    joining.pairs(places.values)
    joining.objects(places.objects)
    joining.blobs(places.blobs)
    joining.wrapped_words(places.wrapped)
    return "\n".join(joining.lines), frozenset(joining.continued)


class _Joining:
    """The lines of one text on the way; each is a line still."""

    def __init__(self, lines: list[str], redact_lines: Redact, redact_whole: Redact) -> None:
        self.lines = lines
        self.continued: set[int] = set()
        self._redact_lines = redact_lines
        self._redact_whole = redact_whole

    @cached_property
    def _starts(self) -> list[int]:
        """How many characters are before each line."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    @cached_property
    def _key_ends(self) -> list[int]:
        return [n for n, line in enumerate(self.lines) if _KEY_END.search(line)]

    @cached_property
    def _data(self) -> list[int]:
        return [n for n, line in enumerate(self.lines) if _DATA.match(line)]

    def keys(self, places: list[int]) -> None:
        """Blocks of private keys: one placeholder, whatever is between the first line and the last."""
        for n in places:
            if n not in self.continued or _KEY_REST.search(self.lines[n]):
                self._key(n)

    def _key(self, n: int) -> None:
        line, parts, done = self.lines[n], [], 0
        for found in _KEY_REST.finditer(line):
            parts += [line[done : found.start()], "[private key]"]
            done = found.end()
            if found["end"] is None:
                stop = self._end_of_key(n)
                hides = stop is not None or not found["inside"].strip() or _KEY_MATTER.search(found["inside"])
                parts.append("" if hides else found["inside"])
                self.lines[n] = "".join(parts) + line[done:]
                self._hide_key_lines(n, stop)
                return
        self.lines[n] = "".join((*parts, line[done:]))

    def _end_of_key(self, n: int) -> int | None:
        at = bisect_right(self._key_ends, n)
        if at == len(self._key_ends):
            return None
        stop = self._key_ends[at]
        return stop if self._starts[stop] - self._starts[n] <= MAX_SPAN else None

    def _hide_key_lines(self, n: int, stop: int | None) -> None:
        if stop is None:
            last = n
            while last + 1 < len(self.lines) and looks_like_key(self.lines[last + 1], last - n):
                last += 1
            self._continue(n + 1, last + 1)
            return
        end = _KEY_END.search(self.lines[stop])
        behind = self.lines[stop][end.end() :] if end else ""
        self._continue(n + 1, stop + 1)
        self.lines[stop] += behind

    def _continue(self, first: int, end: int) -> None:
        self.lines[first:end] = [CONTINUED] * (end - first)
        self.continued.update(range(first, end))

    def pairs(self, places: list[int]) -> None:
        """A value below the name of a secret."""
        for n in places:
            self.lines[n] = _PAIR_VALUE.sub(r"\1[secret]", self.lines[n])

    def objects(self, places: list[int]) -> None:
        """The data of a Secret, whatever their names."""
        seen: set[int] = set()
        for n in places:
            first = bisect_right(self._data, n - _NEAR - 1)
            for at in self._data[first : bisect_right(self._data, n + _NEAR)]:
                if at not in seen:
                    seen.add(at)
                    self._hide_data(at)

    def _hide_data(self, n: int) -> None:
        top = _DATA.match(self.lines[n])
        for at in range(n + 1, len(self.lines)):
            found = _DATUM.match(self.lines[at])
            if not found or not top or len(found[1]) <= len(top[1]):
                return
            self.lines[at] = f"{found[1]}{found[2]}[secret]"

    def blobs(self, places: list[int]) -> None:
        """Base64 over lines of one length, which hides a secret as a whole."""
        done = -1
        for n in places:
            if n <= done or n in self.continued:
                continue
            words = list(self._blob_words(n))
            done = n + len(words) - 1
            told = from_base64("".join(found[0] for found in words))
            if len(words) > 1 and self._redact_whole(told) != told:
                self.lines[n] = _without(words[0], "[secret]")
                for at, found in enumerate(words[1:], n + 1):
                    self.lines[at] = _without(found, CONTINUED)
                self.continued.update(range(n + 1, done + 1))

    def _blob_words(self, n: int) -> Iterator[re.Match[str]]:
        length = 0
        for line in self.lines[n:]:
            found = _BASE64_WORD.search(line) if len(line) < _TAIL else None
            if not found:
                found = _ANY_REST.fullmatch(line.strip()) if length else None
            if not found or (length and len(found[0]) > length):
                return
            yield found
            if length and len(found[0]) < length:
                return
            length = len(found[0])

    def wrapped_words(self, places: list[int]) -> None:
        """Words that go on in the next line, behind its prefix or not."""
        ends = {n: n + 1 for n in places if n not in self.continued and n + 1 < len(self.lines)}
        for _ in range(_ROUNDS):
            asked = [
                (n, at, span)
                for n, at in ends.items()
                if at < len(self.lines) and at not in self.continued
                for span in self._rests(at)
            ]
            if not asked:
                return
            fronts = [_front(self.lines[n]) for n, _, _ in asked]
            rests = [self.lines[at][start:end] for _, at, (start, end) in asked]
            joined = [front + rest for front, rest in zip(fronts, rests, strict=True)]
            shown = self._redact_lines("\n".join(joined)).split("\n")
            ends = {}
            for (n, at, (start, end)), whole, new, rest in zip(asked, joined, shown, rests, strict=True):
                if n in ends or at in self.continued or new == whole or new.endswith(rest):
                    continue
                line = self.lines[at]
                self.lines[n] = _open_end(self.lines[n]) + rest
                self.lines[at] = line[:start] + CONTINUED + line[end:]
                self.continued.add(at)
                if not line[end:].strip():
                    ends[n] = at + 1

    def _rests(self, at: int) -> Iterator[tuple[int, int]]:
        """Where the rest of a word can stand in line `at`."""
        line, seen = self.lines[at][: 2 * _TAIL], set()
        prefix = _LOG_PREFIX.match(line)
        shared = _common_prefix(self.lines[at - 1], line)
        for start in (shared, prefix.end() if prefix else 0, 0):
            found = _FIRST_WORD.match(line, start)
            if found and found.end() > shared and found.span(1) not in seen and _SECRET_LIKE.search(found[1]):
                seen.add(found.span(1))
                yield found.span(1)


def looks_like_key(line: str, number: int) -> bool:
    """Whether a line is a part of a key, behind `number` others."""
    return bool(_KEY_LINE.search(line[-_TAIL:])) or (
        number < 12 and (not line.strip() or bool(_KEY_HEADER.search(line[:_TAIL])))
    )


def _without(found: re.Match[str], shown: str) -> str:
    return found.string[: found.start()] + shown + found.string[found.end() :]


def _front(line: str) -> str:
    return _open_end(line)[-_TAIL:]


def _open_end(line: str) -> str:
    """The line without signs that it goes on: a backslash, the sign of a block in YAML."""
    bare = line.rstrip(" \t\r\\")
    return (
        re.sub(r"[:=][ \t]{0,9}[|>][+-]?$", ":", bare[-_TAIL:])
        if bare[-3:].strip("|>+-") != bare[-3:]
        else bare
    )


def _common_prefix(one: str, other: str) -> int:
    """How far two lines begin alike, but for digits: the end of the last word that they share."""
    front, back = one[:200].translate(_DIGITS), other[:200].translate(_DIGITS)
    same, beyond = 0, min(len(front), len(back)) + 1
    while beyond - same > 1:
        middle = (same + beyond) // 2
        if front[:middle] == back[:middle]:
            same = middle
        else:
            beyond = middle
    return max(back.rfind(sign, 0, same) for sign in " ]|>\t") + 1
