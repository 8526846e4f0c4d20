"""What two sides must, or had better, have in common: one table.

In:  a `MeasuredRun`. Out: `FIELDS`, each with its weight, how it is read and the way out where it differs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.verdict.judgement import CaveatKind, MeasuredRun, Weight
from bot.verdict.precision import precision

# linen_xpk_main_20260418_180002_03_dropout
CASE_OF_RUN = re.compile(r"_\d{8}_\d{6}_(?P<case>\w+)$")

Read = Callable[[MeasuredRun], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Something both sides must, or had better, have in common.

    `way_out` completes the caveat; `needed` marks what the check cannot do without.
    """

    name: str
    title: str
    kind: CaveatKind
    weight: Weight
    read: Read
    way_out: str = ""
    needed: bool = False


def _case(run: MeasuredRun) -> str | None:
    match = CASE_OF_RUN.search(run.log.environment.run_name or "")
    return match["case"] if match else None


SAME_DEVICES = "run both sides on the same devices"
SAME_IMAGE = "run both sides on the same image"
SAME_WORKLOAD = "compare runs of the same case and configuration"

FIELDS: tuple[Field, ...] = (
    Field(
        name="device_kind",
        title="device kind",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOT_COMPARABLE,
        read=lambda run: run.log.environment.device_kind,
        way_out=SAME_DEVICES,
        needed=True,
    ),
    Field(
        name="devices",
        title="device count",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOT_COMPARABLE,
        read=lambda run: run.log.environment.devices,
        way_out=SAME_DEVICES,
        needed=True,
    ),
    Field(
        name="mesh",
        title="mesh",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOT_COMPARABLE,
        read=lambda run: run.log.environment.mesh,
        way_out="run both sides on the same mesh",
    ),
    Field(
        name="format",
        title="log format",
        kind=CaveatKind.WORKLOAD,
        weight=Weight.NOT_COMPARABLE,
        read=lambda run: run.log.format,
        way_out="compare runs of the same trainer",
    ),
    Field(
        name="case",
        title="case",
        kind=CaveatKind.WORKLOAD,
        weight=Weight.NOT_COMPARABLE,
        read=_case,
        way_out=SAME_WORKLOAD,
    ),
    Field(
        name="dtype",
        title="number format",
        kind=CaveatKind.WORKLOAD,
        weight=Weight.NOT_COMPARABLE,
        read=lambda run: precision(run.log.environment.dtype),
        way_out=SAME_WORKLOAD,
    ),
    Field(
        name="parameters_billion",
        title="parameter count (billion)",
        kind=CaveatKind.WORKLOAD,
        weight=Weight.NOT_COMPARABLE,
        read=lambda run: run.log.parameters_billion,
        way_out="a model of another size is another case",
    ),
    Field(
        name="jax",
        title="JAX",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOT_LIKE_FOR_LIKE,
        read=lambda run: run.log.environment.jax,
        way_out=SAME_IMAGE,
        needed=True,
    ),
    Field(
        name="jaxlib",
        title="jaxlib",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOT_LIKE_FOR_LIKE,
        read=lambda run: run.log.environment.jaxlib,
        way_out=SAME_IMAGE,
    ),
    Field(
        name="libtpu",
        title="libtpu build",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOT_LIKE_FOR_LIKE,
        read=lambda run: run.log.environment.libtpu,
        way_out=SAME_IMAGE,
        needed=True,
    ),
    Field(
        name="orbax",
        title="orbax",
        kind=CaveatKind.ENVIRONMENT,
        weight=Weight.NOTED,
        read=lambda run: run.log.environment.orbax,
    ),
    Field(
        name="process",
        title="process index",
        kind=CaveatKind.PROCESS,
        weight=Weight.NOTED,
        read=lambda run: run.log.environment.process,
        way_out="take the log of process 0 on both sides",
    ),
    Field(
        name="last_step",
        title="last step",
        kind=CaveatKind.STEPS,
        weight=Weight.NOTED,
        read=lambda run: run.log.outcome.last_step,
    ),
    Field(
        name="clock_dialect",
        title="meaning of the printed seconds",
        kind=CaveatKind.CLOCK,
        weight=Weight.NOTED,
        read=lambda run: run.measurements.dialect,
        way_out="the printed seconds do not compare; the steady step time does",
    ),
)
