"""One page of a log: reads the window, numbers its lines, marks them, and knows its neighbours.

In:  where the log is, which byte or line is asked for, what was measured from it.
Out: `LogView`. Memory is that of a window or two; the calls block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.web.log.colours import clipped
from bot.web.log.redaction import LEAD, Redaction
from bot.web.log.source import Logs, LogSource
from bot.web.log.window import LOOK_BACK, MOST_LINES, WINDOW, LogLine, LogMark, Span, cut, lines, readable
from bot.web.log_viewer.folds import Fold, folds


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """A window of a log; `folds` are the parts of its lines that read alike."""

    lines: tuple[LogLine, ...]
    folds: tuple[Fold, ...]
    start: int
    end: int
    size: int | None
    ends: bool
    zipped: bool

    @property
    def previous(self) -> int | None:
        """Where the window before this one begins, about: its lines are taken to be as long as these."""
        if not self.start:
            return None
        line = (self.end - self.start) / max(len(self.lines), 1)
        return max(self.start - min(WINDOW, round(line * MOST_LINES)), 0)

    @property
    def following(self) -> int | None:
        """Where the next window begins."""
        return None if self.ends else self.end

    @property
    def parts(self) -> Iterator[tuple[Fold | None, tuple[LogLine, ...]]]:
        """The lines in their order, those of a fold together with it."""
        at = 0
        for fold in self.folds:
            if fold.begin > at:
                yield None, self.lines[at : fold.begin]
            yield fold, self.lines[fold.begin : fold.end]
            at = fold.end
        if at < len(self.lines):
            yield None, self.lines[at:]


def read_span(source: LogSource, wanted: int, most: int = WINDOW) -> tuple[Span, str]:
    """The bytes shown for place `wanted`, and the text before them (in which a private key may begin)."""
    if source.size is not None:
        wanted = min(wanted, max(source.size - 1, 0))
    base = max(wanted - LOOK_BACK, 0)
    asked = wanted - base + most + LEAD
    around = source.read(base, asked)
    if wanted - base > len(around):
        wanted = base + len(around)
    span = cut(around, base=base, wanted=wanted, most=most, ends=len(around) < asked)
    after = around[span.end - base :][:LEAD]
    return replace(span, after=after), around[: span.at - base].decode("utf-8", "replace")


def log_view(
    source: LogSource, *, wanted: int, marks: Sequence[LogMark], logs: Logs, redacts: bool
) -> LogView:
    """The window that holds byte `wanted`."""
    span, before = read_span(source, wanted)
    shown = tuple(lines(span, marks, logs.number_at(source, span.at), before))
    if redacts:
        shown = redacted_lines(shown, before, span)
    return LogView(
        lines=shown,
        folds=folds(shown),
        start=span.at,
        end=span.end,
        size=source.size,
        ends=span.ends,
        zipped=source.zipped,
    )


def redacted_lines(shown: Sequence[LogLine], before: str, span: Span) -> tuple[LogLine, ...]:
    """The lines of a span as strangers may read them; `before` is what stands in front of it."""
    texts = [*(line.text for line in shown), readable(span.after)]
    continues = [*(line.continues for line in shown), not span.text.endswith(b"\n")]
    return tuple(
        line if text == line.text else replace(line, text=text, runs=clipped(line.runs, line.text, text))
        for line, text in zip(shown, Redaction(before).lines(texts, continues), strict=False)
    )
