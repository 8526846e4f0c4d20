"""`/runs/{id}`: what is known of one run: status, past attempts, figures, environment, time ledger, steps."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import RunRecord
from bot.logs.facts import Step
from bot.report.assess import outcome_words
from bot.report.documents import (
    SCHEMA_VERSION,
    environment_response,
    json_values,
    run_response,
    warnings_of,
)
from bot.report.wording import (
    NO_VALUE,
    RAW_SPEEDS,
    duration_words,
    implausible_lines_words,
    iso_time,
    phase_seconds,
    run_status_words,
)
from bot.runs.run_status import RunStatus
from bot.storage import launched_runs, runs
from bot.verdict.judgement import MeasuredRun
from bot.verdict.metrics import METRICS
from bot.web.answers import json_answer
from bot.web.api.responses import RunRecordResponse, RunResponse, UnmeasuredRunResponse
from bot.web.auth.access import Access, document_for_reader, for_page
from bot.web.charts.plots import Plot, TimeBar, phase_fills, plots, time_bar
from bot.web.layout import WebContext
from bot.web.log_viewer.window import LogMarkKind, log_marks, window_start
from bot.web.moments import Moment, moment

MAX_TABLE_STEPS = 1_000
"""Steps in the table, some 200 KB: more than anybody reads, and a browser lays them out at once."""

ENVIRONMENT_TITLES = {
    "jax": "JAX",
    "jaxlib": "jaxlib",
    "libtpu": "libtpu build",
    "orbax": "Orbax",
    "device_kind": "Device",
    "devices": "Devices",
    "mesh": "Mesh",
    "process": "Measured process",
    "workload": "Workload",
    "run_name": "Run name",
    "commit": "Commit in the log",
    "dtype": "Precision",
    "clock_dialect": "What the printed seconds are",
    "call_sites": "Lines of the program that printed",
}


class Fact(Struct, frozen=True, kw_only=True):
    """A name and a value; `how` says how it is measured."""

    name: str
    value: str
    how: str = ""


class StepLine(Struct, frozen=True, kw_only=True):
    """One printed step; `use` is its role in the steady step time, `odd` what of it is implausible."""

    step: int
    seconds: str
    tflops: str
    tokens: str
    loss: str
    time: str
    use: str
    log: str | None
    odd: str = ""


class RunView(Struct, frozen=True, kw_only=True):
    """The page; `measured` is false if no log was read yet."""

    record: RunRecord
    commit_link: str | None
    started: Moment | None
    measured: bool
    outcome: str = ""
    error: str = ""
    where: str = ""
    kind: str = ""
    excerpt: str = ""
    error_log: str | None = None
    source: str = ""
    figures: tuple[Fact, ...] = ()
    environment: tuple[Fact, ...] = ()
    bar: TimeBar | None = None
    ledger: tuple[tuple[str, str, str], ...] = ()
    steps: tuple[StepLine, ...] = ()
    steps_left: int = 0
    steps_missing: int = 0
    steady_problem: str = ""
    warnings: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()


def run_view(record: RunRecord, run: MeasuredRun | None, access: Access) -> RunView:
    """Build the page; `run` is as this visitor may read it."""
    link = access.links.commit_on_github(record.repository, record.sha)
    started = moment(record.started)
    if run is None:
        return RunView(record=record, commit_link=link, started=started, measured=False)
    failure = run.log.outcome.failure
    bar, ledger = _ledger_lines(run)
    return RunView(
        record=record,
        commit_link=link,
        started=started,
        measured=True,
        outcome=outcome_words(run.log.outcome),
        error=failure.error if failure else "",
        where=(failure.where or "") if failure else "",
        kind=failure.kind if failure else "",
        excerpt=failure.excerpt if failure else "",
        error_log=access.links.log(record.id, start=window_start(failure.offset), anchor="error")
        if failure
        else None,
        source=run.log.source,
        figures=tuple(_run_figures(run)),
        environment=_environment_facts(run),
        bar=bar,
        ledger=ledger,
        steps=_step_lines(record, run, access),
        steps_left=max(len(run.log.steps) - MAX_TABLE_STEPS, 0),
        steps_missing=max(run.log.steps_seen - len(run.log.steps), 0),
        steady_problem=run.measurements.steady.problem or "",
        warnings=tuple(warnings_of(run)),
        plots=plots({"this run": run}),
    )


def _run_figures(run: MeasuredRun) -> list[Fact]:
    facts = []
    spoiled = implausible_lines_words([run])
    for metric in METRICS:
        value = metric.read(run)
        if value is not None and metric.key != "jax":
            shown = value if isinstance(value, str) else f"{value:.{metric.digits}f}"
            how = f"{metric.how} {spoiled}".rstrip() if metric.key in RAW_SPEEDS else metric.how
            facts.append(Fact(name=metric.title, value=f"{shown} {metric.unit}".rstrip(), how=how))
    steady = run.measurements.steady
    if steady.se is not None:
        facts.append(
            Fact(
                name="Error of the steady step time within this run",
                value=f"{steady.se * 100:.2f} %",
                how=f"From {len(steady.kept_steps)} kept of {len(steady.candidate_steps)} candidate steps, "
                f"on the {steady.clock.value if steady.clock else 'unknown'} clock.",
            )
        )
    return facts


def _environment_facts(run: MeasuredRun) -> tuple[Fact, ...]:
    stated = json_values(environment_response(run))
    return tuple(
        Fact(name=title, value=_value_words(stated.get(key)))
        for key, title in ENVIRONMENT_TITLES.items()
        if stated.get(key) not in (None, {}, [])
    )


def _value_words(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value)


def _ledger_lines(run: MeasuredRun) -> tuple[TimeBar | None, tuple[tuple[str, str, str], ...]]:
    ledger = phase_seconds(run)
    if not ledger:
        return None, ()
    fills = phase_fills(list(ledger))
    whole = sum(max(seconds, 0.0) for seconds in ledger.values())
    lines = [(fills[phase], phase, duration_words(seconds)) for phase, seconds in ledger.items()]
    return (
        time_bar("This run", ledger, longest=whole, fills=fills),
        (*lines, ("", "whole run", duration_words(sum(ledger.values())))),
    )


def _step_lines(record: RunRecord, run: MeasuredRun, access: Access) -> tuple[StepLine, ...]:
    steady = run.measurements.steady
    kept, candidates = set(steady.kept_steps), set(steady.candidate_steps)
    odd = {one.step: one.text for one in run.measurements.implausible}
    anchors = {mark.offset: mark.anchor for mark in log_marks(run) if mark.kind is LogMarkKind.STEP}
    lines = []
    for step in _first_and_last(run.log.steps):
        link = access.links.log(
            record.id, start=window_start(step.offset), anchor=anchors.get(step.offset, "")
        )
        at = moment(step.time) if run.log.dated else None
        lines.append(
            StepLine(
                step=step.step,
                seconds=_number_words(step.seconds, 3),
                tflops=_number_words(step.tflops_per_device, 3),
                tokens=_number_words(step.tokens_per_device, 1),
                loss=_number_words(step.loss, 3),
                time=at.machine[11:19] if at else "",
                use=_step_use(step.step, kept, candidates),
                odd=odd.get(step.step, ""),
                log=link if record.log_uri and step.offset in anchors else None,
            )
        )
    return tuple(lines)


def _first_and_last(steps: Sequence[Step]) -> Sequence[Step]:
    """The first and last steps, if there are thousands."""
    return (
        steps
        if len(steps) <= MAX_TABLE_STEPS
        else (*steps[: MAX_TABLE_STEPS // 2], *steps[-MAX_TABLE_STEPS // 2 :])
    )


def _step_use(step: int, kept: set[int], candidates: set[int]) -> str:
    if step in kept:
        return "kept"
    return "left out" if step in candidates else "not considered"


def _number_words(value: float | None, digits: int) -> str:
    return NO_VALUE if value is None else f"{value:.{digits}f}"


class AttemptLine(Struct, frozen=True, kw_only=True):
    """An attempt that was given up: times, progress, reason, the cluster's words."""

    number: int
    job: str
    began: Moment | None
    ended: Moment | None
    took: str
    step: str
    why: str
    note: str


