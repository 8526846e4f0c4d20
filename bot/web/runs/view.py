"""What the page of a run shows: its document, as tables.

In:  a run, what was measured from its log, and the visit it is shown in.
Out: `RunView`. Pure; the figures are those of `run_document`, which the JSON of this page is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.logs.facts import Step
from bot.report.figures import NONE, seconds
from bot.report.information import phases
from bot.report.judged import ended
from bot.report.run_document import run_document, warnings_of
from bot.report.struck import PAGE_SPEEDS, spoiled_words
from bot.runs.records import RunRecord
from bot.verdict.judgement import MeasuredRun
from bot.verdict.metrics import METRICS
from bot.web.cases.view import ledger
from bot.web.figures.charts import Bar, bar, fills
from bot.web.figures.drawing import Plot
from bot.web.figures.plots import plots
from bot.web.ground.access import Visit
from bot.web.ground.moments import Moment, moment
from bot.web.log.marks import log_marks, log_start

MOST_STEPS = 1_000
"""Steps in the table, some 200 KB: more than anybody reads, and a browser sets them at once."""

ENVIRONMENT = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name and a value; `how` says how it is measured."""

    name: str
    value: str
    how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """One printed step. `use` says whether its interval was used for the steady step time, `odd` what of its
    line cannot be true."""

    step: int
    seconds: str
    tflops: str
    tokens: str
    loss: str
    time: str
    use: str
    log: str | None
    odd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The page; `measured` is false where nothing was read from a log yet."""

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
    bar: Bar | None = None
    ledger: tuple[tuple[str, str, str], ...] = ()
    steps: tuple[StepLine, ...] = ()
    steps_left: int = 0
    steps_missing: int = 0
    steady_problem: str = ""
    warnings: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()


def run_view(record: RunRecord, run: MeasuredRun | None, visit: Visit) -> RunView:
    """The page's words. `run` is as this visitor may read it."""
    link = visit.links.commit_on_github(record.repository, record.sha) if record.sha else None
    started = moment(record.started)
    if run is None:
        return RunView(record=record, commit_link=link, started=started, measured=False)
    failure = run.log.outcome.failure
    drawn, spent = _ledger(run)
    return RunView(
        record=record,
        commit_link=link,
        started=started,
        measured=True,
        outcome=ended(run.log.outcome),
        error=failure.error if failure else "",
        where=(failure.where or "") if failure else "",
        kind=failure.kind if failure else "",
        excerpt=failure.excerpt if failure else "",
        error_log=visit.links.log(record.id, start=log_start(failure.offset), anchor="error")
        if failure
        else None,
        source=run.log.source,
        figures=tuple(_figures(run)),
        environment=_environment(run),
        bar=drawn,
        ledger=spent,
        steps=_steps(record, run, visit),
        steps_left=max(len(run.log.steps) - MOST_STEPS, 0),
        steps_missing=max(run.log.steps_seen - len(run.log.steps), 0),
        steady_problem=run.measurements.steady.problem or "",
        warnings=tuple(warnings_of(run)),
        plots=plots({"this run": run}),
    )


def _figures(run: MeasuredRun) -> list[Fact]:
    facts = []
    spoiled = spoiled_words([run])
    for metric in METRICS:
        value = metric.read(run)
        if value is not None and metric.key != "jax":
            shown = value if isinstance(value, str) else f"{value:.{metric.digits}f}"
            how = f"{metric.how} {spoiled}".rstrip() if metric.key in PAGE_SPEEDS else metric.how
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


def _environment(run: MeasuredRun) -> tuple[Fact, ...]:
    document = run_document(run)["environment"]
    stated = document if isinstance(document, Mapping) else {}
    return tuple(
        Fact(name=title, value=_words(stated.get(key)))
        for key, title in ENVIRONMENT.items()
        if stated.get(key) not in (None, {}, [])
    )


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value)


def _ledger(run: MeasuredRun) -> tuple[Bar | None, tuple[tuple[str, str, str], ...]]:
    spent = phases(run)
    if not spent:
        return None, ()
    fill = fills(list(spent))
    whole = sum(max(value, 0.0) for value in spent.values())
    drawn = bar("This run", ledger(spent), longest=whole, fill=fill)
    lines = [(fill[name], name, seconds(value)) for name, value in spent.items()]
    return drawn, (*lines, ("", "whole run", seconds(sum(spent.values()))))


def _steps(record: RunRecord, run: MeasuredRun, visit: Visit) -> tuple[StepLine, ...]:
    steady = run.measurements.steady
    kept, candidates = set(steady.kept_steps), set(steady.candidate_steps)
    odd = {one.step: one.text for one in run.measurements.implausible}
    anchors = {mark.offset: mark.anchor for mark in log_marks(run) if mark.kind == "step"}
    lines = []
    for step in _shown(run.log.steps):
        link = visit.links.log(record.id, start=log_start(step.offset), anchor=anchors.get(step.offset, ""))
        at = moment(step.time) if run.log.dated else None
        lines.append(
            StepLine(
                step=step.step,
                seconds=_figure(step.seconds, 3),
                tflops=_figure(step.tflops_per_device, 3),
                tokens=_figure(step.tokens_per_device, 1),
                loss=_figure(step.loss, 3),
                time=at.machine[11:19] if at else "",
                use=_use(step.step, kept, candidates),
                odd=odd.get(step.step, ""),
                log=link if record.log_uri and step.offset in anchors else None,
            )
        )
    return tuple(lines)


def _shown(steps: Sequence[Step]) -> Sequence[Step]:
    """As many steps as one reads: the first and the last of thousands."""
    return steps if len(steps) <= MOST_STEPS else (*steps[: MOST_STEPS // 2], *steps[-MOST_STEPS // 2 :])


def _use(step: int, kept: set[int], candidates: set[int]) -> str:
    if step in kept:
        return "kept"
    return "left out" if step in candidates else "not considered"


def _figure(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"
