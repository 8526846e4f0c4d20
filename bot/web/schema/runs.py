"""The shape of a run's document.

In:  nothing. Out: `RUNS`, the schemas by name.
"""

from bot.logs.facts import State, StepKind
from bot.runs.records import Origin, RunState
from bot.verdict.implausible import Why
from bot.verdict.judgement import Clock, Dialect
from bot.web.schema.words import (
    MOMENT,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    either,
    maybe,
    named,
    one_of,
    record,
    ref,
    several,
    sometimes,
    told,
)

_SCHEMA = told({"const": 1}, "The version of these shapes.")

_OUTCOME = record(
    "How the run ended.",
    state=one_of(State),
    exit_code=maybe(WHOLE),
    class_=told(maybe(TEXT), "The class of its failure."),
    error=maybe(TEXT),
    where=maybe(TEXT),
    fingerprint=told(maybe(TEXT), "The same for the same failure in another run."),
    last_step=maybe(WHOLE),
    expected_steps=maybe(WHOLE),
)

_STEP_LINE = record(
    "One step line, as printed.",
    step=WHOLE,
    seconds=maybe(NUMBER),
    tflops_per_device=maybe(NUMBER),
    tokens_per_device=maybe(NUMBER),
    loss=maybe(NUMBER),
    perplexity=maybe(NUMBER),
    total_weights=maybe(NUMBER),
    time=maybe(MOMENT),
)
_STEP = sometimes(
    _STEP_LINE,
    loss_text=told(TEXT, "`nan` or `inf`, where the loss is no number."),
    kind=one_of(StepKind),
    extras=named(maybe(NUMBER), "The other numbers of the line, under the names it prints."),
)

_FIGURES = (
    "parameters_billion",
    "final_loss",
    "steady_step_seconds",
    "steady_se_percent",
    "steady_tokens_per_device",
    "steady_tflops_per_device",
    "mfu_percent",
    "tflop_per_step",
    "tokens_per_step",
    "memory_percent",
    "memory_headroom_gb",
    "memory_growth_gb",
    "max_allocated_mb",
    "compile_seconds",
    "step0_seconds",
    "checkpoint_blocking_seconds",
    "final_checkpoint_wait_seconds",
    "wall_seconds",
    "chip_hours",
)

_COMPILED = ("total", "output", "temp", "argument", "host_temp")
_PAGE = ("avg_step_seconds", "last_tflops_per_device", "last_tokens_per_device")

_MEASUREMENTS = record(
    "Everything computed from the log; units are in the names.",
    **{name: maybe(NUMBER) for name in _FIGURES},
    steady_kept=WHOLE,
    steady_candidates=WHOLE,
    steady_clock=maybe(one_of(Clock)),
    compiled_memory_gb=maybe(
        record("The compiler's own figures.", **{name: maybe(NUMBER) for name in _COMPILED})
    ),
    page=record("The figures of the log's own last lines.", **{name: maybe(NUMBER) for name in _PAGE}),
)

_ENVIRONMENT = record(
    "What the run ran on and with, as its log states it.",
    **{name: maybe(TEXT) for name in ("jax", "jaxlib", "libtpu", "orbax", "device_kind", "dtype")},
    **{name: maybe(TEXT) for name in ("workload", "run_name", "commit")},
    devices=maybe(WHOLE),
    mesh=maybe(several(WHOLE)),
    process=maybe(WHOLE),
    clock_dialect=maybe(one_of(Dialect)),
    call_sites=named(several(WHOLE), "Lines of the program that printed, by file."),
)

_IMPLAUSIBLE = record(
    "A value that cannot be true, and why.",
    step=maybe(WHOLE),
    field=TEXT,
    value=maybe(NUMBER),
    why=one_of(Why),
    text=TEXT,
)

_RECORD = record(
    "The run as it was found or started.",
    id=TEXT,
    repository=TEXT,
    case=TEXT,
    variant=TEXT,
    branch=maybe(TEXT),
    sha=maybe(TEXT),
    started=maybe(MOMENT),
    origin=one_of(Origin),
    state=one_of(RunState),
    attempt=WHOLE,
    page=TEXT,
    log=maybe(TEXT),
)

_MEASURED = {
    "source": TEXT,
    "run": WHOLE,
    "attempts": WHOLE,
    "hosts": WHOLE,
    "format": maybe(TEXT),
    "outcome": _OUTCOME,
    "steps": several(ref("Step")),
    "steps_seen": WHOLE,
    "measurements": ref("Measurements"),
    "environment": ref("Environment"),
    "ledger": several(record("A phase of the run's wall time.", phase=TEXT, seconds=maybe(NUMBER))),
    "implausible": several(_IMPLAUSIBLE),
    "warnings": several(TEXT),
}

_RUN_LINE = record(
    "One run of a side.",
    id=TEXT,
    sha=maybe(TEXT),
    started=maybe(MOMENT),
    state=one_of(RunState),
    origin=one_of(Origin),
    attempt=WHOLE,
    log=maybe(TEXT),
)

RUNS: dict[str, Schema] = {
    "Step": _STEP,
    "Measurements": sometimes(_MEASUREMENTS, final_loss_text=TEXT),
    "Environment": _ENVIRONMENT,
    "MeasuredRun": record("What a log says of a run.", schema=_SCHEMA, **_MEASURED),
    "RunLine": _RUN_LINE,
    "RunRecord": _RECORD,
    "Run": either(
        record("A measured run.", schema=_SCHEMA, **_MEASURED, record=ref("RunRecord")),
        record("A run of which nothing was measured yet.", schema=_SCHEMA, record=ref("RunRecord")),
    ),
}
