"""Redact a whole log that arrives in pieces."""

import re

from bot.redaction.redact import redact_lines
from bot.redaction.spans import CONTINUED, MAX_SPAN, looks_like_key

HIDDEN = CONTINUED
"""What stands for each further line of a secret of several lines."""

BLOCK_CHARACTERS = 512 * 1024
"""Characters redacted at a time."""

_AHEAD = MAX_SPAN
"""Characters behind a line that are known when it is redacted."""

_AROUND_CUT, _CUTS = 2_000, 8
"""Characters on both sides that tell whether a line of megabytes may be cut, and places that are tried."""

_REST_OF_VALUE = re.compile(r"[^\s\"'`,;&)]*")


class Redactor:
    """Redacts the text of one log. Each line comes out as one line.

    What comes out does not depend on how the text is cut into pieces. At most `BLOCK_CHARACTERS` and the last
    piece are kept back. A secret of several lines is taken out as a whole up to `MAX_SPAN` characters; of a
    longer one, what looks like a key.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._size = 0
        self._in_key = False
        self._in_value = False

    def feed(self, text: str) -> str:
        """The next piece of the log, best some hundred whole lines. Gives what is certain by now."""
        self._kept.append(text)
        self._size += len(text)
        if self._size < BLOCK_CHARACTERS:
            return ""
        whole = "".join(self._kept)
        shown, at = [], 0
        while len(whole) - at >= BLOCK_CHARACTERS:
            part, used = self._redact(whole[at : at + BLOCK_CHARACTERS])
            shown.append(part)
            at += used
        self._kept, self._size = [whole[at:]], len(whole) - at
        return "".join(shown)

    def close(self) -> str:
        """The rest: the log has ended."""
        whole = "".join(self._kept)
        self._kept, self._size = [], 0
        hidden, rest = self._hide_rest(whole)
        if self._in_key and looks_like_key(rest, _AHEAD):
            return hidden + CONTINUED
        return hidden + redact_lines(rest)[0]

    def _redact(self, block: str) -> tuple[str, int]:
        """The beginning of a block redacted, and how much of it that is."""
        hidden, rest = self._hide_rest(block)
        if not rest or (self._in_key and len(rest) < len(block)):
            return hidden, len(block) - len(rest)
        self._in_key = False
        cut = rest.rfind("\n", 0, max(0, len(rest) - _AHEAD)) + 1
        shown, used = self._redact_lines(rest, cut) if cut else self._redact_long_line(rest)
        return hidden + shown, len(block) - len(rest) + used

    def _hide_rest(self, block: str) -> tuple[str, str]:
        """The rest of a secret that began in the block before, hidden, and what is behind it."""
        at = 0
        if self._in_value and (found := _REST_OF_VALUE.match(block)):
            at = found.end()
            self._in_value = at == len(block)
        lines = 0
        while self._in_key and (end := block.find("\n", at)) >= 0:
            self._in_key = looks_like_key(block[at:end], _AHEAD)
            if self._in_key:
                at, lines = end + 1, lines + 1
        return (CONTINUED + "\n") * lines, block[at:]

    def _redact_lines(self, block: str, cut: int) -> tuple[str, int]:
        """The lines of `block` before `cut`, or fewer where a secret goes on over it."""
        shown, continued = redact_lines(block)
        line = first = block.count("\n", 0, cut)
        while first in continued:
            first -= 1
        if first == 0:  # a secret as long as the block: its rest is hidden as long as it looks like one
            first, self._in_key = line, True
        for _ in range(line - first):
            cut = block.rfind("\n", 0, cut - 1) + 1
        behind = block.count("\n", cut)
        return shown.rsplit("\n", behind + 1)[0] + "\n", cut

    def _redact_long_line(self, block: str) -> tuple[str, int]:
        """A part of a line of megabytes, cut where no rule matches over the cut."""
        last = max(1, len(block) - _AHEAD)
        cut = block.rfind(" ", max(0, last - _AROUND_CUT), last) + 1 or last
        for _ in range(_CUTS):
            if cut <= _AROUND_CUT:
                break
            front, back = block[cut - _AROUND_CUT : cut], block[cut : cut + _AROUND_CUT]
            if redact_lines(front + back)[0] == redact_lines(front)[0] + redact_lines(back)[0]:
                break
            cut -= _AROUND_CUT
        else:
            cut = last
        shown = redact_lines(block[:cut])[0]
        self._in_value = shown.endswith("]") and not block[cut - 1].isspace() and block[cut - 1] != "]"
        return shown, cut
