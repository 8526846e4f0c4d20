"""Whether a log says that its run was on other devices than a configuration launches on.

In:  a device type as XPK names it, and what a log says: a device kind, a number of devices.
Out: the log's devices in words, or None where they may be the very same. Pure; a name that is not known, or
not stated, contradicts nothing.
"""

import re

from bot.runs.price import chips_of

# "TPU v6 lite" · "TPU v6e" · "TPU v5 lite" · "TPU v5p" · "TPU v5" · "TPU v4" · "tpu-v4-256"
_TPUS = {
    name: re.compile(kind, re.IGNORECASE)
    for name, kind in (
        ("v2", r"tpu[ _-]?v?2"),
        ("v3", r"tpu[ _-]?v?3"),
        ("v4", r"tpu[ _-]?v?4"),
        ("v5e", r"tpu[ _-]?v?5[ _-]?(lite|e)|\bv5e"),
        ("v5p", r"tpu[ _-]?v?5(?![ _-]?(lite|e))|\bv5p"),
        ("v6e", r"tpu[ _-]?v?6|\bv6e"),
        ("v7", r"tpu[ _-]?v?7"),
    )
}

# "NVIDIA H100 80GB HBM3" · "NVIDIA A100-SXM4-40GB" · "NVIDIA GB200"
_GPUS = {
    name: re.compile(rf"\b{name}", re.IGNORECASE)
    for name in ("v100", "t4", "l4", "a100", "h100", "h200", "b200", "gb200", "gb300")
}

# "cpu" · "TFRT_CPU_0" · "gpu"
_CPU = re.compile(r"cpu", re.IGNORECASE)
_ANY_GPU = re.compile(r"nvidia|\bgpu|cuda|instinct", re.IGNORECASE)
_ANY_TPU = re.compile(r"tpu", re.IGNORECASE)

_ALIASES = {"v5litepod": "v5e"}
_LONGEST_KIND = 40


def other_devices(device_type: str, slices: int, kind: str | None, devices: int | None) -> str | None:
    """`TPU v5 lite × 8` where that is not so many slices of `device_type` (`v6e-32`); None where nothing
    contradicts it."""
    chips = chips_of(device_type, slices)
    if chips is None:
        return None
    # JAX counts chips on some families and cores on others, and a setting moves some between the two.
    numbers = {None, chips, int(device_type.rpartition("-")[2]) * slices}
    if not _is_other_kind(device_type, kind) and devices in numbers:
        return None
    named = kind[:_LONGEST_KIND] if kind else "a device that is not named"
    return named if devices is None else f"{named} × {devices}"


def _is_other_kind(device_type: str, kind: str | None) -> bool:
    model = device_type.split("-", 1)[0]
    model = _ALIASES.get(model, model)
    alike, unlike = (_TPUS, _ANY_GPU) if model in _TPUS else (_GPUS, _ANY_TPU)
    if kind is None or model not in alike or alike[model].search(kind):
        return False
    return any(name.search(kind) for name in (*alike.values(), unlike, _CPU))
