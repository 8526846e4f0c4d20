"""Large logs to scan, made once and kept in a folder.

In:  a size and how many lines stand between two step lines. Out: a file, always the same one.
"""

import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import count
from pathlib import Path

from rich.progress import Progress

# 2026-04-21 10:16:19 UTC
BEGAN = 1_776_766_579
STEP_SECONDS = 0.4
BLOCK_BYTES = 1 << 20

_HEAD = b"""XPK Start: Tue Apr 21 10:16:19 UTC 2026
@@.100000 136682829195072 max_utils.py:800] System Information: Jax Version: 0.9.2
@@.100100 136682829195072 max_utils.py:801] System Information: Jaxlib Version: 0.9.2
@@.100200 136682829195072 maxtext_utils.py:1551] Num_devices: 32, shape (1, 32, 1, 1)
@@.100300 136682829195072 metric_logger.py:301] number parameters: 1.104 billion
"""
_TAIL = b"""XPK End: Tue Apr 21 18:16:19 UTC 2026
EXIT_CODE=0
"""

# What other programs on the host write. No line holds a word that the reader looks for.
_QUIET = (
    b"""\
@@.%06d    2751 google_auth_provider.cc:181] Running on GCE, using service account 562-compute@developer.\
gserviceaccount.com with the default scopes of the instance and no delegation at all.
""",
    b"""\
@@.%06d 136676547327744 ocdbt_utils.py:49] Param validation support for Zarr3 comes later (b/362328), \
until then the values are taken over as they are.
""",
    b"""\
2026-04-21 10:16:43.%06d: W external/xla/xla/tsl/framework/bfc_allocator.cc:310] Allocator ran low; the \
caller indicates that this costs time and nothing else.
""",
)

# What the program itself writes around every save: each line names a process, a tensor or a place that the
# reader takes a fact from, so each is looked at.
_CHATTY = (
    b"""\
@@.%06d 136682829195072 nnx_wrappers.py:437] Unknown Logical: bfloat16[32,2048,2048]...................... \
('activation_batch', 'activation_norm_length', 'activation_embed').
""",
    b"""\
@@.%06d 136676547327744 array_metadata_store.py:203] [process=0][thread=array_type_handler] Wrote 39 \
array_metadata.ArrayMetadata to gs://runs/linen_ckpt_xpk_main/checkpoints/0/items/array_metadatas
""",
)

# More noise than this between two steps is made by repeating it.
_NOISE_LINES = 5000


class Noise(StrEnum):
    """What stands between the step lines."""

    QUIET = "quiet"
    CHATTY = "chatty"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchLog:
    """A log to make: `between` counts the other lines from one step line to the next, `noise` says which."""

    name: str
    megabytes: int
    between: int
    noise: Noise = Noise.QUIET


def make(wanted: BenchLog, folder: Path) -> Path:
    """The log's file; made with a progress bar where it is not there yet."""
    path = folder / f"{wanted.name}.log"
    size = wanted.megabytes * 10**6
    if path.exists() and path.stat().st_size >= size:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    with Progress(transient=True) as bar, fresh.open("wb", buffering=BLOCK_BYTES) as opened:
        task = bar.add_task(f"writing {path.name}", total=size)
        opened.write(_dated(_HEAD, 0))
        for step in count():
            opened.write(
                _dated(_lines(wanted.noise, wanted.between), step) * max(1, wanted.between // _NOISE_LINES)
            )
            opened.write(_dated(_step_line(step), step))
            if step % 1000 == 0:
                bar.update(task, completed=opened.tell())
            if opened.tell() >= size:
                break
        opened.write(_TAIL)
    fresh.replace(path)
    return path


@cache
def _lines(noise: Noise, lines: int) -> bytes:
    kinds = _QUIET if noise is Noise.QUIET else _CHATTY
    numbers = range(min(lines, _NOISE_LINES))
    return b"".join(kinds[number % len(kinds)] % (number * 977 % 10**6) for number in numbers)


def _step_line(step: int) -> bytes:
    seconds = STEP_SECONDS + step * 7919 % 997 / 1e6
    loss = 2.0 + 8.0 / (1 + step / 1000) + step * 104729 % 1009 / 1e5
    return (
        f"@@.{step * 7919 % 10**6:06} 136682829195072 metric_logger.py:196] completed step: {step}, "
        f"seconds: {seconds:.3f}, TFLOP/s/device: {13.587 / seconds:.3f}, "
        f"Tokens/s/device: {2048 / seconds:.3f}, total_weights: 65536, loss: {loss:.3f}, "
        f"lm_loss: {loss:.3f}, perplexity: {2.718281828**loss:.3f}\n"
    ).encode()


def _dated(text: bytes, step: int) -> bytes:
    now = time.gmtime(BEGAN + step * STEP_SECONDS)
    stamp = f"I{now.tm_mon:02}{now.tm_mday:02} {now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
    return text.replace(b"@@", stamp.encode())
