"""What a job prints: it goes through a pipe, so that the job itself never holds its log open.

The supervisor alone writes the log. Beyond the limit the log is cut, and what is printed then is read and
thrown away.
"""

import os
from contextlib import suppress

_CHUNK_BYTES = 1 << 16

_CHUNKS_AT_ONCE = 16
"""A job that prints without end does not keep us from its limits."""


class JobOutput:
    """Copies what a program prints from a pipe to its log, at most `limit` bytes of it."""

    def __init__(self, log: int, limit: int) -> None:
        self._log = log
        self._left = limit
        self._ends_line = True
        self.problem = ""
        """Why the log is cut, as a clause; empty where it holds everything."""
        self._limit = limit
        self._reading, self._writing = os.pipe()
        self._ended = False
        os.set_blocking(self._reading, False)

    @property
    def reading(self) -> int | None:
        """What to wait for; None once nobody can print any more."""
        return None if self._ended else self._reading

    @property
    def writing(self) -> int:
        """The end of the pipe that the program writes to."""
        return self._writing

    def close_writing(self) -> None:
        """Close our copy of the program's end, once it is started."""
        os.close(self._writing)

    def pump(self) -> bool:
        """Copy what is there. Returns whether there may be more at once."""
        for _ in range(_CHUNKS_AT_ONCE):
            try:
                chunk = os.read(self._reading, _CHUNK_BYTES)
            except BlockingIOError:
                return False
            if not chunk:
                self._ended = True
                return False
            self._keep(chunk)
        return True

    def finish(self) -> None:
        """Copy the rest; every process that printed has ended."""
        while self.pump():
            pass
        os.close(self._reading)

    def say(self, line: str) -> None:
        """Append a line of ours, on a line of its own."""
        text = line.encode("utf-8", "backslashreplace")
        self._write(text if self._ends_line else b"\n" + text)

    def _keep(self, chunk: bytes) -> None:
        kept = chunk[: self._left]
        self._left -= len(kept)
        if kept:
            self._write(kept)
        if len(kept) < len(chunk) and not self.problem:
            self.problem = f"it printed more than {self._limit} bytes, and its log is cut here"

    def _write(self, text: bytes) -> None:
        self._ends_line = text.endswith(b"\n")
        rest = memoryview(text)
        try:
            while rest:
                rest = rest[os.write(self._log, rest) :]
        except OSError as problem:
            self._left = 0
            self.problem = self.problem or f"its log cannot be written: {problem.strerror}"


def append(log: int, text: str) -> None:
    """Append a text to a log, as far as that is possible."""
    rest = memoryview(text.encode("utf-8", "backslashreplace"))
    with suppress(OSError):
        while rest:
            rest = rest[os.write(log, rest) :]
