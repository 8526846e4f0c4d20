"""Number formats, by the names that logs use for them.

In:  a dtype as printed. Out: `Precision`, or None where the name says nothing we know.
"""

import re
from enum import StrEnum


class Precision(StrEnum):
    """The arithmetic of the matrix multiplications, which sets both peak speed and rounding."""

    F32 = "f32"
    BF16 = "bf16"
    INT8 = "int8"
    FP8 = "fp8"


# "int8" · "intmp" · "nanoo_fp8" · "float8_e4m3fn" · "torch.bfloat16" · "fp16" · "float32"
SPELLINGS: tuple[tuple[Precision, re.Pattern[str]], ...] = (
    (Precision.INT8, re.compile(r"(?i)int[48]|intmp|w8a8|s8\b")),
    (Precision.FP8, re.compile(r"(?i)fp8|float8|f8e[45]m[23]|e4m3|e5m2")),
    (Precision.BF16, re.compile(r"(?i)bf16|bfloat16|fp16|float16|half|\bf16")),
    (Precision.F32, re.compile(r"(?i)fp32|float32|\bf32|tf32|\bfloat$")),
)


def precision(dtype: str | None) -> Precision | None:
    """Return the precision that a dtype's name speaks of; quantisation outranks the type it starts from."""
    for found, spelling in SPELLINGS:
        if dtype is not None and spelling.search(dtype):
            return found
    return None
