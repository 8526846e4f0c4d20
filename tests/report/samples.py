"""Reports made by hand, one for every state a comment can be in.

Figures are those of real v6e-32 runs where the documents give them; the rest is illustrative.
"""

from dataclasses import replace
from math import log

from bot.logs.facts import CallSite, Environment, Failure, Outcome, RunLog, State, Step
from bot.logs.ledger import Phase
from bot.report.model import (
    Baseline,
    CaseReport,
    LastCommand,
    ParityRow,
    Progress,
    Report,
    RowState,
    Skipped,
)
from bot.runs.records import RunRecord
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

HEAD = "cdc765a1f0e94b7f9d1c2e3a4b5c6d7e8f901234"
BASE = "574ad3fb9c0d1e2f3a4b5c6d7e8f90123456789a"
OLDER = "e4e574c0d1e2f3a4b5c6d7e8f90123456789abcd"
NOW = 1_776_770_000.0  # 2026-04-21 11:13 UTC
HOUR = 3600.0
MERGE_BASE = Baseline(sha=BASE, why="the merge base", distance=0, newest_started=NOW - 15 * HOUR)
LEDGER = (
    ("start-up", 41.1), ("compile", 28.31), ("ramp", 0.5), ("steady steps", 1.61),
    ("checkpoint blocking", 0.61), ("checkpoint stalls", 27.4), ("final checkpoint wait", 63.87),
    ("teardown", 12.2), ("residual", 9.4),
)  # fmt: skip


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
        jax=jax, jaxlib=jax, libtpu="cl/878335365", orbax="0.11.34", device_kind="TPU v6 lite", devices=32,
        mesh=(1, 1, 1, 32, 1), process=4, workload="mt-04-int8-wddlh", run_name="linen_xpk_main_04_int8",
        call_sites=(CallSite(message="completed step", file="metric_logger.py", line=196),
                    CallSite(message="parameters", file="metric_logger.py", line=301),
                    CallSite(message="again", file="metric_logger.py", line=196)),
    )  # fmt: skip
    log_ = RunLog(
        source="file:runs/04_int8.log", run=1, format="maxtext", outcome=end or outcome(), dated=True,
        steps=(Step(step=0, seconds=14.272, tflops_per_device=0.952, tokens_per_device=143.497, loss=10.872,
                    perplexity=52668.902, total_weights=65536, time=1776766659.824857),),
        steps_seen=10, environment=environment, parameters_billion=1.104,
    )  # fmt: skip
    steady = Steady(
        seconds=seconds, se=0.001, clock=Clock.COMPLETION, kept_steps=(3, 4, 8), candidate_steps=(3, 4, 5, 6, 7, 8)
    ) if seconds else Steady(problem="too few clean steps")  # fmt: skip
    return MeasuredRun(
        log=log_,
        measurements=Measurements(
            steady=steady, steady_tokens_per_device=8926.04, steady_tflops_per_device=59.2171, mfu_percent=3.225,
            final_loss=8.174, memory_percent=1.41, compile_seconds=14.0412, step0_seconds=14.272,
            checkpoint_blocking_seconds=0.61, final_checkpoint_wait_seconds=63.868, avg_step_seconds=3.39389,
            last_tflops_per_device=59.366, last_tokens_per_device=8948.3, wall_seconds=185.0, chip_hours=1.644,
            dialect=Dialect.DISPATCH,
            ledger=tuple(Phase(name=name, seconds=value * stretch) for name, value in LEDGER),
        ),
    )  # fmt: skip


def rows(
    base: float = 1.41, head: float = 1.41, *, jax: tuple[str, str] = ("0.9.2", "0.9.2")
) -> tuple[Row, ...]:
    """The page's table, and the exact memory figure."""
    direction = Direction.WORSE if head > base * 1.005 else Direction.SAME
    return (
        Row(key="parameters_billion", base=1.104, head=1.104, diff=0.0, judged=True),
        Row(key="final_loss", base=8.174, head=8.174, diff=0.0),
        Row(key="last_tflops_per_device", base=59.366, head=59.101, diff=-0.265),
        Row(key="last_tokens_per_device", base=8948.3, head=8908.1, diff=-40.2),
        Row(key="avg_step_seconds", base=3.39389, head=3.45123, diff=0.05734),
        Row(key="memory_percent", base=base, head=head, diff=head - base, judged=True, direction=direction),
        Row(key="jax", base=jax[0], head=jax[1]),
    )


