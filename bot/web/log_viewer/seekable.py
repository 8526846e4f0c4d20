"""Random access to the text of a gzip or UTF-16 log, by remembered decoder states.

A place that was passed once is reached again by decoding at most the spacing of two states. A gzip has no
other way in than its start, so the first reader of a far place passes everything before it. Several threads
may read at once.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from threading import Lock

from msgspec import Struct

from bot.artifacts.store import CHUNK_BYTES, GZIP_MAGIC, ArtifactStore
from bot.errors import UserError
from bot.logs.decoding import Transcoder

GZIP_SPACING = 16 << 20
"""Bytes of text between two remembered states: inflated in some 30 ms; 4 GB make 256 states, or 11 MB."""

STORED_STRIDE = 1 << 20
"""Stored bytes read at once."""

PORTION_BYTES = 512
"""Stored bytes inflated at once near damaged data; each copies a state of some 40 KB."""

GZIP_WBITS = 31  # zlib's number for a gzip frame


class DamagedGzip(UserError):
    """The rest of a compressed log is damaged and cannot be inflated."""


class _InflaterState(Struct, frozen=True):
    """Byte `text` of the text comes from byte `stored` of the file, through (a copy of) `inflate`."""

    text: int
    stored: int
    inflate: "zlib._Decompress"


class GzipText:
    """The text of one version of a gzip log; `size` is known once somebody read to its end."""

    def __init__(self, store: ArtifactStore, name: str, stored: int) -> None:
        self._store = store
        self._name = name
        self._stored = stored
        self._states = [_InflaterState(0, 0, zlib.decompressobj(GZIP_WBITS))]
        self._lock = Lock()
        self.size: int | None = None

    def pieces_from(self, start: int) -> Iterator[bytes]:
        """The text from a byte on, piece by piece; raises `DamagedGzip` behind the last readable byte."""
        at, inflated = self._nearest(start)
        for piece in inflated:
            if at + len(piece) > start:
                yield piece[max(start - at, 0) :]
            at += len(piece)
        self.size = at

    def reach(self) -> int:
        """How far the text was read by anybody, in bytes, rounded down to a remembered state."""
        with self._lock:
            return self._states[-1].text

    def _nearest(self, start: int) -> tuple[int, Iterator[bytes]]:
        with self._lock:
            state = max(
                (state for state in self._states if state.text <= start), key=lambda state: state.text
            )
            inflate = state.inflate.copy()
        return state.text, self._inflated(state, inflate)

    def _inflated(self, state: _InflaterState, inflate: "zlib._Decompress") -> Iterator[bytes]:
        """The text from a state on, of all members of the gzip; a truncated one yields what it has."""
        at, stored = state.text, state.stored
        while stored < self._stored:
            waiting = self._store.read_range(self._name, stored, STORED_STRIDE)
            if not waiting:
                return
            stored += len(waiting)
            while waiting:
                if inflate.eof:
                    if not waiting.startswith(GZIP_MAGIC[:1]):
                        return
                    inflate = zlib.decompressobj(GZIP_WBITS)
                spare = inflate.copy()
                try:
                    text = _inflate(inflate, waiting)
                except DamagedGzip:
                    yield from _inflate_before_damage(spare, waiting)
                    raise
                waiting = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
                at += len(text)
                self._remember(at, stored - len(waiting), inflate)
                if text:
                    yield text

    def _remember(self, text: int, stored: int, inflate: "zlib._Decompress") -> None:
        if inflate.eof or text - self._states[-1].text < GZIP_SPACING:
            return
        with self._lock:
            if text - self._states[-1].text >= GZIP_SPACING:
                self._states.append(_InflaterState(text, stored, inflate.copy()))


def _inflate(inflate: "zlib._Decompress", waiting: bytes) -> bytes:
    try:
        return inflate.decompress(waiting, CHUNK_BYTES)
    except zlib.error as problem:
        raise DamagedGzip("This log is compressed, and damaged: its rest cannot be read") from problem


def _inflate_before_damage(inflate: "zlib._Decompress", waiting: bytes) -> Iterator[bytes]:
    """The text before the damage.

    zlib keeps what it produced in the call that failed, so the input is repeated in small portions, the
    last of them byte by byte.
    """
    for start in range(0, len(waiting), PORTION_BYTES):
        spare, portion = inflate.copy(), waiting[start : start + PORTION_BYTES]
        try:
            yield inflate.decompress(portion)
        except zlib.error:
            yield from _inflate_bytewise(spare, portion)
            return


def _inflate_bytewise(inflate: "zlib._Decompress", portion: bytes) -> Iterator[bytes]:
    with suppress(zlib.error):
        for at in range(len(portion)):
            yield inflate.decompress(portion[at : at + 1])


RECODED_SPACING = 4 << 20
"""Bytes of UTF-8 between two remembered states."""

ReadFrom = Callable[[int], Iterator[bytes]]


class _TranscoderState(Struct, frozen=True):
    """Byte `text` of the text comes from byte `stored` of the file, through (a copy of) `transcoder`."""

    text: int
    stored: int
    transcoder: Transcoder


class RecodedText:
    """The text of one version of a UTF-16 log, in UTF-8; `size` is known once somebody read to its end."""

    def __init__(self, stored: ReadFrom) -> None:
        self._stored = stored
        self._states = [_TranscoderState(0, 0, Transcoder())]
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

    def _recoded(self, state: _TranscoderState, transcoder: Transcoder) -> Iterator[bytes]:
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
            if text - self._states[-1].text >= RECODED_SPACING:
                self._states.append(_TranscoderState(text, stored, deepcopy(transcoder)))
