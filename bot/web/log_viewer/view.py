"""One window of a log, ready to show: numbered, marked, repetitive lines folded.

Lines with the same mask fold into one; errors, warnings and marked lines never do. Memory is that of a window
or two; calls block.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bot.artifacts.log_archive import LogArchive
from bot.web.log_viewer.masks import mask, message
from bot.web.log_viewer.window import MAX_LINES, WINDOW_BYTES, LogLine, LogMark, log_lines, read_span

MIN_ALIKE = 5
"""Lines of a window that must share a mask to be repetitive."""

MIN_FOLD_LINES = 8
"""Shortest fold: fewer lines are read as fast as the summary that would replace them."""

MAX_FOLD_MASKS = 3
"""Masks listed by a fold."""

_IMPORTANT = re.compile(
    r"^[EF]\d{4} |\b(?:error|exception|traceback|fatal|fail(?:ed|ure)?|warning|warn|abort(?:ed)?|killed"
    r"|nan)\b",
    re.IGNORECASE,
)

# What repetitive lines of known programs are about; the first match wins.
_SUBJECTS = (
    (re.compile(r"Logical:|Physical:|[Ss]harding|nnx_wrappers"), "sharding chatter"),
    (re.compile(r"checkpoint|orbax|ocdbt|array_metadata|tensorstore", re.IGNORECASE), "checkpoint chatter"),
    (re.compile(r"allocator|memory", re.IGNORECASE), "memory chatter"),
    (re.compile(r"compil|\bhlo\b|xla", re.IGNORECASE), "compiler chatter"),
    (re.compile(r"grpc|http|socket|connect|auth|credential", re.IGNORECASE), "network chatter"),
    (re.compile(r"[Cc]onfig param"), "configuration"),
)


class LogFold(Struct, frozen=True, kw_only=True):
    """Lines `begin` to `end` of the window, their subject, and their most frequent masks."""

    begin: int
    end: int
    subject: str
    masks: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        """The number of lines."""
        return self.end - self.begin


def fold_lines(lines: Sequence[LogLine]) -> tuple[LogFold, ...]:
    """The folds of a window in order; they do not overlap."""
    masks = [None if _is_important(line) else mask(line.text) for line in lines]
    counts = Counter(found for found in masks if found)
    found, begin = [], 0
    for n in range(len(lines) + 1):
        alike = n < len(lines) and counts[masks[n] or ""] >= MIN_ALIKE
        if alike:
            continue
        if n - begin >= MIN_FOLD_LINES:
            found.append(_make_fold(lines, begin, n, Counter(text for text in masks[begin:n] if text)))
        begin = n + 1
    return tuple(found)


def _make_fold(lines: Sequence[LogLine], begin: int, end: int, counts: Counter[str]) -> LogFold:
    usual = tuple(counts.most_common(MAX_FOLD_MASKS))
    sample = " ".join(message(line.text) for line in lines[begin : begin + 3]) + usual[0][0]
    subject = next((words for pattern, words in _SUBJECTS if pattern.search(sample)), "lines alike")
    return LogFold(begin=begin, end=end, subject=subject, masks=usual)


def _is_important(line: LogLine) -> bool:
    return (
        line.mark is not None
        or line.continues
        or not line.text.strip()
        or bool(_IMPORTANT.search(line.text[:500]))
    )


class LogView(Struct, frozen=True, kw_only=True):
    """A window of a log; `folds` are its stretches of repetitive lines. `note` says why the log's text ends
    where it does, if that is not its own end."""

    lines: tuple[LogLine, ...]
    folds: tuple[LogFold, ...]
    start: int
    end: int
    size: int
    ends: bool
    note: str

    @property
    def previous(self) -> int | None:
        """The approximate start of the window before: its lines are taken to be as long as these."""
        if not self.start:
            return None
        line = (self.end - self.start) / max(len(self.lines), 1)
        return max(self.start - min(WINDOW_BYTES, round(line * MAX_LINES)), 0)

    @property
    def following(self) -> int | None:
        """The start of the next window."""
        return None if self.ends else self.end

    @property
    def parts(self) -> Iterator[tuple[LogFold | None, tuple[LogLine, ...]]]:
        """The lines in order, those of a fold together with it."""
        at = 0
        for fold in self.folds:
            if fold.begin > at:
                yield None, self.lines[at : fold.begin]
            yield fold, self.lines[fold.begin : fold.end]
            at = fold.end
        if at < len(self.lines):
            yield None, self.lines[at:]


def log_view(archive: LogArchive, *, wanted: int, marks: Sequence[LogMark]) -> LogView:
    """The window that contains byte `wanted`."""
    span = read_span(archive, wanted)
    shown = tuple(log_lines(span.lines, marks, span.before))
    return LogView(
        lines=shown,
        folds=fold_lines(shown),
        start=span.at,
        end=span.end,
        size=archive.size,
        ends=span.ends,
        note=archive.note,
    )
