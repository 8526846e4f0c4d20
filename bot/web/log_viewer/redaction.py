"""Redact a log that arrives in parts: the lines of a window, or the pieces of a whole log.

One line stays one line, so line numbers hold. Secrets may span parts: a private key is followed from its
first
line to its last, a name is read together with its value, and a token is found wherever a part is cut.
"""

import re
from collections.abc import Iterator, Sequence

from bot.redaction.redact import redact
from bot.web.sanitize import strip_ansi

BLOCK_BYTES = 16_000
"""Bytes given to the rules at once: less than they examine at most."""

HIDDEN = "[secret]"

LEAD_CHARACTERS = 400
"""Characters before a part that are read with it: a name, or the beginning of a token."""

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")

_KEY_ENDS = re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")

_REST_OF_WORD = re.compile(r"[^\s\"'`,;&)]*")


class Redaction:
    """Redacts one part after the other; `before` is the text before the first."""

    def __init__(self, before: str = "") -> None:
        self._in_key = _opens_key(before)
        self._lead = strip_ansi(before)[-LEAD_CHARACTERS:]
        self._in_value = False

    def text(self, part: str) -> str:
        """The next part, redacted."""
        return self.parts([part])[0]

    def lines(self, texts: Sequence[str], continues: Sequence[bool] = ()) -> Iterator[str]:
        """The lines of a window, redacted; `continues[n]` says that text n continues the line before it."""
        joined = [*continues, *[False] * (len(texts) - len(continues))]
        cuts = [_cut_text(text) for text in texts]
        pieces = [piece for cut in cuts for piece in cut]
        inside = [
            joins if n == 0 else True
            for cut, joins in zip(cuts, joined, strict=True)
            for n in range(len(cut))
        ]
        shown = [
            one for begin, end in _blocks(pieces) for one in self.parts(pieces[begin:end], inside[begin:end])
        ]
        at = 0
        for cut in cuts:
            yield "".join(shown[at : at + len(cut)])
            at += len(cut)

    def parts(self, texts: Sequence[str], continues: Sequence[bool] = ()) -> list[str]:
        """Texts redacted together; without a match this is ten times as fast."""
        joined = [*continues, *[False] * (len(texts) - len(continues))]
        together = _join_parts(texts, joined)
        if self._in_key or _KEY_BEGINS.search(together):
            return [self._hide_key(text) for text in texts]
        lead = self._lead if joined[0] or not self._lead else self._lead.removesuffix("\n") + "\n"
        whole = lead + together
        full = redact(whole)
        clean = full == whole and not self._in_value
        shown = list(texts) if clean else self._split_redacted(lead, texts, joined, full)
        self._in_value = self._ends_in_value(together, full, joined[0])
        self._lead = whole[-LEAD_CHARACTERS:]
        return shown

    def stream(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """A whole log, redacted piece by piece; bytes that are no text are kept."""
        kept = b""
        for piece in pieces:
            kept += piece
            at = 0
            while len(kept) - at > BLOCK_BYTES:
                end = _block_end(kept, at)
                yield self._redact_bytes(kept[at:end])
                at = end
            kept = kept[at:]
        yield self._redact_bytes(kept)

    def whole(self, text: bytes, after: bytes = b"") -> bytes:
        """One text, redacted; `after` is some of what follows."""
        ends = text.endswith(b"\n")
        parts = text.removesuffix(b"\n").decode("utf-8", "surrogateescape").split("\n")
        plain = [strip_ansi(part) for part in parts]
        inside = self._lead != "" and not self._lead.endswith("\n")
        continues = [inside, *[False] * (len(plain) - 1), not ends]
        behind = strip_ansi(after.decode("utf-8", "surrogateescape"))
        shown = list(self.lines([*plain, behind], continues))[:-1]
        kept = [part if same == bare else same for part, bare, same in zip(parts, plain, shown, strict=True)]
        return ("\n".join(kept) + "\n" * ends).encode("utf-8", "surrogateescape")

    def _redact_bytes(self, block: bytes) -> bytes:
        lines = block.decode("utf-8", "surrogateescape").split("\n")
        plain = [strip_ansi(line) for line in lines]
        inside = self._lead != "" and not self._lead.endswith("\n")
        shown = self.parts(plain, [inside, *[False] * (len(plain) - 1)])
        # Colours stay where nothing is redacted; a name and its value often have different colours.
        kept = [line if text == bare else text for line, bare, text in zip(lines, plain, shown, strict=True)]
        return "\n".join(kept).encode("utf-8", "surrogateescape")

    def _hide_key(self, part: str) -> str:
        rest = part
        if self._in_key:
            end = _KEY_ENDS.search(part)
            if end is None:
                return "[private key]"
            rest = part[end.end() :]
        self._in_key = _opens_key(rest)
        self._lead = rest[-LEAD_CHARACTERS:]
        return redact(rest)

    def _ends_in_value(self, text: str, full: str, joined: bool) -> bool:  # noqa: FBT001 - a state, not a choice
        """Whether the parts end inside a redacted value, whose rest is then hidden too."""
        if self._in_value and joined and _rest_of_word(text) == len(text):
            return True
        return text[-1:].strip() != "" and full.endswith("]") and not text.endswith("]")

    def _split_redacted(
        self, lead: str, texts: Sequence[str], continues: Sequence[bool], full: str
    ) -> list[str]:
        """The share of each text in the redacted whole."""
        shown = _shares([lead, *texts], [False, *continues], full)[1:]
        for n, joins in enumerate(continues):
            if not self._in_value or not joins:
                break
            shown[n] = shown[n][_rest_of_word(shown[n]) :]
            if shown[n]:
                break
        return shown


def _shares(texts: Sequence[str], continues: Sequence[bool], full: str) -> list[str]:
    """The share of each text in the redacted whole, line by line.

    A line that the whole contains as it is redacted alone stays so; any other line is part of a secret that
    spans lines, and hidden.
    """
    begins = [n for n, joins in enumerate(continues) if n == 0 or not joins]
    shown: list[str] = []
    for begin, end in zip(begins, [*begins[1:], len(texts)], strict=True):
        pieces = texts[begin:end]
        line = redact("".join(pieces))
        if line in full:
            shown += [line] if len(pieces) == 1 else _split_line(pieces, line)
        else:
            shown += [HIDDEN, *[""] * (len(pieces) - 1)]
    return shown


def _split_line(pieces: Sequence[str], line: str) -> list[str]:
    """A redacted line cut where its pieces were cut.

    A piece that appears in it unchanged is kept; what was replaced across pieces goes to the first of them.
    """
    waiting: list[int] = []
    shown, at = [""] * len(pieces), 0
    for n, piece in enumerate(pieces):
        alone = redact(piece)
        place = line.find(alone, at)
        if place < 0 or (place > at and not waiting):
            waiting.append(n)
            continue
        if waiting:
            shown[waiting[0]] = line[at:place]
        waiting = []
        shown[n] = alone
        at = place + len(alone)
    if waiting:
        shown[waiting[0]] = line[at:]
    return shown


def _join_parts(texts: Sequence[str], continues: Sequence[bool]) -> str:
    signs = ["", *("" if joins else "\n" for joins in continues[1:])]
    return "".join(part for pair in zip(signs, texts, strict=True) for part in pair)


def _rest_of_word(text: str) -> int:
    found = _REST_OF_WORD.match(text)
    return found.end() if found else 0


def _cut_text(text: str) -> list[str]:
    """The text in pieces that the rules examine as a whole."""
    return [text[at : at + BLOCK_BYTES // 2] for at in range(0, len(text), BLOCK_BYTES // 2)] or [""]


def _opens_key(text: str) -> bool:
    """Whether a private key begins in `text` without ending there."""
    begins = [found.end() for found in _KEY_BEGINS.finditer(text)]
    return bool(begins) and _KEY_ENDS.search(text, begins[-1]) is None


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Ranges of texts that the rules examine together."""
    begin = size = 0
    for n, text in enumerate(texts):
        if n > begin and size + len(text) + 1 > BLOCK_BYTES:
            yield begin, n
            begin, size = n, 0
        size += len(text) + 1
    if begin < len(texts):
        yield begin, len(texts)


def _block_end(text: bytes, start: int) -> int:
    for sign in (b"\n", b" "):
        if (last := text.rfind(sign, start, start + BLOCK_BYTES)) > start:
            return last + 1
    return start + BLOCK_BYTES
