"""Reads a Python traceback, pasted on one line or over many, with any prefix on its lines.

In:  the text from `Traceback (most recent call last)` on, and what stands in front of it on its line.
Out: a `Stack`: the error line, the innermost frame of the project, the part of the text it covers.
"""

import re
from dataclasses import dataclass

ERROR_LENGTH = 400
"""Characters of an error line that are kept."""

# File "/deps/src/maxtext/utils/train_utils.py", line 217, in setup_train_loop
_FRAME = re.compile(
    r'File "(?P<path>[^"\n]{1,400})", line (?P<line>\d{1,7})(?:, in (?P<name>[\w<>.]{1,120}))?'
)
_LIBRARY = re.compile(
    r"^<|/(?:site|dist)-packages/|/lib(?:64)?/python\d|/python\d[\d.]*/(?!.*/src/)|^importlib|/runpy\.py$|/pytorch/torch/|/bin/[\w.-]+$"
)
# NotImplementedError: Pure NNX support has not been implemented yet.
_ERROR = re.compile(
    r"(?<![\w.(])(?P<error>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}"
    r"(?:Error|Exception|Exit|Interrupt|Failure|Warning|Stop|Training|Iteration)\b"
    r"(?:: .{0,400}|(?=\s*(?:\n|$))))"
)
_LINE_ERROR = re.compile(
    r"(?P<error>(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Za-z_]\w{0,80}:(?: .{0,400}|$)|[A-Z]\w{0,80}$))"
)
# where the text of an error ends in a pasted line: the next stamp, frame or traceback
_NEXT = re.compile(
    r"\s(?=[IWEF]\d{4} \d\d:\d\d:\d\d|XPK End: |Job End: |EXIT_CODE=|Traceback \(most|During handling|"
    r"The above exception|\d{4}-\d\d-\d\d[T ]\d\d:)"
)
_COVERED = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d|XPK End: |EXIT_CODE=|completed step: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """`place` is `file.py:function` of the innermost project frame, `end` the length of text it covers."""

    error: str
    where: str | None
    place: str
    paths: tuple[str, ...]
    excerpt: str
    end: int


def read_stack(text: str, front: str) -> Stack:
    """The traceback at the start of `text`."""
    front = re.split(r"[\r\n]", front)[-1]
    text = _own_lines(text, front) if front.strip() else text
    end = _end(text)
    frames = list(_FRAME.finditer(text, 0, end))
    own = [frame for frame in frames if not _LIBRARY.search(frame["path"])]
    inner = own[-1] if own else None
    behind = frames[-1].end() if frames else len("Traceback (most recent call last):")
    flat = "\n" not in text[: frames[0].start()] if frames else False
    error, stop = _pasted_error(text, behind, end) if flat else _lined_error(text, behind, end)
    if not error:  # several ranks print at once: the error line stands behind the next one's traceback
        stamped = _COVERED.search(text)
        error, _ = _pasted_error(text, behind, stamped.start() if stamped else len(text))
    name = inner["path"].rpartition("/")[2] if inner else ""
    return Stack(
        error=error[:ERROR_LENGTH],
        where=f"{name}:{inner['line']}" if inner else None,
        place=f"{name}:{inner['name'] or ''}" if inner else "",
        paths=tuple(frame["path"] for frame in frames),
        excerpt=_excerpt(text[:stop], flat=flat),
        end=stop,
    )


def _end(text: str) -> int:
    """Where this traceback's text ends at the latest: at the next traceback, stamped line or frame's end."""
    following = text.find("Traceback (most recent", 10)
    limit = len(text) if following < 0 else following
    stamped = _COVERED.search(text, 0, limit)
    return stamped.start() if stamped else limit


def _pasted_error(text: str, start: int, end: int) -> tuple[str, int]:
    found = _ERROR.search(text, start, end)
    if found is None:
        return "", end
    error = _NEXT.split(found["error"], maxsplit=1)[0].strip()
    return error, found.start() + len(error)


def _lined_error(text: str, start: int, end: int) -> tuple[str, int]:
    """The first line behind the frames that is not indented."""
    at = text.find("\n", start, end) + 1
    while 0 < at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = text[at:stop].rstrip()
        if line.strip() and not line.startswith((" ", "\t", "|")) and (found := _LINE_ERROR.match(line)):
            return found["error"].strip(), stop
        if (found := _ERROR.search(line)) and not line.startswith("    "):
            return found["error"].strip(), stop
        at = stop + 1
    return "", end


def _own_lines(text: str, front: str) -> str:
    """The lines with the first one's prefix, without it: other hosts print in between.

    The words of the prefix must be the same; its numbers may only differ where it carries a time.
    """
    timed = re.search(r"\d[:.]\d", front) is not None
    words = (
        r"\d+" if part.isdigit() and timed else re.escape(part) for part in re.split(r"(\d+)", front[-200:])
    )
    pattern = re.compile("".join(words))
    first, *rest = text.splitlines(keepends=True)
    own = [line[found.end() :] for line in rest if (found := pattern.search(line))]
    return "".join((first, *own)) if own else text


def _excerpt(text: str, *, flat: bool) -> str:
    """Up to 40 lines; a pasted traceback gets its line breaks back."""
    if flat:
        text = re.sub(r"\s+(?=File \")", "\n  ", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines if len(lines) <= 40 else [*lines[:4], "...", *lines[-35:]])
