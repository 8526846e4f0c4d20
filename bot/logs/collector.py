"""Collects what is said in one format, by host.

In:  statements with the prefix they stood under.
Out: a `Collector` of `Host`s, bounded in memory whatever the log holds.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from bot.logs.facts import (
    CallSite,
    CompiledMemory,
    DeviceMemory,
    Environment,
    Mark,
    Step,
)
from bot.logs.follower import Follower
from bot.logs.formats import Format
from bot.logs.prefix import Prefix
from bot.logs.statement import (
    Figure,
    Quantity,
    Statement,
)
from bot.logs.track import Track

HOSTS = 1_024
"""Hosts of which anything is kept."""
FULL_TRACKS = 2
"""Hosts whose steps are kept in full: process 0, and one to fall back to."""
MARKS = 1_000
"""Marks kept from the start of a run, and again from its end."""
DEVICES = 256
"""Devices of one host of which the memory is kept."""
SITES = 64
"""Call sites kept per host."""


def completed(known: Environment, said: Environment) -> Environment:
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

    def __init__(self, order: int, follower: Follower | None = None) -> None:
        self.order = order
        self.follower = follower
        self.process: int | None = None
        self.implied: int | None = None
        self.track = Track()
        self.said = Environment()
        self.dtypes: set[str] = set()
        self.sites: dict[CallSite, None] = {}
        self.memory: dict[str, DeviceMemory] = {}
        self.memory_most: dict[str, DeviceMemory] = {}
        self.compiled: CompiledMemory | None = None
        self.first_marks: list[Mark] = []
        self.last_marks: deque[Mark] = deque(maxlen=MARKS)

    def hear(self, said: Statement) -> None:
        """Keep what was not said before: the first word counts."""
        match said:
            case CallSite() if len(self.sites) < SITES:
                self.sites[said] = None
            case Environment():
                self._environment(said)
            case Mark():
                (self.first_marks if len(self.first_marks) < MARKS else self.last_marks).append(said)
            case DeviceMemory():
                self._memory(said)
            case CompiledMemory() if self.compiled is None:
                self.compiled = said
            case _:
                pass

    def _memory(self, said: DeviceMemory) -> None:
        """Keep a device's first reading, and of the later ones the largest."""
        if said.device not in self.memory:
            if len(self.memory) < DEVICES:
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
        self.said = completed(self.said, said)

    def marks(self) -> Iterator[Mark]:
        """What was kept, in order."""
        yield from self.first_marks
        yield from self.last_marks


class Collector:
    """What was said in one format."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.telling = 0
        self.hosts: dict[str, Host] = {}
        self.quantities: dict[Figure, dict[float, None]] = {}

    def host(self, prefix: Prefix) -> Host | None:
        """The host that printed under this prefix."""
        key = prefix.host or prefix.thread if self.form.per_host else ""
        found = self.hosts.get(key)
        if found is None:
            if len(self.hosts) >= HOSTS:
                return None
            follower = self.form.follow() if self.form.follow else None
            found = self.hosts[key] = Host(len(self.hosts), follower)
        if prefix.process is not None and found.process is None:
            found.process = prefix.process
        if prefix.implied is not None:
            found.implied = prefix.implied
        return found

    def hear(self, said: Statement, prefix: Prefix) -> None:
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
            ranked = sorted((h for h in self.hosts.values() if h.track.seen or h is host), key=rank)
            for other in ranked[FULL_TRACKS:]:
                other.track.spare()
        host.track.add(step, anonymous=anonymous)


def rank(host: Host) -> tuple[bool, int, int]:
    """Process 0 first, then by index, then by appearance."""
    index = host.process if host.process is not None else host.implied
    return index is None, index or 0, host.order
