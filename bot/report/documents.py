"""The JSON of a run, a comparison, an explanation and a report, as the API and `--format json` give it.

Every documented key is always there; what the log does not state is None. No number has more digits than
were measured, and none is NaN or infinite. Changes are percent of head against base, but for explanations,
whose changes and errors are on the log scale.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from bot.domain.run import RunRecord
from bot.logs.facts import CallSite, CompiledMemory, Environment, RunLog, RunOutcome, Step, StepKind
from bot.logs.failures import FailureClass, advice
from bot.planning.price import Price
from bot.report.assess import carried_runs, headline, is_green, is_settled, parity_tally, severity
from bot.report.links import case_path, json_path, log_path, page_path
from bot.report.model import (
    Acknowledgement,
    Baseline,
    CaseReport,
    FailureNovelty,
    ParityRow,
    Plan,
    Report,
    ReportedCommand,
)
from bot.report.redact import redacted
from bot.report.wording import iso_time
from bot.verdict.judgement import (
    Caveat,
    Comparison,
    Explanation,
    ImplausibleValue,
    LossDecision,
    MeasuredRun,
    Measurements,
    MetricRow,
    TimingDecision,
)
from bot.verdict.metrics import METRICS_BY_KEY
from bot.verdict.noise import LevelShift, NoiseHistory

SIGNIFICANT_DIGITS = 4  # a figure far below its usual unit still keeps this many digits


def json_number(value: float | None, digits: int | None = None) -> float | None:
    """`value` with `digits` decimals, or more where it would lose its leading digits; None if not finite."""
    if value is None or not math.isfinite(value):
        return None
    if digits is None or value == 0:
        return value
    leading = SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(value)))
    return round(value, max(digits, leading) if abs(value) < 10**-digits * 10 else digits)


def percent_of_log(value: float | None, digits: int = 2) -> float | None:
    """A ratio given as a natural logarithm, in percent of change: ln 1.061 is 6.1."""
    if value is None or not math.isfinite(value) or value > 700:
        return None
    return round(math.expm1(value) * 100, digits)


def nonfinite_text(value: float | None) -> str | None:
    """`nan`, `inf` or `-inf` in words where `number` has to say None; None for every other value."""
    return str(value) if value is not None and not math.isfinite(value) else None


SCHEMA_VERSION = 1


def run_document(run: MeasuredRun) -> dict[str, object]:
    """Everything the log of `run` says and what was measured from it."""
    steps = [_step(step, run.log) for step in run.log.steps]
    return {**_before_steps(run.log), "steps": steps, **_after_steps(run)}


def run_json(run: MeasuredRun) -> Iterator[str]:
    """The same as strict JSON, a step at a time: as one text a day of them is large."""
    yield _json_text(_before_steps(run.log)).removesuffix("}") + ', "steps": ['
    for place, step in enumerate(run.log.steps):
        yield (", " if place else "") + _json_text(_step(step, run.log))
    yield "], " + _json_text(_after_steps(run)).removeprefix("{")


def _json_text(document: dict[str, object]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _before_steps(log: RunLog) -> dict[str, object]:
    return {
        "schema": SCHEMA_VERSION,
        "source": log.source,
        "run": log.run,
        "attempts": log.attempts,
        "hosts": log.hosts,
        "format": log.format,
        "outcome": _outcome(log.outcome),
    }


def _after_steps(run: MeasuredRun) -> dict[str, object]:
    log = run.log
    return {
        "steps_seen": max(log.steps_seen, len(log.steps)),
        "measurements": _measurements(run),
        "environment": _environment(log.environment, run.measurements),
        "ledger": [
            {"phase": phase.name, "seconds": json_number(phase.seconds, 3)}
            for phase in run.measurements.ledger
        ],
        "implausible": [_implausible(one) for one in run.measurements.implausible],
        "warnings": warnings_of(run),
    }


def warnings_of(run: MeasuredRun) -> list[str]:
    """The reader's and the measuring's warnings, each once, in their order."""
    return list(dict.fromkeys((*run.log.warnings, *run.measurements.warnings)))


def _outcome(outcome: RunOutcome) -> dict[str, object]:
    failure = outcome.failure
    return {
        "state": outcome.state.value,
        "exit_code": outcome.exit_code,
        "class": failure.kind if failure else None,
        "error": (failure.error or None) if failure else None,
        "where": failure.where if failure else None,
        "fingerprint": (failure.fingerprint or None) if failure else None,
        "last_step": outcome.last_step,
        "expected_steps": outcome.expected_steps,
    }


def _step(step: Step, log: RunLog) -> dict[str, object]:
    document: dict[str, object] = {
        "step": step.step,
        "seconds": json_number(step.seconds),
        "tflops_per_device": json_number(step.tflops_per_device),
        "tokens_per_device": json_number(step.tokens_per_device),
        "loss": json_number(step.loss),
        "perplexity": json_number(step.perplexity),
        "total_weights": _whole_count(step.total_weights),
        "time": iso_time(step.time) if log.dated else None,
    }
    if odd := nonfinite_text(step.loss):
        document["loss_text"] = odd
    if step.kind is not StepKind.PLAIN:
        document["kind"] = step.kind.value
    if step.extras:
        document["extras"] = {name: json_number(value) for name, value in step.extras}
    return document


def _implausible(one: ImplausibleValue) -> dict[str, object]:
    return {
        "step": one.step,
        "field": one.field,
        "value": json_number(one.value),
        "why": one.why.value,
        "text": one.text,
    }


def _measurements(run: MeasuredRun) -> dict[str, object]:
    measured, log, steady = run.measurements, run.log, run.measurements.steady
    document: dict[str, object] = {
        "parameters_billion": json_number(log.parameters_billion),
        "final_loss": json_number(measured.final_loss),
        "steady_step_seconds": json_number(steady.seconds, 5),
        "steady_se_percent": json_number(None if steady.se is None else steady.se * 100, 2),
        "steady_kept": len(steady.kept_steps),
        "steady_candidates": len(steady.candidate_steps),
        "steady_clock": steady.clock.value if steady.clock else None,
        "steady_tokens_per_device": json_number(measured.steady_tokens_per_device, 1),
        "steady_tflops_per_device": json_number(measured.steady_tflops_per_device, 2),
        "mfu_percent": json_number(measured.mfu_percent, 2),
        "tflop_per_step": json_number(measured.tflop_per_step, 3),
        "tokens_per_step": json_number(measured.tokens_per_step, 1),
        "memory_percent": json_number(measured.memory_percent, 2),
        "memory_headroom_gb": json_number(measured.memory_headroom_gb, 2),
        "memory_growth_gb": json_number(measured.memory_growth_gb, 2),
        "max_allocated_mb": json_number(log.max_allocated_mb, 1),
        "compiled_memory_gb": _compiled(log.compiled_memory),
        "compile_seconds": json_number(measured.compile_seconds, 2),
        "step0_seconds": json_number(measured.step0_seconds, 3),
        "checkpoint_blocking_seconds": json_number(measured.checkpoint_blocking_seconds, 3),
        "final_checkpoint_wait_seconds": json_number(measured.final_checkpoint_wait_seconds, 2),
        "wall_seconds": json_number(measured.wall_seconds, 2),
        "chip_hours": json_number(measured.chip_hours, 3),
        "page": _raw_metrics(measured),
    }
    if odd := nonfinite_text(measured.final_loss):
        document["final_loss_text"] = odd
    return document


def _raw_metrics(measured: Measurements) -> dict[str, object]:
    return {
        "avg_step_seconds": json_number(measured.avg_step_seconds, 3),
        "last_tflops_per_device": json_number(measured.last_tflops_per_device, 3),
        "last_tokens_per_device": json_number(measured.last_tokens_per_device, 1),
    }


def _compiled(memory: CompiledMemory | None) -> dict[str, object] | None:
    if memory is None:
        return None
    return {
        "total": json_number(memory.total_gb),
        "output": json_number(memory.output_gb),
        "temp": json_number(memory.temp_gb),
        "argument": json_number(memory.argument_gb),
        "host_temp": json_number(memory.host_temp_gb),
    }


def _environment(environment: Environment, measured: Measurements) -> dict[str, object]:
    return {
        "jax": environment.jax,
        "jaxlib": environment.jaxlib,
        "libtpu": environment.libtpu,
        "orbax": environment.orbax,
        "device_kind": environment.device_kind,
        "devices": environment.devices,
        "mesh": None if environment.mesh is None else list(environment.mesh),
        "process": environment.process,
        "workload": environment.workload,
        "run_name": environment.run_name,
        "commit": environment.commit,
        "dtype": environment.dtype,
        "clock_dialect": measured.dialect.value if measured.dialect else None,
        "call_sites": _call_sites(environment.call_sites),
    }


def _call_sites(sites: tuple[CallSite, ...]) -> dict[str, list[int]]:
    lines: dict[str, set[int]] = {}
    for site in sites:
        lines.setdefault(site.file, set()).add(site.line)
    return {file: sorted(lines[file]) for file in sorted(lines)}


def _whole_count(value: float | None) -> float | None:
    """A count as a whole number, where the log gives a whole one; some eras print `75264.0`."""
    return int(value) if value is not None and float(value).is_integer() else json_number(value)


def explanation_document(explanation: Explanation | None) -> object:
    """The whole explanation; None where there is none."""
    return None if explanation is None else _json_value(asdict(explanation))


def _json_value(value: object) -> object:
    match value:
        case Mapping():
            return {name: _json_value(inner) for name, inner in value.items()}
        case tuple() | list():
            return [_json_value(inner) for inner in value]
        case float():
            return json_number(value)
        case _:
            return value


def past_document(past: NoiseHistory | None) -> dict[str, object] | None:
    """The main runs that a noise was measured from."""
    if past is None:
        return None
    return {
        "runs": past.runs,
        "oldest_started": iso_time(past.oldest_started),
        "follows": shift_document(past.follows) if past.follows else None,
    }


def shift_document(shift: LevelShift) -> dict[str, object]:
    """One change of main's level, with the commits it lies between."""
    return {
        "change_percent": percent_of_log(shift.change),
        "before": shift.before,
        "at": shift.at,
        "runs_before": shift.runs_before,
        "runs_after": shift.runs_after,
        "started": iso_time(shift.started),
    }


