"""The JSON of a run, a comparison and a report, as the API and `--format json` give it.

The functions fill the types of `responses`. No number has more digits than were measured, and none is NaN or
infinite. Changes are percent of head against base, but for explanations, whose changes and errors are on the
log scale. Links are paths below the public address.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from bot.domain.price import Price
from bot.domain.run import RunRecord
from bot.logs.facts import CallSite, CompiledMemory, RunLog, RunOutcome, Step, StepKind
from bot.logs.failures import FailureClass, advice
from bot.redaction.redact import redact
from bot.report.assess import carried_runs, headline, is_green, is_settled, parity_tally, severity
from bot.report.links import case_path, json_path, log_path, page_path
from bot.report.model import (
    Acknowledgement,
    Baseline,
    CaseProgress,
    CaseReport,
    FailureNovelty,
    ParityRow,
    Plan,
    PossibleRuns,
    Report,
    ReportedCommand,
)
from bot.report.responses import (
    AcknowledgementResponse,
    BaselineResponse,
    BaseResponse,
    CaseLinksResponse,
    CaveatResponse,
    ChipHoursResponse,
    CommandResponse,
    ComparisonResponse,
    CompiledMemoryResponse,
    EnvironmentResponse,
    FailureResponse,
    HeadResponse,
    ImplausibleResponse,
    LoopResponse,
    LossResponse,
    MarginsResponse,
    MeasuredRunResponse,
    MeasurementsResponse,
    MetricResponse,
    NoiseHistoryResponse,
    OutcomeResponse,
    ParityResponse,
    ParityTallyResponse,
    PhaseChangeResponse,
    PhaseResponse,
    PlannedRunsResponse,
    PlanResponse,
    PossibleRunsResponse,
    PriceResponse,
    ProgressResponse,
    RawMetricsResponse,
    ReportLinksResponse,
    ReportResponse,
    RowResponse,
    RunLineResponse,
    RunsWantedResponse,
    ShiftResponse,
    SkippedResponse,
    StepResponse,
    TimingResponse,
    VerdictResponse,
    WaitingResponse,
)
from bot.report.wording import iso_time
from bot.verdict.judgement import (
    Caveat,
    Comparison,
    ImplausibleValue,
    LoopDecision,
    LossDecision,
    MeasuredRun,
    MetricRow,
    TimingDecision,
)
from bot.verdict.metrics import METRICS_BY_KEY
from bot.verdict.noise import LevelShift, NoiseHistory

SCHEMA_VERSION: Literal[1] = 1

# Numbers and JSON

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


def _nonfinite_text(value: float | None) -> str | UnsetType:
    """`nan`, `inf` or `-inf`, where `json_number` gives None."""
    return str(value) if value is not None and not math.isfinite(value) else UNSET


def json_values(response: Struct) -> dict[str, object]:
    """A response as dictionaries, lists and plain values of strict JSON."""
    values: dict[str, object] = _strict(to_builtins(response))
    return values


def json_text(response: Struct) -> str:
    """A response as one line of strict JSON."""
    return _json_line(json_values(response))


def _json_line(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    """None for a number that JSON cannot hold: explanations hold figures as they were computed."""
    match value:
        case float():
            return json_number(value)
        case dict():
            return {name: _strict(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_strict(inner) for inner in value]
        case _:
            return value


# Runs


def run_response(run: MeasuredRun) -> MeasuredRunResponse:
    """Everything the log of `run` says and what was measured from it."""
    log = run.log
    return MeasuredRunResponse(
        schema=SCHEMA_VERSION,
        source=log.source,
        run=log.run,
        attempts=log.attempts,
        hosts=log.hosts,
        format=log.format,
        outcome=_outcome(log.outcome),
        steps=tuple(_step(step, log) for step in log.steps),
        steps_seen=max(log.steps_seen, len(log.steps)),
        measurements=_measurements(run),
        environment=environment_response(run),
        ledger=tuple(
            PhaseResponse(phase=phase.name, seconds=json_number(phase.seconds, 3))
            for phase in run.measurements.ledger
        ),
        implausible=tuple(_implausible(one) for one in run.measurements.implausible),
        warnings=tuple(warnings_of(run)),
    )


def run_json(run: MeasuredRun) -> Iterator[str]:
    """The text of `run_response`, a step at a time: as one text a day of them is large."""
    stepless = replace(
        run, log=replace(run.log, steps=(), steps_seen=max(run.log.steps_seen, len(run.log.steps)))
    )
    values = json_values(run_response(stepless))
    at = list(values).index("steps")
    before, after = dict(list(values.items())[:at]), dict(list(values.items())[at + 1 :])
    yield _json_line(before).removesuffix("}") + ', "steps": ['
    for number, step in enumerate(run.log.steps):
        yield (", " if number else "") + json_text(_step(step, run.log))
    yield "], " + _json_line(after).removeprefix("{")


def environment_response(run: MeasuredRun) -> EnvironmentResponse:
    """What the run ran on and with."""
    environment, dialect = run.log.environment, run.measurements.dialect
    return EnvironmentResponse(
        jax=environment.jax,
        jaxlib=environment.jaxlib,
        libtpu=environment.libtpu,
        orbax=environment.orbax,
        device_kind=environment.device_kind,
        devices=environment.devices,
        mesh=environment.mesh,
        process=environment.process,
        workload=environment.workload,
        run_name=environment.run_name,
        commit=environment.commit,
        dtype=environment.dtype,
        clock_dialect=dialect,
        call_sites=_call_sites(environment.call_sites),
    )


def run_line(run: RunRecord) -> RunLineResponse:
    """One run of a side, with the path of its log."""
    return RunLineResponse(
        id=run.id,
        sha=run.sha,
        started=iso_time(run.started),
        state=run.state,
        origin=run.origin,
        attempt=run.attempt,
        log=log_path(run.id) if run.log_uri else None,
    )


def warnings_of(run: MeasuredRun) -> list[str]:
    """The reader's and the measuring's warnings, each once, in their order."""
    return list(dict.fromkeys((*run.log.warnings, *run.measurements.warnings)))


def _outcome(outcome: RunOutcome) -> OutcomeResponse:
    failure = outcome.failure
    return OutcomeResponse(
        state=outcome.state,
        exit_code=outcome.exit_code,
        class_=failure.kind if failure else None,
        error=(failure.error or None) if failure else None,
        where=failure.where if failure else None,
        fingerprint=(failure.fingerprint or None) if failure else None,
        last_step=outcome.last_step,
        expected_steps=outcome.expected_steps,
    )


def _step(step: Step, log: RunLog) -> StepResponse:
    weights = step.total_weights
    return StepResponse(
        step=step.step,
        seconds=json_number(step.seconds),
        tflops_per_device=json_number(step.tflops_per_device),
        tokens_per_device=json_number(step.tokens_per_device),
        loss=json_number(step.loss),
        perplexity=json_number(step.perplexity),
        # A count as a whole number, where the log gives a whole one; some MaxText versions print `75264.0`.
        total_weights=int(weights)
        if weights is not None and float(weights).is_integer()
        else json_number(weights),
        time=iso_time(step.time) if log.dated else None,
        loss_text=_nonfinite_text(step.loss),
        kind=UNSET if step.kind is StepKind.PLAIN else step.kind,
        extras={name: json_number(value) for name, value in step.extras} or UNSET,
    )


def _implausible(one: ImplausibleValue) -> ImplausibleResponse:
    return ImplausibleResponse(
        step=one.step, field=one.field, value=json_number(one.value), why=one.why, text=one.text
    )


def _measurements(run: MeasuredRun) -> MeasurementsResponse:
    measured, log, steady = run.measurements, run.log, run.measurements.steady
    return MeasurementsResponse(
        parameters_billion=json_number(log.parameters_billion),
        final_loss=json_number(measured.final_loss),
        steady_step_seconds=json_number(steady.seconds, 5),
        steady_se_percent=json_number(None if steady.se is None else steady.se * 100, 2),
        steady_kept=len(steady.kept_steps),
        steady_candidates=len(steady.candidate_steps),
        steady_clock=steady.clock,
        steady_tokens_per_device=json_number(measured.steady_tokens_per_device, 1),
        steady_tflops_per_device=json_number(measured.steady_tflops_per_device, 2),
        mfu_percent=json_number(measured.mfu_percent, 2),
        tflop_per_step=json_number(measured.tflop_per_step, 3),
        tokens_per_step=json_number(measured.tokens_per_step, 1),
        memory_percent=json_number(measured.memory_percent, 2),
        memory_headroom_gb=json_number(measured.memory_headroom_gb, 2),
        memory_growth_gb=json_number(measured.memory_growth_gb, 2),
        max_allocated_mb=json_number(log.max_allocated_mb, 1),
        compiled_memory_gb=_compiled_memory(log.compiled_memory),
        compile_seconds=json_number(measured.compile_seconds, 2),
        step0_seconds=json_number(measured.step0_seconds, 3),
        checkpoint_blocking_seconds=json_number(measured.checkpoint_blocking_seconds, 3),
        final_checkpoint_wait_seconds=json_number(measured.final_checkpoint_wait_seconds, 2),
        wall_seconds=json_number(measured.wall_seconds, 2),
        chip_hours=json_number(measured.chip_hours, 3),
        page=RawMetricsResponse(
            avg_step_seconds=json_number(measured.avg_step_seconds, 3),
            last_tflops_per_device=json_number(measured.last_tflops_per_device, 3),
            last_tokens_per_device=json_number(measured.last_tokens_per_device, 1),
        ),
        final_loss_text=_nonfinite_text(measured.final_loss),
    )


def _compiled_memory(memory: CompiledMemory | None) -> CompiledMemoryResponse | None:
    if memory is None:
        return None
    return CompiledMemoryResponse(
        total=json_number(memory.total_gb),
        output=json_number(memory.output_gb),
        temp=json_number(memory.temp_gb),
        argument=json_number(memory.argument_gb),
        host_temp=json_number(memory.host_temp_gb),
    )


def _call_sites(sites: tuple[CallSite, ...]) -> dict[str, tuple[int, ...]]:
    lines: dict[str, set[int]] = {}
    for site in sites:
        lines.setdefault(site.file, set()).add(site.line)
    return {file: tuple(sorted(lines[file])) for file in sorted(lines)}


# Comparisons


def verdict_response(comparison: Comparison) -> VerdictResponse:
    """The verdict and its figures, without the runs and the explanation."""
    return VerdictResponse(
        verdict=comparison.verdict,
        reason=comparison.reason,
        timing=_timing(comparison.timing),
        loss=_loss(comparison.loss),
        caveats=tuple(_caveat(caveat) for caveat in comparison.caveats),
        rows=tuple(_metric(row) for row in comparison.rows),
    )


def comparison_response(comparison: Comparison) -> ComparisonResponse:
    """The verdict, what it rests on, and the runs of both sides; all of a side's runs where there are
    repeats."""
    found = verdict_response(comparison)
    base = tuple(run_response(run) for run in comparison.base)
    head = tuple(run_response(run) for run in comparison.head)
    return ComparisonResponse(
        schema=SCHEMA_VERSION,
        verdict=found.verdict,
        reason=found.reason,
        timing=found.timing,
        loss=found.loss,
        caveats=found.caveats,
        rows=found.rows,
        explanation=comparison.explanation or UNSET,
        base=base[0] if base else None,
        base_runs=base if len(base) > 1 else UNSET,
        head=head[0] if head else None,
        head_runs=head if len(head) > 1 else UNSET,
    )


def shift_response(shift: LevelShift) -> ShiftResponse:
    """One change of main's level, with the commits it lies between."""
    return ShiftResponse(
        change_percent=percent_of_log(shift.change),
        before=shift.before,
        at=shift.at,
        runs_before=shift.runs_before,
        runs_after=shift.runs_after,
        started=iso_time(shift.started),
    )


