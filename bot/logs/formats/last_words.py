"""Last words: what a shell, launcher, scheduler, kernel or runtime says of a program that ended.

They stand in a log of any program, one that no reader knows included. A word alone, such as `Killed`, counts
where it stands alone on its line behind the line's prefix; `outcome` decides whether it is the cause.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from bot.logs.failures import FailureClass, exit_code_class, fingerprint
from bot.logs.rules import LiteralRule, Match, PossibleCause, Statement

WORD_EPILOGUE = 16
"""Bytes that may follow a word alone where it ends the log of a program that no reader knows."""
FORM_EPILOGUE = 4096
"""Bytes that may follow a message of an unmistakable form there: the scheduler's own lines."""
ERROR_LENGTH = 400
"""Characters of a message that are kept."""

SIGNAL_BASE = 128
"""A shell adds the number of the signal that ended a process to this."""
_OUTSIDE_SIGNALS = frozenset({1, 9, 15})
"""SIGHUP, SIGKILL, SIGTERM: somebody else ended the process."""
_SENT_TO_SIBLINGS = frozenset({1, 15})
"""Signals with which a launcher ends the other processes once one of them has failed."""

_LINE_END = re.compile(r"[\r\n]")

_NUMBER = re.compile(r"\d+")

_REST = r"[^\r\n]{0,300}"


# # slurmstepd: error: ...      // Killed process      "exited on signal 9"
_QUOTED_FRONT = re.compile(
    r"(?:^|[\r\n])[ \t]*(?:#|//|>|\*|--|%|;)[^\r\n]*\Z|[\"'`][^\r\n\]]{0,80}\Z"
    r"|```[^\n`]{0,40}\s{1,4}[^\r\n]{0,80}\Z"
)


def _cause(
    match: Match,
    kind: FailureClass,
    error: str,
    *,
    killed: bool = False,
    echo: bool = False,
    last_within: int | None = FORM_EPILOGUE,
) -> PossibleCause:
    error = error[:ERROR_LENGTH]
    if _QUOTED_FRONT.search(match.front):
        last_within = None
    return PossibleCause(
        kind=kind,
        error=error,
        excerpt=error,
        fingerprint=fingerprint(kind, error, ""),
        time=match.time,
        echo=echo,
        training=False,
        killed=killed,
        last_within=last_within,
        offset=match.offset,
        end=match.offset + len(error),
    )


def _signal_cause(
    match: Match, number: int, error: str, *, echo: bool = False, last_within: int = FORM_EPILOGUE
) -> PossibleCause:
    return _cause(
        match,
        exit_code_class(SIGNAL_BASE + number),
        error,
        killed=number in _OUTSIDE_SIGNALS,
        echo=echo or number in _SENT_TO_SIBLINGS,
        last_within=last_within,
    )


def exit_cause(match: Match, code: int, error: str) -> PossibleCause:
    """The echo of a launcher whose process exited with `code`; a negative one is a signal's number."""
    if code < 0 or code > SIGNAL_BASE:
        return _signal_cause(match, -code if code < 0 else code - SIGNAL_BASE, error, echo=True)
    return _cause(match, FailureClass.UNKNOWN, error, echo=True)


_SIGNALS = {
    "killed": 9, "terminated": 15, "hangup": 1, "segmentation fault": 11, "aborted": 6, "abort": 6,
    "bus error": 7, "floating point exception": 8, "illegal instruction": 4,
    "illegal hardware instruction": 4, "file size limit exceeded": 25, "cpu time limit exceeded": 24,
}  # fmt: skip

_DUMPED = r"(?:[ \t]*(?P<dumped>\(core dumped\)))?"

# Killed      Segmentation fault (core dumped)      Segmentation fault      (core dumped) python train.py
_WORD = re.compile(
    r"(?P<word>Killed|Terminated|Hangup|Segmentation fault|Aborted|Bus error|Floating point exception"
    r"|Illegal instruction|File size limit exceeded|CPU time limit exceeded)"
    + _DUMPED
    + r"(?P<command>[ \t]{1,40}[^\s][^\r\n]{0,1000})?[ \t]*(?=\r|\n|\Z)"
)

# ./run.sh: line 12: 48211      [1]+       [1]    4711      make: *** [Makefile:3: train]
_SHELL_FRONT = re.compile(
    r"(?:: line \d{1,7}: +\d{1,9} +|\[\d{1,4}\](?:[+-]|  [+-])? +(?:\d{1,9} *)?"
    r"|\*\*\* \[[^\]\n]{1,200}\] )\Z"
)

# srun: error: node7: task 3:      srun: error: node7: tasks 0-3,5:
_TASK = r"\bsrun: error: [^\n]{1,120}?: tasks? [\d,-]{1,60}: \Z"

_TASK_FRONT = re.compile(_TASK)