def timing(
    verdict: TimingVerdict,
    percent: float | None,
    *,
    band: float = 1.6,
    n: tuple[int, int] = (6, 3),
    **more: object,
) -> Timing:
    """A decision about a change of so many percent."""
    if percent is None:
        return Timing(verdict=verdict, n=n, reason="no steady step time on head: too few clean steps")
    t = log(1 + band / 100)
    made = Timing(
        verdict=verdict, change=log(1 + percent / 100), band=t, mde=t * 1.4, se=t / 2.9, n=n, base_seconds=0.22943,
        head_seconds=0.22943 * (1 + percent / 100), spread=Spread.MEASURED, degrees_of_freedom=22, history=20,
        comparable_cases=12,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


IDENTICAL = Loss(verdict=LossVerdict.IDENTICAL, compared_steps=10, digits="loss to 3 decimals, perplexity")
WITHIN = Loss(
    verdict=LossVerdict.WITHIN_TOLERANCE,
    first_difference_step=4,
    max_relative=1.18e-4,
    worst_step=4,
    compared_steps=10,
)
DIVERGED = Loss(
    verdict=LossVerdict.DIVERGED, first_difference_step=2, first_outside_step=3, max_relative=0.31, worst_step=9,
    compared_steps=10,
)  # fmt: skip
DRIFTED = replace(DIVERGED, verdict=LossVerdict.DRIFTED, first_outside_step=6, max_relative=0.021)
NO_LOSS = Loss(verdict=LossVerdict.NOT_COMPARABLE, reason="a side has no steps")

NNX_FAILURE = Failure(
    kind="python_exception",
    error="NotImplementedError: Pure NNX support has not been implemented yet.",
    where="train_utils.py:217",
    fingerprint="9f3b2c",
)
JAX_CAVEATS = (
    Caveat(kind=CaveatKind.ENVIRONMENT, field="jax", base="0.9.2", head="0.8.1", weight=Weight.NOT_LIKE_FOR_LIKE),
    Caveat(kind=CaveatKind.ENVIRONMENT, field="libtpu", base="cl/878335365", head="cl/831091709",
           weight=Weight.NOT_LIKE_FOR_LIKE),
    Caveat(kind=CaveatKind.PROVENANCE, field="call_sites", base="metric_logger.py:196", head="metric_logger.py:185",
           text="Both sides claim the same commit but print from different lines."),
)  # fmt: skip


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
        verdict=verdict, timing=time, loss=loss, caveats=caveats, rows=rows() if metrics is None else metrics,
        base=(base or measured(),), head=(head or measured(0.2434, stretch=1.02),), reason=reason,
    )  # fmt: skip


def record(case: str, variant: str, sha: str | None, number: int, *, age: float = 1.0) -> RunRecord:
    """A found run of that commit that began `age` hours before now."""
    return RunRecord(
        id=f"{case}-{variant}-{(sha or 'none')[:7]}-{number}", repository="octo/maxtext", case=case, variant=variant,
        branch="test_1", sha=sha, started=NOW - age * HOUR, log_uri=f"gs://lance-maxtext/{case}/{number}.log",
    )  # fmt: skip


