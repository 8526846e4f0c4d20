"""Whether a secret can be recovered from what is shown."""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from urllib.parse import unquote

from bot.redaction.stream import Redactor

SECRETS = re.compile(r"\[(?:secret|token|API key|private key|credentials|…)\]")
"""What is shown in place of a secret, as opposed to a name of a host or a bucket."""


def shown(log: str) -> str:
    """A whole log redacted."""
    redactor = Redactor()
    return redactor.feed(log) + redactor.close()


def is_recoverable(text: str, core: str) -> bool:
    """Whether the core of a secret, or nearly half of it, stands in `text`, plainly or encoded."""
    size = max(8, len(core) // 2 - 4)
    parts = (core, core[:size], core[-size:])
    return any(part in told for told in _told(text) for part in parts)


def _told(text: str) -> Iterator[str]:
    plain = re.sub("[\u200b\u2060]|\x1b\\[[0-9;]*m", "", text)
    yield text
    yield plain
    yield unquote(unquote(plain))
    yield html.unescape(plain)
    yield re.sub(r"\\u([0-9a-f]{4})|\\x([0-9a-f]{2})", lambda one: chr(int(one[1] or one[2], 16)), plain)
    for word in re.findall(r"[A-Za-z0-9+/_-]{16,}", plain.replace("\n", "")):
        for start in range(4):
            once = _from_base64(word[start:])
            yield once
            yield _from_base64(once)
    for word in re.findall(r"[0-9a-fA-F]{16,}", plain):
        yield bytes.fromhex(word[: len(word) & ~1]).decode("latin-1")


def _from_base64(word: str) -> str:
    letters = re.sub(r"[^A-Za-z0-9+/]", "", word.replace("-", "+").replace("_", "/"))
    try:
        return base64.b64decode(letters[: len(letters) // 4 * 4]).decode("latin-1")
    except binascii.Error:
        return ""


def changed_lines(log: str) -> int:
    """How many lines lost something that is called a secret."""
    lines = zip(log.split("\n"), shown(log).split("\n"), strict=True)
    return sum(len(SECRETS.findall(new)) > len(SECRETS.findall(old)) for old, new in lines if old != new)
