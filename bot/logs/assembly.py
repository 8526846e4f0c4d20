"""Put runs together from the segments of a log: attempts, hosts, the measured host.

Several hosts may print into one log without a label. They are recognised by their step numbers: hosts that
train together are at most a few steps apart, so the number goes back again and again, each time to a later
step, and nearly every step is printed once per host. A restart goes back to a checkpoint and repeats only
the lost steps, or all of them from the same step on. A restart is never taken for several hosts.
"""

from collections import Counter
from itertools import pairwise
from statistics import median

from msgspec.structs import replace

from bot.logs.decoding import GzipDamage
from bot.logs.facts import (
    CompiledMemory,
    DeviceMemory,
    Environment,
    Mark,
    MarkKind,
    OutcomeState,
    RunLog,
    RunOutcome,
    Step,
)
from bot.logs.limits import UnreadRest
from bot.logs.outcome import run_outcome
from bot.logs.prefixes import UNDATED, with_year
from bot.logs.rules import QuantityKind, first_quantity
from bot.logs.segments import FormatCollector, Host, LogSegment, host_rank, merge_environment
from bot.logs.steps import StepSeries

REPEATED_SHARE = 0.9
"""Share of the steps that are printed more than once: a host may miss its first or last lines."""
MIN_RETURNS = 3
"""Returns to ever later steps from which chance, and a run that was restarted twice, are ruled out."""
RETURN_SHARE = 0.1
"""Least share of the steps that are returned to: hosts' output is flushed every few lines."""
MAX_RETURN_STEPS = 2.0
"""Step times that a return may take: another host's line is late by less, a restart by far more."""
COMPLETE_SHARE = 0.9
"""Process 0 is measured unless it has fewer than this share of the steps that another host printed."""


def first_of_interleaved(series: StepSeries) -> StepSeries:
    """The first line of each step where several hosts printed them, else the series itself."""
    if series.back < MIN_RETURNS or series.newest_first:
        return series
    steps = series.steps()
    if not is_interleaved(steps):
        return series
    found, highest = StepSeries(), -1
    for step in steps:
        if step.step > highest:
            found.add(step, anonymous=False)
            highest = step.step
    found.repeats = series.repeats + len(steps) - found.steps_seen
    found.steps_seen += (series.steps_seen - len(steps)) * found.steps_seen // len(steps)
    return found


def is_interleaved(steps: tuple[Step, ...]) -> bool:
    """Whether these lines, in the order printed, come from several hosts."""
    counts = Counter(step.step for step in steps)
    pairs = list(pairwise(steps))
    returns = [after.step for before, after in pairs if after.step <= before.step]
    repeated = sum(count > 1 for count in counts.values())
    earlier = sum(after < before for before, after in pairwise(returns))
    return (
        repeated >= REPEATED_SHARE * len(counts)
        and len(set(returns)) >= max(MIN_RETURNS, RETURN_SHARE * len(counts))
        and earlier <= (1 - REPEATED_SHARE) * len(returns)
        and not _has_pauses(pairs)
    )


def _has_pauses(pairs: list[tuple[Step, Step]]) -> bool:
    """Whether returns to an earlier step take time, as they do when a program starts again."""
    back: list[float] = []
    onward: list[float] = []
    for before, after in pairs:
        if before.time is not None and after.time is not None:
            (onward if after.step > before.step else back).append(after.time - before.time)
    return bool(back and onward) and median(back) > MAX_RETURN_STEPS * max(median(onward), 0.0)


def choose_host(collector: FormatCollector | None) -> tuple[Host, int, list[str]]:
    """The host to measure, how many there are, and warnings about the choice."""
    printing = [host for host in collector.hosts.values() if host.series.steps_seen] if collector else []
    if not printing:
        hosts = list(collector.hosts.values()) if collector else []
        return min(hosts, key=host_rank, default=Host(0)), 1, []
    for host in printing:  # two hosts may use the same thread number
        host.series = first_of_interleaved(host.series)
    printing = _join_restarts(sorted(printing, key=host_rank))
    lead, most = printing[0], max(printing, key=lambda host: host.series.steps_seen)
    missing = most.series.steps_seen - lead.series.steps_seen
    if missing <= 0:
        return lead, len(printing), []
    name = f"Process {lead.process}" if lead.process is not None else "The first host"
    note = f"{name} printed {lead.series.steps_seen} step lines, another host {most.series.steps_seen}: {{}}"
    if lead.series.steps_seen >= COMPLETE_SHARE * most.series.steps_seen:
        return lead, len(printing), [note.format(f"{missing} steps of it are missing from this log.")]
    return most, len(printing), [note.format("that other host is measured.")]


