"""One verdict for a case: the gravest evidence speaks, and nothing is green that was not shown."""

from dataclasses import replace
from math import nan

import pytest
from msgspec import structs

from bot.logs.decoding import GzipDamage
from bot.logs.facts import CompiledMemory, DeviceMemory, OutcomeState
from bot.verdict.compare import compare, is_comparable
from bot.verdict.judgement import (
    CaveatKind,
    CaveatWeight,
    Direction,
    LossVerdict,
    MeasuredRun,
    TimingVerdict,
    Verdict,
)
from bot.verdict.measure import measure
from bot.verdict.metrics import ALWAYS_SHOWN, METRICS
from tests.verdict.made_runs import (
    CPU,
    TPU,
    Shape,
    apart,
    ended,
    failed,
    losses,
    repeats,
    run,
    run_log,
    several,
)

SLOW = Shape(step_seconds=0.156)

FAST = Shape(step_seconds=0.140)

SHA = "574ad3fb9"


def _verdict(base: MeasuredRun, head: MeasuredRun) -> tuple[Verdict, TimingVerdict]:
    found = compare([base], [head])
    return found.verdict, found.timing.verdict


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        (Shape(seed=2), Verdict.SAME),
        (SLOW, Verdict.SLOWER),
        (FAST, Verdict.FASTER),
        (Shape(steps=5), Verdict.INCONCLUSIVE),
    ],
)
def test_the_step_time_decides_where_all_else_is_equal(head: Shape, verdict: Verdict) -> None:
    """Three submissions of head against two of base; one a side is only screened."""
    seen = {Verdict.SLOWER: Verdict.CONFIRMING, Verdict.FASTER: Verdict.CONFIRMING}
    assert compare([run()], [run(head)]).verdict is seen.get(verdict, verdict)
    bases, heads = several(Shape(), 2), several(replace(head, seed=7), 3)
    assert compare(bases, heads, look=2).verdict is verdict


def test_a_faster_run_that_diverged_is_red() -> None:
    """Correctness outranks speed; the timing verdict stays visible."""
    shape = replace(FAST, losses=losses(20, scale=1.1))
    head = run(shape)
    assert _verdict(run(), head) == (Verdict.DIVERGED, TimingVerdict.CONFIRMING)
    found = compare(several(Shape(), 2), several(replace(shape, seed=7), 3))
    assert (found.verdict, found.timing.verdict) == (Verdict.DIVERGED, TimingVerdict.FASTER)


@pytest.mark.parametrize(
    ("scale", "loss", "reason"),
    [
        (1.001, LossVerdict.DIFFERENT_START, "the loss starts differently (by up to 0.1 %)"),
        (1.2, LossVerdict.DIVERGED, "the loss diverged from step 0 on (by up to 20 %)"),
    ],
)
def test_changed_numbers_are_diverged(scale: float, loss: LossVerdict, reason: str) -> None:
    """No other verdict says that the numbers changed; the reason says how."""
    found = compare([run()], [run(Shape(losses=losses(20, scale=scale)))])
    assert (found.verdict, found.loss.verdict) == (Verdict.DIVERGED, loss)
    assert found.reason.startswith(reason)


def test_another_jax_withholds_the_timing_and_keeps_its_figures() -> None:
    """Code and environment changed together: either may have made it slower."""
    found = compare([run()], [run(SLOW, environment=structs.replace(TPU, jax="0.8.1"))])
    assert (found.verdict, found.timing.verdict) == (Verdict.NOT_LIKE_FOR_LIKE, TimingVerdict.WITHHELD)
    assert found.timing.change == pytest.approx(0.0594, rel=0.05)
    assert found.reason == "JAX 0.9.2 → 0.8.1; run both sides on the same image"


