"""Reads a training log: bytes in, one `RunLog` per run out.

In:  the bytes of a log in chunks of any size, plain or gzip; `source` is only a name.
Out: at least one `RunLog`; a source that is no training log gets one whose state says so.

Nothing raises whatever the bytes are, memory stays flat whatever their number, and the answer does not
depend on where the chunks were cut.
"""

from collections.abc import Iterable
from dataclasses import replace

from bot.logs.almanac import Almanac
from bot.logs.assemble import assemble, nothing
from bot.logs.chapters import Chapters
from bot.logs.encoding import Transcoder
from bot.logs.facts import RunLog
from bot.logs.formats import COMMON, FORMATS
from bot.logs.inflate import Inflater
from bot.logs.scan import Hit, Scanner
from bot.logs.shortcut import Shortcuts
from bot.logs.sighting import Sighting, lead_of

_NEEDLES = [(None, needle) for needle in COMMON] + [
    (form, needle) for form in FORMATS for needle in form.needles
]
_LITERALS = [needle.literal for _, needle in _NEEDLES]
_OFTEN = 200
"""Sightings of one literal after which its reader need not read far: tracebacks of a thousand hosts."""
_CLOSE = 2048
"""Bytes behind one such place in which another is not read: logs of hosts that follow each other are longer,
and what was read there reached about as far."""

_IDLE, _NEAR = 10_000, 32
"""A literal that stood in so many places without a meaning has none where it stands again within so few
bytes: text that repeats it may be hundreds of megabytes."""

_SAMPLE = 64 * 1024
"""Bytes by which text is told from binary data."""
_BINARY = 0.1
"""Part of a sample that is no text: terminal codes and broken UTF-8 stay below it."""
_NO_TEXT = bytes(n for n in range(32) if n not in b"\t\n\r\x1b\b\f\0")


class LogReader:
    """Feed it the chunks of one log, then close it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._inflater = Inflater()
        self._transcoder = Transcoder()
        self._leads = [lead_of(needle) for _, needle in _NEEDLES]
        self._counts = [0] * len(_NEEDLES)
        self._idle = [0] * len(_NEEDLES)  # readings in a row that found nothing
        self._last = [0] * len(_NEEDLES)  # the literal's last place
        self._sparse = -_CLOSE  # the last of the places that are read for those around them
        self._almanac = Almanac()
        self._chapters = Chapters()
        needles = {n: needle for n, (_, needle) in enumerate(_NEEDLES)}
        self._shortcuts = Shortcuts(self._almanac, self._chapters, needles)
        self._scanner = Scanner(_LITERALS, self._shortcuts.passing())
        self._sample = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for piece in self._inflater.feed(chunk):
            self._scan(self._transcoder.feed(piece))

    def close(self) -> tuple[RunLog, ...]:
        """The log has ended: its runs."""
        for piece in self._inflater.close():
            self._scan(self._transcoder.feed(piece))
        self._scan(self._transcoder.close())
        for hit in self._scanner.close():
            self._read(hit)
        complaint = self._inflater.complaint
        runs = assemble(self._chapters.episodes, self._source, self._almanac.first_year, complaint)
        runs = runs or (nothing(self._source, self._why_nothing(), complaint),)
        remark = self._transcoder.remark
        return tuple(replace(run, warnings=(remark, *run.warnings)) for run in runs) if remark else runs

    @property
    def searched(self) -> int:
        """Bytes searched so far: the work that was done."""
        return self._scanner.searched

    @property
    def careful(self) -> int:
        """Places that were read with care so far: the others said again what was known, or looked alike."""
        return sum(self._counts)

    def _scan(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            if len(self._sample) < _SAMPLE:
                self._sample += piece[: _SAMPLE - len(self._sample)]
            for hit in self._scanner.feed(piece):
                self._read(hit)

    def _read(self, hit: Hit) -> None:
        form, needle = _NEEDLES[hit.needle]
        often = self._counts[hit.needle] >= _OFTEN
        if self._needs_none(hit, sparse=needle.sparse and often):
            return
        self._sparse = hit.offset if needle.sparse else self._sparse
        self._counts[hit.needle] += 1
        seen = Sighting(hit, needle, self._leads[hit.needle], self._almanac, often=often)
        statements = []
        for said in needle.read(seen):
            self._chapters.hear(said, seen, form, telling=needle.telling)
            statements.append(said)
        self._idle[hit.needle] = 0 if statements else self._idle[hit.needle] + 1
        if self._shortcuts.learns(hit.needle):
            self._shortcuts.learn(hit, seen, form, needle, statements)

    def _needs_none(self, hit: Hit, *, sparse: bool) -> bool:
        """Whether this place may go unread: it is one of very many, close to another that was read."""
        apart, self._last[hit.needle] = hit.offset - self._last[hit.needle], hit.offset
        idle = self._idle[hit.needle] >= _IDLE and apart < _NEAR
        return idle or (sparse and hit.offset - self._sparse < _CLOSE)

    def _why_nothing(self) -> str:
        if not self._inflater.total:
            return "The log is empty."
        odd = len(self._sample) - len(self._sample.translate(None, _NO_TEXT)) + self._sample.count(b"\0")
        if odd > _BINARY * len(self._sample):
            return "This is binary data, not a log."
        return "No line of a format that is known was found."


def read_log(chunks: Iterable[bytes], source: str) -> tuple[RunLog, ...]:
    """The runs of one log."""
    reader = LogReader(source)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.close()