def _join_restarts(hosts: list[Host]) -> list[Host]:
    """The hosts, where a process that was restarted on another thread is one host."""
    joined: list[Host] = []
    for host in sorted(hosts, key=lambda host: host.series.first.offset if host.series.first else 0):
        before = next((other for other in joined if _is_restart(other, host)), None)
        if before is None:
            joined.append(host)
        else:
            before.series.extend(host.series)
            for mark in host.marks():
                before.add(mark)
    return sorted(joined, key=host_rank)


def _is_restart(old: Host, new: Host) -> bool:
    last, first = old.series.last, new.series.first
    if last is None or first is None or last.offset > first.offset:
        return False
    if old.process is not None and new.process is not None:
        return old.process == new.process
    return last.time is not None and first.time is not None and last.time <= first.time


def run_environment(collector: FormatCollector | None, host: Host) -> Environment:
    """What the measured host states. What it does not state is taken from another host."""
    if collector is None:
        return Environment()
    hosts = _by_closeness(collector, host)
    environment = Environment()
    for other in hosts:
        environment = merge_environment(environment, other.environment)
    call_sites = next((other.call_sites for other in hosts if other.call_sites), {})
    processes = [other.known_process for other in hosts]
    own = processes[0]
    known = {process for process in processes if process is not None}
    alone = sum(other.series.steps_seen > 0 for other in hosts) <= 1 and len(known) == 1
    return replace(
        environment,
        process=own if own is not None or not alone else known.pop(),
        dtype=_run_dtype({dtype for other in hosts for dtype in other.dtypes}),
        call_sites=tuple(call_sites),
    )


def _by_closeness(collector: FormatCollector, host: Host) -> list[Host]:
    """The measured host, then the lines without a host, then the other hosts."""
    unlabelled = collector.hosts.get("")
    others = [other for other in collector.hosts.values() if other is not host and other is not unlabelled]
    return [host, *([unlabelled] if unlabelled and unlabelled is not host else []), *others]


def _run_dtype(stated: set[str]) -> str | None:
    """The quantization if one is set, else the configured type, else that of the activations."""
    for source in ("quantization", "", "activations"):
        for dtype in sorted(stated):
            name, _, value = dtype.rpartition("=")
            if name == source:
                return value
    return None


def first_memory(collector: FormatCollector | None, host: Host) -> tuple[DeviceMemory, ...]:
    """The first reading of each device, in the order printed."""
    hosts = _by_closeness(collector, host) if collector else []
    return tuple(next((h.memory for h in hosts if h.memory), {}).values())


def largest_memory(collector: FormatCollector | None, host: Host) -> tuple[DeviceMemory, ...]:
    """The largest later reading of each of these devices that has several."""
    hosts = _by_closeness(collector, host) if collector else []
    return tuple(next((h.memory_most for h in hosts if h.memory), {}).values())


def compiled_memory(collector: FormatCollector | None, host: Host) -> CompiledMemory | None:
    """The compiler's memory sizes, which are equal on all hosts."""
    hosts = _by_closeness(collector, host) if collector else []
    return next((h.compiled for h in hosts if h.compiled), None)


def damage_words(damage: GzipDamage | UnreadRest) -> str:
    """What is said of the part of a log that could not be read."""
    return damage.words if isinstance(damage, UnreadRest) else damage.value


def run_warnings(
    group: list[LogSegment],
    series: StepSeries,
    host_warnings: list[str],
    damage: GzipDamage | UnreadRest | None,
) -> tuple[str, ...]:
    """What the reader should know about this run, most important first."""
    found = [] if damage is None else [damage_words(damage)]
    if len(group) > 1:
        found.append(f"The run was started {len(group)} times; only the last attempt is measured.")
    found += host_warnings
    found += [
        f"The step number goes back from {before} to {after}: the run was restarted, or this is several runs."
        for before, after in series.rewinds[:3]
    ]
    if series.repeats:
        found.append(
            f"{series.repeats} step lines are of steps that another line has too, with other values: several "
            "hosts print into this log without a mark; the first line of each step is used."
        )
    if (kept := len(series.steps())) < series.steps_seen:
        found.append(
            f"{series.steps_seen - kept} of {series.steps_seen} step lines in the middle of the log were not "
            "kept."
        )
    return (*found, *group[-1].warnings)


def _joined(segments: list[LogSegment]) -> list[LogSegment]:
    """The segments, where a run that was resumed behind a banner is one."""
    joined: list[LogSegment] = []
    for segment in segments:
        if joined and segment.resumes(joined[-1]):
            joined[-1].extend(segment)
        else:
            joined.append(segment)
    return joined


RunNames = tuple[str | None, str | None]
"""The names of the workload and of the run."""


