"""Split a log at each start of a program, and collect by format and host what each segment states.

`RunSplitter` makes one `LogSegment` per start, a segment has one `FormatCollector` per format, a collector
has one `Host` per host. All are bounded in memory.

Hosts that print into one log at the same time share a segment: their starts lie close together, and the
first host has neither ended nor trained when the next one starts.
"""

from collections import deque
from collections.abc import Iterator

from msgspec.structs import replace

from bot.logs.facts import CallSite, CompiledMemory, DeviceMemory, Environment, Mark, MarkKind, Step
from bot.logs.prefixes import LinePrefix
from bot.logs.rules import (
    RECORD_CUT,
    ClaimedCommits,
    Completed,
    ExitCode,
    LogFormat,
    LogWarning,
    Match,
    PossibleCause,
    ProgramBanner,
    ProgramEnded,
    ProgramStarted,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
    StoppedEarly,
    UnfinishedStep,
)
from bot.logs.steps import StepSeries, reversed_series, with_true_loss

MAX_HOSTS = 1_024
"""Hosts of which anything is kept."""
FULL_SERIES = 2
"""Hosts whose steps are kept in full: process 0, and one to fall back to."""
MAX_MARKS = 1_000
"""Marks kept from the start of a run, and again from its end."""
MAX_DEVICES = 256
"""Devices of one host of which the memory is kept."""
MAX_CALL_SITES = 64
"""Call sites kept per host."""
MAX_CAUSES = 20
"""Possible causes kept from the start, and again from the end."""
MAX_SEGMENTS = 4_096
"""Starts of which anything is kept."""
START_SPREAD_SECONDS = 120.0
"""Seconds between the starts of two hosts of one run: pods of a job set are scheduled together."""


def merge_environment(known: Environment, added: Environment) -> Environment:
    """`known`, completed by `added`: the first statement counts."""
    return replace(
        known,
        jax=known.jax or added.jax,
        jaxlib=known.jaxlib or added.jaxlib,
        libtpu=known.libtpu or added.libtpu,
        orbax=known.orbax or added.orbax,
        device_kind=known.device_kind or added.device_kind,
        devices=known.devices or added.devices,
        mesh=known.mesh or added.mesh,
        workload=known.workload or added.workload,
        run_name=known.run_name or added.run_name,
    )


class Host:
    """What one host states."""

    def __init__(self, order: int, stateful_reader: StatefulReader | None = None) -> None:
        self.order = order
        self.stateful_reader = stateful_reader
        self.process: int | None = None
        self.implied_process: int | None = None
        self.series = StepSeries()
        self.environment = Environment()
        self.dtypes: set[str] = set()
        self.call_sites: dict[CallSite, None] = {}
        self.memory: dict[str, DeviceMemory] = {}
        self.memory_most: dict[str, DeviceMemory] = {}
        self.compiled: CompiledMemory | None = None
        self._first_marks: list[Mark] = []
        self._last_marks: deque[Mark] = deque(maxlen=MAX_MARKS)

    def add(self, statement: Statement) -> None:
        """Keep what was not stated before: the first statement counts."""
        match statement:
            case CallSite() if len(self.call_sites) < MAX_CALL_SITES:
                self.call_sites[statement] = None
            case Environment():
                self._add_environment(statement)
            case Mark():
                many = len(self._first_marks) >= MAX_MARKS
                (self._last_marks if many else self._first_marks).append(statement)
            case DeviceMemory():
                self._add_memory(statement)
            case CompiledMemory() if self.compiled is None:
                self.compiled = statement
            case _:
                pass

    def _add_memory(self, reading: DeviceMemory) -> None:
        """Keep a device's first reading, and of the later ones the largest."""
        if reading.device not in self.memory:
            if len(self.memory) < MAX_DEVICES:
                self.memory[reading.device] = reading
            return
        most = self.memory_most.get(reading.device)
        if most is None or reading.used_gb > most.used_gb:
            self.memory_most[reading.device] = reading

    def _add_environment(self, added: Environment) -> None:
        if added.process is not None and self.process is None:
            self.process = added.process
        if added.dtype is not None and len(self.dtypes) < 16:
            self.dtypes.add(added.dtype)
        self.environment = merge_environment(self.environment, added)

    @property
    def known_process(self) -> int | None:
        """The process index that the host states, else the one that its name implies."""
        return self.process if self.process is not None else self.implied_process

    def marks(self) -> Iterator[Mark]:
        """The marks that were kept, in order."""
        yield from self._first_marks
        yield from self._last_marks


