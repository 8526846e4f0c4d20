"""Split a log at each start of a program, and collect by format and host what each segment states.

`RunSplitter` makes one `LogSegment` per start, a segment has one `FormatCollector` per format, a collector
has one `Host` per host. All are bounded in memory.

Hosts that print into one log at the same time share a segment: their starts lie close together, and the
first host has neither ended nor trained when the next one starts.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

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
    ProgramEnded,
    ProgramStarted,
    Quantity,
    QuantityKind,
    StatefulReader,
    Statement,
    StoppedEarly,
    UnfinishedStep,
)
from bot.logs.steps import StepSeries, reversed_series

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


def merge_environment(known: Environment, said: Environment) -> Environment:
    """What is known, and what is now said besides: the first word counts."""
    return replace(
        known,
        jax=known.jax or said.jax,
        jaxlib=known.jaxlib or said.jaxlib,
        libtpu=known.libtpu or said.libtpu,
        orbax=known.orbax or said.orbax,
        device_kind=known.device_kind or said.device_kind,
        devices=known.devices or said.devices,
        mesh=known.mesh or said.mesh,
        workload=known.workload or said.workload,
        run_name=known.run_name or said.run_name,
    )


class Host:
    """What one host said."""

    def __init__(self, order: int, follower: StatefulReader | None = None) -> None:
        self.order = order
        self.follower = follower
        self.process: int | None = None
        self.implied: int | None = None
        self.track = StepSeries()
        self.said = Environment()
        self.dtypes: set[str] = set()
        self.sites: dict[CallSite, None] = {}
        self.memory: dict[str, DeviceMemory] = {}
        self.memory_most: dict[str, DeviceMemory] = {}
        self.compiled: CompiledMemory | None = None
        self.first_marks: list[Mark] = []
        self.last_marks: deque[Mark] = deque(maxlen=MAX_MARKS)

    def hear(self, said: Statement) -> None:
        """Keep what was not said before: the first word counts."""
        match said:
            case CallSite() if len(self.sites) < MAX_CALL_SITES:
                self.sites[said] = None
            case Environment():
                self._environment(said)
            case Mark():
                (self.first_marks if len(self.first_marks) < MAX_MARKS else self.last_marks).append(said)
            case DeviceMemory():
                self._memory(said)
            case CompiledMemory() if self.compiled is None:
                self.compiled = said
            case _:
                pass

    def _memory(self, said: DeviceMemory) -> None:
        """Keep a device's first reading, and of the later ones the largest."""
        if said.device not in self.memory:
            if len(self.memory) < MAX_DEVICES:
                self.memory[said.device] = said
            return
        most = self.memory_most.get(said.device)
        if most is None or said.used_gb > most.used_gb:
            self.memory_most[said.device] = said

    def _environment(self, said: Environment) -> None:
        if said.process is not None and self.process is None:
            self.process = said.process
        if said.dtype is not None and len(self.dtypes) < 16:
            self.dtypes.add(said.dtype)
        self.said = merge_environment(self.said, said)

    def marks(self) -> Iterator[Mark]:
        """What was kept, in order."""
        yield from self.first_marks
        yield from self.last_marks


class FormatCollector:
    """What was said in one format."""

    def __init__(self, form: LogFormat) -> None:
        self.form = form
        self.telling = 0
        self.hosts: dict[str, Host] = {}
        self.quantities: dict[QuantityKind, dict[float, None]] = {}

    def host(self, prefix: LinePrefix) -> Host | None:
        """The host that printed under this prefix."""
        key = prefix.host or prefix.thread if self.form.per_host else ""
        found = self.hosts.get(key)
        if found is None:
            if len(self.hosts) >= MAX_HOSTS:
                return None
            follower = self.form.follow() if self.form.follow else None
            found = self.hosts[key] = Host(len(self.hosts), follower)
        if prefix.process is not None and found.process is None:
            found.process = prefix.process
        if prefix.implied is not None:
            found.implied = prefix.implied
        return found

    def hear(self, said: Statement, prefix: LinePrefix) -> None:
        """Take one statement of this format."""
        host = self.host(prefix)
        if host is None:
            return
        match said:
            case Step():
                self._step(host, said, anonymous=not (prefix.host or prefix.thread) and self.form.per_host)
            case Quantity():
                known = self.quantities.setdefault(said.figure, {})
                if len(known) < 256:
                    known[said.value] = None
            case _:
                host.hear(said)

    def _step(self, host: Host, said: Step, *, anonymous: bool) -> None:
        step = host.follower(said, self.quantities) if host.follower else said
        if step is None:
            return
        if host.track.seen == 0:
            ranked = sorted((h for h in self.hosts.values() if h.track.seen or h is host), key=host_rank)
            for other in ranked[FULL_SERIES:]:
                other.track.spare()
        host.track.add(step, anonymous=anonymous)


def host_rank(host: Host) -> tuple[bool, int, int]:
    """Process 0 first, then by index, then by appearance."""
    index = host.process if host.process is not None else host.implied
    return index is None, index or 0, host.order


MAX_CAUSES = 20
"""Possible causes kept from the start, and again from the end."""