def failure_document(news: FailureNovelty | None) -> dict[str, object] | None:
    """`kinship` relates it to the baseline; `pull_requests` are other open ones with the same failure."""
    if news is None:
        return None
    known = advice(FailureClass(news.kind)) if news.kind in set(FailureClass) else None
    return {
        "kinship": news.kinship.value,
        "class": news.kind,
        "fault": known.fault.value if known else None,
        "retry": known.retry if known else None,
        "next_step": known.next_step if known else None,
        "fingerprint": news.fingerprint,
        "pull_requests": list(news.pulls),
        "main_sha": news.main_sha,
    }


def plan_document(plan: Plan | None) -> dict[str, object] | None:
    """What is to come, its price, what is reused, what waits; None where nothing is started here."""
    if plan is None:
        return None
    return {
        "runs": [
            {
                "case": one.case,
                "variant": one.variant,
                "base": one.base,
                "head": one.head,
                "chip_hours": _price(one.price),
            }
            for one in plan.runs
        ],
        "chip_hours": _price(plan.price),
        "runs_without_a_price": plan.unpriced,
        "reused_runs": plan.reused,
        "waiting": [{"keys": [str(key) for key in one.keys], "why": one.why} for one in plan.waiting],
        "proposed": plan.proposed,
    }


def _price(price: Price | None) -> dict[str, object] | None:
    if price is None:
        return None
    return {
        "usual": json_number(price.usual, 3),
        "least": json_number(price.least, 3),
        "most": json_number(price.most, 3),
        "basis": price.basis.value,
        "runs": price.runs,
    }