def group_attempts(segments: list[LogSegment], end: int | None = None) -> list[list[LogSegment]]:
    """The attempts of each run, in order. Segments without a training program are left out.

    `end` is the number of bytes of a log, and `None` for a document that is none.

    A log may hold thousands of starts: each is compared only with the runs that share a name with it.
    """
    groups: list[list[LogSegment]] = []
    names: list[RunNames] = []  # of each group's last attempt
    groups_by_name: dict[tuple[int, str], dict[int, None]] = {}
    for segment in _joined(segments):
        if not is_training_run(segment) and (end is None or not is_failed_program(segment, end)):
            continue
        segment.sort_steps()
        own = _run_names(segment)
        keys = [(kind, name) for kind, name in enumerate(own) if name is not None]
        near = sorted({n for key in keys for n in groups_by_name.get(key, ())})
        same = (n for n in near if _share_name(names[n], own) and not _commits_differ(groups[n][-1], segment))
        at = next(same, len(groups))
        if at == len(groups):
            groups.append([segment])
            names.append(own)
        elif _overlap(groups[at][-1], segment):
            _merge_segments(groups[at][-1], segment)
            names[at] = _run_names(groups[at][-1])
        else:
            groups[at].append(segment)
            names[at] = own
        for key in keys:
            groups_by_name.setdefault(key, {})[at] = None
    return groups


def is_training_run(segment: LogSegment) -> bool:
    """Whether a training program printed this segment."""
    return segment.distinctive or segment.framed or any(cause.training for cause, _ in segment.causes)


def is_failed_program(segment: LogSegment, end: int) -> bool:
    """Whether a program that no reader knows failed here: its last words are the log's."""
    fatal = [cause for cause, _ in segment.causes if cause.last_within is not None]
    last = max((cause.end for cause, _ in segment.causes), default=0)
    return any(
        end - max(cause.end, last if cause.last_within else 0) <= (cause.last_within or 0) for cause in fatal
    )


def chosen_collector(segment: LogSegment) -> FormatCollector | None:
    """The collector of the segment's format; the fullest one where no format is certain."""
    collectors = list(segment.collectors.values())
    if not segment.distinctive and not segment.framed:
        return None
    own = [
        collector for collector in collectors if not collector.log_format.library and _step_count(collector)
    ]
    return max(
        own or collectors, key=lambda c: (_step_count(c), c.distinctive_count, len(c.hosts)), default=None
    )


def _step_count(collector: FormatCollector) -> int:
    return sum(host.series.steps_seen for host in collector.hosts.values())


def _run_names(segment: LogSegment) -> RunNames:
    collector = chosen_collector(segment)
    hosts = collector.hosts.values() if collector else ()
    return (
        next((host.environment.workload for host in hosts if host.environment.workload), None),
        next((host.environment.run_name for host in hosts if host.environment.run_name), None),
    )


def _share_name(first: RunNames, second: RunNames) -> bool:
    """Whether both have the same workload or the same run name."""
    return any(a is not None and a == b for a, b in zip(first, second, strict=True))


def _commits_differ(first: LogSegment, second: LogSegment) -> bool:
    """Whether a page names two different commits for them."""
    return first.commit is not None and second.commit is not None and first.commit != second.commit


def _overlap(first: LogSegment, second: LogSegment) -> bool:
    """Whether the second started before the first had ended: another host, whose log was appended."""
    times = [mark.time for mark in first.frame_marks if mark.time is not None]
    return second.started is not None and len(times) > 1 and second.started < max(times)


def _merge_segments(first: LogSegment, second: LogSegment) -> None:
    """Add another host's segment to the first."""
    first.exit_codes |= second.exit_codes
    first.first_causes += second.causes
    for name, collector in second.collectors.items():
        merged = first.collectors.setdefault(name, collector)
        if merged is not collector:
            merged.distinctive_count += collector.distinctive_count
            for key, host in collector.hosts.items():
                host.order = len(merged.hosts)
                merged.hosts[f"{key} of log {host.order}" if key in merged.hosts else key] = host


def assemble_runs(
    segments: list[LogSegment],
    source: str,
    year: int | None,
    damage: GzipDamage | UnreadRest | None,
    end: int | None = None,
) -> tuple[RunLog, ...]:
    """One `RunLog` per run. `damage` is a warning of the last run, `end` is that of `group_attempts`."""
    groups = group_attempts(segments, end)
    return tuple(
        _run_log(group, source, n, year, damage if n == len(groups) else None)
        for n, group in enumerate(groups, start=1)
    )


