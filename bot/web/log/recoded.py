"""Reads a log that was saved as UTF-16 as UTF-8, from any byte of that on.

In:  the stored text from a byte on. Out: the same in UTF-8, whose bytes are counted as the log's reader
counts them, so that the places it names are found, and secrets are seen by the rules for public places.
Promises that what was passed once is reached again by recoding `SPACING` bytes; several threads may read.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from threading import Lock

from bot.logs.encoding import Transcoder

SPACING = 4 << 20
"""Bytes of UTF-8 between two remembered places."""

Stored = Callable[[int], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class _State:
    """Text from `text` on comes from stored bytes from `stored` on, through (a copy of) `transcoder`."""

    text: int
    stored: int
    transcoder: Transcoder


class RecodedText:
    """The text of one content of one log; `size` is known once somebody read to its end."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._states = [_State(0, 0, Transcoder())]
        self._lock = Lock()
        self.size: int | None = None

    def pieces_from(self, start: int) -> Iterator[bytes]:
        """The text from a byte on, piece by piece."""
        at, recoded = self._nearest(start)
        for piece in recoded:
            if at + len(piece) > start:
                yield piece[max(start - at, 0) :]
            at += len(piece)
        self.size = at

    def _nearest(self, start: int) -> tuple[int, Iterator[bytes]]:
        with self._lock:
            state = max((one for one in self._states if one.text <= start), key=lambda one: one.text)
            transcoder = deepcopy(state.transcoder)
        return state.text, self._recoded(state, transcoder)

    def _recoded(self, state: _State, transcoder: Transcoder) -> Iterator[bytes]:
        at, stored = state.text, state.stored
        for chunk in self._stored(stored):
            stored += len(chunk)
            for piece in transcoder.feed(chunk):
                at += len(piece)
                yield piece
            self._remember(at, stored, transcoder)
        yield from transcoder.close()

    def _remember(self, text: int, stored: int, transcoder: Transcoder) -> None:
        with self._lock:
            if text - self._states[-1].text >= SPACING:
                self._states.append(_State(text, stored, deepcopy(transcoder)))