def _timing(timing: TimingDecision) -> TimingResponse:
    return TimingResponse(
        verdict=timing.verdict,
        change_percent=percent_of_log(timing.change),
        band_percent=percent_of_log(timing.threshold),
        mde_percent=percent_of_log(timing.mde),
        se_percent=percent_of_log(timing.se),
        n=timing.n,
        base_seconds=json_number(timing.base_seconds, 5),
        head_seconds=json_number(timing.head_seconds, 5),
        spread=timing.noise_source,
        degrees_of_freedom=timing.degrees_of_freedom,
        history=timing.history,
        baseline_source=timing.baseline_source,
        main_runs=timing.main_runs,
        look=timing.look,
        comparable_cases=timing.comparable_cases,
        more_runs=timing.more_runs,
        reason=timing.reason,
        submissions=timing.submissions,
        confirms=timing.confirms,
        confirm_runs=RunsWantedResponse(base=timing.confirm_runs.base, head=timing.confirm_runs.head),
        measure=timing.measure,
        loop=None if timing.loop is None else _loop(timing.loop),
    )


def _loop(loop: LoopDecision) -> LoopResponse:
    return LoopResponse(
        verdict=loop.verdict,
        change_percent=percent_of_log(loop.change),
        band_percent=percent_of_log(loop.threshold),
        se_percent=percent_of_log(loop.se),
        bound_percent=percent_of_log(loop.bound),
        base_seconds=json_number(loop.base_seconds, 5),
        head_seconds=json_number(loop.head_seconds, 5),
        worst=loop.worst,
        history=loop.history,
        phases=tuple(
            PhaseChangeResponse(
                phase=one.phase,
                base_seconds=json_number(one.base_seconds, 5),
                head_seconds=json_number(one.head_seconds, 5),
                change_percent=percent_of_log(one.change),
                steps=one.steps,
                window=one.window,
            )
            for one in loop.phases
        ),
        reason=loop.reason,
    )


