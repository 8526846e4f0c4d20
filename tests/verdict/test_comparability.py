"""What makes two sides not comparable, not like for like, or merely worth a note."""

from math import nan

import pytest
from msgspec.structs import replace

from bot.logs.facts import CallSite, Environment
from bot.verdict.comparability import (
    ComparisonAxis,
    check_provenance,
    conditions_text,
    deduplicate_runs,
    find_caveats,
    parse_devices,
    same_commit,
    summarize_caveats,
)
from bot.verdict.judgement import Caveat, CaveatKind, CaveatWeight, MeasuredRun, Measurements, SecondsDialect
from bot.verdict.measure import measure
from tests.verdict.made_runs import TPU, Shape, failed, run, run_log

CASE = "linen_xpk_main_20260418_180002_03_dropout"


def _caveats_found(base: MeasuredRun, head: MeasuredRun) -> list[tuple[CaveatKind, str, CaveatWeight]]:
    return [(caveat.kind, caveat.field, caveat.weight) for caveat in find_caveats([base], [head])]


def _run_on(environment: Environment) -> MeasuredRun:
    return run(environment=environment)


def test_equal_sides_have_no_caveat() -> None:
    """No difference, no caveat."""
    assert find_caveats([run()], [run()]) == ()


@pytest.mark.parametrize(
    ("head", "kind", "field", "weight"),
    [
        (
            replace(TPU, device_kind="TPU v5p"),
            CaveatKind.ENVIRONMENT,
            "device_kind",
            CaveatWeight.NOT_COMPARABLE,
        ),
        (replace(TPU, mesh=(1, 32, 1, 1)), CaveatKind.ENVIRONMENT, "mesh", CaveatWeight.NOT_COMPARABLE),
        (replace(TPU, dtype="int8"), CaveatKind.WORKLOAD, "dtype", CaveatWeight.NOT_COMPARABLE),
        (replace(TPU, jax="0.8.1"), CaveatKind.ENVIRONMENT, "jax", CaveatWeight.NOT_LIKE_FOR_LIKE),
        (replace(TPU, jaxlib="0.8.1"), CaveatKind.ENVIRONMENT, "jaxlib", CaveatWeight.NOT_LIKE_FOR_LIKE),
        (replace(TPU, libtpu="cl/1"), CaveatKind.ENVIRONMENT, "libtpu", CaveatWeight.NOT_LIKE_FOR_LIKE),
        (replace(TPU, orbax="0.1"), CaveatKind.ENVIRONMENT, "orbax", CaveatWeight.NOTED),
        (replace(TPU, process=7), CaveatKind.PROCESS, "process", CaveatWeight.NOTED),
        (replace(TPU, device_kind=None), CaveatKind.ENVIRONMENT, "device_kind", CaveatWeight.NOTED),
        (replace(TPU, jax=None), CaveatKind.ENVIRONMENT, "jax", CaveatWeight.NOTED),
        (replace(TPU, libtpu=None), CaveatKind.ENVIRONMENT, "libtpu", CaveatWeight.NOTED),
    ],
)
def test_each_difference_has_its_weight(
    head: Environment, kind: CaveatKind, field: str, weight: CaveatWeight
) -> None:
    """What one side does not state is no difference, but it is noted."""
    assert _caveats_found(_run_on(TPU), _run_on(head)) == [(kind, field, weight)]
    assert _caveats_found(_run_on(head), _run_on(TPU)) == [(kind, field, weight)]


def test_other_device_counts_are_not_comparable() -> None:
    """Eight chips are not thirty-two; the tokens of a step on each differ as well."""
    assert (CaveatKind.ENVIRONMENT, "devices", CaveatWeight.NOT_COMPARABLE) in _caveats_found(
        run(), _run_on(replace(TPU, devices=8))
    )


def test_quantisation_by_another_name_is_the_same() -> None:
    """bf16 and bfloat16 are one number format."""
    assert _caveats_found(run(), _run_on(replace(TPU, dtype="bfloat16"))) == []


def test_another_case_is_not_comparable() -> None:
    """The run name states the case."""
    other = CASE.replace("03_dropout", "04_int8")
    assert _caveats_found(_run_on(replace(TPU, run_name=CASE)), _run_on(replace(TPU, run_name=other))) == [
        (CaveatKind.WORKLOAD, "case", CaveatWeight.NOT_COMPARABLE)
    ]


def test_another_parameter_count_is_not_comparable() -> None:
    """1.104 and 1.105 billion parameters are two models."""
    head = measure(replace(run_log(), parameters_billion=1.105))
    assert _caveats_found(run(), head) == [
        (CaveatKind.WORKLOAD, "parameters_billion", CaveatWeight.NOT_COMPARABLE)
    ]