def _shell_word(match: Match) -> Iterator[Statement]:
    found = _WORD.match(match.text)
    if found is None:
        return
    shell = _SHELL_FRONT.search(match.front)
    if shell is None and (found["command"]):
        return
    form = shell or _TASK_FRONT.search(match.front)
    if form or _is_alone(match, found.end()):
        word = found["word"]
        error = f"{word} {found['dumped']}" if found["dumped"] else word
        within = FORM_EPILOGUE if form else WORD_EPILOGUE
        yield _signal_cause(match, _SIGNALS[word.lower()], error, last_within=within)


# 33%|███▎      | 8/24 [00:00<00:01, 26.18it/s]
_BAR_END = re.compile(r"\d{1,12}/(?:\d{1,12}|\?) \[[^\]\n]{1,200}\][ \t]*\Z")


def _is_alone(match: Match, end: int) -> bool:
    """Whether nothing but a prefix stands in front of the word: a date, or what the line before has too.

    In a log pasted on one line the word is the last one.
    """
    before, front = ["", *_LINE_END.split(match.before(1024).replace("\r\n", "\n"))][-2:]
    if not front.strip() or match.time is not None:
        return True
    if _BAR_END.search(front):
        return True
    if len(front) < 200 and _NUMBER.sub("0", before).startswith(_NUMBER.sub("0", front).rstrip()):
        return True
    return match.at_end and not match.text[end:].strip() and len(front) > 200


# zsh: segmentation fault (core dumped)  python train.py
_ZSH = re.compile(
    r"zsh: (?P<word>killed|terminated|hangup|segmentation fault|abort|bus error|illegal hardware instruction"
    r"|floating point exception|file size limit exceeded)" + _DUMPED + r"(?= |\r|\n|\Z)"
)


def _zsh_word(match: Match) -> Iterator[Statement]:
    if found := _ZSH.match(match.text):
        error = f"{found['word']} {found['dumped']}" if found["dumped"] else found["word"]
        yield _signal_cause(match, _SIGNALS[found["word"]], error)


# failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: /usr/bin/python3
_ELASTIC = re.compile(r"failed \(exitcode: (?P<code>-?\d{1,4})\) local_rank: " + _REST)

# exitcode  : -9 (pid: 4711)
_ELASTIC_TABLE = re.compile(r"exitcode  : (?P<code>-?\d{1,4}) +\(pid: \d{1,9}\)")

# Process finished with exit code 137 (interrupted by signal 9: SIGKILL)
_EXIT = re.compile(r"with exit code (?P<code>\d{1,3})(?= \(|\s|\Z)")

# srun: error: node7: task 3: Exited with exit code 1
_EXIT_FRONT = re.compile(_TASK.removesuffix(r"\Z") + r"Exited \Z|\bProcess finished \Z")


def _exit_code(match: Match) -> Iterator[Statement]:
    found = _ELASTIC.match(match.text) or _ELASTIC_TABLE.match(match.text)
    error = found[0].strip() if found else ""
    if found is None and (front := _EXIT_FRONT.search(match.front)):
        found = _EXIT.match(match.text)
        error = front[0] + found[0] if found else ""
    if found and int(found["code"]):
        yield exit_cause(match, int(found["code"]), error)


# mpirun noticed that process rank 3 with PID 0 on node node7 exited on signal 9 (Killed).
_MPI = re.compile(r"exited on signal (?P<number>\d{1,2})(?: \([^)\n]{1,60}\))?\.?")

# train.service: Main process exited, code=killed, status=9/KILL
_SYSTEMD = re.compile(r"ed, status=(?P<number>\d{1,2})/[A-Z]{1,12}")


_SYSTEMD_FRONT = re.compile(r"code=(?:kill|dump)\Z")


def _signal_number(match: Match) -> Iterator[Statement]:
    if found := _MPI.match(match.text):
        yield _signal_cause(match, int(found["number"]), found[0])


def _service_signal(match: Match) -> Iterator[Statement]:
    front, found = _SYSTEMD_FRONT.search(match.front), _SYSTEMD.match(match.text)
    if front and found:
        yield _signal_cause(match, int(found["number"]), front[0] + found[0])


# slurmstepd: error: *** JOB 4711 ON node7 CANCELLED AT 2026-04-21T10:16:20 DUE TO TIME LIMIT ***
_CANCELLED_FRONT = re.compile(r"slurmstepd: error: \*\*\* (?:JOB|STEP) [^\n]{1,160}? ON [^\n]{1,160}? \Z")

_CANCELLED = re.compile(r"CANCELLED AT \S{10,40}(?: DUE TO (?P<why>[^*\r\n]{1,80}?))? \*\*\*")

_CANCEL_REASONS = (
    ("TIME LIMIT", FailureClass.TIMEOUT),
    ("PREEMPTION", FailureClass.PREEMPTED),
    ("NODE FAILURE", FailureClass.BAD_HARDWARE),
)


