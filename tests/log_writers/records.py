"""The tests' own writer of TensorBoard's event files and W&B's offline runs."""

import json
import struct
from collections.abc import Sequence


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def tensorboard_file(
    losses: Sequence[float],
    *,
    start: float = 1.7e9,
    seconds: float = 2.0,
    tag: str = "train/loss",
    tensor: bool = False,
) -> bytes:
    """An event file with a loss and a learning rate of each step, as single numbers or as tensors."""
    records = [b"\x09" + struct.pack("<d", start) + _field(3, b"brain.Event:2")]
    for step, loss in enumerate(losses):
        for name, value in ((tag, loss), ("lr", 1e-3)):
            number = b"\x15" + struct.pack("<f", value)
            if tensor:
                number = _field(8, _field(1, 1) + _field(4, struct.pack("<f", value)))
            summary = _field(1, _field(1, name.encode()) + number)
            time = b"\x09" + struct.pack("<d", start + seconds * step)
            records.append(time + _field(2, step) + _field(5, summary))
    return b"".join(struct.pack("<Q", len(r)) + b"crc1" + r + b"crc2" for r in records)


def wandb_file(losses: Sequence[float], *, exit_code: int | None = 0, padding: int = 0) -> bytes:
    """An offline run; `padding` bytes in each record make it cross blocks."""
    records = [_field(17, _field(1, b"run"))]
    for step, loss in enumerate(losses):
        items = [
            ("train/loss", loss),
            ("_step", step),
            ("_timestamp", 1.7e9 + 2.0 * step),
            ("note", "x" * padding),
        ]
        history = b"".join(
            _field(1, _field(1, name.encode()) + _field(16, json.dumps(value).encode()))
            for name, value in items
        )
        records.append(_field(2, history))
    if exit_code is not None:
        records.append(_field(18, _field(1, exit_code)))
    content = b":W&B" + b"\xe1\xbe\x00"
    for record in records:
        first = True
        while True:
            left = 32768 - len(content) % 32768
            if left < 7:
                content += bytes(left)
                left = 32768
            piece, record = record[: left - 7], record[left - 7 :]  # noqa: PLW2901 - the rest of it
            kind = (1 if first else 4) if not record else (2 if first else 3)
            content += b"crc0" + struct.pack("<HB", len(piece), kind) + piece
            first = False
            if not record:
                break
    return content
