"""Put runs together from the segments of a log: attempts, hosts, the measured host.

Several hosts may print into one log without a label. They are recognised by their step numbers: hosts that
train together are at most a few steps apart, so the number goes back again and again, each time to a later
step, and nearly every step is printed once per host. A restart goes back to a checkpoint and repeats only
the lost steps, or all of them from the same step on. A restart is never taken for several hosts.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from statistics import median

from bot.logs.decoding import GZIP_CORRUPT
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
from bot.logs.outcome import run_outcome
from bot.logs.prefixes import UNDATED, with_year
from bot.logs.rules import QuantityKind
from bot.logs.segments import FormatCollector, Host, LogSegment, host_rank, merge_environment
from bot.logs.steps import StepSeries

REPEATED_SHARE = 0.9
"""Share of the steps that are printed more than once: a host may miss its first or last lines."""

MIN_RETURNS = 3
"""Returns to ever later steps from which chance, and a run that was restarted twice, are ruled out."""

RETURN_SHARE = 0.1
"""Share of the steps that are returned to at least: hosts' output is flushed every few lines."""

MAX_RETURN_STEPS = 2.0
"""Typical steps that a return may take: another host's line is late by less, a start by far more."""


def first_of_interleaved(track: StepSeries) -> StepSeries:
    """Return the first line of each step where several hosts printed them, else the track itself."""
    if track.back < MIN_RETURNS or track.backwards:
        return track
    steps = track.steps()
    if not is_interleaved(steps):
        return track
    found, highest = StepSeries(), -1
    for step in steps:
        if step.step > highest:
            found.add(step, anonymous=False)
            highest = step.step
    found.repeats = track.repeats + len(steps) - found.seen
    found.seen += (track.seen - len(steps)) * found.seen // len(steps)
    return found


def is_interleaved(steps: tuple[Step, ...]) -> bool:
    """Tell whether these lines, in the order printed, are those of several hosts."""
    times = Counter(step.step for step in steps)
    pairs = list(pairwise(steps))
    returns = [after.step for before, after in pairs if after.step <= before.step]
    often = sum(count > 1 for count in times.values())
    earlier = sum(after < before for before, after in pairwise(returns))
    return (
        often >= REPEATED_SHARE * len(times)
        and len(set(returns)) >= max(MIN_RETURNS, RETURN_SHARE * len(times))
        and earlier <= (1 - REPEATED_SHARE) * len(returns)
        and not _has_pauses(pairs)
    )


def _has_pauses(pairs: list[tuple[Step, Step]]) -> bool:
    """Tell whether the log takes time to go back, as a program does that starts again."""
    back: list[float] = []
    on: list[float] = []
    for before, after in pairs:
        if before.time is not None and after.time is not None:
            (on if after.step > before.step else back).append(after.time - before.time)
    return bool(back and on) and median(back) > MAX_RETURN_STEPS * max(median(on), 0.0)


COMPLETE_SHARE = 0.9
"""Process 0 is measured unless it has fewer than this part of the steps that another host printed."""


def choose_host(collector: FormatCollector | None) -> tuple[Host, int, list[str]]:
    """The host to measure, how many there are, and what to say about the choice."""
    printing = [host for host in collector.hosts.values() if host.track.seen] if collector else []
    if not printing:
        hosts = list(collector.hosts.values()) if collector else []
        return min(hosts, key=host_rank, default=Host(0)), 1, []
    for host in printing:  # a thread's number may be the same on two hosts
        host.track = first_of_interleaved(host.track)
    printing = _join_restarts(sorted(printing, key=host_rank))
    lead, most = printing[0], max(printing, key=lambda host: host.track.seen)
    missing = most.track.seen - lead.track.seen
    if missing <= 0:
        return lead, len(printing), []
    name = f"Process {lead.process}" if lead.process is not None else "The first host"
    said = f"{name} printed {lead.track.seen} step lines, another host {most.track.seen}: {{}}"
    if lead.track.seen >= COMPLETE_SHARE * most.track.seen:
        return lead, len(printing), [said.format(f"{missing} steps of it are missing from this log.")]
    return most, len(printing), [said.format("that other host is measured.")]


