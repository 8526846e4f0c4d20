"""Rows and reports made by hand, as the parts of every state of the comment.

The typed `Any` of the keyword arguments is `dataclasses.replace`'s own.
"""

from dataclasses import replace
from typing import Any

from bot.logs.facts import Failure, State
from bot.report.model import (
    Baseline,
    CaseReport,
    FailureNews,
    Kinship,
    LastCommand,
    ParityRow,
    Progress,
    Report,
    RowState,
    Skipped,
    Transition,
)
from bot.runs.records import RunRecord
from bot.verdict.fields import SAME_IMAGE
from bot.verdict.history import Past
from bot.verdict.judgement import Caveat, CaveatKind, Comparison, TimingVerdict, Verdict, Weight
from tests.report.parts import (
    JAX_CAVEATS,
    NNX_FAILURE,
    NO_LOSS,
    WITHIN,
    compared,
    measured,
    outcome,
    rows,
    timing,
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
        past=Past(runs=20, oldest_started=NOW - 9 * 24 * HOUR - HOUR) if _has_noise(comparison) else None,
    )
    return replace(made, **more)


def _has_noise(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.timing.history > 0


def same(name: str, percent: float = 0.2, **more: Any) -> CaseReport:
    """A case without a significant change."""
    return case(
        name, RowState.SAME, compared(Verdict.SAME, timing(TimingVerdict.SAME, percent, band=1.1)), **more
    )


def slower(name: str = "04_int8", percent: float = 6.1, **more: Any) -> CaseReport:
    """A case that got slower."""
    return case(
        name, RowState.SLOWER, compared(Verdict.SLOWER, timing(TimingVerdict.SLOWER, percent)), **more
    )


def failing(name: str = "11_offload", variant: str = "nnx", failure: Failure = NNX_FAILURE) -> CaseReport:
    """A case that fails on the head and passes on the base."""
    failed = measured(None, end=outcome(State.FAILED, failure))
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
                weight=Weight.NOT_COMPARABLE,
            ),
        ),
        reason="the head fails",
    )
    news = FailureNews(kinship=Kinship.NEW, kind=failure.kind, fingerprint=failure.fingerprint)
    return case(name, RowState.NEW_FAILURE, comparison, variant=variant, failure=news)


def failing_elsewhere(name: str = "11_offload") -> CaseReport:
    """A case that fails on the head as it does on two other pull requests and at main's tip."""
    row = failing(name, "linen")
    assert row.failure is not None
    return replace(row, failure=replace(row.failure, pulls=(4266, 4271), main_sha=OLDER))


def failing_otherwise(name: str = "12_ring") -> CaseReport:
    """A case that fails on both sides, in two ways."""
    there = Failure(kind="config", error="ValueError: 'ring' is no axis of the mesh", where="mesh.py:12")
    base = measured(None, end=outcome(State.FAILED, there))
    head = measured(None, end=outcome(State.FAILED, NNX_FAILURE))
    withheld = timing(TimingVerdict.WITHHELD, None)
    both = compared(Verdict.FAILS_ON_BOTH, withheld, NO_LOSS, base=base, head=head, metrics=())
    news = FailureNews(kinship=Kinship.OTHER_ON_BASE, kind="code", fingerprint=NNX_FAILURE.fingerprint)
    return case(name, RowState.FAILS_ON_BOTH, both, failure=news)


def unlike(name: str = "03_dropout") -> CaseReport:
    """A case whose sides ran on different JAX versions."""
    withheld = timing(
        TimingVerdict.WITHHELD, 0.16, band=2.87, n=(1, 1), base_seconds=0.07069, head_seconds=0.07081
    )
    comparison = compared(
        Verdict.NOT_LIKE_FOR_LIKE,
        withheld,
        WITHIN,
        caveats=JAX_CAVEATS,
        metrics=rows(1.31, 1.31, jax=("0.9.2", "0.8.1")),
        reason=f"JAX 0.9.2 → 0.8.1, libtpu build cl/878335365 → cl/831091709; {SAME_IMAGE}",
    )
    return case(name, RowState.NOT_LIKE_FOR_LIKE, comparison)


def unsure(name: str = "07_moe") -> CaseReport:
    """A case whose noise is too large for one run."""
    unsettled = timing(TimingVerdict.INCONCLUSIVE, 1.4, band=2.1, n=(6, 1), more_runs=2)
    return case(name, RowState.INCONCLUSIVE, compared(Verdict.INCONCLUSIVE, unsettled))


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
        case("13_pp", RowState.RUNNING, progress=Progress(step=6, steps=10)),
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
                first_transition=Transition.STILL_PASSES,
                second_transition=Transition.PASSES_NOW,
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
                first_transition=Transition.STILL_PASSES,
                second_transition=Transition.FAILS_THE_SAME,
            ),
        ),
        skipped=(Skipped(case="99_huge", variant="linen", why="not in the configuration of this branch"),),
        commands=(LastCommand(text="/benchmark rerun 07_moe", by="ada", at=NOW, result="2 runs queued."),),
        launches=True,
    )
