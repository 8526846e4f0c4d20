"""Tracebacks and error messages: possible causes of a failure, in a log of any format.

A Python traceback is read pasted on one line or over many, with any prefix on its lines. Messages are those
of XLA, libtpu, JAX, Kubernetes and xpk. `outcome` decides which of them is the cause.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from bot.logs.failures import FailureClass, classify, fingerprint
from bot.logs.rules import LiteralRule, Match, PossibleCause, Statement
from bot.logs.scanner import BYTES_AFTER

ERROR_LENGTH = 400
"""Characters of an error line that are kept."""

# File "/deps/src/maxtext/utils/train_utils.py", line 217, in setup_train_loop
_STACK_FRAME = re.compile(
    r'File "(?P<path>[^"\n]{1,400})", line (?P<line>\d{1,7})(?:, in (?P<name>[\w<>.]{1,120}))?'
)

_LIBRARY_PATH = re.compile(
    r"^<|/(?:site|dist)-packages/|/lib(?:64)?/python\d|/python\d[\d.]*/(?!.*/src/)|^importlib|/runpy\.py$|/pytorch/torch/|/bin/[\w.-]+$"
)

# NotImplementedError: Pure NNX support has not been implemented yet.
_EXCEPTION = re.compile(
    r"(?<![\w.(])(?P<error>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}"
    r"(?:Error|Exception|Exit|Interrupt|Failure|Warning|Stop|Training|Iteration)\b"
    r"(?:: .{0,400}|(?=\s*(?:\n|$))))"
)

_EXCEPTION_LINE = re.compile(
    r"(?P<error>(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Za-z_]\w{0,80}:(?: .{0,400}|$)|[A-Z]\w{0,80}$))"
)

# where an error's text ends in a pasted line: at the next stamp, frame or traceback
_ERROR_END = re.compile(
    r"\s(?=[IWEF]\d{4} \d\d:\d\d:\d\d|XPK End: |Job End: |EXIT_CODE=|Traceback \(most|During handling|"
    r"The above exception|\d{4}-\d\d-\d\d[T ]\d\d:)"
)

_TRACEBACK_END = re.compile(
    r"[IWEF]\d{4} \d\d:\d\d:\d\d|XPK End: |EXIT_CODE=|completed step: |\bCall stack:\s"
)


class Traceback(Struct, frozen=True, kw_only=True):
    """A Python traceback. `where` is `file.py:line` and `place` is `file.py:function` of the innermost frame
    of the project; `end` is the length of text that it covers."""

    error: str
    where: str | None
    place: str
    paths: tuple[str, ...]
    excerpt: str
    end: int


def read_traceback(text: str, front: str) -> Traceback:
    """The traceback at the start of `text`."""
    front = re.split(r"[\r\n]", front)[-1]
    text = _own_lines(text, front) if front.strip() else text
    end = _traceback_end(text)
    frames = list(_STACK_FRAME.finditer(text, 0, end))
    own = [frame for frame in frames if not _LIBRARY_PATH.search(frame["path"])]
    inner = own[-1] if own else None
    behind = frames[-1].end() if frames else len("Traceback (most recent call last):")
    flat = "\n" not in text[: frames[0].start()] if frames else False
    error, stop = _pasted_error(text, behind, end) if flat else _lined_error(text, behind, end)
    if not error:  # several ranks print at once: the error line follows the next rank's traceback
        stamped = _TRACEBACK_END.search(text)
        error, _ = _pasted_error(text, behind, stamped.start() if stamped else len(text))
    name = inner["path"].rpartition("/")[2] if inner else ""
    return Traceback(
        error=error[:ERROR_LENGTH],
        where=f"{name}:{inner['line']}" if inner else None,
        place=f"{name}:{inner['name'] or ''}" if inner else "",
        paths=tuple(frame["path"] for frame in frames),
        excerpt=_excerpt(text[:stop], flat=flat),
        end=stop,
    )


def _traceback_end(text: str) -> int:
    """The latest end of this traceback's text: the next traceback, stamped line or end of the run."""
    following = text.find("Traceback (most recent", 10)
    limit = len(text) if following < 0 else following
    stamped = _TRACEBACK_END.search(text, 0, limit)
    return stamped.start() if stamped else limit


