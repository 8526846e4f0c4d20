"""Figures as shapes: the numbers that a template puts into an SVG.

In:  measured seconds. Out: `Bar`s, in units of a drawing 1000 wide. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.logs.ledger import Phase

WIDTH = 1000.0
COLOURS = 10
"""The stylesheet has so many fills, ordered so that neighbours differ in lightness too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One phase of a bar: its place, its fill and its words."""

    x: float
    width: float
    fill: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A run's time as one bar; `words` say it to those who do not see it."""

    name: str
    words: str
    blocks: tuple[Block, ...]


def fills(names: Sequence[str]) -> dict[str, str]:
    """A fill for every phase, the same on both sides; the residual is always the hatched one."""
    plain = [name for name in names if not is_residual(name)]
    chosen = {name: f"fill-{index % COLOURS}" for index, name in enumerate(plain)}
    return {**chosen, **{name: "fill-rest" for name in names if is_residual(name)}}


def is_residual(name: str) -> bool:
    """Whether a phase is what the others leave over."""
    return name.lower() in {"residual", "rest", "unexplained", "other", "unaccounted"}


def bar(name: str, ledger: Sequence[Phase], *, longest: float, fill: dict[str, str]) -> Bar:
    """The ledger of one side, drawn to the scale in which `longest` seconds are the whole width."""
    blocks, x = [], 0.0
    for phase in ledger:
        width = max(phase.seconds, 0.0) / longest * WIDTH if longest > 0 else 0.0
        if width > 0:
            words = f"{phase.name}: {phase.seconds:.1f} s"
            blocks.append(Block(x=round(x, 2), width=round(width, 2), fill=fill[phase.name], words=words))
        x += width
    total = sum(phase.seconds for phase in ledger)
    said = ", ".join(f"{phase.name} {phase.seconds:.1f} s" for phase in ledger)
    return Bar(name=name, words=f"{name}, {total:.1f} s: {said}", blocks=tuple(blocks))
