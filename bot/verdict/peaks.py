"""What the devices can do at most, and which family they are of.

In:  a device kind as JAX or a driver names it. Out: peak dense TFLOP/s per device; `Family`.
Promises: an unknown device has no peak and no family; nothing is assumed for it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from bot.verdict.precision import Precision


class Family(StrEnum):
    """What kind of device it is, as far as timing noise is concerned."""

    TPU = "TPU"
    GPU = "GPU"
    CPU = "CPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """Peak dense TFLOP/s of one device as JAX counts devices; `eight_bit` is int8 and fp8 alike."""

    name: re.Pattern[str]
    bf16: float
    eight_bit: float


def _peak(name: str, bf16: float, eight_bit: float) -> Peak:
    return Peak(name=re.compile(name, re.IGNORECASE), bf16=bf16, eight_bit=eight_bit)


# Vendors' data sheets, dense. The first name that fits wins, so the narrower names stand first.
# "TPU v6 lite" · "TPU v5p" · "TPU v5 lite" · "NVIDIA H100 80GB HBM3" · "AMD Instinct MI300X"
PEAKS: tuple[Peak, ...] = (
    _peak(r"tpu ?v?7", 1153.5, 2307),  # a chip is two devices
    _peak(r"tpu ?v6|v6e|trillium", 918, 1836),
    _peak(r"tpu ?v5 ?(lite|e)|v5e", 197, 394),
    _peak(r"tpu ?v5", 459, 918),
    _peak(r"tpu ?v4", 275, 275),
    _peak(r"tpu ?v3", 61.5, 61.5),  # a chip is two devices
    _peak(r"tpu ?v2", 22.5, 22.5),  # a chip is two devices
    _peak(r"gb200|gb300", 2500, 5000),
    _peak(r"b200|b300", 2250, 4500),
    _peak(r"h100.*pcie", 756, 1513),
    _peak(r"h100|h200|gh200", 989.5, 1979),
    _peak(r"a100", 312, 624),
    _peak(r"\bl4\b", 121, 242),
    _peak(r"mi355", 2516, 5033),
    _peak(r"mi300|mi325", 1307.4, 2614.9),
)

FAMILIES: tuple[tuple[Family, re.Pattern[str]], ...] = (
    (Family.TPU, re.compile(r"(?i)tpu|\bv\d+[ep]\b")),
    (Family.GPU, re.compile(r"(?i)nvidia|cuda|gpu|rocm|instinct|\bmi\d{3}|\b[abhl]\d{2,3}\b|g[bh]\d00")),
    (Family.CPU, re.compile(r"(?i)cpu|x86|aarch64|epyc|xeon")),
)


def family(device_kind: str | None) -> Family | None:
    """Return which family a device kind belongs to, None where its name does not tell."""
    for found, name in FAMILIES:
        if device_kind is not None and name.search(device_kind):
            return found
    return None


def peak_tflops(device_kind: str | None, precision: Precision | None) -> float | None:
    """Return the peak TFLOP/s of one device at a precision, None where either is unknown."""
    peak = _find(device_kind)
    if peak is None:
        return None
    match precision:
        case Precision.INT8 | Precision.FP8:
            return peak.eight_bit
        case Precision.BF16:
            return peak.bf16
        case Precision.F32 | None:  # the share of the matrix unit that float32 gets is not published alike
            return None


def fastest_tflops(device_kind: str | None) -> float | None:
    """Return the TFLOP/s that no honest step can exceed on this device, whatever its precision."""
    peak = _find(device_kind)
    return None if peak is None else peak.eight_bit


def _find(device_kind: str | None) -> Peak | None:
    if device_kind is None:
        return None
    return next((peak for peak in PEAKS if peak.name.search(device_kind)), None)