def _pasted_error(text: str, start: int, end: int) -> tuple[str, int]:
    found = _EXCEPTION.search(text, start, end)
    if found is None:
        return "", end
    error = _ERROR_END.split(found["error"], maxsplit=1)[0].strip()
    return error, found.start() + len(error)


def _lined_error(text: str, start: int, end: int) -> tuple[str, int]:
    """The error in the first line behind the frames that is not indented."""
    at = text.find("\n", start, end) + 1
    while 0 < at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = text[at:stop].rstrip()
        if line.strip() and not line.startswith((" ", "\t", "|")) and (found := _EXCEPTION_LINE.match(line)):
            return found["error"].strip(), stop
        if (found := _EXCEPTION.search(line)) and not line.startswith("    "):
            return found["error"].strip(), stop
        at = stop + 1
    return "", end


def _own_lines(text: str, front: str) -> str:
    """The lines that have the prefix of the first one, without the prefix: other hosts print in between.

    The words of the prefix must be equal. Its numbers may differ only where it carries a time.
    """
    timed = re.search(r"\d[:.]\d", front) is not None
    parts = re.split(r"(\d+)", front[-200:])
    pattern = re.compile("".join(r"\d+" if part.isdigit() and timed else re.escape(part) for part in parts))
    first, *rest = text.splitlines(keepends=True)
    own = [line[found.end() :] for line in rest if (found := pattern.search(line))]
    return "".join((first, *own)) if any(_STACK_FRAME.search(line) for line in own) else text


def _excerpt(text: str, *, flat: bool) -> str:
    """Up to 40 lines. A traceback pasted on one line gets its line breaks back."""
    if flat:
        text = re.sub(r"\s+(?=File \")", "\n  ", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines if len(lines) <= 40 else [*lines[:4], "...", *lines[-35:]])


_TRAINERS = (
    ("maxtext", re.compile(r"/deps/|maxtext|maxdiffusion", re.IGNORECASE)),
    ("torchtitan", re.compile(r"torchtitan")),
    ("megatron", re.compile(r"megatron|primus", re.IGNORECASE)),
    ("nemo", re.compile(r"/nemo/")),
    ("hugging_face", re.compile(r"/transformers/trainer\.py|/llamafactory/")),
)

SHORT_TRACEBACK_BYTES = 2048
"""Bytes read of each traceback where there are very many of them."""

# jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: ...      Barrier result: DEADLINE_EXCEEDED; ...
# couldn't assign flavors to pod set slice-job: insufficient ...  error: the server doesn\'t have a ...
_MESSAGE_LEAD = re.compile(
    r"(?:couldn't assign flavors [^\n]{0,120}|error: the server doesn\\?'|Status: |Reason: |"
    r"Job\.batch \"[^\n]{0,80}\" is invalid: [^\n]{0,120}|"
    r"(?:task with address \S{1,200} )?missed \d{1,6}|"
    r"[A-Za-z_][\w.]{0,80}: |Error from server [^\n]{0,200}|ERROR: |Barrier result: )\Z"
)

_LINE_END = re.compile(
    r"[\r\n]|\\n|\s(?=[IWEF]\d{4} \d\d:\d\d:\d\d|XPK End: |EXIT_CODE=|Traceback \(most|={8}|Total hbm usage)"
)

_MEMORY_LINES = re.compile(r"(?<!\s)\s{1,80}(?=Ran out|Exceeded|Used)")

_MAX_MEMORY_LINES = 4
"""The three of them, and one blank in front of such a word elsewhere."""

_ANY_PROGRAM = frozenset(
    {FailureClass.CRASH, FailureClass.TERMINATED, FailureClass.HOST_OOM, FailureClass.LIMIT}
)
"""Classes whose messages any program may print."""

TRACEBACK_EPILOGUE = 4096
"""Bytes that may follow the last traceback of a program that no reader knows: its launcher's lines."""

# ```pytb      >      "error": "
_QUOTED_FRONT = re.compile(r"(?:```[^`\n]{0,40}\s{1,4}|(?:^|\n)[ \t]*>[ \t>]*|[\"'`])\Z")