def test_other_devices_have_no_delta() -> None:
    """Each side's time is shown, their difference is not."""
    found = compare([run()], [run(SLOW, environment=structs.replace(TPU, device_kind="TPU v5p"))])
    timing = found.timing
    assert (found.verdict, timing.verdict) == (Verdict.NOT_COMPARABLE, TimingVerdict.WITHHELD)
    assert (timing.change, timing.threshold, [row.diff for row in found.rows]) == (
        None,
        None,
        [None] * len(found.rows),
    )
    assert timing.base_seconds == pytest.approx(0.147, rel=0.002)
    assert found.reason == "device kind TPU v6 lite → TPU v5p; run both sides on the same devices"


@pytest.mark.parametrize(
    ("base", "head", "verdict", "reason"),
    [
        (run(), failed(), Verdict.NEW_FAILURE, "head failed before the first step (exit code 1): Not"),
        (run(), failed("unheard_of"), Verdict.NEW_FAILURE, "head failed"),
        (run(), failed("host_oom", exit_code=137), Verdict.NEW_FAILURE, "head was killed before the first"),
        (failed(), run(), Verdict.FIXED, "base failed before the first step (exit code 1)"),
        (failed(), failed(), Verdict.FAILS_ON_BOTH, "base failed before the first step"),
        (
            failed(fingerprint="f"),
            failed(fingerprint="f"),
            Verdict.FAILS_ON_BOTH,
            "the same failure on both sides: head failed",
        ),
        (run(), failed("bad_hardware"), Verdict.NOT_COMPARABLE, "head failed before the first step"),
        (run(), failed("unknown", exit_code=143), Verdict.NOT_COMPARABLE, "head was killed"),
        (failed("preempted"), failed(), Verdict.NOT_COMPARABLE, "base failed"),
        (run(), failed("loss_not_finite", after=9), Verdict.DIVERGED, "head's loss became NaN or infinite"),
        (failed("loss_not_finite", after=9), run(), Verdict.FIXED, "base failed after step 9 of 20 steps"),
        (
            failed("loss_not_finite", after=9),
            failed("loss_not_finite", after=9),
            Verdict.FAILS_ON_BOTH,
            "base failed",
        ),
        (
            run(),
            ended(OutcomeState.STOPPED),
            Verdict.NOT_COMPARABLE,
            "head stopped after step 4 of 20 steps with exit",
        ),
        (
            ended(OutcomeState.INCOMPLETE),
            run(),
            Verdict.NOT_COMPARABLE,
            "base has no end in its log, which breaks off",
        ),
        (
            run(),
            ended(OutcomeState.NOT_A_TRAINING_LOG, steps=0),
            Verdict.NOT_COMPARABLE,
            "head is not a training log; name the file into which the trainer printed its step lines",
        ),
    ],
)
def test_outcomes_decide_before_figures(
    base: MeasuredRun, head: MeasuredRun, verdict: Verdict, reason: str
) -> None:
    """The change's failures are red, the cluster's are a reason to run again."""
    found = compare([base], [head])
    assert (found.verdict, found.timing.verdict is TimingVerdict.WITHHELD) == (
        verdict,
        verdict is not Verdict.DIVERGED,
    )
    assert found.reason.startswith(reason)
    assert not is_comparable([base], [head])
    assert [caveat.kind for caveat in found.caveats if caveat.field == "state"] == [CaveatKind.OUTCOME]


def test_the_clusters_failure_says_to_run_it_again() -> None:
    """The change did not cause it."""
    assert compare([run()], [failed("tpu_busy")]).reason.endswith("the cluster failed it: rerun")


def test_a_nan_that_was_printed_is_diverged() -> None:
    """Whatever the exit code says."""
    head = run_log(Shape(losses=[*losses(15), *[nan] * 5]))
    bad = measure(structs.replace(head, outcome=structs.replace(head.outcome, state=OutcomeState.FAILED)))
    found = compare([run()], [bad])
    assert (found.verdict, found.loss.verdict) == (Verdict.DIVERGED, LossVerdict.DIVERGED)


