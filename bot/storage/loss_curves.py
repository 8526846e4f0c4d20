"""The loss curves of runs, thinned: what equal runs print tells how far a head may lie from them.

A run without losses has an empty curve, so that it is not read again.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, select

from bot.domain.run import RunRecord
from bot.storage.sql import upsert
from bot.storage.tables import LOSS_CURVE
from bot.verdict.judgement import LossTrace, MeasuredRun
from bot.verdict.loss.curve import loss_trace
from bot.verdict.noise import PastRun

MAX_RUNS = 20
"""Newest runs of main whose losses are compared: the band is then within a sixth of its true width."""

NO_LOSSES = LossTrace(digest="", steps=(), losses=())

_DECODE = msgspec.msgpack.Decoder(LossTrace).decode


def save(connection: Connection, record: RunRecord, measured: MeasuredRun) -> None:
    """Save the curve of a run that was measured."""
    trace = loss_trace(measured.log, record.sha) or NO_LOSSES
    upsert(connection, LOSS_CURVE, {"run": record.id}, {"curve": msgspec.msgpack.encode(trace)})


def read(connection: Connection, ids: Collection[str]) -> Mapping[str, LossTrace]:
    """The curves of these runs, by id; runs without losses are left out."""
    rows = connection.execute(
        select(LOSS_CURVE.c.run, LOSS_CURVE.c.curve).where(LOSS_CURVE.c.run.in_(sorted(ids)))
    )
    curves = {run: _DECODE(stored) for run, stored in rows}
    return {run: curve for run, curve in curves.items() if curve.steps}


def with_losses(
    connection: Connection, histories: Sequence[tuple[PastRun, ...]]
) -> list[tuple[PastRun, ...]]:
    """The histories, oldest run first, with the losses of their newest runs."""
    ids = {run.run for past in histories for run in past[-MAX_RUNS:] if run.run}
    curves = read(connection, ids)
    return [tuple(replace(run, losses=curves.get(run.run or "")) for run in past) for past in histories]
