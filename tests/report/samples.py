"""Sample runs, comparisons, rows and reports, as the parts of every state of the comment.

Figures are those of real v6e-32 runs where the documents give them; the rest is illustrative.
"""

from math import log
from typing import Any

from msgspec.structs import replace

from bot.domain.run import RunRecord
from bot.logs.facts import CallSite, Environment, Failure, OutcomeState, RunLog, RunOutcome, Step
from bot.logs.ledger import Phase
from bot.report.model import (
    Baseline,
    CaseProgress,
    CaseReport,
    FailureNovelty,
    Novelty,
    ParityRow,
    ParityTransition,
    Report,
    ReportedCommand,
    RowState,
    SkippedCase,
)
from bot.verdict.comparability import USE_SAME_IMAGE
from bot.verdict.judgement import (
    Caveat,
    CaveatKind,
    CaveatWeight,
    Comparison,
    Direction,
    LossDecision,
    LossVerdict,
    MeasuredRun,
    Measurements,
    MetricRow,
    NoiseSource,
    RunsWanted,
    SecondsDialect,
    SteadyStepTime,
    StepClock,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from bot.verdict.noise import NoiseHistory

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


def outcome(state: OutcomeState = OutcomeState.SUCCEEDED, failure: Failure | None = None) -> RunOutcome:
    """How a ten-step run ended."""
    good = state is OutcomeState.SUCCEEDED
    return RunOutcome(
        state=state,
        exit_code=0 if good else 1,
        failure=failure,
        last_step=9 if good else None,
        expected_steps=10,
    )


def measured(
    seconds: float | None = 0.22943,
    *,
    jax: str = "0.9.2",
    end: RunOutcome | None = None,
    stretch: float = 1.0,
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
        SteadyStepTime(
            seconds=seconds,
            se=0.001,
            clock=StepClock.COMPLETION,
            kept_steps=(3, 4, 8),
            candidate_steps=(3, 4, 5, 6, 7, 8),
        )
        if seconds
        else SteadyStepTime(problem="too few clean steps")
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
            dialect=SecondsDialect.DISPATCH,
            ledger=tuple(Phase(name=name, seconds=value * stretch) for name, value in LEDGER),
        ),
    )


