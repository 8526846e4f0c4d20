"""Turn binary records of metrics into lines of text: TensorBoard's event files, and W&B's offline runs.

Both are small framings around protocol buffers; the packages that read them bring TensorFlow's or W&B's whole
client along. TensorBoard: records with a length and two checksums (tensorflow/tensorboard,
tensorboard/compat/tensorflow_stub/pywrap_tensorflow.py); an `Event` has `wall_time`, `step` and `summary`.
W&B: LevelDB's log of 32 KB blocks behind seven bytes (wandb/wandb, wandb/sdk/internal/datastore.py); a
`Record` has `history` and `exit`.

All scalars of one step are one line. Checksums are not looked at: what cannot be read is left out.
"""

import json
import math
import struct
from collections.abc import Iterator

EVENT_LINE = b"tensorboard event "
"""How a line of TensorBoard's scalars begins."""
HISTORY_LINE = b"wandb history "
"""How a line of a W&B history begins."""
EXIT_LINE = b"wandb exit "
"""How the exit code of a W&B run begins."""

_HEAD_BYTES = 48
"""Bytes that tell what a file is: the first event is the version of the file."""
_VERSION = b"brain.Event:"
_WANDB_HEAD = b":W&B"
_WANDB_HEADER_BYTES = 7
_BLOCK_BYTES, _BLOCK_HEADER_BYTES = 32 * 1024, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 4 * 1024 * 1024
"""A longer record is an image or a histogram, or nonsense: the rest of the file is not read."""
MAX_LINE_SCALARS = 512
"""Scalars kept of one step."""

Field = tuple[int, int | bytes]
"""The number of a field of a message, and its value."""


class RecordUnpacker:
    """Turns a stream of records into text, and leaves every other stream alone.

    Feed it chunks, then close it.
    """

    def __init__(self) -> None:
        self._head = b""
        self._decided = False
        self._reader: _EventReader | _HistoryReader | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What becomes available with `chunk`."""
        if not self._decided:
            self._head += chunk
            if len(self._head) < _HEAD_BYTES:
                return
            chunk, self._head = self._head, b""
            self._decide(chunk)
        if self._reader is None:
            yield chunk
        else:
            yield from self._reader.feed(chunk)

    def close(self) -> Iterator[bytes]:
        """What was held back."""
        if not self._decided:
            self._decide(self._head)
            if self._reader is None:
                if self._head:
                    yield self._head
                return
            yield from self._reader.feed(self._head)
        if self._reader is not None:
            yield from self._reader.close()

    def _decide(self, head: bytes) -> None:
        self._decided = True
        if _VERSION in head[12:_HEAD_BYTES] and head[12:13] == b"\x09":
            self._reader = _EventReader()
        elif head.startswith(_WANDB_HEAD):
            self._reader = _HistoryReader()


class _EventReader:
    """Reads TensorBoard's records."""

    def __init__(self) -> None:
        self._rest = b""
        self._step: int | None = None
        self._time: float | None = None
        self._scalars: dict[str, float] = {}

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines of the steps that these bytes complete."""
        self._rest += chunk
        while len(self._rest) >= 12:
            (length,) = struct.unpack_from("<Q", self._rest)
            if length > MAX_RECORD_BYTES:
                self._rest = b""  # an image, or nonsense: where the next record begins is not known
                return
            if len(self._rest) < 16 + length:
                return
            record, self._rest = self._rest[12 : 12 + length], self._rest[16 + length :]
            yield from self._event(record)

    def close(self) -> Iterator[bytes]:
        """The line of the last step."""
        if self._scalars:
            values = {"step": self._step, "wall_time": self._time, **self._scalars}
            yield EVENT_LINE + json.dumps(values).encode() + b"\n"
            self._scalars = {}

    def _event(self, record: bytes) -> Iterator[bytes]:
        fields = dict(_fields(record))
        summary, time = fields.get(5), fields.get(1)
        step = _signed(fields.get(2, 0))
        scalars = dict(_scalars(summary)) if isinstance(summary, bytes) else {}
        if not scalars:
            return
        if step != self._step:
            yield from self.close()
        self._step = step
        self._time = _double(time) if isinstance(time, bytes) else self._time
        for tag, value in scalars.items():
            if len(self._scalars) < MAX_LINE_SCALARS:
                self._scalars[tag] = value


class _HistoryReader:
    """Reads the blocks of a W&B run."""

    def __init__(self) -> None:
        self._rest = b""
        self._at = 0  # the byte of the file at which the rest begins
        self._record = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines of the records that these bytes complete."""
        self._rest += chunk
        if self._at == 0:
            self._drop(_WANDB_HEADER_BYTES)
        while True:
            left = _BLOCK_BYTES - self._at % _BLOCK_BYTES
            if left < _BLOCK_HEADER_BYTES:
                if len(self._rest) < left:
                    return
                self._drop(left)
                continue
            if len(self._rest) < _BLOCK_HEADER_BYTES:
                return
            length, kind = struct.unpack_from("<HB", self._rest, 4)
            if len(self._rest) < _BLOCK_HEADER_BYTES + length:
                return
            piece = self._rest[_BLOCK_HEADER_BYTES : _BLOCK_HEADER_BYTES + length]
            self._drop(_BLOCK_HEADER_BYTES + length)
            if kind in (_FULL, _FIRST):
                self._record = b""
            if len(self._record) < MAX_RECORD_BYTES:
                self._record += piece
            if kind in (_FULL, _LAST):
                yield from _history(self._record)

    def close(self) -> Iterator[bytes]:
        """Nothing is held back: an unfinished record says nothing."""
        return iter(())

    def _drop(self, count: int) -> None:
        self._rest = self._rest[count:]
        self._at += count


