"""The parts of sample reports: runs, decisions, comparisons.

Figures are those of real v6e-32 runs where the documents give them; the rest is illustrative.
"""

from dataclasses import replace
from math import log
from typing import Any

from bot.logs.facts import CallSite, Environment, Failure, Outcome, RunLog, State, Step
from bot.logs.ledger import Phase
from bot.verdict.judgement import (
    Caveat,
    CaveatKind,
    Clock,
    Comparison,
    Dialect,
    Direction,
    Loss,
    LossVerdict,
    MeasuredRun,
    Measurements,
    Row,
    Spread,
    Steady,
    Timing,
    TimingVerdict,
    Verdict,
    Weight,
)

LEDGER = (
    ("start-up", 41.1),
    ("compile", 28.31),
    ("ramp", 0.5),
    ("steady steps", 1.61),
    ("checkpoint blocking", 0.61),
    ("checkpoint stalls", 27.4),
    ("final checkpoint wait", 63.87),
    ("teardown", 12.2),
    ("residual", 9.4),
)


def outcome(state: State = State.SUCCEEDED, failure: Failure | None = None) -> Outcome:
    """How a ten-step run ended."""
    good = state is State.SUCCEEDED
    return Outcome(
        state=state,
        exit_code=0 if good else 1,
        failure=failure,
        last_step=9 if good else None,
        expected_steps=10,
    )


def measured(
    seconds: float | None = 0.22943, *, jax: str = "0.9.2", end: Outcome | None = None, stretch: float = 1.0
) -> MeasuredRun:
    """One run with the figures of a real int8 case; `stretch` scales its time ledger."""
    environment = Environment(
        jax=jax,
        jaxlib=jax,
        libtpu="cl/878335365",
        orbax="0.11.34",
        device_kind="TPU v6 lite",
        devices=32,
        mesh=(1, 1, 1, 32, 1),
        process=4,
        workload="mt-04-int8-wddlh",
        run_name="linen_xpk_main_04_int8",
        call_sites=(
            CallSite(message="completed step", file="metric_logger.py", line=196),
            CallSite(message="parameters", file="metric_logger.py", line=301),
            CallSite(message="again", file="metric_logger.py", line=196),
        ),
    )
    log_ = RunLog(
        source="file:runs/04_int8.log",
        run=1,
        format="maxtext",
        outcome=end or outcome(),
        dated=True,
        steps=(
            Step(
                step=0,
                seconds=14.272,
                tflops_per_device=0.952,
                tokens_per_device=143.497,
                loss=10.872,
                perplexity=52668.902,
                total_weights=65536,
                time=1776766659.824857,
            ),
        ),
        steps_seen=10,
        environment=environment,
        parameters_billion=1.104,
    )
    steady = (
        Steady(
            seconds=seconds,
            se=0.001,
            clock=Clock.COMPLETION,
            kept_steps=(3, 4, 8),
            candidate_steps=(3, 4, 5, 6, 7, 8),
        )
        if seconds
        else Steady(problem="too few clean steps")
    )
    return MeasuredRun(
        log=log_,
        measurements=Measurements(
            steady=steady,
            steady_tokens_per_device=8926.04,
            steady_tflops_per_device=59.2171,
            mfu_percent=3.225,
            final_loss=8.174,
            memory_percent=1.41,
            compile_seconds=14.0412,
            step0_seconds=14.272,
            checkpoint_blocking_seconds=0.61,
            final_checkpoint_wait_seconds=63.868,
            avg_step_seconds=3.39389,
            last_tflops_per_device=59.366,
            last_tokens_per_device=8948.3,
            wall_seconds=185.0,
            chip_hours=1.644,
            dialect=Dialect.DISPATCH,
            ledger=tuple(Phase(name=name, seconds=value * stretch) for name, value in LEDGER),
        ),
    )