def _loss(loss: LossDecision) -> LossResponse:
    return LossResponse(
        verdict=loss.verdict,
        first_difference_step=loss.first_difference_step,
        first_outside_step=loss.first_outside_step,
        max_relative=json_number(loss.max_relative, 8),
        worst_step=loss.worst_step,
        allowed_relative=json_number(loss.allowed_relative, 8),
        compared_steps=loss.compared_steps,
        digits=loss.digits,
        repeat=loss.repeat,
        shift=json_number(loss.shift, 8),
        shift_allowed=json_number(loss.shift_allowed, 8),
        shift_steps=loss.shift_steps,
        reason=loss.reason,
    )


def _caveat(caveat: Caveat) -> CaveatResponse:
    return CaveatResponse(
        kind=caveat.kind,
        field=caveat.field,
        base=caveat.base,
        head=caveat.head,
        weight=caveat.weight,
        text=caveat.text,
    )


DIFFERENCE_DIGITS = 3  # decimals of a difference: as many as the old page shows, or as the figure has


def _metric(row: MetricRow) -> MetricResponse:
    metric = METRICS_BY_KEY.get(row.key)
    digits = metric.digits if metric else None

    def figure(value: float | str | None) -> float | str | None:
        return value if isinstance(value, str) else json_number(value, digits)

    return MetricResponse(
        metric=row.key,
        base=figure(row.base),
        head=figure(row.head),
        diff=json_number(row.diff, max(digits, DIFFERENCE_DIGITS) if digits is not None else None),
        judged=row.judged,
        direction=row.direction,
    )


