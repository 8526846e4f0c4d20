"""Device types as XPK names them: their chips, how steady they are, and whether a log names others.

A name that is not known, or not stated, contradicts nothing.
"""

import re

# "TPU v6 lite" · "TPU v6e" · "TPU v5 lite" · "TPU v5p" · "TPU v5" · "TPU v4" · "tpu-v4-256"
_TPU_KINDS = {
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
_GPU_KINDS = {
    name: re.compile(rf"\b{name}", re.IGNORECASE)
    for name in ("v100", "t4", "l4", "a100", "h100", "h200", "b200", "gb200", "gb300")
}

# "cpu" · "TFRT_CPU_0" · "gpu"
_CPU = re.compile(r"cpu", re.IGNORECASE)

_ANY_GPU = re.compile(r"nvidia|\bgpu|cuda|instinct", re.IGNORECASE)

_ANY_TPU = re.compile(r"tpu", re.IGNORECASE)

_ALIASES = {"v5litepod": "v5e"}

_MAX_KIND_LENGTH = 40


def contradicting_devices(device_type: str, slices: int, kind: str | None, devices: int | None) -> str | None:
    """The log's devices, such as `TPU v5 lite × 8`, where they are not so many slices of `device_type`
    (`v6e-32`); None where nothing contradicts it."""
    chips = chip_count(device_type, slices)
    if chips is None:
        return None
    # JAX counts chips on some families and cores on others, and a setting moves some between the two.
    numbers = {None, chips, int(device_type.rpartition("-")[2]) * slices}
    if not _is_other_kind(device_type, kind) and devices in numbers:
        return None
    named = kind[:_MAX_KIND_LENGTH] if kind else "a device that is not named"
    return named if devices is None else f"{named} × {devices}"


def _is_other_kind(device_type: str, kind: str | None) -> bool:
    model = device_type.split("-", 1)[0]
    model = _ALIASES.get(model, model)
    alike, unlike = (_TPU_KINDS, _ANY_GPU) if model in _TPU_KINDS else (_GPU_KINDS, _ANY_TPU)
    if kind is None or model not in alike or alike[model].search(kind):
        return False
    return any(name.search(kind) for name in (*alike.values(), unlike, _CPU))


# v6e-32   v5litepod-16   v5p-8   v4-128
_TPU = re.compile(r"(?P<family>v[2-6](?:e|p|litepod)?)-(?P<number>[1-9][0-9]{0,5})")

# h100-mega-80gb-8   a100-40gb-8   l4-1
_GPU = re.compile(r"(?:a100|h100|h200|b200|gb200|gb300|l4|t4|v100)(?:-[a-z0-9]+)*-(?P<number>[1-9][0-9]?)")

_COUNTED_BY_CHIP = {"v5e", "v5litepod", "v6e"}
"""Families whose types count chips; the types of the others count cores, two on a chip."""

_COUNTED_BY_CORE = {"v2", "v3", "v4", "v5p"}


def chip_count(device_type: str, slices: int = 1) -> int | None:
    """The chips of so many slices or nodes of this type: 32 for `v6e-32`, 4 for `v5p-8`; None: unknown."""
    one = _chips_per_slice(device_type)
    return None if one is None else one * slices


def _chips_per_slice(device_type: str) -> int | None:
    if match := _TPU.fullmatch(device_type):
        number, family = int(match["number"]), match["family"]
        if family in _COUNTED_BY_CHIP:
            return number
        return max(1, number // 2) if family in _COUNTED_BY_CORE else None
    match = _GPU.fullmatch(device_type)
    return int(match["number"]) if match else None


def is_quiet_device(device_type: str) -> bool:
    """Whether runs of this type may be compared across days: TPUs run alone and at one speed."""
    return _TPU.fullmatch(device_type) is not None