@pytest.mark.parametrize("sides", [((), ()), ((run(),), ()), ((), (run(),))])
def test_a_side_without_runs_is_not_comparable(sides: tuple[tuple[MeasuredRun, ...], ...]) -> None:
    """It is no error."""
    found = compare(*sides)
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert "has no run; wait for it or run it" in found.reason


def test_a_flaky_head_is_not_green() -> None:
    """Two of three passed; the reason names the third."""
    found = compare([run()], [run(Shape(seed=2)), failed(), run(Shape(seed=3))])
    assert (found.verdict, found.timing.verdict, found.timing.n) == (
        Verdict.INCONCLUSIVE,
        TimingVerdict.SAME,
        (1, 2),
    )
    assert found.reason.startswith("some runs of head passed, but head failed before the first step")
    assert "(1 of 3 runs)" in found.reason


def test_a_log_that_was_not_read_to_its_end_is_no_result() -> None:
    """What is behind the bound is missing: the verdict says so, and what to do."""
    cut = ended(OutcomeState.INCOMPLETE)
    found = compare([run()], [structs.replace(cut, log=structs.replace(cut.log, unread_from=9))])
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.reason == (
        "head has a log that was not read to its end after step 4 of 20 steps, since it is too large; "
        "print less into it, and rerun it"
    )


def test_a_run_the_cluster_failed_does_not_make_a_head_flaky() -> None:
    """The runs that passed are judged as if it had not been."""
    assert compare([run()], [run(Shape(seed=2)), failed("preempted")]).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("warning", "said"), [(GzipDamage.CORRUPT.value, "corrupt"), (GzipDamage.TRUNCATED.value, "truncated")]
)
def test_a_damaged_log_is_named_as_damaged(warning: str, said: str) -> None:
    """The run may have ended well; the file must be copied again."""
    cut = ended(OutcomeState.INCOMPLETE)
    found = compare([run()], [structs.replace(cut, log=structs.replace(cut.log, warnings=(warning,)))])
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.reason == (
        f"head has a damaged log: its gzip data is {said} after step 4 of 20 steps; "
        "copy the file again, or rerun it"
    )


def test_an_unexplained_kill_is_neither_blamed_nor_excused() -> None:
    """Alone it asks for a rerun; beside runs that passed it prevents a green verdict."""
    killed = failed("terminated", after=5, exit_code=137, error="")
    alone = compare([run()], [killed])
    assert alone.verdict is Verdict.NOT_COMPARABLE
    assert alone.reason == (
        "head was killed after step 5 of 20 steps (exit code 137); its log does not say why: "
        "rerun it, and if it happens again compare host memory"
    )
    beside = compare([run()], [run(Shape(seed=2)), killed])
    assert (beside.verdict, "(1 of 2 runs)" in beside.reason) == (Verdict.INCONCLUSIVE, True)


@pytest.mark.parametrize("head", [SLOW, FAST])
def test_one_commit_is_never_slower_than_itself(head: Shape) -> None:
    """Above the threshold it is noise or the machines."""
    found = compare([run()], [run(head)], base_commit=SHA, head_commit=SHA)
    assert (found.verdict, found.timing.verdict) == (Verdict.INCONCLUSIVE, TimingVerdict.INCONCLUSIVE)
    assert found.reason == "both sides are the same commit, so this is noise or the machines, not the change"


def test_one_commit_is_the_same_as_itself() -> None:
    """Below the threshold there is nothing to explain."""
    assert compare([run()], [run(Shape(seed=2))], base_commit=SHA, head_commit=SHA).verdict is Verdict.SAME


