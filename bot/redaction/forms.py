r"""Text as it is meant: without signs that nobody sees, and with what was encoded written plainly.

Each function takes time linear in the text.
"""

import base64
import binascii
import html
import re
from collections.abc import Callable
from urllib.parse import unquote

from bot.redaction.finder import ShapeMark

_COLOURS = re.compile(
    r"\x1b(?:\[[0-9;]*m|\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[()][0-9A-B]|[^\[\]\n]|)"
)

_PLAIN = bytes({*range(9, 14), *range(32, 127)})

_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
"""Controls, and letters of no width: joiners, marks of direction, variation selectors."""

_LIKE_ASCII = re.compile("[\u017f\u212a\u0130\u0131]")

_FOLDED = str.maketrans({"\u017f": "s", "\u212a": "K", "\u0130": "I", "\u0131": "i"})
"""Letters that a search without regard to case takes for those of ASCII."""

# A letter of six bits in four places: what encodes three letters of ASCII.
QUAD = r"[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"

_BASE64_TEXT = re.compile(rf"(?:{QUAD}){{5,}}(?:[A-Za-z0-9+/_-]{{2,3}}={{0,2}})?")

_HEX_TEXT = re.compile(r"(?:[2-7][0-9a-fA-F]|0[9aAdD]){12,}")

_ESCAPES = re.compile(r"\\{1,8}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(/))")

TEXT_FORMS = (
    ShapeMark(r"%[0-9A-Fa-f]{2}"),
    ShapeMark(r"\\(?:u00[0-7][0-9A-Fa-f]|x[0-7][0-9A-Fa-f]|/)"),
    ShapeMark(r"&(?:quot|apos|amp|lt|gt|#x?[0-9a-fA-F]{2,5});"),
)
"""Signs of text that is written in another way, letter by letter."""

BLOB_FORMS = (ShapeMark(rf"(?:{QUAD}){{6}}"), ShapeMark("(?:[2-7][0-9a-fA-F]){12}"))
"""Signs of text inside a word of base64 or of hexadecimal digits."""


def visible(text: str) -> str:
    """`text` without colours and signs of no width; as many lines."""
    if not (odd := _odd_letters(text)):
        return text
    plain = _COLOURS.sub("", text) if "\x1b" in odd else text
    odd = _odd_letters(plain)
    plain = _UNSEEN.sub("", plain) if _UNSEEN.search(odd) else plain
    return plain.translate(_FOLDED) if _LIKE_ASCII.search(odd) else plain


def _odd_letters(text: str) -> str:
    """The letters of `text` that are not ASCII's, and its controls; found without looking at each."""
    return text.encode("utf-8", "surrogatepass").translate(None, _PLAIN).decode("utf-8", "surrogatepass")


def unescaped(text: str) -> str:
    """Percent signs, escapes and entities of HTML written plainly, one layer of each."""
    plain = _ESCAPES.sub(_escaped_letter, text) if "\\" in text else text
    plain = html.unescape(plain) if "&" in plain else plain
    return unquote(plain) if "%" in plain else plain


def _escaped_letter(found: re.Match[str]) -> str:
    return found[3] or chr(int(found[1] or found[2], 16))


def replace_blobs(text: str, changed: Callable[[str], bool], shown: str) -> str:
    """`text` with those words of base64 or hexadecimal digits replaced whose meaning `changed` objects to."""
    return _HEX_TEXT.sub(
        lambda found: shown if changed(_from_hex(found[0])) else found[0],
        _BASE64_TEXT.sub(lambda found: shown if changed(from_base64(found[0])) else found[0], text),
    )


def from_base64(word: str) -> str:
    """What a word of base64 says, in either alphabet; nothing if it is none."""
    word = word.rstrip("=")
    word = word[:-1] if len(word) % 4 == 1 else word
    try:
        raw = base64.b64decode(word.replace("-", "+").replace("_", "/") + "=" * (-len(word) % 4))
    except binascii.Error:
        return ""
    return raw.decode("utf-8", "replace")


def _from_hex(word: str) -> str:
    return bytes.fromhex(word[: len(word) & ~1]).decode("utf-8", "replace")
