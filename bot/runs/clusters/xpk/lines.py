"""Joins the logs of a job's processes into one that a reader can tell apart.

In:  the bytes of logs, piece by piece. Out: bytes, piece by piece.
Promises: pure, constant memory however long a line is. Process 0's bytes are not touched. Another process's
lines carry its pod's name in the form of `kubectl logs --prefix`, without the frame, which is process 0's to
draw: a second `XPK Start` would open a second run.
"""

from collections.abc import Iterable, Iterator

from bot.runs.clusters.progress import STEP

_FRAME = (b"XPK Start:", b"XPK End:", b"EXIT_CODE=", b"BENCH_META ")
_LONGEST_FRAME = max(map(len, _FRAME))

# What a process says that fell because another one did: the cause stands in another log.
_VICTIM = b"JAX distributed service detected fatal errors"

_SUCCESS = b"EXIT_CODE=0"

_CARRY = 200
_PIECE = 1 << 16


class Completeness:
    """Watches a log go by: whether it names every step, and whether its end is another process's doing."""

    def __init__(self) -> None:
        self._carry = b""
        self._last: int | None = None
        self._gap = False
        self._victim = False
        self._succeeded = False

    @property
    def stepless(self) -> bool:
        """Whether it ended well without a step line: then step lines may not be this program's way."""
        return self._last is None and self._succeeded

    @property
    def names_steps(self) -> bool:
        """Whether there is a step line in it."""
        return self._last is not None

    @property
    def whole(self) -> bool:
        """Whether the log tells all there is to know."""
        return self._last is not None and not self._gap and not self._victim

    def watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Hand the pieces on as they are."""
        for piece in pieces:
            self._see(self._carry + piece)
            yield piece

    def _see(self, window: bytes) -> None:
        self._victim = self._victim or _VICTIM in window
        self._succeeded = self._succeeded or _SUCCESS in window
        done = 0
        for found in STEP.finditer(window):
            step, done = int(found["step"]), found.end()
            # A step that comes again is a second life of the program, which the reader knows how to take.
            self._gap = self._gap or (step > self._last + 1 if self._last is not None else False)
            self._last = step
        self._carry = window[max(done, len(window) - _CARRY) :]


def marked(pieces: Iterable[bytes], pod: str, container: str) -> Iterator[bytes]:
    """Another process's lines with its mark, as `kubectl logs --prefix` writes it."""
    mark = f"[pod/{pod}/{container}] ".encode()
    for begins, part in _parts(pieces):
        if begins and not part.startswith(_FRAME):
            yield mark + part
        elif not begins:
            yield part


def _parts(pieces: Iterable[bytes]) -> Iterator[tuple[bool, bytes]]:
    """Lines with their ends, and of a very long line its parts: whether one begins a line, and its bytes."""
    rest, begins = b"", True
    for piece in pieces:
        rest += piece
        *lines, rest = rest.split(b"\n")
        for line in lines:
            yield begins, line + b"\n"
            begins = True
        if len(rest) > _PIECE:
            yield begins, rest
            rest, begins = b"", False
    if rest or not begins:
        yield begins, rest + b"\n"
