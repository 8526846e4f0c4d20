"""The sections of two logs, side by side: what stands between one event and the next.

In:  what was measured from each log. Out: `Pair`s in the order of the logs. Pure.

Events are what every log of a training run has: start, compile, each step, each checkpoint, evaluations, end.
An event that only one log has stands alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bot.verdict.judgement import MeasuredRun
from bot.web.log.marks import log_marks

OPENING = "what comes before the first event"
ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """From the line of an event, which byte `begin` is in, to the line of the next; the last has no `end`."""

    words: str
    begin: int
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same event in both logs, or in one."""

    words: str
    base: Section | None
    head: Section | None


def sections(run: MeasuredRun) -> tuple[Section, ...]:
    """The sections of a log. Where steps are repeated after a restart, each has its number."""
    events: list[tuple[int, str]] = [(0, OPENING)]
    seen: Counter[str] = Counter()
    for mark in log_marks(run):
        if mark.kind == ERROR or mark.offset <= events[-1][0]:
            continue
        seen[mark.words] += 1
        again = f" (again, {seen[mark.words]})" if seen[mark.words] > 1 else ""
        events.append((mark.offset, mark.words + again))
    ends = [*(offset for offset, _ in events[1:]), None]
    return tuple(
        Section(words=words, begin=begin, end=end) for (begin, words), end in zip(events, ends, strict=True)
    )


def pairs(base: Sequence[Section], head: Sequence[Section]) -> tuple[Pair, ...]:
    """The sections of both by their events, in the order in which they happened."""
    found: list[Pair] = []
    matcher = SequenceMatcher(None, [one.words for one in base], [one.words for one in head], autojunk=False)
    for kind, base_begin, base_end, head_begin, head_end in matcher.get_opcodes():
        left, right = base[base_begin:base_end], head[head_begin:head_end]
        if kind == "equal":
            found += [Pair(words=a.words, base=a, head=b) for a, b in zip(left, right, strict=True)]
        else:
            found += [Pair(words=one.words, base=one, head=None) for one in left]
            found += [Pair(words=one.words, base=None, head=one) for one in right]
    return tuple(found)
