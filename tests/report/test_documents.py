"""The JSON objects: every documented key, nothing that strict JSON refuses, nothing made up."""

import json
import math
from typing import Any

from msgspec.structs import replace

from bot.logs.facts import OutcomeState, RunLog, RunOutcome, Step
from bot.report.documents import (
    comparison_response,
    json_text,
    json_values,
    report_document,
    run_json,
    run_response,
)
from bot.verdict.judgement import Comparison, MeasuredRun, Measurements, TimingVerdict, Verdict
from tests.report.sample_states import every_state
from tests.report.samples import JAX_CAVEATS, WITHIN, compared, measured, mixed, report, timing

DOCUMENTED = {
    "": "schema source run attempts hosts format outcome steps measurements environment ledger warnings",
    "outcome": "state exit_code class error where last_step expected_steps",
    "measurements": "parameters_billion final_loss steady_step_seconds steady_se_percent steady_kept "
    "steady_candidates steady_clock steady_tokens_per_device steady_tflops_per_device memory_percent "
    "compile_seconds step0_seconds checkpoint_blocking_seconds final_checkpoint_wait_seconds page",
    "environment": "jax jaxlib libtpu orbax device_kind devices mesh process workload run_name clock_dialect "
    "call_sites",
}

EMPTY = MeasuredRun(
    log=RunLog(source="-", run=1, format=None, outcome=RunOutcome(state=OutcomeState.NOT_A_TRAINING_LOG)),
    measurements=Measurements(),
)


def run_values(run: MeasuredRun) -> dict[str, Any]:
    """The JSON values of a run."""
    return json_values(run_response(run))


def comparison_values(comparison: Comparison) -> dict[str, Any]:
    """The JSON values of a comparison."""
    return json_values(comparison_response(comparison))


def strict(document: object) -> object:
    """`document` through JSON that refuses NaN."""
    return json.loads(json.dumps(document, allow_nan=False))


def test_an_empty_log_has_every_key_and_no_figure() -> None:
    """What the log does not state is null, never zero."""
    document = run_values(EMPTY)
    for part, keys in DOCUMENTED.items():
        inside = document[part] if part else document
        assert isinstance(inside, dict)
        assert set(keys.split()) <= set(inside)
    measurements = document["measurements"]
    assert isinstance(measurements, dict)
    counted = {"steady_kept", "steady_candidates", "page"}
    assert [key for key, value in measurements.items() if key not in counted and value is not None] == []


def test_a_run_written_step_by_step_equals_the_whole() -> None:
    """One JSON object, the same to the byte, with steps and without."""
    for run in (EMPTY, measured()):
        whole = json_text(run_response(run))
        assert "".join(run_json(run)) == whole
        assert len(list(run_json(run))) == len(run.log.steps) + 2


def test_a_run_has_the_figures_of_the_contract() -> None:
    """The figures of the contract's example, with its digits."""
    document = strict(run_values(measured()))
    assert isinstance(document, dict)
    assert document["outcome"]["state"] == "succeeded"
    assert document["steps"][0] == {
        "step": 0,
        "seconds": 14.272,
        "tflops_per_device": 0.952,
        "tokens_per_device": 143.497,
        "loss": 10.872,
        "perplexity": 52668.902,
        "total_weights": 65536,
        "time": "2026-04-21T10:17:39.824857Z",
    }
    known = {
        "steady_step_seconds": 0.22943,
        "steady_se_percent": 0.1,
        "steady_kept": 3,
        "steady_candidates": 6,
        "steady_clock": "completion",
        "steady_tokens_per_device": 8926.0,
        "steady_tflops_per_device": 59.22,
        "compile_seconds": 14.04,
        "checkpoint_blocking_seconds": 0.61,
        "final_checkpoint_wait_seconds": 63.87,
    }
    assert known == {key: document["measurements"][key] for key in known}
    assert document["measurements"]["page"]["avg_step_seconds"] == 3.394
    assert document["environment"]["call_sites"] == {"metric_logger.py": [196, 301]}
    assert document["ledger"][0] == {"phase": "start-up", "seconds": 41.1}


def test_a_time_without_a_date_is_null() -> None:
    """Only differences mean anything in a log without a year."""
    run = measured()
    document = run_values(replace(run, log=replace(run.log, dated=False)))
    steps = document["steps"]
    assert isinstance(steps, list)
    assert steps[0]["time"] is None


def test_a_loss_that_is_not_a_number_stays_valid_json_and_is_not_lost() -> None:
    """JSON has no NaN: the figure is null, the word is beside it."""
    run = replace(
        EMPTY,
        log=replace(EMPTY.log, steps=(Step(step=0, loss=math.nan), Step(step=1, loss=-math.inf))),
    )
    document = strict(run_values(run))
    assert isinstance(document, dict)
    assert [(step["loss"], step["loss_text"]) for step in document["steps"]] == [
        (None, "nan"),
        (None, "-inf"),
    ]


def test_a_comparison_has_the_figures_of_the_contract() -> None:
    """Percent of change, counts of base and head, caveats and rows by name."""
    withheld = timing(TimingVerdict.WITHHELD, 0.16, threshold=2.87, n=(1, 1))
    document = strict(
        comparison_values(compared(Verdict.NOT_LIKE_FOR_LIKE, withheld, WITHIN, caveats=JAX_CAVEATS))
    )
    assert isinstance(document, dict)
    assert document["verdict"] == "not_like_for_like"
    assert {key: document["timing"][key] for key in ("verdict", "change_percent", "band_percent", "n")} == {
        "verdict": "withheld",
        "change_percent": 0.16,
        "band_percent": 2.87,
        "n": [1, 1],
    }
    assert document["loss"]["max_relative"] == 1.18e-4
    caveat = {key: document["caveats"][0][key] for key in ("kind", "field", "base", "head")}
    assert caveat == {"kind": "environment", "field": "jax", "base": "0.9.2", "head": "0.8.1"}
    average = next(row for row in document["rows"] if row["metric"] == "avg_step_seconds")
    assert {key: average[key] for key in ("base", "head", "diff", "judged")} == {
        "base": 3.394,
        "head": 3.451,
        "diff": 0.057,
        "judged": False,
    }
    assert document["base"]["measurements"]["final_loss"] == 8.174


def test_repeats_are_listed_next_to_the_first_run() -> None:
    """`base` stays one object; all runs of a side stand under a name of their own."""
    comparison = replace(
        compared(Verdict.SAME, timing(TimingVerdict.SAME, 0.1)), base=(measured(), measured())
    )
    document = comparison_values(comparison)
    assert isinstance(document["base_runs"], list)
    assert document["base_runs"][0] == document["base"]
    assert "head_runs" not in document


def test_every_report_is_strict_json_without_a_secret() -> None:
    """The API says what the comment says, redacted as the comment is."""
    for name, said in every_state().items():
        text = json.dumps(report_document(said), allow_nan=False)
        for secret in ("lance-maxtext", "562977990677", "ghp_abc"):
            assert secret not in text, name


def test_the_report_links_to_its_own_pages() -> None:
    """Links are paths, so that they hold behind any address."""
    document = report_document(mixed())
    assert document["links"] == {
        "page": "/octo/maxtext/pull/4270",
        "json": "/api/v1/octo/maxtext/pull/4270",
    }
    rows = document["rows"]
    assert isinstance(rows, list)
    assert rows[0]["head_runs"][0]["log"] == "/runs/04_int8-linen-cdc765a-0/log"
    assert report_document(report())["rows"] == []
