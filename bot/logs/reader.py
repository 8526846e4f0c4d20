"""Read a training log: bytes in, one `RunLog` per run out."""

import re
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from bot.logs.assembly import assemble_runs, damage_words, not_a_training_log
from bot.logs.decoding import Inflater, Transcoder, Utf8Cleaner
from bot.logs.facts import RunLog
from bot.logs.fast_path import FastPath
from bot.logs.formats.registry import COMMON_RULES, FORMATS
from bot.logs.limits import NO_LIMITS, ReadLimit, ReadLimits, UnreadRest
from bot.logs.prefixes import DateResolver
from bot.logs.records import RecordUnpacker
from bot.logs.rules import Match
from bot.logs.scanner import LiteralHit, Scanner
from bot.logs.segments import RunSplitter

_RULES = [(None, rule) for rule in COMMON_RULES] + [
    (log_format, rule) for log_format in FORMATS for rule in log_format.rules
]

_LITERALS = [rule.literal for _, rule in _RULES]

_FREQUENT = 200
"""Matches of one rule after which its function need not read far: tracebacks of a thousand hosts."""
_CLOSE_BYTES = 2048
"""Bytes behind a match of a sparse rule in which another is not read. Logs of hosts that follow each other
are longer, and reading the first match has covered about as much."""
_IDLE_MATCHES, _NEAR_BYTES = 10_000, 32
"""After so many matches in a row without a statement, a literal is skipped where it repeats within so few
bytes: text that repeats it may be hundreds of megabytes long."""

_SAMPLE_BYTES = 64 * 1024
"""Bytes that decide between text and binary data."""
_BINARY_SHARE = 0.1
"""Share of a sample that is no text: terminal codes and broken UTF-8 stay below it."""
_NON_TEXT = bytes(n for n in range(32) if n not in b"\t\n\r\x1b\b\f\0")

_DOCUMENT = re.compile(rb"\s*(?:<(?:\?xml|!doctype|html|head|body|svg)\b|\{\\rtf|%PDF-)", re.IGNORECASE)
"""How documents begin that may quote an error, and are no logs."""