@pytest.mark.parametrize(("factor", "expected"), [(1.004, []), (1.006, ["tflop_per_step"])])
def test_another_amount_of_work_is_not_comparable(factor: float, expected: list[str]) -> None:
    """Past half a percent of TFLOP in a step."""
    log = run_log()
    steps = [replace(step, tflops_per_device=(step.tflops_per_device or 0) * factor) for step in log.steps]
    head = measure(replace(log, steps=tuple(steps)))
    assert [field for _, field, _ in _caveats_found(run(), head)] == expected


def test_a_coarsely_printed_tflop_is_no_difference() -> None:
    """0.80 and 0.8049 may be the same figure, printed to two decimals."""
    bare = [replace(step, tflops_per_device=None) for step in run_log().steps]
    sides = [measure(replace(run_log(), steps=tuple(bare), tflop_per_step=tflop)) for tflop in (0.80, 0.81)]
    assert _caveats_found(*sides) == []


def test_mixed_clocks_are_not_comparable() -> None:
    """Printed seconds against measured gaps would compare two definitions."""
    assert _caveats_found(run(), run(Shape(timed=False))) == [
        (CaveatKind.CLOCK, "steady_clock", CaveatWeight.NOT_COMPARABLE)
    ]


def test_no_timestamps_on_either_side_is_noted() -> None:
    """Both times come from the same clock, though not the better one."""
    assert _caveats_found(run(Shape(timed=False)), run(Shape(timed=False))) == [
        (CaveatKind.CLOCK, "steady_clock", CaveatWeight.NOTED)
    ]


def test_two_dialects_compare_by_their_timestamps() -> None:
    """The change that redefines the printed seconds is not a change of the step time."""
    stalls = {6: 20.0}
    base, head = (run(Shape(dialect=dialect, stalls=stalls)) for dialect in SecondsDialect)
    assert _caveats_found(base, head) == [(CaveatKind.CLOCK, "clock_dialect", CaveatWeight.NOTED)]


def test_another_number_of_steps_is_noted() -> None:
    """It changes the mean, not the step time."""
    assert _caveats_found(run(), run(Shape(steps=30))) == [
        (CaveatKind.STEPS, "last_step", CaveatWeight.NOTED)
    ]


def test_no_common_step_is_not_comparable() -> None:
    """One side trained the beginning, the other a later part."""
    assert (CaveatKind.STEPS, "steps", CaveatWeight.NOT_COMPARABLE) in _caveats_found(
        run(), run(Shape(first=100))
    )


def test_a_restart_is_noted() -> None:
    """Only the last attempt is measured."""
    head = measure(replace(run_log(), attempts=2))
    assert _caveats_found(run(), head) == [(CaveatKind.OUTCOME, "attempts", CaveatWeight.NOTED)]


def test_one_odd_run_among_repeats_is_a_difference() -> None:
    """Repeats on two versions of JAX are not repeats."""
    found = find_caveats([run(), _run_on(replace(TPU, jax="0.8.1"))], [run()])
    assert [(caveat.field, caveat.base, caveat.head) for caveat in found] == [
        ("jax", "0.8.1, 0.9.2", "0.9.2")
    ]


def test_a_summary_names_each_way_out_once() -> None:
    """Three versions of one image need one action."""
    found = find_caveats([run()], [_run_on(replace(TPU, jax="0.8.1", jaxlib="0.8.1"))])
    assert (
        summarize_caveats(found)
        == "JAX 0.9.2 → 0.8.1, jaxlib 0.9.2 → 0.8.1; run both sides on the same image"
    )


def _provenance(
    base: MeasuredRun, head: MeasuredRun, *commits: str | None
) -> tuple[bool, tuple[Caveat, ...]]:
    found = check_provenance([base], [head], *commits)
    return found.same_code, found.caveats


MOVED_CALL_SITES = replace(TPU, call_sites=(CallSite(message="step", file="metric_logger.py", line=185),))

SHA = "574ad3fb9"


def test_one_commit_and_the_same_call_sites_are_the_same_code() -> None:
    """A short and a full SHA of one commit agree."""
    assert _provenance(run(), run(), SHA, SHA + "0" * 31) == (True, ())


def test_one_commit_from_two_sources_is_noted() -> None:
    """The labels name one commit, the lines come from two."""
    same, found = _provenance(run(), _run_on(MOVED_CALL_SITES), SHA, SHA)
    assert not same
    assert [(caveat.base, caveat.head) for caveat in found] == [
        ("metric_logger.py:196", "metric_logger.py:185")
    ]
    assert found[0].text == (
        "both sides claim commit 574ad3fb9, but their lines come from different source "
        "(metric_logger.py:196 on base, metric_logger.py:185 on head): they did not run the same code"
    )


def test_one_commit_with_other_fields_is_noted() -> None:
    """A step line that gained a field came from other code."""
    _, found = _provenance(run(), run(Shape(perplexity=False)), SHA, SHA)
    assert [(caveat.base, caveat.head) for caveat in found] == [("perplexity", "none")]


