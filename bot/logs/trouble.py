"""Reads what may have made a run fail: tracebacks, and the messages of XLA, libtpu, JAX, Kubernetes and xpk.

In:  sightings of the literals in `TROUBLE`.
Out: `Trouble`s; which of them was the cause is decided when the whole run is known (`outcome`).
"""

import re
from collections.abc import Iterator

from bot.logs.failure import FailureClass, classify, fingerprint
from bot.logs.scan import AHEAD
from bot.logs.sighting import Needle, Sighting
from bot.logs.stack import ERROR_LENGTH, read_stack
from bot.logs.statement import Statement, Trouble

_TRAINERS = (
    ("maxtext", re.compile(r"/deps/|maxtext|maxdiffusion", re.IGNORECASE)),
    ("torchtitan", re.compile(r"torchtitan")),
    ("megatron", re.compile(r"megatron|primus", re.IGNORECASE)),
    ("nemo", re.compile(r"/nemo/")),
    ("hugging_face", re.compile(r"/transformers/trainer\.py|/llamafactory/")),
)
SPARE = 2048
"""Bytes read of each traceback where there are very many of them."""
# jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: ...      Barrier result: DEADLINE_EXCEEDED; ...
# couldn't assign flavors to pod set slice-job: insufficient ...  error: the server doesn\'t have a ...
_OPENING = re.compile(
    r"(?:couldn't assign flavors [^\n]{0,120}|error: the server doesn\\?'|Status: |Reason: |"
    r"Job\.batch \"[^\n]{0,80}\" is invalid: [^\n]{0,120}|"
    r"(?:task with address \S{1,200} )?missed \d{1,6}|"
    r"[A-Za-z_][\w.]{0,80}: |Error from server [^\n]{0,200}|ERROR: |Barrier result: )\Z"
)
_LINE_END = re.compile(
    r"[\r\n]|\\n|\s(?=[IWEF]\d{4} \d\d:\d\d:\d\d|XPK End: |EXIT_CODE=|Traceback \(most|={8}|Total hbm usage)"
)
_MEMORY_LINES = re.compile(r"(?<!\s)\s{1,80}(?=Ran out|Exceeded|Used)")
_MOST_MEMORY_LINES = 4
"""The three of them, and one blank in front of such a word that is none."""


_ANYBODYS = frozenset({FailureClass.CRASH, FailureClass.TERMINATED, FailureClass.HOST_OOM})
"""Classes whose messages any program may print."""


def _traceback(seen: Sighting) -> Iterator[Statement]:
    text = seen.after(SPARE if seen.often else AHEAD)
    if '"textPayload"' in seen.front or '"message"' in seen.front:
        text = text.partition('",\n')[0].replace("\\n", "\n").replace('\\"', '"')
    stack = read_stack(text, "" if seen.often else seen.front)
    error = stack.error or "Traceback without an error line"
    paths = "\n".join(stack.paths)
    form = next((name for name, pattern in _TRAINERS if pattern.search(paths)), None)
    kind, echo = classify(error, FailureClass.CODE if stack.where else FailureClass.UNKNOWN)
    if error.startswith("KeyboardInterrupt"):
        kind = FailureClass.TERMINATED
    yield Trouble(
        kind=kind,
        error=error,
        where=stack.where,
        excerpt=stack.excerpt,
        fingerprint=fingerprint(kind, error, stack.place),
        time=seen.time,
        echo=echo,
        training=form is not None,
        form=form,
        offset=seen.offset,
        end=seen.offset + len(text[: stack.end].encode("utf-8", "replace")),
    )


def _message(seen: Sighting) -> Iterator[Statement]:
    """A message that is known word for word."""
    opening = _OPENING.search(seen.front)
    start = opening[0] if opening else ""
    text = start + _MEMORY_LINES.sub(" ", seen.text, count=_MOST_MEMORY_LINES)
    error = _LINE_END.split(text, maxsplit=1)[0].strip()[:ERROR_LENGTH]
    kind, echo = classify(error)
    if kind is FailureClass.UNKNOWN:
        return
    yield Trouble(
        kind=kind,
        error=error,
        excerpt="\n".join((start + seen.text).splitlines()[:12]),
        fingerprint=fingerprint(kind, error, ""),
        time=seen.time,
        echo=echo,
        training=kind not in _ANYBODYS,
        form="maxtext" if "MAXTEXT" in error else None,
        offset=seen.offset,
        end=seen.offset + len(error[len(start) :].encode("utf-8", "replace")),
    )


_MESSAGES = (
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
    b"error: argument -",
    b"error: unrecognized arguments: ",
    b"error: the following arguments are required: ",
    b"watchdog thread terminated with exception: ",
)

TROUBLE = (
    Needle(literal=b"Traceback (most recent call last)", read=_traceback, sparse=True),
    *(Needle(literal=literal, read=_message, sparse=True) for literal in _MESSAGES),
)