class FormatCollector:
    """What is stated in one format, by host. `distinctive_count`: statements that only this format makes."""

    def __init__(self, log_format: LogFormat) -> None:
        self.log_format = log_format
        self.distinctive_count = 0
        self.hosts: dict[str, Host] = {}
        self.quantities: dict[QuantityKind, dict[float, None]] = {}

    def host(self, prefix: LinePrefix) -> Host | None:
        """The host that printed under this prefix."""
        key = prefix.host or prefix.thread if self.log_format.per_host else ""
        found = self.hosts.get(key)
        if found is None:
            if len(self.hosts) >= MAX_HOSTS:
                return None
            make = self.log_format.stateful_reader
            found = self.hosts[key] = Host(len(self.hosts), make() if make else None)
        if prefix.process is not None and found.process is None:
            found.process = prefix.process
        if prefix.implied_process is not None:
            found.implied_process = prefix.implied_process
        return found

    def add(self, statement: Statement, prefix: LinePrefix) -> None:
        """Take one statement of this format."""
        host = self.host(prefix)
        if host is None:
            return
        match statement:
            case Step():
                anonymous = not (prefix.host or prefix.thread) and self.log_format.per_host
                self._add_step(host, statement, anonymous=anonymous)
            case Quantity():
                known = self.quantities.setdefault(statement.kind, {})
                if statement.kind is QuantityKind.STATED_MEAN_SECONDS:
                    known.clear()  # the last one counts
                if len(known) < 256:
                    known[statement.value] = None
            case _:
                host.add(statement)

    def extend(self, later: "FormatCollector") -> None:
        """Append what was stated after this by the same run."""
        self.distinctive_count += later.distinctive_count
        for kind, values in later.quantities.items():
            self.quantities.setdefault(kind, {}).update(values)
        for key, host in later.hosts.items():
            known = self.hosts.setdefault(key, host)
            if known is not host:
                known.series.extend(host.series)
                for mark in host.marks():
                    known.add(mark)

    def is_complete(self) -> bool:
        """Whether the steps of the only host have come to the number that the log states."""
        expected = self.quantities.get(QuantityKind.EXPECTED_STEPS, {})
        last = self.hosts[""].series.last if "" in self.hosts else None
        return last is not None and any(last.step >= n - 1 + self.log_format.first_step for n in expected)

    def _add_step(self, host: Host, stated: Step, *, anonymous: bool) -> None:
        step = host.stateful_reader(stated, self.quantities) if host.stateful_reader else stated
        if step is None:
            return
        step = with_true_loss(step)
        if host.series.steps_seen == 0:
            printing = sorted(
                (h for h in self.hosts.values() if h.series.steps_seen or h is host), key=host_rank
            )
            for other in printing[FULL_SERIES:]:
                other.series.keep_less()
        host.series.add(step, anonymous=anonymous)


def host_rank(host: Host) -> tuple[bool, int, int]:
    """Process 0 first, then by index, then by appearance."""
    index = host.known_process
    return index is None, index or 0, host.order