def test_two_commits_may_print_from_two_places() -> None:
    """A change moves lines."""
    assert _provenance(run(), _run_on(MOVED_CALL_SITES), SHA, "1111111") == (False, ())


def test_unknown_commits_from_two_sources_are_noted() -> None:
    """Only the call sites show that the code differs."""
    _, found = _provenance(run(), _run_on(MOVED_CALL_SITES), None, None)
    assert found[0].text.startswith("the logs do not record both commits, and their lines come from")


def test_a_misfiled_log_gets_a_caveat() -> None:
    """The log states which commit ran, whatever its folder."""
    head = _run_on(replace(TPU, commit="2222222222"))
    same, found = _provenance(run(), head, SHA, SHA)
    assert not same
    assert [(caveat.head, caveat.text) for caveat in found] == [
        ("2222222222", "head is filed under commit 574ad3fb9, but its log says that 2222222222 ran")
    ]


def test_variants_of_one_commit_are_not_the_same_code() -> None:
    """Linen and NNX may differ at one commit."""
    base, head = (_run_on(replace(TPU, run_name=CASE.replace("linen", name))) for name in ("linen", "nnx"))
    assert not check_provenance([base], [head], SHA, SHA).same_claim


@pytest.mark.parametrize("other", [SHA, SHA.upper(), SHA[:7], SHA + "0" * 31])
def test_seven_digits_make_a_commit(other: str) -> None:
    """Equal, or one is the beginning of the other."""
    assert same_commit(SHA, other)


@pytest.mark.parametrize("other", [SHA[:6], "574ad3fb8", ""])
def test_fewer_digits_may_be_two_commits(other: str) -> None:
    """Another digit means another commit."""
    assert not same_commit(SHA, other)


@pytest.mark.parametrize("names", [("linen", "linen"), ("linen", "nnx")])
def test_the_stated_axis_outranks_the_run_names(names: tuple[str, str]) -> None:
    """Two variants are never one code; two sides of one variant are, whatever the runs are called."""
    base, head = ([_run_on(replace(TPU, run_name=CASE.replace("linen", name)))] for name in names)
    assert not check_provenance(base, head, SHA, SHA, across=ComparisonAxis.VARIANTS).same_claim
    assert check_provenance(base, head, SHA, SHA, across=ComparisonAxis.COMMITS).same_claim


def test_copies_of_a_log_count_as_one_run() -> None:
    """Another name, another place in the file and a NaN loss do not make another run."""
    log = run_log(Shape(losses=[9.0] * 19 + [nan]))
    moved = tuple(replace(step, offset=step.offset + 7) for step in log.steps)
    copies = [measure(log), run(), measure(replace(log, source="elsewhere", run=2, steps=moved))]
    assert deduplicate_runs(copies) == (tuple(copies[:2]), ((0, 2),))


def test_different_runs_are_all_kept() -> None:
    """Runs of one case differ in their step times, failures before the first step in their messages."""
    runs = (run(Shape(seed=1)), run(Shape(seed=2)), failed(), failed(error="KeyError: 1"))
    assert deduplicate_runs(runs) == (runs, ())


def _run_in(**environment: object) -> MeasuredRun:
    log_ = run_log(Shape())
    changed = replace(log_.environment, **environment)
    return MeasuredRun(log=replace(log_, environment=changed), measurements=Measurements())


@pytest.mark.parametrize(
    "other",
    [
        {"device_kind": "TPU v5p"},
        {"devices": 64},
        {"mesh": (2, 16)},
        {"jax": "0.9.9"},
        {"jaxlib": "0.9.9"},
        {"libtpu": "cl/1"},
        {"libtpu": None},
    ],
)
def test_runs_under_other_conditions_have_another_key(other: dict[str, object]) -> None:
    """Device, mesh and versions each move step times; so may what a log does not state."""
    assert conditions_text(_run_in()) != conditions_text(_run_in(**other))


def test_what_differs_from_run_to_run_is_not_in_the_key() -> None:
    """Names, processes and commits leave the conditions as they are."""
    assert conditions_text(_run_in()) == conditions_text(
        _run_in(process=3, run_name="x", workload="y", commit="abc1234")
    )


@pytest.mark.parametrize(
    ("said", "devices"),
    [
        ({}, ("TPU v6 lite", 32)),
        ({"device_kind": None}, (None, 32)),
        ({"devices": None}, ("TPU v6 lite", None)),
        ({"device_kind": "a · b"}, ("a", None)),
    ],
)
def test_devices_are_parsed_from_the_conditions(said: dict[str, object], devices: object) -> None:
    """An unstated value is None, and so is a count that is no number."""
    assert parse_devices(conditions_text(_run_in(**said))) == devices
