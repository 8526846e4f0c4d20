"""Redact a whole log that arrives in pieces."""

import re

from bot.redaction.redact import redact

HIDDEN = "[…]"
"""What stands for each further line of a secret of several lines."""

_LINE_CHARACTERS = 16_000
"""Characters of a line that the rules see together."""

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")

_KEY_ENDS = re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")


class Redactor:
    """Redacts the text of one log. Each line comes out as one line; at most some of the text is kept back.

    What comes out in the end does not depend on how the text is cut.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._size = 0
        self._in_key = False

    def feed(self, text: str) -> str:
        """The next piece of the log: whole lines, or any part of it. Gives what is certain by now."""
        shown: list[str] = []
        for line in text.splitlines(keepends=True) if "\n" in text else [text]:
            self._kept.append(line)
            self._size += len(line)
            if line.endswith("\n") or self._size >= _LINE_CHARACTERS:
                shown += self._release()
        return "".join(shown)

    def close(self) -> str:
        """The rest: the log has ended."""
        return "".join(self._release())

    def _release(self) -> list[str]:
        whole = "".join(self._kept)
        self._kept, self._size = [], 0
        pieces = [whole[at : at + _LINE_CHARACTERS] for at in range(0, len(whole), _LINE_CHARACTERS)]
        return [self._line(piece) for piece in pieces]

    def _line(self, line: str) -> str:
        if self._in_key:
            self._in_key = _KEY_ENDS.search(line) is None
            return HIDDEN + "\n" * line.endswith("\n")
        begins = _KEY_BEGINS.search(line)
        self._in_key = begins is not None and _KEY_ENDS.search(line, begins.end()) is None
        return redact(line.removesuffix("\n")) + "\n" * line.endswith("\n")
