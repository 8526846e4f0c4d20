"""Reads a training log: bytes in, one `RunLog` per run out.

In:  the bytes of a log in chunks of any size, plain or gzip; `source` is only a name.
Out: at least one `RunLog`; a source that is no training log gets one whose state says so.

Nothing raises whatever the bytes are, memory stays flat whatever their number, and the answer does not
depend on where the chunks were cut.
"""

from collections.abc import Iterable

from bot.logs.almanac import Almanac
from bot.logs.assemble import assemble, nothing
from bot.logs.chapters import Chapters
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
        self._leads = [lead_of(needle) for _, needle in _NEEDLES]
        self._counts = [0] * len(_NEEDLES)
        self._almanac = Almanac()
        self._chapters = Chapters()
        needles = {n: needle for n, (_, needle) in enumerate(_NEEDLES)}
        self._shortcuts = Shortcuts(self._almanac, self._chapters, needles)
        self._scanner = Scanner(_LITERALS, self._shortcuts.passing())
        self._sample = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for piece in self._inflater.feed(chunk):
            self._scan(piece)

    def close(self) -> tuple[RunLog, ...]:
        """The log has ended: its runs."""
        for piece in self._inflater.close():
            self._scan(piece)
        for hit in self._scanner.close():
            self._read(hit)
        complaint = self._inflater.complaint
        runs = assemble(self._chapters.episodes, self._source, self._almanac.first_year, complaint)
        return runs or (nothing(self._source, self._why_nothing(), complaint),)

    @property
    def searched(self) -> int:
        """Bytes searched so far: the work that was done."""
        return self._scanner.searched

    @property
    def careful(self) -> int:
        """Places that were read with care so far: the others said again what was known, or looked alike."""
        return sum(self._counts)

    def _scan(self, piece: bytes) -> None:
        if len(self._sample) < _SAMPLE:
            self._sample += piece[: _SAMPLE - len(self._sample)]
        for hit in self._scanner.feed(piece):
            self._read(hit)

    def _read(self, hit: Hit) -> None:
        form, needle = _NEEDLES[hit.needle]
        self._counts[hit.needle] += 1
        often = self._counts[hit.needle] > _OFTEN
        seen = Sighting(hit, needle, self._leads[hit.needle], self._almanac, often=often)
        statements = []
        for said in needle.read(seen):
            self._chapters.hear(said, seen, form, telling=needle.telling)
            statements.append(said)
        if self._shortcuts.learns(hit.needle):
            self._shortcuts.learn(hit, seen, form, needle, statements)

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
