"""Hits as blocks of lines: what two of them show around themselves stands once.

In:  hits in the order of the log. Out: blocks. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.web.log.window import LogLine
from bot.web.log_viewer.search import Hit

Parts = tuple[tuple[bool, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines that stand together in a log, each with its parts, the words marked, where it is a hit."""

    lines: tuple[tuple[LogLine, Parts | None], ...]

    @property
    def words(self) -> str:
        """What the block is, to those who do not see it."""
        first, last = self.lines[0][0].number, self.lines[-1][0].number
        return f"Line {first}" if first == last else f"Lines {first} to {last}"


def blocks(hits: Sequence[Hit]) -> tuple[Block, ...]:
    """The hits; one that shares a line with the block before it is a part of that."""
    found: list[dict[int, tuple[LogLine, Parts | None]]] = []
    for hit in hits:
        around = {line.offset: (line, None) for line in (*hit.before, *hit.after)}
        its: dict[int, tuple[LogLine, Parts | None]] = {**around, hit.line.offset: (hit.line, hit.lit)}
        if not found or not found[-1].keys() & its.keys():
            found.append({})
        for offset, (line, lit) in its.items():
            known = found[-1].get(offset)
            found[-1][offset] = known if known and known[1] else (line, lit)
    return tuple(Block(lines=tuple(block[offset] for offset in sorted(block))) for block in found)