_PAYLOAD = re.compile(r'"(?:textPayload|message)"')


def _traceback(match: Match) -> Iterator[Statement]:
    text = match.after(SHORT_TRACEBACK_BYTES if match.frequent else BYTES_AFTER)
    if _PAYLOAD.search(match.front):
        text = text.partition('",\n')[0].replace("\\n", "\n").replace('\\"', '"')
    traceback = read_traceback(text, "" if match.frequent else match.front)
    error = traceback.error or "Traceback without an error line"
    paths = "\n".join(traceback.paths)
    log_format = next((name for name, pattern in _TRAINERS if pattern.search(paths)), None)
    kind, echo = classify(error, FailureClass.CODE if traceback.where else FailureClass.UNKNOWN)
    if error.startswith("KeyboardInterrupt"):
        kind = FailureClass.TERMINATED
    yield PossibleCause(
        kind=kind,
        error=error,
        where=traceback.where,
        excerpt=traceback.excerpt,
        fingerprint=fingerprint(kind, error, traceback.place),
        time=match.time,
        echo=echo,
        training=log_format is not None,
        last_within=TRACEBACK_EPILOGUE if _ended_program(match, traceback) else None,
        log_format=log_format,
        offset=match.offset,
        end=match.offset + len(text[: traceback.end].encode("utf-8", "replace")),
    )


def _ended_program(match: Match, traceback: Traceback) -> bool:
    """Whether a program printed this traceback as it ended: whole, and quoted by nobody."""
    if not traceback.error or not traceback.paths:
        return False
    return not _QUOTED_FRONT.search(match.front) or _PAYLOAD.search(match.front) is not None


def _known_message(match: Match) -> Iterator[Statement]:
    """An error message with known words."""
    lead = _MESSAGE_LEAD.search(match.front)
    start = lead[0] if lead else ""
    text = start + _MEMORY_LINES.sub(" ", match.text, count=_MAX_MEMORY_LINES)
    error = _LINE_END.split(text, maxsplit=1)[0].strip()[:ERROR_LENGTH]
    kind, echo = classify(error)
    if kind is FailureClass.UNKNOWN:
        return
    yield PossibleCause(
        kind=kind,
        error=error,
        excerpt="\n".join((start + match.text).splitlines()[:12]),
        fingerprint=fingerprint(kind, error, ""),
        time=match.time,
        echo=echo,
        training=kind not in _ANY_PROGRAM,
        killed="OOMKilled" in error,
        last_within=TRACEBACK_EPILOGUE if kind is FailureClass.CRASH or "OOMKilled" in error else None,
        log_format="maxtext" if "MAXTEXT" in error else None,
        offset=match.offset,
        end=match.offset + len(error[len(start) :].encode("utf-8", "replace")),
    )


_MESSAGE_LITERALS = (
    b"RESOURCE_EXHAUSTED: ",
    b"MAXTEXT CONFIG ERROR",
    b"Terminating process because the JAX",
    b"DEADLINE_EXCEEDED; # of tasks",
    b"SLICE_FAILURE_",
    b"Session is failing with",
    b" health checks",
    b"A program or fatal error occurred",
    b"Unable to initialize backend 'tpu'",
    b"OOMKilled",
    b"ErrImagePull",
    b"ImagePullBackOff",
    b"failed to build: ",
    b"cannot be handled as a JobSet",
    b"t have a resource type",
    b"insufficient unused quota",
    b"Fatal Python error",
    b"Aborting training due to ",
    b"Failed to validate your docker image",
    b"is supported when podFailurePolicy",
    b"Preempted to accommodate",
    b"received SIGTERM",
    b"Received SIGTERM",
    b"error: argument -",
    b"error: unrecognized arguments: ",
    b"error: the following arguments are required: ",
    b"watchdog thread terminated with exception: ",
    b"maxview: job ended: ",
)

ERRORS = (
    LiteralRule(literal=b"Traceback (most recent call last)", read=_traceback, sparse=True),
    *(LiteralRule(literal=literal, read=_known_message, sparse=True) for literal in _MESSAGE_LITERALS),
)