class LogSegment:
    """Everything between one start of a program and the next."""

    def __init__(self) -> None:
        self.started: float | None = None
        self.framed = False  # whether XPK's lines surround it
        self.ended = False
        self.commit: str | None = None
        self.start_hosts: set[str] = set()
        self.frame_marks: list[Mark] = []
        self.exit_codes: dict[int, None] = {}
        self.early_stops: list[StoppedEarly] = []
        self.warnings: dict[str, None] = {}
        self.first_causes: list[tuple[PossibleCause, int]] = []
        self.last_causes: deque[tuple[PossibleCause, int]] = deque(maxlen=MAX_CAUSES)
        self.completed = False
        self.banner = False  # whether a trainer's banner behind other steps begins it
        self._covered = 0  # the byte up to which the text of the last cause reaches
        self.collectors: dict[str, FormatCollector] = {}

    @property
    def distinctive(self) -> bool:
        """Whether anything here certainly belongs to a known format."""
        return any(collector.distinctive_count for collector in self.collectors.values())

    def hosts(self) -> Iterator[Host]:
        """The hosts of all formats."""
        for collector in self.collectors.values():
            yield from collector.hosts.values()

    @property
    def newest_first(self) -> bool:
        """Whether this log begins with its newest line."""
        return any(host.series.newest_first for host in self.hosts())

    def sort_steps(self) -> None:
        """Put the steps into the order in which they happened."""
        for host in self.hosts():
            if host.series.newest_first:
                host.series = reversed_series(host.series)

    @property
    def causes(self) -> list[tuple[PossibleCause, int]]:
        """Possible causes, each with the number of step lines before it."""
        return [*self.first_causes, *self.last_causes]

    @property
    def steps_seen(self) -> int:
        """Step lines of the host that printed most of them."""
        return max((host.series.steps_seen for host in self.hosts()), default=0)

    def step_counts(self) -> tuple[int, int]:
        """Step lines of all hosts together, and how many of them are kept."""
        series = [host.series for host in self.hosts()]
        return sum(one.steps_seen for one in series), sum(one.steps_kept for one in series)

    def resumes(self, before: "LogSegment") -> bool:
        """Whether this is the same run, resumed: it goes on behind the step with which the other began."""
        firsts = [
            (known.series.first, host.series.first)
            for name, collector in self.collectors.items()
            for key, host in collector.hosts.items()
            if (other := before.collectors.get(name)) and (known := other.hosts.get(key))
        ]
        pairs = [(old.step, new.step) for old, new in firsts if old is not None and new is not None]
        return self.banner and (all(new > old for old, new in pairs) if pairs else not self.steps_seen)

    def extend(self, later: "LogSegment") -> None:
        """Append what the same run says once it was resumed."""
        steps = self.steps_seen
        for cause, seen in later.causes:
            many = len(self.first_causes) >= MAX_CAUSES
            (self.last_causes if many else self.first_causes).append((cause, steps + seen))
        self.exit_codes |= later.exit_codes
        self.early_stops += later.early_stops
        self.warnings |= later.warnings
        self.completed, self.ended = later.completed, later.ended
        self.frame_marks += later.frame_marks
        for name, collector in later.collectors.items():
            known = self.collectors.setdefault(name, collector)
            if known is not collector:
                known.extend(collector)

    def add(
        self, statement: Statement, prefix: LinePrefix, log_format: LogFormat | None, *, distinctive: bool
    ) -> None:
        """Take one statement. `log_format` is `None` for a rule that applies to any format."""
        collector = self._collector(log_format)
        match statement:
            case ProgramStarted() | ProgramEnded() | ExitCode() | StoppedEarly() | Completed():
                self._add_frame(statement)
            case LogWarning():
                self.warnings[statement.text] = None
            case PossibleCause():
                self._add_cause(statement)
            case Mark(kind=MarkKind.START | MarkKind.END):
                if len(self.frame_marks) < MAX_MARKS:
                    self.frame_marks.append(statement)
            case Environment(commit=str()):
                self.commit = self.commit or statement.commit
            case UnfinishedStep(step=step) if collector:
                host = collector.host(prefix)
                if host is not None and host.series.same_fields(step):
                    collector.add(step, prefix)
                    collector.distinctive_count += 1
                else:
                    self.warnings[RECORD_CUT] = None
            case _ if collector:
                collector.distinctive_count += distinctive
                collector.add(statement, prefix)
            case _:
                pass

    def _collector(self, log_format: LogFormat | None) -> FormatCollector | None:
        if log_format is None:
            return None
        if log_format.name not in self.collectors:
            self.collectors[log_format.name] = FormatCollector(log_format)
        return self.collectors[log_format.name]

    def _add_frame(
        self, statement: ProgramStarted | ProgramEnded | ExitCode | StoppedEarly | Completed
    ) -> None:
        match statement:
            case ProgramStarted():
                self.framed = True
                self.started = statement.time if self.started is None else self.started
            case ProgramEnded():
                self.framed = self.ended = True
            case ExitCode():
                if len(self.exit_codes) < MAX_HOSTS:
                    self.exit_codes[statement.code] = None
            case StoppedEarly():
                if len(self.early_stops) < MAX_CAUSES:
                    self.early_stops.append(statement)
            case Completed():
                self.completed = True

    def _add_cause(self, cause: PossibleCause) -> None:
        if cause.offset < self._covered:
            return
        self._covered = cause.end
        many = len(self.first_causes) >= MAX_CAUSES
        (self.last_causes if many else self.first_causes).append((cause, self.steps_seen))