def _join_restarts(hosts: list[Host]) -> list[Host]:
    """Hosts without the later lives of one: the same process on a new thread after the old one's end."""
    joined: list[Host] = []
    for host in sorted(hosts, key=lambda host: host.track.first.offset if host.track.first else 0):
        before = next((other for other in joined if _is_restart(other, host)), None)
        if before is None:
            joined.append(host)
        else:
            before.track.extend(host.track)
            for mark in host.marks():
                before.hear(mark)
    return sorted(joined, key=host_rank)


def _is_restart(old: Host, new: Host) -> bool:
    last, first = old.track.last, new.track.first
    if last is None or first is None or last.offset > first.offset:
        return False
    if old.process is not None and new.process is not None:
        return old.process == new.process
    return last.time is not None and first.time is not None and last.time <= first.time


def run_environment(collector: FormatCollector | None, host: Host) -> Environment:
    """What the measured host says, and where it is silent what another one says."""
    if collector is None:
        return Environment()
    hosts = _by_closeness(collector, host)
    said = Environment()
    for other in hosts:
        said = merge_environment(said, other.said)
    sites = next((other.sites for other in hosts if other.sites), {})
    processes = [other.process if other.process is not None else other.implied for other in hosts]
    own = processes[0]
    known = {process for process in processes if process is not None}
    alone = sum(other.track.seen > 0 for other in hosts) <= 1 and len(known) == 1
    return replace(
        said,
        process=own if own is not None or not alone else known.pop(),
        dtype=_run_dtype({dtype for other in hosts for dtype in other.dtypes}),
        call_sites=tuple(sites),
    )


def _by_closeness(collector: FormatCollector, host: Host) -> list[Host]:
    """The measured host, then what belongs to no host, then the others."""
    nobody = collector.hosts.get("")
    return [host, *(h for h in (nobody,) if h and h is not host),
            *(h for h in collector.hosts.values() if h is not host and h is not nobody)]  # fmt: skip


def _run_dtype(said: set[str]) -> str | None:
    """The quantization if one is set, else the configured type, else that of the activations."""
    for opening in ("quantization=", "", "activations="):
        for dtype in sorted(said):
            name, _, value = dtype.rpartition("=")
            if f"{name}=" == opening or not (name or opening):
                return value
    return None


def first_memory(collector: FormatCollector | None, host: Host) -> tuple[DeviceMemory, ...]:
    """The measured host's devices in the order printed."""
    hosts = _by_closeness(collector, host) if collector else []
    return tuple(next((h.memory for h in hosts if h.memory), {}).values())


def largest_memory(collector: FormatCollector | None, host: Host) -> tuple[DeviceMemory, ...]:
    """The largest later reading of the same devices, of those that have several."""
    hosts = _by_closeness(collector, host) if collector else []
    return tuple(next((h.memory_most for h in hosts if h.memory), {}).values())


def compiled_memory(collector: FormatCollector | None, host: Host) -> CompiledMemory | None:
    """The compiler's memory sizes: equal on all hosts."""
    hosts = _by_closeness(collector, host) if collector else []
    return next((h.compiled for h in hosts if h.compiled), None)


def run_warnings(
    group: list[LogSegment], track: StepSeries, choice: list[str], complaint: str | None
) -> tuple[str, ...]:
    """What the reader should know about this run, most important first."""
    found = [] if complaint is None else [complaint]
    if len(group) > 1:
        found.append(f"The run was started {len(group)} times; only the last attempt is measured.")
    found += choice
    found += [
        f"The step number goes back from {before} to {after}: the run was restarted, or this is several runs."
        for before, after in track.rewinds[:3]
    ]
    if track.repeats:
        found.append(
            f"{track.repeats} step lines are of steps that another line has too, with other values: several "
            "hosts print into this log without a mark; the first line of each step is used."
        )
    if (kept := len(track.steps())) < track.seen:
        found.append(
            f"{track.seen - kept} of {track.seen} step lines in the middle of the log were not kept."
        )
    return (*found, *group[-1].doubts)