DIFFERENCE_DIGITS = 3


def comparison_document(comparison: Comparison) -> dict[str, object]:
    """The verdict, what it rests on, and the documents of the runs of both sides."""
    return {
        "schema": SCHEMA_VERSION,
        **summary_document(comparison),
        **_explanation_part(comparison),
        **_side_runs("base", comparison.base),
        **_side_runs("head", comparison.head),
    }


def summary_document(comparison: Comparison) -> dict[str, object]:
    """The verdict and its figures, without the runs and the explanation."""
    return {
        "verdict": comparison.verdict.value,
        "reason": comparison.reason,
        "timing": _timing(comparison.timing),
        "loss": _loss(comparison.loss),
        "caveats": [_caveat(caveat) for caveat in comparison.caveats],
        "rows": [_metric_row(row) for row in comparison.rows],
    }


def _explanation_part(comparison: Comparison) -> dict[str, object]:
    """The explanation, where the comparison carries one."""
    document = explanation_document(comparison.explanation)
    return {} if document is None else {"explanation": document}


def _side_runs(name: str, runs: tuple[MeasuredRun, ...]) -> dict[str, object]:
    """The first run of a side under its name; all of them in addition where there are repeats."""
    documents = [run_document(run) for run in runs]
    side: dict[str, object] = {name: documents[0] if documents else None}
    if len(documents) > 1:
        side[f"{name}_runs"] = documents
    return side


