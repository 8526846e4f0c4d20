"""Text from outside as signs that can be seen, and that change nothing around them.

In:  any text: a title, a branch, an error, a line of a log.
Out: the same without a terminal's codes, with a sign for every control character, and with the name of what
     would turn its neighbours around (a reversed word could say the opposite of what is stored).
"""

import re
import unicodedata

# A terminal's colours and cursor moves: ESC [ 31 m, ESC ] 0 ; title BEL
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")

# Controls, and what changes the direction or the joining of its neighbours.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def legible(text: str) -> str:
    """`text` as it can be shown; line ends and tabs stay."""
    return _UNSEEN.sub(_named, _TERMINAL.sub("", text))


def without_codes(text: str) -> str:
    """`text` without a terminal's codes, and otherwise as it is."""
    return _TERMINAL.sub("", text) if "\x1b" in text else text


def _named(found: re.Match[str]) -> str:
    """A control picture, or the code point of a character that would change how its neighbours read."""
    code = ord(found[0])
    if code == 0x0D:
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"[U+{code:04X} {unicodedata.name(found[0], 'CONTROL')}]"