def rows(
    base: float = 1.41, head: float = 1.41, *, jax: tuple[str, str] = ("0.9.2", "0.9.2")
) -> tuple[MetricRow, ...]:
    """The page's table, and the exact memory figure."""
    direction = Direction.WORSE if head > base * 1.005 else Direction.SAME
    return (
        MetricRow(key="parameters_billion", base=1.104, head=1.104, diff=0.0),
        MetricRow(key="final_loss", base=8.174, head=8.174, diff=0.0),
        MetricRow(key="last_tflops_per_device", base=59.366, head=59.101, diff=-0.265),
        MetricRow(key="last_tokens_per_device", base=8948.3, head=8908.1, diff=-40.2),
        MetricRow(key="avg_step_seconds", base=3.39389, head=3.45123, diff=0.05734),
        MetricRow(key="memory_percent", base=base, head=head, diff=head - base),
        MetricRow(key="jax", base=jax[0], head=jax[1]),
        MetricRow(
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
    threshold: float = 1.6,
    n: tuple[int, int] = (6, 3),
    **more: Any,
) -> TimingDecision:
    """A decision about a change of so many percent."""
    if percent is None:
        return TimingDecision(verdict=verdict, n=n, reason="no steady step time on head: too few clean steps")
    t = log(1 + threshold / 100)
    made = TimingDecision(
        verdict=verdict,
        change=log(1 + percent / 100),
        threshold=t,
        mde=t * 1.4,
        se=t / 2.9,
        n=n,
        base_seconds=0.22943,
        head_seconds=0.22943 * (1 + percent / 100),
        noise_source=NoiseSource.MEASURED,
        degrees_of_freedom=22,
        history=20,
        comparable_cases=12,
    )
    return replace(made, **more)


IDENTICAL = LossDecision(
    verdict=LossVerdict.IDENTICAL, compared_steps=10, digits="loss to 3 decimals, perplexity"
)

WITHIN = LossDecision(
    verdict=LossVerdict.WITHIN_TOLERANCE,
    first_difference_step=4,
    max_relative=1.18e-4,
    worst_step=4,
    compared_steps=10,
)

DIVERGED = LossDecision(
    verdict=LossVerdict.DIVERGED,
    first_difference_step=2,
    first_outside_step=3,
    max_relative=0.31,
    worst_step=9,
    compared_steps=10,
)

DRIFTED = replace(DIVERGED, verdict=LossVerdict.DRIFTED, first_outside_step=6, max_relative=0.021)

NO_LOSS = LossDecision(verdict=LossVerdict.NOT_COMPARABLE, reason="a side has no steps")

NNX_FAILURE = Failure(
    kind="python_exception",
    error="NotImplementedError: Pure NNX support has not been implemented yet.",
    where="train_utils.py:217",
    fingerprint="9f3b2c",
)

JAX_CAVEATS = (
    Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="jax",
        base="0.9.2",
        head="0.8.1",
        weight=CaveatWeight.NOT_LIKE_FOR_LIKE,
    ),
    Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="libtpu",
        base="cl/878335365",
        head="cl/831091709",
        weight=CaveatWeight.NOT_LIKE_FOR_LIKE,
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
    time: TimingDecision,
    loss: LossDecision = IDENTICAL,
    *,
    caveats: tuple[Caveat, ...] = (),
    metrics: tuple[MetricRow, ...] | None = None,
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


HEAD = "cdc765a1f0e94b7f9d1c2e3a4b5c6d7e8f901234"

BASE = "574ad3fb9c0d1e2f3a4b5c6d7e8f90123456789a"

OLDER = "e4e574c0d1e2f3a4b5c6d7e8f90123456789abcd"

NOW = 1_776_770_000.0  # 2026-04-21 11:13 UTC

HOUR = 3600.0

MERGE_BASE = Baseline(sha=BASE, why="the merge base", distance=0, newest_started=NOW - 15 * HOUR)


def record(case: str, variant: str, sha: str | None, number: int, *, age: float = 1.0) -> RunRecord:
    """A found run of that commit that began `age` hours before now."""
    return RunRecord(
        id=f"{case}-{variant}-{(sha or 'none')[:7]}-{number}",
        repository="octo/maxtext",
        case=case,
        variant=variant,
        branch="test_1",
        sha=sha,
        started=NOW - age * HOUR,
        log_uri=f"gs://lance-maxtext/{case}/{number}.log",
    )


def case(
    name: str,
    state: RowState,
    comparison: Comparison | None = None,
    *,
    variant: str = "linen",
    **more: Any,
) -> CaseReport:
    """A row with three runs of the head against six of the merge base, unless told otherwise."""
    ran = state not in {RowState.NO_RUN, RowState.QUEUED, RowState.RUNNING, RowState.WAITING_FOR_APPROVAL}
    based = state not in {RowState.NO_RUN, RowState.NO_BASELINE}
    made = CaseReport(
        case=name,
        variant=variant,
        state=state,
        comparison=comparison,
        baseline=MERGE_BASE if based else None,
        base_runs=tuple(record(name, variant, BASE, n, age=15) for n in range(6)) if based else (),
        head_runs=tuple(record(name, variant, HEAD, n) for n in range(3)) if ran else (),
        noise_history=NoiseHistory(runs=20, oldest_started=NOW - 9 * 24 * HOUR - HOUR)
        if _has_noise(comparison)
        else None,
    )
    return replace(made, **more)


def _has_noise(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.timing.history > 0


def same(name: str, percent: float = 0.2, **more: Any) -> CaseReport:
    """A case without a significant change."""
    return case(
        name,
        RowState.SAME,
        compared(Verdict.SAME, timing(TimingVerdict.SAME, percent, threshold=1.1)),
        **more,
    )


def slower(name: str = "04_int8", percent: float = 6.1, **more: Any) -> CaseReport:
    """A case that got slower."""
    return case(
        name, RowState.SLOWER, compared(Verdict.SLOWER, timing(TimingVerdict.SLOWER, percent)), **more
    )


def failing(name: str = "11_offload", variant: str = "nnx", failure: Failure = NNX_FAILURE) -> CaseReport:
    """A case that fails on the head and passes on the base."""
    failed = measured(None, end=outcome(OutcomeState.FAILED, failure))
    comparison = compared(
        Verdict.NEW_FAILURE,
        timing(TimingVerdict.WITHHELD, None),
        NO_LOSS,
        head=failed,
        metrics=(),
        caveats=(
            Caveat(
                kind=CaveatKind.OUTCOME,
                field="outcome",
                base="succeeded",
                head="failed",
                weight=CaveatWeight.NOT_COMPARABLE,
            ),
        ),
        reason="the head fails",
    )
    news = FailureNovelty(novelty=Novelty.NEW, kind=failure.kind, fingerprint=failure.fingerprint)
    return case(name, RowState.NEW_FAILURE, comparison, variant=variant, failure=news)


def failing_elsewhere(name: str = "11_offload") -> CaseReport:
    """A case that fails on the head as it does on two other pull requests and at main's tip."""
    row = failing(name, "linen")
    assert row.failure is not None
    return replace(row, failure=replace(row.failure, pulls=(4266, 4271), main_sha=OLDER))


def failing_differently(name: str = "12_ring") -> CaseReport:
    """A case that fails on both sides, in two ways."""
    there = Failure(kind="config", error="ValueError: 'ring' is no axis of the mesh", where="mesh.py:12")
    base = measured(None, end=outcome(OutcomeState.FAILED, there))
    head = measured(None, end=outcome(OutcomeState.FAILED, NNX_FAILURE))
    withheld = timing(TimingVerdict.WITHHELD, None)
    both = compared(Verdict.FAILS_ON_BOTH, withheld, NO_LOSS, base=base, head=head, metrics=())
    news = FailureNovelty(novelty=Novelty.OTHER_ON_BASE, kind="code", fingerprint=NNX_FAILURE.fingerprint)
    return case(name, RowState.FAILS_ON_BOTH, both, failure=news)


def unlike(name: str = "03_dropout") -> CaseReport:
    """A case whose sides ran on different JAX versions."""
    withheld = timing(
        TimingVerdict.WITHHELD, 0.16, threshold=2.87, n=(1, 1), base_seconds=0.07069, head_seconds=0.07081
    )
    comparison = compared(
        Verdict.NOT_LIKE_FOR_LIKE,
        withheld,
        WITHIN,
        caveats=JAX_CAVEATS,
        metrics=rows(1.31, 1.31, jax=("0.9.2", "0.8.1")),
        reason=f"JAX 0.9.2 → 0.8.1, libtpu build cl/878335365 → cl/831091709; {USE_SAME_IMAGE}",
    )
    return case(name, RowState.NOT_LIKE_FOR_LIKE, comparison)


def unsure(name: str = "07_moe") -> CaseReport:
    """A case whose noise is too large for one run."""
    unsettled = timing(TimingVerdict.INCONCLUSIVE, 1.4, threshold=2.1, n=(6, 1), more_runs=2)
    return case(name, RowState.INCONCLUSIVE, compared(Verdict.INCONCLUSIVE, unsettled))


def confirming(name: str = "04_int8", wanted: RunsWanted | None = None, **more: Any) -> CaseReport:
    """A case whose one run shows a change that main's runs do not explain."""
    seen = timing(
        TimingVerdict.CONFIRMING,
        3.1,
        threshold=1.2,
        n=(6, 1),
        confirms=TimingVerdict.SLOWER,
        confirm_runs=wanted or RunsWanted(head=2),
    )
    row = case(name, RowState.CONFIRMING, compared(Verdict.CONFIRMING, seen))
    return replace(row, head_runs=row.head_runs[:1], **more)


def report(*cases: CaseReport, **more: Any) -> Report:
    """A report on those rows."""
    made = Report(
        repository="octo/maxtext",
        number=4270,
        title="Measure the step where it ends",
        head_sha=HEAD,
        head_branch="test_936672580",
        base_branch="main",
        merge_base=BASE,
        made_at=NOW,
        rows=cases,
        variants=("linen", "nnx"),
        chip_hours_used=7.9,
        chip_hours_saved=11.2,
    )
    return replace(made, **more)


def several_same(count: int) -> tuple[CaseReport, ...]:
    """So many cases without a significant change."""
    return tuple(same(f"{20 + n:02d}_case", percent=0.1 * (n % 4)) for n in range(count))


def mixed() -> Report:
    """The mixed state of the product description."""
    return report(
        slower(),
        failing(),
        unlike(),
        unsure(),
        case("13_pp", RowState.RUNNING, progress=CaseProgress(step=6, steps=10)),
        case("14_gpipe", RowState.QUEUED),
        *several_same(9),
        parity=(
            ParityRow(
                case="04_int8",
                first_variant="linen",
                second_variant="nnx",
                first_passes=True,
                second_passes=True,
                base_first_passes=True,
                base_second_passes=False,
                first_transition=ParityTransition.STILL_PASSES,
                second_transition=ParityTransition.PASSES_NOW,
                comparison=compared(Verdict.SAME, timing(TimingVerdict.SAME, -0.3)),
            ),
            ParityRow(
                case="11_offload",
                first_variant="linen",
                second_variant="nnx",
                first_passes=True,
                second_passes=False,
                base_first_passes=True,
                base_second_passes=False,
                first_transition=ParityTransition.STILL_PASSES,
                second_transition=ParityTransition.FAILS_THE_SAME,
            ),
        ),
        skipped=(
            SkippedCase(case="99_huge", variant="linen", why="not in the configuration of this branch"),
        ),
        commands=(
            ReportedCommand(text="/benchmark rerun 07_moe", by="ada", at=NOW, result="2 runs queued."),
        ),
        launches=True,
    )