def rows(
    base: float = 1.41, head: float = 1.41, *, jax: tuple[str, str] = ("0.9.2", "0.9.2")
) -> tuple[Row, ...]:
    """The page's table, and the exact memory figure."""
    direction = Direction.WORSE if head > base * 1.005 else Direction.SAME
    return (
        Row(key="parameters_billion", base=1.104, head=1.104, diff=0.0),
        Row(key="final_loss", base=8.174, head=8.174, diff=0.0),
        Row(key="last_tflops_per_device", base=59.366, head=59.101, diff=-0.265),
        Row(key="last_tokens_per_device", base=8948.3, head=8908.1, diff=-40.2),
        Row(key="avg_step_seconds", base=3.39389, head=3.45123, diff=0.05734),
        Row(key="memory_percent", base=base, head=head, diff=head - base),
        Row(key="jax", base=jax[0], head=jax[1]),
        Row(
            key="memory_fullest_percent",
            base=base,
            head=head,
            diff=head - base,
            judged=True,
            direction=direction,
        ),
    )


def timing(
    verdict: TimingVerdict,
    percent: float | None,
    *,
    band: float = 1.6,
    n: tuple[int, int] = (6, 3),
    **more: Any,
) -> Timing:
    """A decision about a change of so many percent."""
    if percent is None:
        return Timing(verdict=verdict, n=n, reason="no steady step time on head: too few clean steps")
    t = log(1 + band / 100)
    made = Timing(
        verdict=verdict,
        change=log(1 + percent / 100),
        band=t,
        mde=t * 1.4,
        se=t / 2.9,
        n=n,
        base_seconds=0.22943,
        head_seconds=0.22943 * (1 + percent / 100),
        spread=Spread.MEASURED,
        degrees_of_freedom=22,
        history=20,
        comparable_cases=12,
    )
    return replace(made, **more)


IDENTICAL = Loss(verdict=LossVerdict.IDENTICAL, compared_steps=10, digits="loss to 3 decimals, perplexity")
WITHIN = Loss(
    verdict=LossVerdict.WITHIN_TOLERANCE,
    first_difference_step=4,
    max_relative=1.18e-4,
    worst_step=4,
    compared_steps=10,
)
DIVERGED = Loss(
    verdict=LossVerdict.DIVERGED,
    first_difference_step=2,
    first_outside_step=3,
    max_relative=0.31,
    worst_step=9,
    compared_steps=10,
)
DRIFTED = replace(DIVERGED, verdict=LossVerdict.DRIFTED, first_outside_step=6, max_relative=0.021)
NO_LOSS = Loss(verdict=LossVerdict.NOT_COMPARABLE, reason="a side has no steps")

NNX_FAILURE = Failure(
    kind="python_exception",
    error="NotImplementedError: Pure NNX support has not been implemented yet.",
    where="train_utils.py:217",
    fingerprint="9f3b2c",
)
JAX_CAVEATS = (
    Caveat(
        kind=CaveatKind.ENVIRONMENT, field="jax", base="0.9.2", head="0.8.1", weight=Weight.NOT_LIKE_FOR_LIKE
    ),
    Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="libtpu",
        base="cl/878335365",
        head="cl/831091709",
        weight=Weight.NOT_LIKE_FOR_LIKE,
    ),
    Caveat(
        kind=CaveatKind.PROVENANCE,
        field="call_sites",
        base="metric_logger.py:196",
        head="metric_logger.py:185",
        text="both sides claim commit 574ad3fb9, but their lines come from different source "
        "(metric_logger.py:196 on base, metric_logger.py:185 on head): they did not run the same code",
    ),
)


def compared(
    verdict: Verdict,
    time: Timing,
    loss: Loss = IDENTICAL,
    *,
    caveats: tuple[Caveat, ...] = (),
    metrics: tuple[Row, ...] | None = None,
    base: MeasuredRun | None = None,
    head: MeasuredRun | None = None,
    reason: str = "",
) -> Comparison:
    """A comparison of two ordinary runs, unless told otherwise."""
    return Comparison(
        verdict=verdict,
        timing=time,
        loss=loss,
        caveats=caveats,
        rows=rows() if metrics is None else metrics,
        base=(base or measured(),),
        head=(head or measured(0.2434, stretch=1.02),),
        reason=reason,
    )