def not_a_training_log(source: str, why: str, damage: GzipDamage | UnreadRest | None) -> RunLog:
    """The answer for a source that holds no training log."""
    warnings = (why,) if damage is None else (damage_words(damage), why)
    state = OutcomeState.NOT_A_TRAINING_LOG
    return RunLog(
        source=source,
        run=1,
        format=None,
        outcome=RunOutcome(state=state),
        warnings=warnings,
        unread_from=damage.offset if isinstance(damage, UnreadRest) else None,
    )


def _run_log(
    group: list[LogSegment], source: str, run: int, year: int | None, damage: GzipDamage | UnreadRest | None
) -> RunLog:
    segment = group[-1]
    collector = chosen_collector(segment)
    host, hosts, host_warnings = choose_host(collector)
    marks = _marks(segment, collector, host, year)
    series = host.series
    printed = tuple(_step_with_year(step, year) for step in series.steps())
    steps = collector.log_format.correct_steps(printed) if collector else printed
    commit = next((attempt.commit for attempt in reversed(group) if attempt.commit), None)
    return RunLog(
        source=source,
        run=run,
        format=_format_name(segment, collector),
        outcome=run_outcome(segment, collector, series, marks, damage),
        attempts=len(group),
        hosts=hosts,
        dated=any(
            time is not None and time >= UNDATED
            for time in (
                *(mark.time for mark in marks),
                *(step.time for step in (*printed[:1], *printed[-1:])),
            )
        ),
        steps=steps,
        steps_seen=series.steps_seen,
        mean_seconds_after_first=_mean_seconds(series, printed, steps),
        marks=marks,
        environment=replace(run_environment(collector, host), commit=commit),
        parameters_billion=_stated_quantity(collector, QuantityKind.PARAMETERS_BILLION),
        tflop_per_step=_stated_quantity(collector, QuantityKind.TFLOP_PER_STEP),
        memory=first_memory(collector, host),
        memory_most=largest_memory(collector, host),
        compiled_memory=compiled_memory(collector, host),
        max_allocated_mb=_largest_quantity(collector, QuantityKind.MAX_ALLOCATED_MB),
        stated_mean_seconds=_last_quantity(collector, QuantityKind.STATED_MEAN_SECONDS),
        warnings=run_warnings(group, series, host_warnings, damage),
        unread_from=damage.offset if isinstance(damage, UnreadRest) else None,
    )


def _format_name(segment: LogSegment, collector: FormatCollector | None) -> str | None:
    """The format of the segment's lines; without any, that of the program in its traceback."""
    if collector and collector.distinctive_count:
        return collector.log_format.name
    return next((cause.log_format for cause, _ in segment.causes if cause.log_format), None)


def _step_with_year(step: Step, year: int | None) -> Step:
    if year is None or step.time is None or step.time >= UNDATED:
        return step
    return replace(step, time=with_year(step.time, year))


def _marks(
    segment: LogSegment, collector: FormatCollector | None, host: Host, year: int | None
) -> tuple[Mark, ...]:
    """Start and end, the measured host's marks, and those without a host."""
    marks = [*_frame_marks(segment), *host.marks()]
    unlabelled = collector.hosts.get("") if collector else None
    if unlabelled is not None and unlabelled is not host:
        marks += unlabelled.marks()
    marks.sort(key=lambda mark: mark.offset)
    if year is not None:
        marks = [m if m.time is None else replace(m, time=with_year(m.time, year)) for m in marks]
    newest_first = len(marks) > 1 and marks[-1].kind is MarkKind.START
    return tuple(reversed(marks) if newest_first else marks)


def _frame_marks(segment: LogSegment) -> list[Mark]:
    """The first start and the last end: interleaved hosts each have their own."""
    starts = [mark for mark in segment.frame_marks if mark.kind is MarkKind.START]
    ends = [mark for mark in segment.frame_marks if mark.kind is MarkKind.END]
    return [*starts[:1], *ends[-1:]]


def _mean_seconds(series: StepSeries, printed: tuple[Step, ...], steps: tuple[Step, ...]) -> float | None:
    """The mean of all printed seconds but the first line's, without those that were corrected away."""
    total, count = series.seconds_sum, series.seconds_count
    for before, after in zip(printed[1:], steps[1:], strict=True):
        if before.seconds is not None and after.seconds is None:
            total, count = total - before.seconds, count - 1
    return total / count if count else None


def _stated_quantity(collector: FormatCollector | None, kind: QuantityKind) -> float | None:
    return first_quantity(collector.quantities, kind) if collector else None


def _last_quantity(collector: FormatCollector | None, kind: QuantityKind) -> float | None:
    values = list(collector.quantities.get(kind, ())) if collector else []
    return values[-1] if values else None


def _largest_quantity(collector: FormatCollector | None, kind: QuantityKind) -> float | None:
    return max(collector.quantities.get(kind, ()), default=None) if collector else None