class LogSegment:
    """Everything between one start and the next."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.framed = False
        self.ended = False
        self.commit: str | None = None
        self.starters: set[str] = set()
        self.frame_marks: list[Mark] = []
        self.exit_codes: dict[int, None] = {}
        self.quits: list[str] = []
        self.doubts: dict[str, None] = {}
        self.first_troubles: list[tuple[PossibleCause, int]] = []
        self.last_troubles: deque[tuple[PossibleCause, int]] = deque(maxlen=MAX_CAUSES)
        self.finished = False
        self._covered = 0  # the byte up to which the last trouble's own text reaches
        self.collectors: dict[str, FormatCollector] = {}

    @property
    def telling(self) -> bool:
        """Whether anything here belongs to a known format."""
        return any(collector.telling for collector in self.collectors.values())

    @property
    def backwards(self) -> bool:
        """Whether this log begins with its newest line."""
        hosts = (host for c in self.collectors.values() for host in c.hosts.values())
        return any(host.track.backwards for host in hosts)

    def turn(self) -> None:
        """Put the steps into the order in which they happened."""
        for collector in self.collectors.values():
            for host in collector.hosts.values():
                if host.track.backwards:
                    host.track = reversed_series(host.track)

    @property
    def troubles(self) -> list[tuple[PossibleCause, int]]:
        """Possible causes, each with the number of step lines before it."""
        return [*self.first_troubles, *self.last_troubles]

    @property
    def steps_seen(self) -> int:
        """Step lines of the host that printed most of them."""
        hosts = (host for c in self.collectors.values() for host in c.hosts.values())
        return max((host.track.seen for host in hosts), default=0)

    def hear(self, said: Statement, prefix: LinePrefix, form: LogFormat | None, *, telling: bool) -> None:
        """Take one statement; `form` is `None` for what is said in any format."""
        collector = self._collector(form)
        match said:
            case ProgramStarted() | ProgramEnded() | ExitCode() | StoppedEarly() | Completed() | LogWarning():
                self._frame(said)
            case PossibleCause():
                self._trouble(said)
            case Mark(kind=MarkKind.START | MarkKind.END):
                if len(self.frame_marks) < MAX_MARKS:
                    self.frame_marks.append(said)
            case Environment(commit=str()):
                self.commit = self.commit or said.commit
            case UnfinishedStep(step=step) if collector:
                host = collector.host(prefix)
                if host is not None and host.track.same_shape(step):
                    collector.hear(step, prefix)
                    collector.telling += 1
                else:
                    self.doubts[RECORD_CUT] = None
            case _ if collector:
                collector.telling += telling
                collector.hear(said, prefix)
            case _:
                pass

    def _collector(self, form: LogFormat | None) -> FormatCollector | None:
        if form is None:
            return None
        if form.name not in self.collectors:
            self.collectors[form.name] = FormatCollector(form)
        return self.collectors[form.name]

    def _frame(
        self, said: ProgramStarted | ProgramEnded | ExitCode | StoppedEarly | Completed | LogWarning
    ) -> None:
        match said:
            case ProgramStarted():
                self.framed = True
                self.began = said.time if self.began is None else self.began
            case ProgramEnded():
                self.framed = self.ended = True
            case ExitCode():
                if len(self.exit_codes) < MAX_HOSTS:
                    self.exit_codes[said.code] = None
            case StoppedEarly():
                self.quits.append(said.reason)
                del self.quits[MAX_CAUSES:]
            case Completed():
                self.finished = True
            case LogWarning():
                self.doubts[said.text] = None

    def _trouble(self, said: PossibleCause) -> None:
        if said.offset < self._covered:
            return
        self._covered = said.end
        many = len(self.first_troubles) >= MAX_CAUSES
        (self.last_troubles if many else self.first_troubles).append((said, self.steps_seen))


START_SPREAD_SECONDS = 120.0
"""Seconds between the starts of two hosts of one run: pods of a job set are scheduled together."""

MAX_SEGMENTS = 4_096
"""Starts of which anything is kept."""


class RunSplitter:
    """The episodes of one log, in order."""

    def __init__(self) -> None:
        self.episodes = [LogSegment()]
        self.turns = 0  # while it stays the same, statements go where the ones before them went
        self._starts = 0
        self._claims: list[str] = []  # of the page, in the order of its runs
        self._claim: str | None = None  # of the run that begins next

    def hear(self, said: Statement, seen: Match, form: LogFormat | None, *, telling: bool) -> None:
        """Take the next statement."""
        if isinstance(said, ClaimedCommits | ProgramStarted):
            self.turns += 1
        match said:
            case ClaimedCommits(commits=(only,)):
                self._claim = only
                return
            case ClaimedCommits(commits=commits):
                self._claims = self._claims or list(commits)
                return
            case ProgramStarted():
                self._begin(said, seen.prefix.host)
            case _:
                pass
        episode = self.episodes[-1]
        if not episode.framed and not episode.commit and not isinstance(said, Mark):
            self._claim_for(episode)
        episode.hear(said, seen.prefix, form, telling=telling)

    def _begin(self, said: ProgramStarted, host: str) -> None:
        current = self.episodes[-1]
        if not self._joins(current, said, host):
            if (current.framed or current.telling) and len(self.episodes) < MAX_SEGMENTS:
                self.episodes.append(LogSegment())
            current = self.episodes[-1]
            self._claim_for(current)
        current.starters.add(host)

    def _joins(self, current: LogSegment, said: ProgramStarted, host: str) -> bool:
        """Whether this start is another host of the current episode."""
        if current.backwards and current.began is None:
            return True
        if not current.framed or current.ended or current.began is None or said.time is None:
            return False
        if abs(said.time - current.began) > START_SPREAD_SECONDS:
            return False
        if host:
            return host not in current.starters
        return not current.steps_seen and not current.troubles

    def _claim_for(self, episode: LogSegment) -> None:
        """The page's word on the commit: the header right before the run, else the title's, in order."""
        if self._claim is not None:
            episode.commit, self._claim = self._claim, None
            self._starts += 1
        elif self._starts < len(self._claims):
            episode.commit = self._claims[self._starts]
            self._starts += 1