def _timing(timing: TimingDecision) -> dict[str, object]:
    return {
        "verdict": timing.verdict.value,
        "change_percent": percent_of_log(timing.change),
        "band_percent": percent_of_log(timing.band),
        "mde_percent": percent_of_log(timing.mde),
        "se_percent": percent_of_log(timing.se),
        "n": list(timing.n),
        "base_seconds": json_number(timing.base_seconds, 5),
        "head_seconds": json_number(timing.head_seconds, 5),
        "spread": timing.spread.value,
        "degrees_of_freedom": timing.degrees_of_freedom,
        "history": timing.history,
        "standing": timing.standing.value,
        "main_runs": timing.main_runs,
        "look": timing.look,
        "comparable_cases": timing.comparable_cases,
        "more_runs": timing.more_runs,
        "reason": timing.reason,
    }


def _loss(loss: LossDecision) -> dict[str, object]:
    return {
        "verdict": loss.verdict.value,
        "first_difference_step": loss.first_difference_step,
        "first_outside_step": loss.first_outside_step,
        "max_relative": json_number(loss.max_relative, 8),
        "worst_step": loss.worst_step,
        "allowed_relative": json_number(loss.allowed_relative, 8),
        "compared_steps": loss.compared_steps,
        "digits": loss.digits,
        "reason": loss.reason,
    }


def _caveat(caveat: Caveat) -> dict[str, object]:
    return {
        "kind": caveat.kind.value,
        "field": caveat.field,
        "base": caveat.base,
        "head": caveat.head,
        "weight": caveat.weight.value,
        "text": caveat.text,
    }


def _metric_row(row: MetricRow) -> dict[str, object]:
    return {
        "metric": row.key,
        "base": _metric_value(row.key, row.base),
        "head": _metric_value(row.key, row.head),
        "diff": json_number(row.diff, _difference_digits(row.key)),
        "judged": row.judged,
        "direction": row.direction.value,
    }


def _metric_value(key: str, value: float | str | None) -> float | str | None:
    metric = METRICS_BY_KEY.get(key)
    return value if isinstance(value, str) else json_number(value, metric.digits if metric else None)


def _difference_digits(key: str) -> int | None:
    """Decimals of a difference: as many as the page that people know shows, or as the figure has."""
    metric = METRICS_BY_KEY.get(key)
    return max(metric.digits, DIFFERENCE_DIGITS) if metric and metric.digits is not None else None


def report_document(report: Report) -> dict[str, object]:
    """Everything said about one head commit."""
    document: dict[str, object] = {
        "schema": SCHEMA_VERSION,
        "repository": report.repository,
        "number": None if report.is_branch else report.number,
        "title": report.title,
        "headline": headline(report),
        "severity": severity(report),
        "green": is_green(report),
        "settled": is_settled(report),
        "head": {"sha": report.head_sha, "branch": report.head_branch},
        "base": {"branch": report.base_branch, "merge_base": report.merge_base},
        "made_at": iso_time(report.made_at),
        "problem": report.problem,
        "rows": [_case_row(report, row) for row in report.rows],
        "parity": [_parity_row(row) for row in report.parity],
        "parity_tally": _tally_document(report.parity),
        "skipped": [{"case": one.case, "variant": one.variant, "why": one.why} for one in report.skipped],
        "last_command": _command_document(report.last_command),
        "commands": [_command_document(one) for one in report.commands],
        "approval": report.approval or None,
        "variants": list(report.variants),
        "launches": report.launches,
        "chip_hours": {
            "used": json_number(report.chip_hours_used, 3),
            "saved": json_number(report.chip_hours_saved, 3),
        },
        "plan": plan_document(report.plan),
        "margins": {
            "practical_percent": report.practical_percent,
            "equivalence_percent": report.equivalence_percent,
        },
        "links": {"page": page_path(report), "json": json_path(report)},
    }
    return {name: _redact_texts(value) for name, value in document.items()}


