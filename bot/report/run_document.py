"""The JSON object of one run, as `maxview parse --json` and the API give it.

In:  a `MeasuredRun`.
Out: a dictionary of JSON values, or its text piece by piece. Every documented key is always there; what the
     log does not state is None.
"""

import json
from collections.abc import Iterator

from bot.logs.facts import CallSite, CompiledMemory, Environment, Outcome, RunLog, Step, StepKind
from bot.report.numbers import iso_time, number, odd_number
from bot.verdict.implausible import Implausible
from bot.verdict.judgement import MeasuredRun, Measurements

SCHEMA = 1


def run_document(run: MeasuredRun) -> dict[str, object]:
    """Everything the log of `run` says and what was measured from it."""
    steps = [_step(step, run.log) for step in run.log.steps]
    return {**_before_steps(run.log), "steps": steps, **_after_steps(run)}


def run_json(run: MeasuredRun) -> Iterator[str]:
    """The same as strict JSON, a step at a time: as one text a day of them is large."""
    yield _text(_before_steps(run.log)).removesuffix("}") + ', "steps": ['
    for place, step in enumerate(run.log.steps):
        yield (", " if place else "") + _text(_step(step, run.log))
    yield "], " + _text(_after_steps(run)).removeprefix("{")


def _text(document: dict[str, object]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _before_steps(log: RunLog) -> dict[str, object]:
    return {
        "schema": SCHEMA,
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
            {"phase": phase.name, "seconds": number(phase.seconds, 3)} for phase in run.measurements.ledger
        ],
        "implausible": [_implausible(one) for one in run.measurements.implausible],
        "warnings": warnings_of(run),
    }


def warnings_of(run: MeasuredRun) -> list[str]:
    """The reader's and the measuring's warnings, each once, in their order."""
    return list(dict.fromkeys((*run.log.warnings, *run.measurements.warnings)))


def _outcome(outcome: Outcome) -> dict[str, object]:
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
        "seconds": number(step.seconds),
        "tflops_per_device": number(step.tflops_per_device),
        "tokens_per_device": number(step.tokens_per_device),
        "loss": number(step.loss),
        "perplexity": number(step.perplexity),
        "total_weights": _count(step.total_weights),
        "time": iso_time(step.time) if log.dated else None,
    }
    if odd := odd_number(step.loss):
        document["loss_text"] = odd
    if step.kind is not StepKind.PLAIN:
        document["kind"] = step.kind.value
    if step.extras:
        document["extras"] = {name: number(value) for name, value in step.extras}
    return document


def _implausible(one: Implausible) -> dict[str, object]:
    return {
        "step": one.step,
        "field": one.field,
        "value": number(one.value),
        "why": one.why.value,
        "text": one.text,
    }


def _measurements(run: MeasuredRun) -> dict[str, object]:
    measured, log, steady = run.measurements, run.log, run.measurements.steady
    document: dict[str, object] = {
        "parameters_billion": number(log.parameters_billion),
        "final_loss": number(measured.final_loss),
        "steady_step_seconds": number(steady.seconds, 5),
        "steady_se_percent": number(None if steady.se is None else steady.se * 100, 2),
        "steady_kept": len(steady.kept_steps),
        "steady_candidates": len(steady.candidate_steps),
        "steady_clock": steady.clock.value if steady.clock else None,
        "steady_tokens_per_device": number(measured.steady_tokens_per_device, 1),
        "steady_tflops_per_device": number(measured.steady_tflops_per_device, 2),
        "mfu_percent": number(measured.mfu_percent, 2),
        "tflop_per_step": number(measured.tflop_per_step, 3),
        "tokens_per_step": number(measured.tokens_per_step, 1),
        "memory_percent": number(measured.memory_percent, 2),
        "memory_headroom_gb": number(measured.memory_headroom_gb, 2),
        "memory_growth_gb": number(measured.memory_growth_gb, 2),
        "max_allocated_mb": number(log.max_allocated_mb, 1),
        "compiled_memory_gb": _compiled(log.compiled_memory),
        "compile_seconds": number(measured.compile_seconds, 2),
        "step0_seconds": number(measured.step0_seconds, 3),
        "checkpoint_blocking_seconds": number(measured.checkpoint_blocking_seconds, 3),
        "final_checkpoint_wait_seconds": number(measured.final_checkpoint_wait_seconds, 2),
        "wall_seconds": number(measured.wall_seconds, 2),
        "chip_hours": number(measured.chip_hours, 3),
        "page": _page(measured),
    }
    if odd := odd_number(measured.final_loss):
        document["final_loss_text"] = odd
    return document


def _page(measured: Measurements) -> dict[str, object]:
    return {
        "avg_step_seconds": number(measured.avg_step_seconds, 3),
        "last_tflops_per_device": number(measured.last_tflops_per_device, 3),
        "last_tokens_per_device": number(measured.last_tokens_per_device, 1),
    }


def _compiled(memory: CompiledMemory | None) -> dict[str, object] | None:
    if memory is None:
        return None
    return {
        "total": number(memory.total_gb),
        "output": number(memory.output_gb),
        "temp": number(memory.temp_gb),
        "argument": number(memory.argument_gb),
        "host_temp": number(memory.host_temp_gb),
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


def _count(value: float | None) -> float | None:
    """A count as a whole number, where the log gives a whole one; some eras print `75264.0`."""
    return int(value) if value is not None and float(value).is_integer() else number(value)