RunNames = tuple[object, object]  # the workload's and the run's, `None` where the log does not say


def group_attempts(episodes: list[LogSegment]) -> list[list[LogSegment]]:
    """The attempts of each run, in order; what no training program said is left out."""
    groups: list[list[LogSegment]] = []
    names: list[RunNames] = []  # of each group's last attempt
    places: dict[tuple[int, object], dict[int, None]] = {}  # the groups that ever had a name
    for episode in filter(is_training_run, episodes):
        episode.turn()
        own = _run_names(episode)
        keys = [(kind, name) for kind, name in enumerate(own) if name is not None]
        near = sorted({n for key in keys for n in places.get(key, ())})
        same = [
            n for n in near if _share_name(names[n], own) and not _commits_differ(groups[n][-1], episode)
        ][:1]
        at = same[0] if same else len(groups)
        if not same:
            groups.append([episode])
            names.append(own)
        elif _overlap(groups[at][-1], episode):
            _merge_segments(groups[at][-1], episode)
            names[at] = _run_names(groups[at][-1])
        else:
            groups[at].append(episode)
            names[at] = own
        for key in keys:
            places.setdefault(key, {})[at] = None
    return groups


def is_training_run(episode: LogSegment) -> bool:
    """Whether a training program left these words."""
    return episode.telling or episode.framed or any(trouble.training for trouble, _ in episode.troubles)


def chosen_collector(episode: LogSegment) -> FormatCollector | None:
    """The collector of the format that this episode is in; of the fullest one where none is certain."""
    collectors = list(episode.collectors.values())
    if not episode.telling and not episode.framed:
        return None
    own = [collector for collector in collectors if not collector.form.library and _step_count(collector)]
    return max(own or collectors, key=lambda c: (_step_count(c), c.telling, len(c.hosts)), default=None)


def _step_count(collector: FormatCollector) -> int:
    return sum(host.track.seen for host in collector.hosts.values())


def _run_names(episode: LogSegment) -> RunNames:
    collector = chosen_collector(episode)
    hosts = collector.hosts.values() if collector else ()
    return (
        next((host.said.workload for host in hosts if host.said.workload), None),
        next((host.said.run_name for host in hosts if host.said.run_name), None),
    )


def _share_name(first: RunNames, second: RunNames) -> bool:
    """Whether both have the same workload or the same run name."""
    return any(a is not None and a == b for a, b in zip(first, second, strict=True))


def _commits_differ(first: LogSegment, second: LogSegment) -> bool:
    """Whether a page says that they are of two commits."""
    return first.commit is not None and second.commit is not None and first.commit != second.commit


def _overlap(first: LogSegment, second: LogSegment) -> bool:
    """Whether the second began before the first had ended: another host, its log pasted behind."""
    times = [mark.time for mark in first.frame_marks if mark.time is not None]
    return second.began is not None and len(times) > 1 and second.began < max(times)


def _merge_segments(first: LogSegment, second: LogSegment) -> None:
    """Add another host's words to those of the first."""
    first.exit_codes |= second.exit_codes
    first.first_troubles += second.troubles
    for name, collector in second.collectors.items():
        mine = first.collectors.setdefault(name, collector)
        if mine is not collector:
            mine.telling += collector.telling
            for key, host in collector.hosts.items():
                host.order = len(mine.hosts)
                mine.hosts[f"{key} of log {host.order}" if key in mine.hosts else key] = host


def assemble_runs(
    episodes: list[LogSegment], source: str, year: int | None, complaint: str | None
) -> tuple[RunLog, ...]:
    """One `RunLog` per run; a source without any gets one that says so."""
    groups = group_attempts(episodes)
    return tuple(
        _run_log(group, source, n, year, complaint if n == len(groups) else None)
        for n, group in enumerate(groups, start=1)
    )


def not_a_training_log(source: str, why: str, complaint: str | None) -> RunLog:
    """The answer for a source that holds no training log."""
    warnings = (why,) if complaint is None else (complaint, why)
    state = OutcomeState.NOT_A_TRAINING_LOG
    return RunLog(source=source, run=1, format=None, outcome=RunOutcome(state=state), warnings=warnings)