class RunStatusView(Struct, frozen=True, kw_only=True):
    """The run's status in words; `note` is what its cluster says."""

    words: str
    note: str
    attempts: tuple[AttemptLine, ...]


def run_status_view(run: RunStatus, now: float) -> RunStatusView:
    """Build the section of the page."""
    return RunStatusView(
        words=run_status_words(run, now),
        note=run.note,
        attempts=tuple(
            AttemptLine(
                number=one.number,
                job=one.name,
                began=moment(one.began),
                ended=moment(one.ended),
                took=NO_VALUE if one.began is None else duration_words(one.ended - one.began),
                step=NO_VALUE if one.last_step is None else str(one.last_step),
                why=one.why,
                note=one.note,
            )
            for one in run.past
        ),
    )


async def run_page(context: WebContext, request: Request) -> Response:
    """The page of a run."""
    access, record = await context.run_access(request)
    measured = (await context.database.read(runs.measured, [record.id])).get(record.id)
    shown = for_page(measured, access) if measured else None
    status = (await context.database.read(launched_runs.run_statuses, [record.id])).get(record.id)
    values = {
        "run": record.id,
        "main": await context.default_branch(access.repository),
        "view": run_view(for_page(record, access), shown, access),
        "status": run_status_view(for_page(status, access), context.now()) if status else None,
    }
    return await context.page(request, "run.html.j2", values, access=access)


async def run_json(context: WebContext, request: Request) -> Response:
    """The same as JSON: its record, and what was measured from its log."""
    access, record = await context.run_access(request)
    measured = (await context.database.read(runs.measured, [record.id])).get(record.id)
    response: RunResponse | UnmeasuredRunResponse
    if measured is None:
        response = UnmeasuredRunResponse(
            schema=SCHEMA_VERSION, record=_record_response(context, access, record)
        )
    else:
        response = RunResponse(
            **structs.asdict(run_response(measured)), record=_record_response(context, access, record)
        )
    return json_answer(request, document_for_reader(response, access), cache=access.cache)


def _record_response(context: WebContext, access: Access, record: RunRecord) -> RunRecordResponse:
    return RunRecordResponse(
        id=record.id,
        repository=record.repository,
        case=record.case,
        variant=record.variant,
        branch=record.branch,
        sha=record.sha,
        started=iso_time(record.started),
        origin=record.origin,
        state=record.state,
        attempt=record.attempt,
        page=context.absolute(access.links.run(record.id)),
        log=context.absolute(access.links.raw_log(record.id)) if record.log_uri else None,
    )