def _cancelled(match: Match) -> Iterator[Statement]:
    front, found = _CANCELLED_FRONT.search(match.front), _CANCELLED.match(match.text)
    if front and found:
        why = found["why"] or ""
        kinds = (kind for words, kind in _CANCEL_REASONS if why.startswith(words))
        kind = next(kinds, FailureClass.TERMINATED)
        yield _cause(match, kind, front[0] + found[0], killed=True, echo=kind is FailureClass.TERMINATED)


class _Message(Struct, frozen=True, kw_only=True):
    """A message of a fixed form: what stands in front of its literal, what it says, and its class."""

    front: re.Pattern[str]
    text: re.Pattern[str]
    kind: FailureClass
    last_within: int | None = FORM_EPILOGUE


_MESSAGES = tuple(
    _Message(front=re.compile(front + r"\Z"), text=re.compile(text), kind=kind)
    for front, text, kind in (
        # slurmstepd: error: Detected 1 oom_kill event in StepId=88.0. Some of the step ...
        (r"(?:slurmstepd: )?error: Detected \d{1,6} oom[_-]", r"kill event" + _REST, FailureClass.HOST_OOM),
        # srun: error: node7: task 0: Out Of Memory
        (_TASK, r"Out Of Memory", FailureClass.HOST_OOM),
        # [812.4] Out of memory: Killed process 4711 (python3) total-vm:8096kB
        (r"(?:Memory cgroup o|O)", r"ut of memory: Kill(?:ed)? process \d" + _REST, FailureClass.HOST_OOM),
        # The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi.
        (r"", r"The node was low on resource: memory" + _REST, FailureClass.HOST_OOM),
        (r"", r"The node was low on resource: ephemeral-storage" + _REST, FailureClass.DISK_FULL),
        # Pod was active on the node longer than the specified deadline
        (r"(?:Pod|Job) was active (?:on the node )?", r"longer than the specified deadline",
         FailureClass.TIMEOUT),
    )
)  # fmt: skip


def _message(match: Match) -> Iterator[Statement]:
    for message in _MESSAGES:
        front, found = message.front.search(match.front), message.text.match(match.text)
        if front and found:
            yield _cause(match, message.kind, front[0] + found[0].rstrip(), killed=True)
            return


# terminate called after throwing an instance of 'std::bad_alloc' | what():  std::bad_alloc
_TERMINATE = re.compile(
    r"terminate called after throwing an instance of '(?P<name>[^'\n]{1,200})'"
    r"(?:\s{1,4}(?P<what>what\(\):[ \t]{0,4}[^\r\n]{0,300}))?"
)


def _terminate(match: Match) -> Iterator[Statement]:
    if found := _TERMINATE.match(match.text):
        head, what = _LINE_END.split(found[0], maxsplit=1)[0], found["what"] or ""
        error = f"{head.partition(' what()')[0]} {what}".strip()
        memory = "bad_alloc" in found["name"]
        yield _cause(match, FailureClass.HOST_OOM if memory else FailureClass.CRASH, error)


# cp: error writing 'x': No space left on device      OSError: [Errno 122] Disk quota exceeded
_DISK_FRONT = re.compile(r"[^\r\n]{0,200}\Z")


def _full_disk(match: Match) -> Iterator[Statement]:
    front = _DISK_FRONT.search(match.front)
    words = _LINE_END.split(match.text, maxsplit=1)[0]
    error = f"{front[0] if front else ''}{words}".strip()
    yield _cause(match, FailureClass.DISK_FULL, error, last_within=None)


LAST_WORDS = (
    *(
        LiteralRule(literal=literal, read=_shell_word)
        for literal in (
            b"Killed", b"Terminated", b"Hangup", b"Segmentation fault", b"Aborted", b"Bus error",
            b"Floating point exception", b"Illegal instruction", b"File size limit exceeded",
            b"CPU time limit exceeded", b" killed  ", b" segmentation fault",
        )
    ),
    LiteralRule(literal=b"zsh: ", read=_zsh_word),
    *(
        LiteralRule(literal=literal, read=_exit_code)
        for literal in (
            b"failed (exitcode: ", b"exitcode  : ", b"with exit code ",
        )
    ),
    LiteralRule(literal=b"exited on signal ", read=_signal_number),
    LiteralRule(literal=b"ed, status=", read=_service_signal),
    LiteralRule(literal=b"CANCELLED AT ", read=_cancelled),
    *(
        LiteralRule(literal=literal, read=_message)
        for literal in (
            b"kill event", b"Out Of Memory", b"ut of memory: Kill",
            b"The node was low on resource", b"longer than the specified deadline",
        )
    ),
    LiteralRule(literal=b"terminate called after throwing", read=_terminate),
    LiteralRule(literal=b"No space left on device", read=_full_disk, sparse=True),
    LiteralRule(literal=b"Disk quota exceeded", read=_full_disk, sparse=True),
)  # fmt: skip