@pytest.mark.parametrize("shape", [Shape(losses=[nan] * 20, seed=3), Shape(seed=2)])
def test_no_green_without_a_loss(shape: Shape) -> None:
    """The step time alone does not show that nothing changed."""
    logs = [run_log(), run_log(shape)]
    bare = [
        measure(
            structs.replace(
                log, steps=tuple(structs.replace(step, loss=None, perplexity=None) for step in log.steps)
            )
        )
        for log in logs
    ]
    found = compare(bare[:1], bare[1:])
    assert (found.verdict, found.timing.verdict) == (Verdict.INCONCLUSIVE, TimingVerdict.SAME)
    assert found.reason == (
        "the step time is the same, but the loss curves could not be compared: "
        "no loss is printed on base and head"
    )


def test_a_cpu_needs_repeats_for_a_verdict() -> None:
    """One run a side is inconclusive, three measure the noise."""
    base, head = (apart(repeats(3, sd=0.003, seed=seed, environment=CPU)) for seed in (1, 2))
    assert compare(base[:1], head[:1]).verdict is Verdict.INCONCLUSIVE
    assert compare(base[:1], head[:1]).timing.more_runs == 2
    assert compare(base, head).verdict is Verdict.SAME


@pytest.mark.parametrize("silent", ["base", "head"])
def test_a_side_that_does_not_name_its_device_gets_no_assumed_noise(silent: str) -> None:
    """The other side may have run on a CPU."""
    named, unnamed = run(), run(Shape(seed=2), environment=structs.replace(TPU, device_kind=None))
    base, head = (unnamed, named) if silent == "base" else (named, unnamed)
    found = compare([base], [head])
    assert (found.verdict, found.timing.threshold) == (Verdict.INCONCLUSIVE, None)
    assert "the noise between runs is unknown on this device" in found.reason
    assert compare([named, unnamed], [named]).timing.threshold is None


def test_the_rows_keep_the_order_of_the_metrics() -> None:
    """The rows that people know come first, all of them, even for a side that failed."""
    keys = [row.key for row in compare([run()], [failed()]).rows]
    assert keys[:ALWAYS_SHOWN] == [
        "parameters_billion",
        "final_loss",
        "last_tflops_per_device",
        "last_tokens_per_device",
        "avg_step_seconds",
        "memory_percent",
        "jax",
    ]
    assert keys == [metric.key for metric in METRICS if metric.key in keys]
    assert len(compare([], []).rows) == ALWAYS_SHOWN


@pytest.mark.parametrize(
    ("memory", "temp", "expected"),
    [
        (1.408, 1.4, {}),
        (1.414, 1.5, {}),
        (1.440, 1.4, {"memory_fullest_percent": Direction.WORSE}),
        (1.370, 1.4, {"memory_fullest_percent": Direction.BETTER}),
        (1.408, 1.6, {"compiled_temp_gb": Direction.WORSE}),
        (1.408, 1.2, {"compiled_temp_gb": Direction.BETTER}),
    ],
)
def test_exact_metrics_are_coloured_past_their_thresholds(
    memory: float, temp: float, expected: dict[str, Direction]
) -> None:
    """Half a percent of memory in use; 0.2 GB and 2 % of the compiler's figures."""
    head = measure(
        structs.replace(
            run_log(Shape(seed=2)),
            memory=(DeviceMemory(device="TPU_0", used_gb=0.44, limit_gb=31.25, percent=memory),),
            compiled_memory=CompiledMemory(total_gb=1.8, temp_gb=temp),
        )
    )
    found = compare([run()], [head])
    assert {row.key: row.direction for row in found.rows if row.direction is not Direction.SAME} == expected
    assert found.verdict is Verdict.SAME
    assert bool(found.reason) == bool(expected)