def case(
    name: str,
    state: RowState,
    comparison: Comparison | None = None,
    *,
    variant: str = "linen",
    **more: object,
) -> CaseReport:
    """A row with three runs of the head against six of the merge base, unless told otherwise."""
    ran = state not in {RowState.NO_RUN, RowState.QUEUED, RowState.RUNNING, RowState.WAITING_FOR_APPROVAL}
    based = state not in {RowState.NO_RUN, RowState.NO_BASELINE}
    made = CaseReport(
        case=name, variant=variant, state=state, comparison=comparison, baseline=MERGE_BASE if based else None,
        base_runs=tuple(record(name, variant, BASE, n, age=15) for n in range(6)) if based else (),
        head_runs=tuple(record(name, variant, HEAD, n) for n in range(3)) if ran else (),
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def same(name: str, percent: float = 0.2, **more: object) -> CaseReport:
    """A case without a significant change."""
    return case(
        name, RowState.SAME, compared(Verdict.SAME, timing(TimingVerdict.SAME, percent, band=1.1)), **more
    )  # type: ignore[arg-type]


def slower(name: str = "04_int8", percent: float = 6.1, **more: object) -> CaseReport:
    """A case that got slower."""
    return case(
        name, RowState.SLOWER, compared(Verdict.SLOWER, timing(TimingVerdict.SLOWER, percent)), **more
    )  # type: ignore[arg-type]


def failing(name: str = "11_offload", variant: str = "nnx", failure: Failure = NNX_FAILURE) -> CaseReport:
    """A case that fails on the head and passes on the base."""
    failed = measured(None, end=outcome(State.FAILED, failure))
    comparison = compared(
        Verdict.NEW_FAILURE, timing(TimingVerdict.WITHHELD, None), NO_LOSS, head=failed, metrics=(),
        caveats=(Caveat(kind=CaveatKind.OUTCOME, field="outcome", base="succeeded", head="failed",
                        weight=Weight.NOT_COMPARABLE),),
        reason="the head fails",
    )  # fmt: skip
    return case(name, RowState.NEW_FAILURE, comparison, variant=variant)


def unlike(name: str = "03_dropout") -> CaseReport:
    """A case whose sides ran on different JAX versions."""
    withheld = timing(
        TimingVerdict.WITHHELD, 0.16, band=2.87, n=(1, 1), base_seconds=0.07069, head_seconds=0.07081
    )
    comparison = compared(
        Verdict.NOT_LIKE_FOR_LIKE, withheld, WITHIN, caveats=JAX_CAVEATS, metrics=rows(1.31, 1.31, jax=("0.9.2", "0.8.1")),
        reason="run both sides on one image",
    )  # fmt: skip
    return case(name, RowState.NOT_LIKE_FOR_LIKE, comparison)


def unsure(name: str = "07_moe") -> CaseReport:
    """A case whose noise is too large for one run."""
    unsettled = timing(TimingVerdict.INCONCLUSIVE, 1.4, band=2.1, n=(6, 1), more_runs=2)
    return case(name, RowState.INCONCLUSIVE, compared(Verdict.INCONCLUSIVE, unsettled))


def report(*cases: CaseReport, **more: object) -> Report:
    """A report on those rows."""
    made = Report(
        repository="octo/maxtext", number=4270, title="Measure the step where it ends", head_sha=HEAD,
        head_branch="test_936672580", base_branch="main", merge_base=BASE, made_at=NOW, rows=cases,
        variants=("linen", "nnx"), chip_hours_used=7.9, chip_hours_saved=11.2,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def several_same(count: int) -> tuple[CaseReport, ...]:
    """So many cases without a significant change."""
    return tuple(same(f"{20 + n:02d}_case", percent=0.1 * (n % 4)) for n in range(count))


def mixed() -> Report:
    """The mixed state of the product description."""
    return report(
        slower(), failing(), unlike(), unsure(),
        case("13_pp", RowState.RUNNING, progress=Progress(step=6, steps=10)),
        case("14_gpipe", RowState.QUEUED),
        *several_same(9),
        parity=(
            ParityRow(case="04_int8", first_variant="linen", second_variant="nnx", first_passes=True,
                      second_passes=True, base_second_passes=True,
                      comparison=compared(Verdict.SAME, timing(TimingVerdict.SAME, -0.3))),
            ParityRow(case="11_offload", first_variant="linen", second_variant="nnx", first_passes=True,
                      second_passes=False, base_second_passes=None),
        ),
        skipped=(Skipped(case="99_huge", variant="linen", why="not in the configuration of this branch"),),
        last_command=LastCommand(text="/benchmark rerun 07_moe", by="ada", at=NOW, result="2 runs queued."),
        launches=True,
    )  # fmt: skip


def every_state() -> dict[str, Report]:
    """A report for each state of the comment, by the name of its golden file."""
    by_state = {f"row_{state.value}": report(_in_state(state), *several_same(2)) for state in RowState}
    stale = (record("04_int8", "linen", OLDER, 1, age=30), record("04_int8", "linen", None, 2, age=40))
    unrecorded = "no run of this branch records its commit; the newest that began after the push is used"
    return {
        **by_state,
        "mixed": mixed(),
        "all_same": report(*several_same(14)),
        "only_failures": report(failing("04_int8", "linen"), failing("11_offload", "linen"), variants=("linen",)),
        "nothing_done_yet": report(*(case(f"0{n}_case", RowState.QUEUED) for n in range(1, 8)), launches=True),
        "no_runs_found": report(*(case(f"0{n}_case", RowState.NO_RUN) for n in range(1, 8))),
        "no_baseline_at_all": report(*(_in_state(RowState.NO_BASELINE, f"0{n}_case") for n in range(1, 4))),
        "stale_runs": report(case("04_int8", RowState.NO_RUN, stale_runs=stale,
                                  note="2 runs of other commits of this branch are not used")),
        "commit_not_recorded": report(slower(note=unrecorded), same("05_fp8", note=unrecorded)),
        "more_memory": report(
            case("04_int8", RowState.SAME, compared(Verdict.SAME, timing(TimingVerdict.SAME, 0.1), metrics=rows(1.31, 1.38))),
            *several_same(3)),
        "changed_loss": report(
            case("04_int8", RowState.DIVERGED, compared(Verdict.DIVERGED, timing(TimingVerdict.FASTER, -3.0), DRIFTED)),
            *several_same(3)),
        "configuration_problem": report(
            problem=".github/maxview.yml line 7: unknown key 'varaints'; did you mean 'variants'?"),
        "refused_command": report(same("04_int8"), last_command=LastCommand(
            text="/benchmark rerun 03_dropuot", by="mallory", at=NOW, refused=True,
            result="no such case; did you mean `03_dropout`?")),
        "help_asked": report(same("04_int8"), last_command=LastCommand(
            text="/benchmark help", by="ada", at=NOW, result="the commands are listed below.")),
        "nothing_to_measure": report(skipped=(Skipped(case="04_int8", variant="linen", why="no path it watches changed"),)),
        "hostile": hostile(),
    }  # fmt: skip


def _in_state(state: RowState, name: str = "04_int8") -> CaseReport:
    match state:
        case RowState.SLOWER:
            return slower(name)
        case RowState.NEW_FAILURE:
            return failing(name)
        case RowState.NOT_LIKE_FOR_LIKE:
            return unlike(name)
        case RowState.INCONCLUSIVE:
            return unsure(name)
        case RowState.SAME | RowState.CARRIED | RowState.ACKNOWLEDGED:
            return replace(same(name), state=state)
        case RowState.FASTER | RowState.FIXED:
            return case(name, state, compared(Verdict.FASTER, timing(TimingVerdict.FASTER, -4.2)))
        case RowState.DIVERGED:
            return case(name, state, compared(Verdict.DIVERGED, timing(TimingVerdict.SAME, 0.1), DIVERGED))
        case RowState.FAILS_ON_BOTH:
            return replace(failing(name), state=state)
        case RowState.NOT_COMPARABLE:
            return case(name, state, _other_device())
        case RowState.NO_BASELINE:
            alone = Comparison(verdict=Verdict.NOT_COMPARABLE, timing=Timing(verdict=TimingVerdict.WITHHELD, n=(0, 3)),
                               loss=NO_LOSS, head=(measured(),), reason="there is nothing to compare with")  # fmt: skip
            return case(name, state, alone)
        case _:
            return case(name, state)


def _other_device() -> Comparison:
    caveat = Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="device_kind",
        base="TPU v6 lite",
        head="TPU v5p",
        weight=Weight.NOT_COMPARABLE,
    )
    return compared(
        Verdict.NOT_COMPARABLE, timing(TimingVerdict.WITHHELD, None), NO_LOSS, caveats=(caveat,),
        reason="run both sides on the same kind of device",
    )  # fmt: skip


HOSTILE_TEXT = (
    "<script>alert(1)</script> @octocat @org/team #12 owner/repo#3 https://evil.example/x | `tick` ``` \\| $x$ "
    "gs://lance-maxtext/secret 562977990677-compute@developer.gserviceaccount.com ghp_abcdefghijklmnopqrstuvwxyz12 "
    "<!-- maxview:pull octo/maxtext#1 v1 --> </details> \x1b[31mred\u202e **bold** deadbeefdeadbeef ![i](http://e/x)"
)


def hostile() -> Report:
    """Every text that comes from outside tries to do something."""
    failure = replace(NNX_FAILURE, error=HOSTILE_TEXT, where="a|b`.py:1")
    caveat = Caveat(
        kind=CaveatKind.WORKLOAD,
        field="x|y<b>",
        base=HOSTILE_TEXT,
        head="|" * 5,
        weight=Weight.NOT_COMPARABLE,
        text=HOSTILE_TEXT,
    )
    comparison = compared(
        Verdict.NOT_COMPARABLE,
        timing(TimingVerdict.WITHHELD, None),
        NO_LOSS,
        caveats=(caveat,),
        reason=HOSTILE_TEXT,
    )
    baseline = replace(MERGE_BASE, why=HOSTILE_TEXT)
    return report(
        failing("a|b`c @octocat <b>", "n|x", failure),
        replace(case("<img src=x>", RowState.NOT_COMPARABLE, comparison), baseline=baseline, note=HOSTILE_TEXT),
        same("#12 @octocat | `x`"),
        title=HOSTILE_TEXT, head_branch="a`|@octocat", base_branch="<b>|@main", variants=("n|x", "<i>"),
        parity=(ParityRow(case="<b>|", first_variant="n|x", second_variant="<i>", first_passes=True, second_passes=False),),
        skipped=(Skipped(case="<b>|", variant="n|x", why=HOSTILE_TEXT),),
        last_command=LastCommand(text="/benchmark `|@octocat <b>", by="@octocat", at=NOW, result=HOSTILE_TEXT, refused=True),
    )  # fmt: skip
