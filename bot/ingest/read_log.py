"""Read a log once: its facts, and its text for our archive.

The calls block. A log is read as far as `SERVER_LIMITS` and `MAX_WORK_SECONDS` allow; what follows is
missing, and the facts say so.
"""

import time
from collections.abc import Callable, Iterable

from msgspec import Struct

from bot.artifacts.log_archive import ARCHIVE_SUFFIX, ArchiveFile, LogArchive, LogText, RedactedText
from bot.ingest.turns import Turns, TurnTaker
from bot.logs.limits import SERVER_LIMITS, ReadLimit
from bot.logs.reader import LogReader
from bot.redaction.rules import RULES_VERSION
from bot.redaction.stream import Redactor
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure

MAX_WORK_SECONDS = 120.0
"""Of work on one log: 4 GB of chatter take 20 s, and two million step lines 30 s."""

MAX_READ_SECONDS = 900.0
"""From the first byte to the last, waiting included: a store that gives a byte a minute is not waited for."""


class ReadLog(Struct, frozen=True, kw_only=True):
    """What was read: the facts of the last run, and the text, still in a temporary file."""

    measured: MeasuredRun
    text: ArchiveFile


def read_log(
    chunks: Iterable[bytes],
    source: str,
    taker: TurnTaker | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> ReadLog:
    """Read a log to its end, in constant memory."""
    taker = taker or Turns().of("")
    text = LogText()

    def keep(piece: bytes) -> None:
        text.feed(piece)
        taker.breathe()
        if taker.seconds > MAX_WORK_SECONDS:
            reader.stop(ReadLimit.TIME)

    reader = LogReader(source, limits=SERVER_LIMITS, keep=keep)
    until = clock() + MAX_READ_SECONDS
    try:
        for chunk in chunks:
            with taker.turn():
                reader.feed(chunk)
            if clock() > until:
                reader.stop(ReadLimit.TIME)
            if reader.unread is not None:
                break
        with taker.turn():
            measured = measure(reader.close()[-1])
            text.archive.note = reader.missing
            return ReadLog(measured=measured, text=text.close())
    except BaseException:
        text.archive.discard()
        raise


def redact_archive(archive: LogArchive, taker: TurnTaker | None = None) -> ArchiveFile:
    """The redacted form of a stored log, in a temporary file."""
    taker = taker or Turns().of("")
    redactor, made = Redactor(), RedactedText(archive.note)
    try:
        for block in archive.blocks():
            with taker.turn():
                made.add(block)
                made.changed(_encoded(redactor.feed(block.text.decode() + "\n")))
        with taker.turn():
            made.changed(_encoded(redactor.close()))
            return made.close()
    except BaseException:
        made.archive.discard()
        raise


def text_name(run: str, content: str) -> str:
    """The name of a log's archive; `content` says which attempt, or which generation of a found log."""
    return f"runs/{run}/log-{content}{ARCHIVE_SUFFIX}"


def redacted_name(text: str) -> str:
    """The name of the redacted form of an archive, by the present rules."""
    return f"{text.removesuffix(ARCHIVE_SUFFIX)}.redacted-{RULES_VERSION}{ARCHIVE_SUFFIX}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