def _run_log(
    group: list[LogSegment], source: str, run: int, year: int | None, complaint: str | None
) -> RunLog:
    episode = group[-1]
    collector = chosen_collector(episode)
    host, hosts, doubts = choose_host(collector)
    marks = _marks(episode, collector, host, year)
    known = host.track
    steps = tuple(_step_with_year(step, year) for step in known.steps())
    settled = collector.form.settle(steps) if collector else steps
    said = run_environment(collector, host)
    commit = next((e.commit for e in reversed(group) if e.commit), None)
    return RunLog(
        source=source,
        run=run,
        format=_format_name(episode, collector),
        outcome=run_outcome(
            episode, collector, known, marks, intact=complaint is None, sound=complaint != GZIP_CORRUPT
        ),
        attempts=len(group),
        hosts=hosts,
        dated=any(
            time is not None and time >= UNDATED
            for time in (*(mark.time for mark in marks), *(step.time for step in (*steps[:1], *steps[-1:])))
        ),
        steps=settled,
        steps_seen=known.seen,
        mean_seconds_after_first=_mean_seconds(known, steps, settled),
        marks=marks,
        environment=replace(said, commit=commit),
        parameters_billion=_stated_quantity(collector, QuantityKind.PARAMETERS_BILLION),
        tflop_per_step=_stated_quantity(collector, QuantityKind.TFLOP_PER_STEP),
        memory=first_memory(collector, host),
        memory_most=largest_memory(collector, host),
        compiled_memory=compiled_memory(collector, host),
        max_allocated_mb=_largest_quantity(collector, QuantityKind.MAX_ALLOCATED_MB),
        warnings=run_warnings(group, known, doubts, complaint),
    )


def _format_name(episode: LogSegment, collector: FormatCollector | None) -> str | None:
    """By its own lines; a run that failed before printing any by the program in its traceback."""
    if collector and collector.telling:
        return collector.form.name
    return next((trouble.form for trouble, _ in episode.troubles if trouble.form), None)


def _step_with_year(step: Step, year: int | None) -> Step:
    if year is None or step.time is None or step.time >= UNDATED:
        return step
    return replace(step, time=with_year(step.time, year))


def _marks(
    episode: LogSegment, collector: FormatCollector | None, host: Host, year: int | None
) -> tuple[Mark, ...]:
    """The frame's marks, the measured host's, and those that no host can be told for."""
    marks = [*_frame_marks(episode), *host.marks()]
    nobody = collector.hosts.get("") if collector else None
    if nobody is not None and nobody is not host:
        marks += nobody.marks()
    marks.sort(key=lambda mark: mark.offset)
    if year is not None:
        marks = [m if m.time is None else replace(m, time=with_year(m.time, year)) for m in marks]
    newest_first = len(marks) > 1 and marks[-1].kind is MarkKind.START
    return tuple(reversed(marks) if newest_first else marks)


def _frame_marks(episode: LogSegment) -> list[Mark]:
    """The first start and the last end: interleaved hosts each have their own."""
    starts = [mark for mark in episode.frame_marks if mark.kind is MarkKind.START]
    ends = [mark for mark in episode.frame_marks if mark.kind is MarkKind.END]
    return [*starts[:1], *ends[-1:]]


def _mean_seconds(track: StepSeries, steps: tuple[Step, ...], settled: tuple[Step, ...]) -> float | None:
    """The mean of all printed seconds but the first line's, without those that turned out no samples."""
    total, count = track.seconds_sum, track.seconds_count
    for before, after in zip(steps[1:], settled[1:], strict=True):
        if before.seconds is not None and after.seconds is None:
            total, count = total - before.seconds, count - 1
    return total / count if count else None


def _stated_quantity(collector: FormatCollector | None, figure: QuantityKind) -> float | None:
    return next(iter(collector.quantities.get(figure, ())), None) if collector else None


def _largest_quantity(collector: FormatCollector | None, figure: QuantityKind) -> float | None:
    return max(collector.quantities.get(figure, ()), default=None) if collector else None