class RunSplitter:
    """The segments of one log, in order. While `version` stays the same, so does the segment that statements
    go to."""

    def __init__(self) -> None:
        self.segments = [LogSegment()]
        self.version = 0
        self._starts = 0
        self._earlier = (0, 0, 0)  # how many segments are over, and the steps of their hosts: seen, kept
        self._page_commits: list[str] = []  # in the order of the page's runs
        self._next_commit: str | None = None  # of the run that starts next

    def add(
        self, statement: Statement, match: Match, log_format: LogFormat | None, *, distinctive: bool
    ) -> None:
        """Take the next statement."""
        if isinstance(statement, ClaimedCommits | ProgramStarted):
            self.version += 1
        match statement:
            case ProgramBanner():
                if log_format and self._has_trained(log_format):
                    self._split(banner=True)
                return
            case Step() if log_format and self._begins_again(statement, log_format):
                self._split(banner=False)
                self._carry_over(log_format)
            case ClaimedCommits(commits=(only,)):
                self._next_commit = only
                return
            case ClaimedCommits(commits=commits):
                self._page_commits = self._page_commits or list(commits)
                return
            case ProgramStarted():
                self._start(statement, match.prefix.host)
            case _:
                pass
        segment = self.segments[-1]
        if not segment.framed and not segment.commit and not isinstance(statement, Mark):
            self._assign_commit(segment)
        segment.add(statement, match.prefix, log_format, distinctive=distinctive)

    def step_counts(self) -> tuple[int, int]:
        """Step lines seen so far on all hosts, and how many of them are kept."""
        over, seen, kept = self._earlier
        for segment in self.segments[over:-1]:
            more = segment.step_counts()
            over, seen, kept = over + 1, seen + more[0], kept + more[1]
        self._earlier = over, seen, kept
        more = self.segments[-1].step_counts()
        return seen + more[0], kept + more[1]

    def _split(self, *, banner: bool) -> None:
        """Begin another segment where a trainer starts anew."""
        if len(self.segments) < MAX_SEGMENTS:
            self.version += 1
            self.segments.append(LogSegment())
            self.segments[-1].banner = banner

    def _has_trained(self, log_format: LogFormat) -> bool:
        """Whether a trainer of this format has printed steps since the last start."""
        collector = self.segments[-1].collectors.get(log_format.name)
        hosts = collector.hosts.values() if collector and not self.segments[-1].framed else ()
        return any(host.series.steps_seen for host in hosts)

    def _carry_over(self, log_format: LogFormat) -> None:
        """Keep the number of steps that was stated last: in front of the first step, it is the new run's."""
        before, current = self.segments[-2:]
        stated = before.collectors[log_format.name].quantities.get(QuantityKind.EXPECTED_STEPS)
        if stated:
            collector = current.collectors[log_format.name] = FormatCollector(log_format)
            collector.quantities[QuantityKind.EXPECTED_STEPS] = {list(stated)[-1]: None}

    def _begins_again(self, step: Step, log_format: LogFormat) -> bool:
        """Whether another run begins with this step: it is the first one again, behind a whole run."""
        current = self.segments[-1]
        if log_format.per_host or log_format.stateful_reader or current.framed:
            return False
        collector = current.collectors.get(log_format.name)
        series = collector.hosts[""].series if collector and "" in collector.hosts else None
        if collector is None or series is None or series.first is None or series.last is None or series.back:
            return False
        whole = current.completed or collector.is_complete()
        return whole and step.step <= series.first.step < series.last.step

    def _start(self, started: ProgramStarted, host: str) -> None:
        current = self.segments[-1]
        if not self._is_another_host(current, started, host):
            if (current.framed or current.distinctive) and len(self.segments) < MAX_SEGMENTS:
                self.segments.append(LogSegment())
            current = self.segments[-1]
            self._assign_commit(current)
        current.start_hosts.add(host)

    def _is_another_host(self, current: LogSegment, started: ProgramStarted, host: str) -> bool:
        """Whether another host of the current segment starts here."""
        if current.newest_first and current.started is None:
            return True
        if not current.framed or current.ended or current.started is None or started.time is None:
            return False
        if abs(started.time - current.started) > START_SPREAD_SECONDS:
            return False
        if host:
            return host not in current.start_hosts
        return not current.steps_seen and not current.causes

    def _assign_commit(self, segment: LogSegment) -> None:
        """Take the commit that the page names: in the header right before the run, else in its title."""
        if self._next_commit is not None:
            segment.commit, self._next_commit = self._next_commit, None
            self._starts += 1
        elif self._starts < len(self._page_commits):
            segment.commit = self._page_commits[self._starts]
            self._starts += 1