# Reports


def report_document(report: Report) -> dict[str, object]:
    """Everything said about one head commit, as JSON values.

    Every text is redacted as in the comment, since both have the same readers.
    """
    document: dict[str, object] = _redacted(json_values(report_response(report)))
    return document


def report_response(report: Report) -> ReportResponse:
    """Everything said about one head commit, as it is: not redacted."""
    return ReportResponse(
        schema=SCHEMA_VERSION,
        repository=report.repository,
        number=None if report.is_branch else report.number,
        title=report.title,
        headline=headline(report),
        severity=severity(report),
        green=is_green(report),
        settled=is_settled(report),
        head=HeadResponse(sha=report.head_sha, branch=report.head_branch),
        base=BaseResponse(branch=report.base_branch, merge_base=report.merge_base),
        made_at=iso_time(report.made_at),
        problem=report.problem,
        rows=tuple(_row(report, row) for row in report.rows),
        parity=tuple(_parity(row) for row in report.parity),
        parity_tally=_tally(report.parity),
        skipped=tuple(
            SkippedResponse(case=one.case, variant=one.variant, why=one.why) for one in report.skipped
        ),
        last_command=_command(report.last_command) if report.last_command else None,
        commands=tuple(_command(one) for one in report.commands),
        approval=report.approval or None,
        variants=report.variants,
        launches=report.launches,
        chip_hours=ChipHoursResponse(
            used=json_number(report.chip_hours_used, 3), saved=json_number(report.chip_hours_saved, 3)
        ),
        plan=_plan(report.plan) if report.plan else None,
        margins=MarginsResponse(
            practical_percent=report.practical_percent, equivalence_percent=report.equivalence_percent
        ),
        links=ReportLinksResponse(page=page_path(report), json=json_path(report)),
    )


def _row(report: Report, row: CaseReport) -> RowResponse:
    return RowResponse(
        case=row.case,
        variant=row.variant,
        state=row.state,
        note=row.note,
        baseline=_baseline(row.baseline) if row.baseline else None,
        history=_noise_history(row.noise_history) if row.noise_history else None,
        base_runs=tuple(run_line(run) for run in row.base_runs),
        head_runs=tuple(run_line(run) for run in row.head_runs),
        stale_runs=tuple(run_line(run) for run in row.stale_runs),
        progress=_progress(row.progress) if row.progress else None,
        under_way=RunsWantedResponse(base=row.under_way.base, head=row.under_way.head),
        failure=_failure(row.failure) if row.failure else None,
        acknowledged=_acknowledgement(row.acknowledged) if row.acknowledged else None,
        carried=tuple(run.id for run in carried_runs(report, row)),
        comparison=comparison_response(row.comparison) if row.comparison else None,
        links=CaseLinksResponse(page=case_path(report, row.key)),
    )


