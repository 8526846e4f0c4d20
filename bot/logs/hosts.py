"""Chooses the host to measure, and says what the hosts of a run state together.

In:  what was collected in one format.
Out: the measured `Host`; environment, memory and warnings of the run.
"""

from dataclasses import replace

from bot.logs.braid import unbraided
from bot.logs.collector import Collector, Host, completed, rank
from bot.logs.episode import Episode
from bot.logs.facts import CompiledMemory, DeviceMemory, Environment
from bot.logs.track import Track

COMPLETE = 0.9
"""Process 0 is measured unless it has fewer than this part of the steps that another host printed."""


def measured(collector: Collector | None) -> tuple[Host, int, list[str]]:
    """The host to measure, how many there are, and what to say about the choice."""
    printing = [host for host in collector.hosts.values() if host.track.seen] if collector else []
    if not printing:
        hosts = list(collector.hosts.values()) if collector else []
        return min(hosts, key=rank, default=Host(0)), 1, []
    for host in printing:  # a thread's number may be the same on two hosts
        host.track = unbraided(host.track)
    printing = _restarts_joined(sorted(printing, key=rank))
    lead, most = printing[0], max(printing, key=lambda host: host.track.seen)
    missing = most.track.seen - lead.track.seen
    if missing <= 0:
        return lead, len(printing), []
    name = f"Process {lead.process}" if lead.process is not None else "The first host"
    said = f"{name} printed {lead.track.seen} step lines, another host {most.track.seen}: {{}}"
    if lead.track.seen >= COMPLETE * most.track.seen:
        return lead, len(printing), [said.format(f"{missing} steps of it are missing from this log.")]
    return most, len(printing), [said.format("that other host is measured.")]


def _restarts_joined(hosts: list[Host]) -> list[Host]:
    """Hosts without the later lives of one: the same process on a new thread after the old one's end."""
    joined: list[Host] = []
    for host in sorted(hosts, key=lambda host: host.track.first.offset if host.track.first else 0):
        before = next((other for other in joined if _later_life(other, host)), None)
        if before is None:
            joined.append(host)
        else:
            before.track.extend(host.track)
            for mark in host.marks():
                before.hear(mark)
    return sorted(joined, key=rank)


def _later_life(old: Host, new: Host) -> bool:
    last, first = old.track.last, new.track.first
    if last is None or first is None or last.offset > first.offset:
        return False
    if old.process is not None and new.process is not None:
        return old.process == new.process
    return last.time is not None and first.time is not None and last.time <= first.time


def environment(collector: Collector | None, host: Host) -> Environment:
    """What the measured host says, and where it is silent what another one says."""
    if collector is None:
        return Environment()
    hosts = _by_closeness(collector, host)
    said = Environment()
    for other in hosts:
        said = completed(said, other.said)
    sites = next((other.sites for other in hosts if other.sites), {})
    processes = [other.process if other.process is not None else other.implied for other in hosts]
    own = processes[0]
    known = {process for process in processes if process is not None}
    alone = sum(other.track.seen > 0 for other in hosts) <= 1 and len(known) == 1
    return replace(
        said,
        process=own if own is not None or not alone else known.pop(),
        dtype=_dtype({dtype for other in hosts for dtype in other.dtypes}),
        call_sites=tuple(sites),
    )


def _by_closeness(collector: Collector, host: Host) -> list[Host]:
    """The measured host, then what belongs to no host, then the others."""
    nobody = collector.hosts.get("")
    return [host, *(h for h in (nobody,) if h and h is not host),
            *(h for h in collector.hosts.values() if h is not host and h is not nobody)]  # fmt: skip


def _dtype(said: set[str]) -> str | None:
    """The quantization if one is set, else the configured type, else that of the activations."""
    for opening in ("quantization=", "", "activations="):
        for dtype in sorted(said):
            name, _, value = dtype.rpartition("=")
            if f"{name}=" == opening or not (name or opening):
                return value
    return None


def memory(collector: Collector | None, host: Host) -> tuple[DeviceMemory, ...]:
    """The measured host's devices in the order printed."""
    hosts = _by_closeness(collector, host) if collector else []
    return tuple(next((h.memory for h in hosts if h.memory), {}).values())


def memory_most(collector: Collector | None, host: Host) -> tuple[DeviceMemory, ...]:
    """The largest later reading of the same devices, of those that have several."""
    hosts = _by_closeness(collector, host) if collector else []
    return tuple(next((h.memory_most for h in hosts if h.memory), {}).values())


def compiled(collector: Collector | None, host: Host) -> CompiledMemory | None:
    """The compiler's memory sizes: equal on all hosts."""
    hosts = _by_closeness(collector, host) if collector else []
    return next((h.compiled for h in hosts if h.compiled), None)


def warnings_of(
    group: list[Episode], track: Track, choice: list[str], complaint: str | None
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