def _case_row(report: Report, row: CaseReport) -> dict[str, object]:
    progress = row.progress
    return {
        "case": row.case,
        "variant": row.variant,
        "state": row.state.value,
        "note": row.note,
        "baseline": _baseline(row.baseline),
        "history": past_document(row.past),
        "base_runs": [run_record_document(run) for run in row.base_runs],
        "head_runs": [run_record_document(run) for run in row.head_runs],
        "stale_runs": [run_record_document(run) for run in row.stale_runs],
        "progress": None
        if progress is None
        else {
            "step": progress.step,
            "steps": progress.steps,
            "runs_done": progress.runs_done,
            "runs_wanted": progress.runs_wanted,
            "about": progress.words,
            "left_seconds": [progress.left.low, progress.left.high] if progress.left else None,
        },
        "failure": failure_document(row.failure),
        "acknowledged": _acknowledgement(row.acknowledged),
        "carried": [run.id for run in carried_runs(report, row)],
        "comparison": comparison_document(row.comparison) if row.comparison else None,
        "links": {"page": case_path(report, row.case, row.variant)},
    }


def _baseline(baseline: Baseline | None) -> dict[str, object] | None:
    if baseline is None:
        return None
    return {
        "sha": baseline.sha,
        "why": baseline.why,
        "distance": baseline.distance,
        "newest_started": iso_time(baseline.newest_started),
    }


def run_record_document(run: RunRecord) -> dict[str, object]:
    """One run of a side, with the path of its log."""
    return {
        "id": run.id,
        "sha": run.sha,
        "started": iso_time(run.started),
        "state": run.state.value,
        "origin": run.origin.value,
        "attempt": run.attempt,
        "log": log_path(run.id) if run.log_uri else None,
    }


def _parity_row(row: ParityRow) -> dict[str, object]:
    return {
        "case": row.case,
        "first_variant": row.first_variant,
        "second_variant": row.second_variant,
        "first_passes": row.first_passes,
        "second_passes": row.second_passes,
        "base_first_passes": row.base_first_passes,
        "base_second_passes": row.base_second_passes,
        "first_mixed": row.first_mixed,
        "second_mixed": row.second_mixed,
        "base_first_mixed": row.base_first_mixed,
        "base_second_mixed": row.base_second_mixed,
        "first_transition": row.first_transition.value,
        "second_transition": row.second_transition.value,
        "comparison": comparison_document(row.comparison) if row.comparison else None,
    }


def _tally_document(rows: Sequence[ParityRow]) -> dict[str, object] | None:
    if not rows:
        return None
    counted = parity_tally(rows)
    return {
        "cases": counted.cases,
        "known": counted.known,
        "head": counted.head,
        "head_unknown": counted.head_unknown,
        "head_mixed": counted.head_mixed,
        "base": counted.base,
        "base_unknown": counted.base_unknown,
        "base_mixed": counted.base_mixed,
    }


def _acknowledgement(one: Acknowledgement | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {"by": one.by, "reason": one.reason, "at": iso_time(one.made), "head": one.head_sha}


def _command_document(command: ReportedCommand | None) -> dict[str, object] | None:
    if command is None:
        return None
    return {
        "text": command.text,
        "by": command.by,
        "at": iso_time(command.at),
        "result": command.result,
        "refused": command.refused,
    }


def _redact_texts(value: object) -> object:
    """`value` with every text in it redacted; keys are ours."""
    match value:
        case str():
            return redacted(value)
        case Mapping():
            return {name: _redact_texts(one) for name, one in value.items()}
        case list():
            return [_redact_texts(one) for one in value]
        case _:
            return value