class LogReader:
    """Reads one log. Feed it chunks, then close it.

    `keep` is given the text on the way, in UTF-8; places in the facts are counted in this text. A log that
    reaches one of the `limits` is read no further: `unread` says where.
    """

    def __init__(
        self, source: str, *, limits: ReadLimits = NO_LIMITS, keep: Callable[[bytes], None] | None = None
    ) -> None:
        self.unread: UnreadRest | None = None
        self._source = source
        self._limits = limits
        self._keep = keep
        self._stored = 0  # bytes fed
        self._text = 0  # bytes of text
        self._line = 1
        self._inflater = Inflater()
        self._unpacker = RecordUnpacker()
        self._transcoder = Transcoder()
        self._cleaner = Utf8Cleaner()
        self._leads = [rule.lead_patterns() for _, rule in _RULES]
        self._counts = [0] * len(_RULES)
        self._idle = [0] * len(_RULES)  # matches in a row that stated nothing
        self._last = [0] * len(_RULES)  # the literal's last place
        self._last_sparse = -_CLOSE_BYTES  # the last match of a sparse rule that was read
        self._dates = DateResolver()
        self._splitter = RunSplitter()
        rules = {n: rule for n, (_, rule) in enumerate(_RULES)}
        self._fast_path = FastPath(self._dates, self._splitter, rules)
        self._scanner = Scanner(_LITERALS, self._fast_path.skippers())
        self._sample = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._stored += len(chunk)
        for piece in self._inflater.feed(chunk):
            if self.unread is not None:
                return
            self._read_bytes(self._unpacker.feed(piece))

    def stop(self, limit: ReadLimit) -> None:
        """Read no further, for this reason."""
        if self.unread is None:
            self.unread = UnreadRest(limit=limit, offset=self._text, line=self._line)

    def close(self) -> tuple[RunLog, ...]:
        """The runs of the log, which has ended."""
        if self.unread is None:
            for piece in self._inflater.close():
                self._read_bytes(self._unpacker.feed(piece))
            self._read_bytes(self._unpacker.close())
            self._read_text(self._transcoder.close())
            for text in self._cleaner.close():
                self._scan(text)
        for hit in self._scanner.close():
            self._read(hit)
        damage = self.unread or self._inflater.damage
        end = None if _DOCUMENT.match(self._sample) else self._scanner.total
        runs = assemble_runs(self._splitter.segments, self._source, self._dates.first_year, damage, end)
        runs = runs or (not_a_training_log(self._source, self._why_no_log(), damage),)
        note = self._transcoder.note
        return tuple(replace(run, warnings=(note, *run.warnings)) for run in runs) if note else runs

    @property
    def missing(self) -> str:
        """Why the text ends where it does, if that is not the log's own end; known when it is closed."""
        damage = self.unread or self._inflater.damage
        return damage_words(damage) if damage else ""

    @property
    def searched(self) -> int:
        """Bytes searched so far: the work done."""
        return self._scanner.searched

    @property
    def slow_path_matches(self) -> int:
        """Matches read by the functions of their rules so far, rather than by the fast path."""
        return sum(self._counts)

    def _read_bytes(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._read_text(self._transcoder.feed(piece))

    def _read_text(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            if len(self._sample) < _SAMPLE_BYTES:
                self._sample += piece[: _SAMPLE_BYTES - len(self._sample)]
            for text in self._cleaner.feed(piece):
                self._scan(text)

    def _scan(self, text: bytes) -> None:
        if self.unread is not None:
            return
        if self._limits.text_bytes is not None:
            text = text[: self._limits.text_bytes - self._text]
        if self._keep is not None:
            self._keep(text)
        for hit in self._scanner.feed(text):
            self._read(hit)
        self._text += len(text)
        if self._limits is NO_LIMITS:
            return
        self._line += text.count(b"\n")
        steps, kept = self._splitter.step_counts()
        if limit := self._limits.reached(self._text, self._stored, steps, kept):
            self.stop(limit)

    def _read(self, hit: LiteralHit) -> None:
        log_format, rule = _RULES[hit.literal]
        frequent = self._counts[hit.literal] >= _FREQUENT
        if self._is_skipped(hit, sparse=rule.sparse and frequent):
            return
        self._last_sparse = hit.offset if rule.sparse else self._last_sparse
        self._counts[hit.literal] += 1
        match = Match(hit, rule, self._leads[hit.literal], self._dates, frequent=frequent)
        statements = []
        for statement in rule.read(match):
            self._splitter.add(statement, match, log_format, distinctive=rule.distinctive)
            statements.append(statement)
        self._idle[hit.literal] = 0 if statements else self._idle[hit.literal] + 1
        if self._fast_path.learns(hit.literal):
            self._fast_path.learn(hit, match, log_format, rule, statements)

    def _is_skipped(self, hit: LiteralHit, *, sparse: bool) -> bool:
        """Whether this match is one of very many, and close to another that was read."""
        distance, self._last[hit.literal] = hit.offset - self._last[hit.literal], hit.offset
        idle = self._idle[hit.literal] >= _IDLE_MATCHES and distance < _NEAR_BYTES
        return idle or (sparse and hit.offset - self._last_sparse < _CLOSE_BYTES)

    def _why_no_log(self) -> str:
        if not self._inflater.total:
            return "The log is empty."
        non_text = (
            len(self._sample) - len(self._sample.translate(None, _NON_TEXT)) + self._sample.count(b"\0")
        )
        if non_text > _BINARY_SHARE * len(self._sample):
            return "This is binary data, not a log."
        return "No line of a format that is known was found."


def read_log(chunks: Iterable[bytes], source: str) -> tuple[RunLog, ...]:
    """The runs of one log."""
    reader = LogReader(source)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.close()
