"""Number formats, device families, and the peak rates of devices. An unknown device has none."""

import re
from enum import StrEnum

from msgspec import Struct


class Precision(StrEnum):
    """The arithmetic of the matrix multiplications, which sets both peak speed and rounding."""

    F32 = "f32"
    BF16 = "bf16"
    INT8 = "int8"
    FP8 = "fp8"


# "int8" · "intmp" · "nanoo_fp8" · "float8_e4m3fn" · "torch.bfloat16" · "fp16" · "float32"
PRECISION_PATTERNS: tuple[tuple[Precision, re.Pattern[str]], ...] = (
    (Precision.INT8, re.compile(r"(?i)int[48]|intmp|w8a8|s8\b")),
    (Precision.FP8, re.compile(r"(?i)fp8|float8|f8e[45]m[23]|e4m3|e5m2")),
    (Precision.BF16, re.compile(r"(?i)bf16|bfloat16|fp16|float16|half|\bf16")),
    (Precision.F32, re.compile(r"(?i)fp32|float32|\bf32|tf32|\bfloat$")),
)


def parse_precision(dtype: str | None) -> Precision | None:
    """Return the precision that a dtype names; quantisation comes before the type that it starts from."""
    for found, spelling in PRECISION_PATTERNS:
        if dtype is not None and spelling.search(dtype):
            return found
    return None


class DeviceFamily(StrEnum):
    """The kind of device, which decides the default timing noise."""

    TPU = "TPU"
    GPU = "GPU"
    CPU = "CPU"


class PeakRates(Struct, frozen=True, kw_only=True):
    """Peak dense TFLOP/s of one device as JAX counts devices; `eight_bit` is int8 and fp8 alike."""

    name: re.Pattern[str]
    bf16: float
    eight_bit: float


def _peak_rates(name: str, bf16: float, eight_bit: float) -> PeakRates:
    return PeakRates(name=re.compile(name, re.IGNORECASE), bf16=bf16, eight_bit=eight_bit)


# Vendors' data sheets, dense. The first name that matches wins, so the narrower names come first.
# "TPU v6 lite" · "TPU v5p" · "TPU v5 lite" · "NVIDIA H100 80GB HBM3" · "AMD Instinct MI300X"
PEAK_RATES: tuple[PeakRates, ...] = (
    _peak_rates(r"tpu ?v?7", 1153.5, 2307),  # a chip is two devices
    _peak_rates(r"tpu ?v6|v6e|trillium", 918, 1836),
    _peak_rates(r"tpu ?v5 ?(lite|e)|v5e", 197, 394),
    _peak_rates(r"tpu ?v5", 459, 918),
    _peak_rates(r"tpu ?v4", 275, 275),
    _peak_rates(r"tpu ?v3", 61.5, 61.5),  # a chip is two devices
    _peak_rates(r"tpu ?v2", 22.5, 22.5),  # a chip is two devices
    _peak_rates(r"gb200|gb300", 2500, 5000),
    _peak_rates(r"b200|b300", 2250, 4500),
    _peak_rates(r"h100.*pcie", 756, 1513),
    _peak_rates(r"h100|h200|gh200", 989.5, 1979),
    _peak_rates(r"a100", 312, 624),
    _peak_rates(r"\bl4\b", 121, 242),
    _peak_rates(r"mi355", 2516, 5033),
    _peak_rates(r"mi300|mi325", 1307.4, 2614.9),
)

FAMILY_PATTERNS: tuple[tuple[DeviceFamily, re.Pattern[str]], ...] = (
    (DeviceFamily.TPU, re.compile(r"(?i)tpu|\bv\d+[ep]\b")),
    (
        DeviceFamily.GPU,
        re.compile(r"(?i)nvidia|cuda|gpu|rocm|instinct|\bmi\d{3}|\b[abhl]\d{2,3}\b|g[bh]\d00"),
    ),
    (DeviceFamily.CPU, re.compile(r"(?i)cpu|x86|aarch64|epyc|xeon")),
)


def device_family(device_kind: str | None) -> DeviceFamily | None:
    """Return the family of a device kind, None where its name is unknown."""
    for found, name in FAMILY_PATTERNS:
        if device_kind is not None and name.search(device_kind):
            return found
    return None


def peak_tflops(device_kind: str | None, precision: Precision | None) -> float | None:
    """Return the peak TFLOP/s of one device at a precision, None where either is unknown."""
    peak = _find_peak(device_kind)
    if peak is None:
        return None
    match precision:
        case Precision.INT8 | Precision.FP8:
            return peak.eight_bit
        case Precision.BF16:
            return peak.bf16
        case Precision.F32 | None:  # vendors publish no comparable figure for float32
            return None


def max_tflops(device_kind: str | None) -> float | None:
    """Return the TFLOP/s that no step can exceed on this device, whatever its precision."""
    peak = _find_peak(device_kind)
    return None if peak is None else peak.eight_bit


def _find_peak(device_kind: str | None) -> PeakRates | None:
    if device_kind is None:
        return None
    return next((peak for peak in PEAK_RATES if peak.name.search(device_kind)), None)
