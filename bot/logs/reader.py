"""Read a training log: bytes in, one `RunLog` per run out."""

from collections.abc import Iterable
from dataclasses import replace

from bot.logs.assembly import assemble_runs, not_a_training_log
from bot.logs.decoding import Inflater, Transcoder
from bot.logs.facts import RunLog
from bot.logs.fast_path import FastPath
from bot.logs.formats.registry import COMMON_RULES, FORMATS
from bot.logs.prefixes import DateResolver
from bot.logs.rules import Match, rule_lead
from bot.logs.scanner import LiteralHit, Scanner
from bot.logs.segments import RunSplitter

_RULES = [(None, needle) for needle in COMMON_RULES] + [
    (form, needle) for form in FORMATS for needle in form.needles
]

_LITERALS = [needle.literal for _, needle in _RULES]

_OFTEN = 200
"""Sightings of one literal after which its reader need not read far: tracebacks of a thousand hosts."""

_CLOSE_BYTES = 2048
"""Bytes behind one such place in which another is not read: logs of hosts that follow each other are longer,
and what was read there reached about as far."""

_IDLE_MATCHES, _NEAR_BYTES = 10_000, 32
"""A literal that stood in so many places without a meaning has none where it stands again within so few
bytes: text that repeats it may be hundreds of megabytes."""

_SAMPLE_BYTES = 64 * 1024
"""Bytes by which text is told from binary data."""

_BINARY_SHARE = 0.1
"""Part of a sample that is no text: terminal codes and broken UTF-8 stay below it."""

_NON_TEXT = bytes(n for n in range(32) if n not in b"\t\n\r\x1b\b\f\0")


class LogReader:
    """Feed it the chunks of one log, then close it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._inflater = Inflater()
        self._transcoder = Transcoder()
        self._leads = [rule_lead(needle) for _, needle in _RULES]
        self._counts = [0] * len(_RULES)
        self._idle = [0] * len(_RULES)  # readings in a row that found nothing
        self._last = [0] * len(_RULES)  # the literal's last place
        self._sparse = -_CLOSE_BYTES  # the last of the places that are read for those around them
        self._almanac = DateResolver()
        self._chapters = RunSplitter()
        needles = {n: needle for n, (_, needle) in enumerate(_RULES)}
        self._shortcuts = FastPath(self._almanac, self._chapters, needles)
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
        runs = assemble_runs(self._chapters.episodes, self._source, self._almanac.first_year, complaint)
        runs = runs or (not_a_training_log(self._source, self._why_nothing(), complaint),)
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
            if len(self._sample) < _SAMPLE_BYTES:
                self._sample += piece[: _SAMPLE_BYTES - len(self._sample)]
            for hit in self._scanner.feed(piece):
                self._read(hit)

    def _read(self, hit: LiteralHit) -> None:
        form, needle = _RULES[hit.needle]
        often = self._counts[hit.needle] >= _OFTEN
        if self._needs_none(hit, sparse=needle.sparse and often):
            return
        self._sparse = hit.offset if needle.sparse else self._sparse
        self._counts[hit.needle] += 1
        seen = Match(hit, needle, self._leads[hit.needle], self._almanac, often=often)
        statements = []
        for said in needle.read(seen):
            self._chapters.hear(said, seen, form, telling=needle.telling)
            statements.append(said)
        self._idle[hit.needle] = 0 if statements else self._idle[hit.needle] + 1
        if self._shortcuts.learns(hit.needle):
            self._shortcuts.learn(hit, seen, form, needle, statements)

    def _needs_none(self, hit: LiteralHit, *, sparse: bool) -> bool:
        """Whether this place may go unread: it is one of very many, close to another that was read."""
        apart, self._last[hit.needle] = hit.offset - self._last[hit.needle], hit.offset
        idle = self._idle[hit.needle] >= _IDLE_MATCHES and apart < _NEAR_BYTES
        return idle or (sparse and hit.offset - self._sparse < _CLOSE_BYTES)

    def _why_nothing(self) -> str:
        if not self._inflater.total:
            return "The log is empty."
        odd = len(self._sample) - len(self._sample.translate(None, _NON_TEXT)) + self._sample.count(b"\0")
        if odd > _BINARY_SHARE * len(self._sample):
            return "This is binary data, not a log."
        return "No line of a format that is known was found."


def read_log(chunks: Iterable[bytes], source: str) -> tuple[RunLog, ...]:
    """The runs of one log."""
    reader = LogReader(source)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.close()