def _baseline(baseline: Baseline) -> BaselineResponse:
    return BaselineResponse(
        sha=baseline.sha,
        why=baseline.why,
        distance=baseline.distance,
        newest_started=iso_time(baseline.newest_started),
    )


def _noise_history(past: NoiseHistory) -> NoiseHistoryResponse:
    return NoiseHistoryResponse(
        runs=past.runs,
        oldest_started=iso_time(past.oldest_started),
        follows=shift_response(past.follows) if past.follows else None,
    )


def _progress(progress: CaseProgress) -> ProgressResponse:
    return ProgressResponse(
        step=progress.step,
        steps=progress.steps,
        runs_done=progress.runs_done,
        runs_wanted=progress.runs_wanted,
        about=progress.words,
        left_seconds=(progress.left.low, progress.left.high) if progress.left else None,
    )


def _failure(news: FailureNovelty) -> FailureResponse:
    known = advice(FailureClass(news.kind)) if news.kind in set(FailureClass) else None
    return FailureResponse(
        novelty=news.novelty,
        class_=news.kind,
        fault=known.responsibility if known else None,
        retry=known.retry if known else None,
        next_step=known.next_step if known else None,
        fingerprint=news.fingerprint,
        pull_requests=news.pulls,
        pull_requests_other_cases=news.pulls_elsewhere,
        main_sha=news.main_sha,
    )


def _acknowledgement(one: Acknowledgement) -> AcknowledgementResponse:
    return AcknowledgementResponse(by=one.by, reason=one.reason, at=iso_time(one.made), head=one.head_sha)


def _parity(row: ParityRow) -> ParityResponse:
    return ParityResponse(
        case=row.case,
        first_variant=row.first_variant,
        second_variant=row.second_variant,
        first_passes=row.first_passes,
        second_passes=row.second_passes,
        base_first_passes=row.base_first_passes,
        base_second_passes=row.base_second_passes,
        first_mixed=row.first_mixed,
        second_mixed=row.second_mixed,
        base_first_mixed=row.base_first_mixed,
        base_second_mixed=row.base_second_mixed,
        first_transition=row.first_transition,
        second_transition=row.second_transition,
        comparison=comparison_response(row.comparison) if row.comparison else None,
    )


def _tally(rows: Sequence[ParityRow]) -> ParityTallyResponse | None:
    if not rows:
        return None
    tally = parity_tally(rows)
    return ParityTallyResponse(
        cases=tally.cases,
        known=tally.known,
        head=tally.head,
        head_unknown=tally.head_unknown,
        head_mixed=tally.head_mixed,
        base=tally.base,
        base_unknown=tally.base_unknown,
        base_mixed=tally.base_mixed,
    )


def _command(command: ReportedCommand) -> CommandResponse:
    return CommandResponse(
        text=command.text,
        by=command.by,
        at=iso_time(command.at),
        result=command.result,
        refused=command.refused,
    )


def _plan(plan: Plan) -> PlanResponse:
    return PlanResponse(
        runs=tuple(
            PlannedRunsResponse(
                case=one.case,
                variant=one.variant,
                base=one.base,
                head=one.head,
                chip_hours=_price(one.price) if one.price else None,
            )
            for one in plan.runs
        ),
        chip_hours=_price(plan.price) if plan.price else None,
        runs_without_a_price=plan.unpriced,
        confirming=_possible_runs(plan.confirming) if plan.confirming else None,
        reused_runs=plan.reused,
        waiting=tuple(
            WaitingResponse(keys=tuple(map(str, one.keys)), why=str(one.why)) for one in plan.waiting
        ),
        proposed=plan.proposed,
    )


def _possible_runs(possible: PossibleRuns) -> PossibleRunsResponse:
    return PossibleRunsResponse(
        cases=possible.cases,
        runs=possible.runs,
        chip_hours=_price(possible.price) if possible.price else None,
        runs_without_a_price=possible.unpriced,
    )


def _price(price: Price) -> PriceResponse:
    return PriceResponse(
        usual=json_number(price.usual, 3),
        least=json_number(price.least, 3),
        most=json_number(price.most, 3),
        basis=price.basis,
        runs=price.runs,
    )


def _redacted(value: Any) -> Any:
    """`value` with every text in it redacted; keys are ours."""
    match value:
        case str():
            return redact(value)
        case dict():
            return {name: _redacted(inner) for name, inner in value.items()}
        case list():
            return [_redacted(inner) for inner in value]
        case _:
            return value
