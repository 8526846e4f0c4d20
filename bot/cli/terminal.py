"""What the commands print for people: headlines, tables, facts, bars, renderable by rich.

Lines are as wide as the terminal at most (80 columns where there is none), without colour or control
characters when piped. Text from logs cannot colour or move anything.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from msgspec import Struct
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PIPED_COLUMNS = 80  # where the output is no terminal
UNBROKEN_CHARACTERS = 12  # a name of up to so many characters in the first column is never broken
MAX_COLUMNS = 110  # wider tables are hard to read across

GOOD, BAD, WARN, DIM, PLAIN = "green", "red", "yellow", "dim", "default"


class BarRow(Struct, frozen=True, kw_only=True):
    """One line of a bar chart. `words` is the value as text."""

    name: str
    value: float
    words: str


def printable(value: str) -> str:
    """`value` on one line, without control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in value).split())


class Screen:
    """Prints to a terminal or a file."""

    def __init__(self, stream: TextIO | None = None, width: int | None = None) -> None:
        self._stream = stream or sys.stdout
        known = Console(file=self._stream, highlight=False)
        if width is None:
            width = min(known.width, MAX_COLUMNS) if known.is_terminal else PIPED_COLUMNS
        self._console = Console(file=self._stream, width=width, highlight=False, emoji=False, markup=False)

    def headline(self, symbol: str, words: str, style: str = PLAIN) -> None:
        """Print the headline."""
        self._print(Text.assemble((f"{symbol} ", style), (printable(words), f"bold {style}".strip())))

    def paragraph(self, words: str, style: str = PLAIN, indent: int = 2) -> None:
        """Print running text, wrapped."""
        self._print(Padding(Text(printable(words), style=style), (0, 0, 0, indent), expand=False))

    def gap(self) -> None:
        """Print an empty line."""
        self._print(Text())

    def facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Print names with their values, aligned."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style=DIM, no_wrap=True)
        grid.add_column(overflow="fold")
        for name, words in facts:
            grid.add_row(Text(name), Text(printable(words)))
        self._indented(grid)

    def table(self, columns: Sequence[str], align: str, rows: Sequence[Sequence[str]]) -> None:
        """Print a table; `align` has l or r for each column."""
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=DIM)
        for title, letter in zip(columns, align, strict=True):
            justify: JustifyMethod = "right" if letter == "r" else "left"
            place = len(table.columns)
            # People copy short names: they stay whole on a narrow terminal.
            whole = place == 0 and all(len(printable(row[0])) <= UNBROKEN_CHARACTERS for row in rows)
            table.add_column(title, justify=justify, overflow="fold", min_width=len(title), no_wrap=whole)
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        self._indented(table)

    def bars(self, bars: Sequence[BarRow]) -> None:
        """Print a bar for each value, on one scale."""
        most = max((bar.value for bar in bars), default=0.0)
        name_width = max((len(printable(bar.name)) for bar in bars), default=0)
        words_width = max((len(bar.words) for bar in bars), default=0)
        room = max(self._console.width - 2 - min(name_width, 30) - 2 - words_width - 2, 8)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style=DIM, max_width=30, overflow="fold")
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(no_wrap=True)
        for bar in bars:
            renderable = bar_of_blocks(bar.value / most if most > 0 else 0.0, room - 2)
            grid.add_row(Text(printable(bar.name)), Text(bar.words), Text(renderable, style="cyan"))
        self._indented(grid)

    def _indented(self, renderable: Table) -> None:
        self._print(Padding(renderable, (0, 0, 0, 2), expand=False))

    def _print(self, renderable: RenderableType) -> None:
        """Print without trailing blanks, which are noise in a file."""
        with self._console.capture() as captured:
            self._console.print(renderable)
        lines = captured.get().splitlines()
        self._stream.write("".join(f"{line.rstrip()}\n" for line in lines))


def bar_of_blocks(share: float, room: int) -> str:
    """A bar in eighths of a character: `share` of `room` characters, at least one eighth above zero."""
    eighths = round(min(max(share, 0.0), 1.0) * room * 8)
    if share > 0:
        eighths = max(eighths, 1)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]


def progress(pieces: Iterator[bytes], *, name: str, total: int | None, least: int) -> Iterator[bytes]:
    """The same pieces, with a progress bar on standard error unless they are fewer than `least` bytes."""
    if total is not None and total < least:
        yield from pieces
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(Text(printable(name)[-40:]).plain, total=total)
        for piece in pieces:
            yield piece
            shown.advance(task, len(piece))


def forget_stdout() -> None:
    """Keep the interpreter from complaining at exit that the reader went away (`| head`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
