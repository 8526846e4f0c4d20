"""What a run was measured under: only runs under the same conditions say how noisy a case is.

In:  a `MeasuredRun`. Out: `conditions`, one text that is equal for equal conditions, and from it the devices.
Promises: what a log does not state is part of the text, so that it never passes for what another one states.
"""

from bot.verdict.fields import FIELDS
from bot.verdict.judgement import MeasuredRun

NAMES = ("device_kind", "devices", "mesh", "jax", "jaxlib", "libtpu")
"""Rows of `FIELDS` that move step times from one level to another; case and variant are kept beside them."""

UNSTATED = "?"
_BETWEEN = " · "
_READ = tuple(field.read for name in NAMES for field in FIELDS if field.name == name)


def conditions(run: MeasuredRun) -> str:
    """`TPU v6 lite · 32 · 1x32x1 · 0.9.2 · 0.9.2 · cl/878335365`: device kind and count, mesh, versions."""
    return _BETWEEN.join(_said(read(run)) for read in _READ)


def devices_in(text: str) -> tuple[str | None, int | None]:
    """The device kind and count that `conditions` names, each None where the log did not state it."""
    kind, _, rest = text.partition(_BETWEEN)
    count = rest.partition(_BETWEEN)[0]
    return None if kind == UNSTATED else kind, int(count) if count.isdecimal() else None


def _said(value: object) -> str:
    if value is None:
        return UNSTATED
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