def test_a_large_model_is_not_flagged_for_a_digit() -> None:
    """0.2 GB of 20 is 1 %."""
    sides = [
        measure(structs.replace(run_log(), compiled_memory=CompiledMemory(total_gb=total)))
        for total in (20.0, 20.2)
    ]
    rows = {row.key: row for row in compare(sides[:1], sides[1:]).rows}
    assert rows["compiled_total_gb"].direction is Direction.SAME


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (SLOW, (True, Direction.WORSE)),
        (FAST, (True, Direction.BETTER)),
        (Shape(seed=2), (True, Direction.SAME)),
        (Shape(steps=5), (False, Direction.SAME)),
    ],
)
def test_the_steady_row_is_coloured_by_the_decision(head: Shape, expected: tuple[bool, Direction]) -> None:
    """Figures derived from it are not coloured again."""
    rows = {row.key: row for row in compare(several(Shape(), 2), several(replace(head, seed=7), 3)).rows}
    assert (rows["steady_step_seconds"].judged, rows["steady_step_seconds"].direction) == expected
    informational = ("avg_step_seconds", "last_tokens_per_device", "steady_tokens_per_device", "mfu_percent")
    assert [(rows[key].judged, rows[key].direction) for key in informational] == [(False, Direction.SAME)] * 4
    screened = {row.key: row for row in compare([run()], [run(head)]).rows}["steady_step_seconds"]
    assert screened.judged is (expected == (True, Direction.SAME))


def test_repeats_are_shown_by_their_median() -> None:
    """The steady row of three runs is that of the middle one; informational rows are the first run's."""
    head = [run(Shape(step_seconds=seconds)) for seconds in (0.15, 0.147, 0.16)]
    rows = {row.key: row for row in compare([run()], head).rows}
    assert rows["steady_step_seconds"].head == head[0].measurements.steady.seconds
    assert rows["avg_step_seconds"].head == head[0].measurements.avg_step_seconds


def test_only_noted_caveats_leave_a_case_comparable() -> None:
    """Only comparable cases count as tests."""
    other_process, other_jax = structs.replace(TPU, process=7), structs.replace(TPU, jax="0.8.1")
    assert is_comparable([run()], [run(environment=other_process)])
    assert not is_comparable([run()], [run(environment=other_jax)])
    assert not is_comparable([run()], [run(Shape(steps=5))])
    assert compare([run()], [run(environment=other_process)]).caveats[0].weight is CaveatWeight.NOTED


def test_a_log_against_itself_is_no_evidence() -> None:
    """Read twice, copied, or among other runs: it is said, and never green."""
    one = run()
    copied = measure(structs.replace(one.log, source="copy.log"))
    for base, head in (
        ([one], [one]),
        ([one], [copied]),
        ([one, run(Shape(seed=2))], [run(Shape(seed=3)), copied]),
    ):
        found = compare(base, head)
        assert found.verdict is Verdict.NOT_COMPARABLE
        assert "base and head are one log" in found.reason


def test_copies_within_a_side_count_once() -> None:
    """Three times the same log is one run."""
    one, other = run(), run(Shape(seed=2))
    found = compare([one, one, one], [other])
    assert (found.timing.n, len(found.base)) == ((1, 1), 1)
    assert "copies of a log count once: 2 on base, 0 on head" in [caveat.text for caveat in found.caveats]


def test_two_launches_that_print_the_same_are_two_runs() -> None:
    """We started both: a program that prints its digits alike every time is no copy."""
    launched = [structs.replace(one, launched=True) for one in apart([run(), run(), run()])]
    found = compare(launched[:1], launched[1:])
    assert (found.verdict, found.timing.n) == (Verdict.SAME, (1, 2))


def test_two_runs_that_crash_alike_are_two_runs() -> None:
    """Without step lines a log says too little to be told from another."""
    assert compare([failed("code")], [failed("code")]).verdict is Verdict.FAILS_ON_BOTH


def test_few_equal_lines_without_timestamps_are_chance() -> None:
    """Three digits on four lines may agree; on five it is a copy."""
    for steps, expected in ((4, False), (8, True)):
        sides = [run(Shape(steps=steps, timed=False)) for _ in range(2)]
        texts = [caveat.text for caveat in compare(sides[:1], sides[1:]).caveats]
        assert any("one log" in text for text in texts) is expected