def _history(record: bytes) -> Iterator[bytes]:
    """The line of a record with a history or the exit code."""
    fields = dict(_fields(record))
    if isinstance(exited := fields.get(18), bytes):
        code = dict(_fields(exited)).get(1, 0)
        if isinstance(code, int):
            yield EXIT_LINE + str(_signed(code)).encode() + b"\n"
    if not isinstance(history := fields.get(2), bytes):
        return
    values: dict[str, float] = {}
    for number, item in _fields(history):
        if number == 1 and isinstance(item, bytes):
            parts = _fields(item)
            path = b"/".join(part for key, part in parts if key in (1, 2) and isinstance(part, bytes))
            value = next((part for key, part in parts if key == 16 and isinstance(part, bytes)), b"")
            if (known := _json_number(value)) is not None and len(values) < MAX_LINE_SCALARS:
                values[path.decode("utf-8", "replace")] = known
        elif number == 2 and isinstance(item, bytes) and isinstance(step := dict(_fields(item)).get(1), int):
            values.setdefault("_step", float(step))
    if values:
        yield HISTORY_LINE + json.dumps(values).encode() + b"\n"


def _json_number(text: bytes) -> float | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return (
        float(value) if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1e300) else None
    )


def _scalars(summary: bytes) -> Iterator[tuple[str, float]]:
    """The tags of a summary whose value is one number."""
    for number, value in _fields(summary):
        if number != 1 or not isinstance(value, bytes):
            continue
        fields = dict(_fields(value))
        tag, simple, tensor = fields.get(1), fields.get(2), fields.get(8)
        scalar = _float(simple) if isinstance(simple, bytes) else None
        if isinstance(tensor, bytes):
            scalar = _tensor_number(dict(_fields(tensor)))
        if isinstance(tag, bytes) and scalar is not None:
            yield tag.decode("utf-8", "replace"), scalar


def _tensor_number(tensor: dict[int, int | bytes]) -> float | None:
    """The number of a tensor with one element: 32 or 64 bits, packed or as its content."""
    for number, size in ((5, 4), (6, 8), (4, None)):
        content = tensor.get(number)
        if isinstance(content, bytes):
            if len(content) == 4 and size in (4, None) and tensor.get(1) == 1:
                return _float(content)
            if len(content) == 8 and size in (8, None) and tensor.get(1) == 2:
                return _double(content)
    return None


def _float(content: bytes) -> float | None:
    return float(struct.unpack("<f", content)[0]) if len(content) == 4 else None


def _double(content: bytes) -> float | None:
    value = struct.unpack("<d", content)[0] if len(content) == 8 else math.nan
    return float(value) if math.isfinite(value) else None


def _signed(value: int | bytes) -> int:
    """A number of 64 bits with a sign."""
    if isinstance(value, bytes):
        return 0
    return value - (1 << 64) if value >= 1 << 63 else value


def _fields(message: bytes) -> list[Field]:
    """The fields of a message as far as they can be read."""
    found: list[Field] = []
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind, size = key & 7, 0
        if at < 0:
            break
        if kind == 0:
            value, at = _varint(message, at)
            if at < 0:
                break
            found.append((key >> 3, value))
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        if at < 0 or kind not in (1, 2, 5) or at + size > len(message):
            break
        found.append((key >> 3, message[at : at + size]))
        at += size
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends; -1 where it does not."""
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    return 0, -1
